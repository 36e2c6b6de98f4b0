"""A document as plain text: 100 columns, tables as blocks where they are too wide."""

from __future__ import annotations

import textwrap

from dpacct.report.section import ReportDocument, ReportSection

WIDTH = 100


def plain(document: ReportDocument) -> str:
    """The document as text; pictures are left out."""
    parts = [document.title.upper() if document.title else ""]
    parts += [_wrapped(f"WARNING: {warning}") for warning in document.warnings]
    parts += [_wrapped(document.lead)] if document.lead else []
    if document.facts:
        width = max(len(name) for name, _ in document.facts)
        parts += ["\n".join(f"  {name.ljust(width)}  {value}" for name, value in document.facts)]
    parts += [_section(section) for section in document.sections if section.in_words]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: ReportSection) -> str:
    lines = [section.title.upper()]
    for paragraph in section.paragraphs:
        lines += [_wrapped(paragraph, "  ", "  ")]
    if section.rows:
        lines += _table(section)
    lines += [_wrapped(item, "  - ", "    ") for item in section.items]
    if section.tree:
        lines += ["  " + line for line in section.tree.lines()]
    if section.code:
        lines += ["  " + line for line in section.code.splitlines()]
    return "\n".join(lines)


def _table(section: ReportSection) -> list[str]:
    """Columns where they fit, else one block to a row under its first cells."""
    everything = [section.head, *section.rows]
    widths = [max(len(row[i]) for row in everything) for i in range(len(section.head))]
    if sum(widths) + 2 * len(widths) <= WIDTH:
        return [
            ("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))).rstrip()
            for row in everything
        ]
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
