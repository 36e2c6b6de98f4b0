"""A document as one HTML page: no network, no script, light and dark, screen and paper."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from dpacct.report.css import CSS
from dpacct.report.section import NO_GUARANTEE

if TYPE_CHECKING:
    from dpacct.report.section import ReportDocument, ReportSection
    from dpacct.report.words import Branch

_POWER = re.compile(r"\d+(?:\.\d+)?e-\d+")
# A mark before each status, so that colour alone does not carry it.
_SIGNS = {"held": "✓", "declared": "•", "unknown": "?", "violated": "✗"}


def page(document: ReportDocument) -> str:
    """The document as a complete page."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="dpacct">',
        f"<title>{escape(document.title)}</title>",
        f"<style>{CSS}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{escape(document.title)}</h1>",
    ]
    if document.warnings:
        lines.append('<div class="warning" role="alert">')
        lines += [f"<p>{_shown(warning)}</p>" for warning in document.warnings]
        lines.append("</div>")
    if document.lead:
        lines.append(f'<p class="statement">{_shown(document.lead)}</p>')
    if document.facts:
        lines.append('<dl class="facts">')
        lines += [
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in document.facts
        ]
        lines.append("</dl>")
    for number, section in enumerate(document.sections, 1):
        lines += _section(section, f"section-{number}")
    return "\n".join([*lines, "</main>", "</body>", "</html>"]) + "\n"


def _section(section: ReportSection, name: str) -> list[str]:
    lines = [f'<section aria-labelledby="{name}">', f'<h2 id="{name}">{escape(section.title)}</h2>']
    lines += [f"<p>{_shown(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.rows:
        lines += _table(section)
    if section.items:
        lines += ["<ul>", *(f"<li>{_shown(item)}</li>" for item in section.items), "</ul>"]
    if section.pictures:
        lines.append('<div class="pictures">')
        for svg, caption in section.pictures:
            lines += ["<figure>", svg, f"<figcaption>{_shown(caption)}</figcaption>", "</figure>"]
        lines.append("</div>")
    if section.tree:
        lines += ['<ul class="tree">', *_branch(section.tree), "</ul>"]
    if section.code:
        # tabindex: a keyboard can scroll what is wider than the page.
        lines.append(f'<pre tabindex="0">{escape(section.code)}</pre>')
    return [*lines, "</section>"]


def _table(section: ReportSection) -> list[str]:
    """A table that a narrow screen shows as cards: each cell carries its column's name."""
    lines = ["<table>", "<thead><tr>"]
    lines += [f'<th scope="col">{escape(name)}</th>' for name in section.head]
    lines += ["</tr></thead>", "<tbody>"]
    for row in section.rows:
        cells: list[str] = []
        for name, cell in zip(section.head, row, strict=True):
            label = escape(name, quote=True)
            if not cells:
                cells.append(f'<th scope="row">{escape(cell)}</th>')
            elif not cell:
                cells.append(f'<td class="empty" data-label="{label}"></td>')
            else:
                shown = _status(cell) if name in section.marks else _shown(cell)
                cells.append(f'<td data-label="{label}">{shown}</td>')
        aside = any(cell.startswith(NO_GUARANTEE) for cell in row)
        start = '<tr class="aside">' if aside else "<tr>"
        lines.append(f"{start}{''.join(cells)}</tr>")
    return [*lines, "</tbody>", "</table>"]


def _shown(text: str) -> str:
    """Text whose numbers are not broken over lines."""
    kept = text.replace("≤ ", "≤\u00a0").replace("~ ", "~\u00a0")
    return _POWER.sub(r'<span class="number">\g<0></span>', escape(kept))


def _status(word: str) -> str:
    sign = _SIGNS.get(word, "")
    kind = escape(word, quote=True)
    return f'<span class="status {kind}"><span aria-hidden="true">{sign}</span> {kind}</span>'


def _branch(branch: Branch) -> list[str]:
    lines = [f"<li><span>{escape(branch.label)}</span>"]
    if branch.parts:
        lines += ["<ul>", *(line for part in branch.parts for line in _branch(part)), "</ul>"]
    return [*lines, "</li>"]
