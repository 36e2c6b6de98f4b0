"""A document as Markdown."""

from __future__ import annotations

import re

from dpacct.report.section import ReportDocument, ReportSection

# What would begin markup in the middle of a text; the rest of ASCII punctuation is harmless there.
_MARKUP = re.compile(r"([\\`*_\[\]<>|$])")
_LEADING = re.compile(r"^(\s*)([#+-]|\d+[.)])(?=\s)")


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escaped("a|b <c> 1000^-1.1")
    'a\\|b \\<c\\> 1000^-1.1'
    """
    flat = " ".join(text.split())
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", flat))


def markdown(document: ReportDocument) -> str:
    """The document as Markdown; pictures are left out."""
    parts = [f"# {escaped(document.title)}"]
    parts += [f"> **Warning.** {escaped(warning)}" for warning in document.warnings]
    parts += [escaped(document.lead)] if document.lead else []
    parts += ["\n".join(f"- {escaped(n)}: **{escaped(v)}**" for n, v in document.facts)]
    for section in document.sections:
        if section.in_words:
            parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """A Markdown table.

    >>> print(table(("a", "b"), (("1", "2"),)))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)


def _section(section: ReportSection) -> list[str]:
    parts = [f"## {escaped(section.title)}"]
    parts += [escaped(paragraph) for paragraph in section.paragraphs]
    if section.rows:
        parts.append(table(section.head, section.rows))
    if section.items:
        parts.append("\n".join(f"- {escaped(item)}" for item in section.items))
    if section.tree:
        parts.append(_fenced("\n".join(section.tree.lines())))
    if section.code:
        parts.append(_fenced(section.code))
    return parts


def _fenced(code: str) -> str:
    fence = "`" * (max([2, *map(len, re.findall("`+", code))]) + 1)
    return f"{fence}text\n{code.rstrip()}\n{fence}"
