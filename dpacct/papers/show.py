"""A page for a terminal: what its header says in sentences, then the page as it is written."""

from __future__ import annotations

from dpacct.papers.page import SAMPLINGS, Statement
from dpacct.papers.registry import papers
from dpacct.vocabulary import Side

_SIDES = {
    Side.UPPER: " (an upper bound)",
    Side.LOWER: " (a lower bound)",
    Side.TWO_SIDED: " (the exact value)",
    Side.NONE: "",
}


def rendered(statement: Statement) -> list[str]:
    """The lines of the page, with formulas in LaTeX."""
    paper = papers()[statement.paper]
    instead = f"; use {statement.corrected_by}" if statement.corrected_by else ""
    lines = [statement.id, f"{paper.short}, {paper.title}: {statement.locus}.", ""]
    lines.append(f"{statement.verdict.upper()} ({statement.evidence}){instead}")
    if statement.quantity:
        lines.append(f"Gives: {statement.quantity}{_SIDES[statement.side]}.")
    if statement.setting:
        sampling, adjacency = statement.setting
        lines.append(f"Setting: {SAMPLINGS[sampling]}; {adjacency}")
    if statement.relies_on:
        lines.append("Rests on " + ", ".join(statement.relies_on))
    return [*lines, "", *statement.text.lstrip().partition("\n")[2].strip().split("\n")]
