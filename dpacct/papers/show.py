"""A page for a terminal: formulas in LaTeX, tables aligned, lines wrapped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from dpacct.display import aligned
from dpacct.papers.page import SAMPLINGS, SECTIONS, Statement
from dpacct.papers.registry import papers
from dpacct.vocabulary import Side

_SIDES = {
    Side.UPPER: " (an upper bound)",
    Side.LOWER: " (a lower bound)",
    Side.TWO_SIDED: " (the exact value)",
    Side.NONE: "",
}


def rendered(statement: Statement, width: int = 100) -> list[str]:
    """The lines of the page, with formulas in LaTeX."""
    paper = papers()[statement.paper]
    where = f"{paper.short}, {paper.title}: {statement.locus}."
    instead = f"; use {statement.corrected_by}" if statement.corrected_by else ""
    lines = [statement.id, *textwrap.wrap(where, width), ""]
    lines += [f"{statement.verdict.upper()} ({statement.evidence}){instead}", ""]
    lines += [*prose(statement.claim, width), ""]
    if statement.maths:
        shown, rest = f"    {statement.maths}", "      "
        lines += textwrap.wrap(shown, width - 4, subsequent_indent=rest, break_long_words=False)
        lines.append("")
    if statement.quantity:
        gives = f"Gives: {statement.quantity}{_SIDES[statement.side]}."
        lines += textwrap.wrap(gives, width, subsequent_indent="  ")
    lines += table([(a.name, a.range, a.meaning) for a in statement.arguments])
    if statement.setting:
        sampling, adjacency = statement.setting
        lines.append(f"Setting: {SAMPLINGS[sampling]}; {adjacency}")
    if statement.relies_on:
        rests = "Rests on " + ", ".join(statement.relies_on)
        lines += textwrap.wrap(rests, width, subsequent_indent="  ")
    for title in SECTIONS:
        if text := statement.section(title):
            lines += ["", title, *(f"  {line}" for line in prose(text, width - 2))]
    if statement.witness:
        point, text = statement.witness
        at = ", ".join(f"{name}={value}" for name, value in point.items())
        lines += ["", "Counter-example", f"  {at}"]
        lines += [f"  {line}" for line in prose(text, width - 2)]
    if statement.values:
        names = [a.name for a in statement.arguments]
        rows = [(*v.inputs.values(), v.formula, v.truth, v.source) for v in statement.values]
        head = (*names, "formula", "truth", "source")
        text = statement.section("Reference values").partition("|")[0]
        lines += ["", "Reference values"]
        lines += [f"  {line}" for line in prose(text, width - 2)]
        lines += table(rows, head)
    return lines


def prose(text: str, width: int) -> list[str]:
    """Paragraphs with their links as plain text, wrapped; no line ends inside a formula."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    plain = re.sub(r"\$([^$]*)\$", lambda m: m[1].replace(" ", "\xa0"), plain)
    lines = []
    for paragraph in plain.split("\n\n"):
        words = re.sub(r"[ \n]+", " ", paragraph)
        lines += [line.replace("\xa0", " ") for line in textwrap.wrap(words, width)]
    return lines


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> list[str]:
    """Aligned columns; those that are empty in every row are left out.

    >>> table([("tau", "(0, 1)", ""), ("steps", "[1, inf)", "")])
    ['  tau    (0, 1)', '  steps  [1, inf)']
    """
    body = list(rows)
    if not body:
        return []
    keep = [i for i in range(len(body[0])) if any(row[i] for row in body)]
    first, *others = ([row[i] for i in keep] for row in ([head, *body] if head else body))
    return aligned(first, others)
