"""A document of sections: made once, written as text, Markdown or HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpacct.report.words import Branch

NO_GUARANTEE = "not a guarantee"
"""How a cell begins that takes its row out of what is claimed."""


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
    tree: Branch | None = None
    code: str = ""
    marks: tuple[str, ...] = ()

    @property
    def in_words(self) -> bool:
        """Whether there is anything but pictures."""
        return bool(self.paragraphs or self.rows or self.items or self.tree or self.code)


@dataclass(frozen=True, kw_only=True)
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

    def to_text(self) -> str:
        """Plain text of 100 columns."""
        from dpacct.report.plain import plain

        return plain(self)

    def to_markdown(self) -> str:
        """Markdown, tables as GitHub knows them."""
        from dpacct.report.markdown import markdown

        return markdown(self)

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no script."""
        from dpacct.report.html import page

        return page(self)
