"""A document of sections: made once, written as text, Markdown or HTML."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dpacct.display import aligned

if TYPE_CHECKING:
    from jinja2 import Template

    from dpacct.plan.words import WordTree

NO_GUARANTEE = "not a guarantee"
"""The beginning of a cell that excludes its row from what is claimed."""
WIDTH = 100
"""Columns of plain text."""
_POWER = re.compile(r"\d+(?:\.\d+)?e-\d+")
# A mark before each status, so that colour alone does not carry it.
_SIGNS = {"held": "✓", "declared": "•", "unknown": "?", "violated": "✗"}
# What would begin markup in the middle of a text; the rest of ASCII punctuation is harmless there.
_MARKUP = re.compile(r"([\\`*_\[\]<>|$])")
_LEADING = re.compile(r"^(\s*)([#+-]|\d+[.)])(?=\s)")


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """One section; what it has is shown in the order of the fields.

    Attributes:
        title: its heading.
        paragraphs: sentences, in plain text.
        head: the heads of a table's columns.
        rows: the table's cells, as text.
        items: a list.
        pictures: (a complete SVG element, what it shows in words) of each.
        tree: what is drawn as a tree.
        code: lines to be kept as they are.
        marks: columns of the table whose cells are one word of status each.

    >>> ReportSection(title="Result", paragraphs=("Test accuracy 83 %.",)).title
    'Result'
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()
    tree: WordTree | None = None
    code: str = ""
    marks: tuple[str, ...] = ()

    @property
    def in_words(self) -> bool:
        """Return whether there is anything but pictures."""
        return bool(self.paragraphs or self.rows or self.items or self.tree or self.code)


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportDocument:
    """A title, warnings above everything, a leading sentence, facts at a glance, and sections.

    >>> document = ReportDocument(title="Run 1", lead="It ran.", sections=())
    >>> print(document.to_markdown())
    # Run 1
    <BLANKLINE>
    It ran.
    <BLANKLINE>
    """

    title: str
    lead: str = ""
    warnings: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[ReportSection, ...] = ()

    def __repr__(self) -> str:
        return f"<ReportDocument {self.title!r}: {len(self.sections)} sections>"

    def to_text(self) -> str:
        """Plain text of 100 columns, without pictures."""
        parts = [self.title.upper() if self.title else ""]
        parts += [_wrapped(f"WARNING: {warning}") for warning in self.warnings]
        parts += [_wrapped(self.lead)] if self.lead else []
        if self.facts:
            width = max(len(name) for name, _ in self.facts)
            parts += ["\n".join(f"  {name.ljust(width)}  {value}" for name, value in self.facts)]
        parts += ["\n".join(_text(section)) for section in self.sections if section.in_words]
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_markdown(self) -> str:
        """Markdown without pictures, tables as GitHub knows them."""
        parts = [f"# {escaped(self.title)}"]
        parts += [f"> **Warning.** {escaped(warning)}" for warning in self.warnings]
        parts += [escaped(self.lead)] if self.lead else []
        parts += ["\n".join(f"- {escaped(n)}: **{escaped(v)}**" for n, v in self.facts)]
        parts += [part for each in self.sections if each.in_words for part in _markdown(each)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no script."""
        return _page().render(document=self, signs=_SIGNS)


# --- plain text


def _text(section: ReportSection) -> list[str]:
    lines = [section.title.upper()]
    lines += [_wrapped(paragraph, "  ", "  ") for paragraph in section.paragraphs]
    lines += _columns(section) if section.rows else []
    lines += [_wrapped(sentence, "  - ", "    ") for sentence in section.items]
    drawn = section.tree.lines() if section.tree else []
    return lines + [f"  {line}" for line in (*drawn, *section.code.splitlines())]


def _columns(section: ReportSection) -> list[str]:
    """Columns where they fit, else one block to a row under its first cells."""
    lines = aligned(section.head, section.rows)
    if max(map(len, lines)) <= WIDTH:
        return lines
    lines = []
    for row in section.rows:
        first, second, *others = row
        lines.append(_wrapped(f"{first}: {second}" if second else first, "  ", "    "))
        for name, cell in zip(section.head[2:], others, strict=True):
            if cell:
                lines.append(_wrapped(f"{name}: {cell}", "      ", "        "))
    return lines


def _wrapped(text: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


# --- Markdown


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escaped("a|b <c> 1000^-1.1")
    'a\\|b \\<c\\> 1000^-1.1'
    """
    flat = " ".join(text.split())
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", flat))


def _grid(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)


def _markdown(section: ReportSection) -> list[str]:
    parts = [f"## {escaped(section.title)}"]
    parts += [escaped(paragraph) for paragraph in section.paragraphs]
    if section.rows:
        parts.append(_grid(section.head, section.rows))
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


# --- HTML


@cache
def _page() -> Template:
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["unbroken"] = _unbroken
    environment.filters["aside"] = lambda row: any(c.startswith(NO_GUARANTEE) for c in row)
    return environment.from_string(
        files(__package__).joinpath("page.html.jinja").read_text("utf-8")
    )


def _unbroken(text: str) -> str:
    """Text whose numbers are not broken over lines."""
    from markupsafe import Markup, escape

    kept = text.replace("≤ ", "≤\u00a0").replace("~ ", "~\u00a0")
    return Markup(_POWER.sub(r'<span class="number">\g<0></span>', str(escape(kept))))
