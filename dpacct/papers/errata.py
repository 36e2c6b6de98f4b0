"""The papers' errata as one Markdown page, made from the statements' pages and never committed."""

from __future__ import annotations

from collections.abc import Iterator

from dpacct.papers.page import Statement
from dpacct.papers.registry import Paper, get, papers, statements

_FALSE = ("false", "ill-posed", "unread")
_HEAD = (
    "# Errata of the papers\n\nWhat the papers print and what does not hold, or can't be read in one way:"
    " each with a counter-example that `dpacct verify` judges again on every run, and with what to use"
    " instead. The statement's page has the derivation."
)


def page() -> str:
    """The whole page, paper by paper in the papers' order."""
    parts = [_HEAD]
    for key, paper in papers().items():
        wrong = [s for s in statements(key) if s.verdict in _FALSE]
        if wrong:
            where = f"{paper.venue}, {paper.year}" if paper.venue else paper.year
            parts += [f"## {paper.short}: {paper.title}", f"{paper.authors}. {where}."]
            parts += [part for s in wrong for part in _finding(s, paper)]
    return "\n\n".join(parts)


def _finding(statement: Statement, paper: Paper) -> Iterator[str]:
    yield f"### {statement.locus} ({statement.verdict})"
    yield f"*Printed.* {statement.claim}"
    if statement.maths:
        yield f"$${statement.maths}$$"
    yield statement.section("Why")
    if statement.witness:
        point, text = statement.witness
        at = ", ".join(f"{name}={value}" for name, value in point.items())
        yield f"*Counter-example.* `{at}`" + (f": {text}" if text else "")
    if statement.corrected_by:
        correct = get(statement.corrected_by)
        yield f"*Instead* (`{correct.id}`). {correct.claim}"
        if correct.maths and correct.maths != statement.maths:
            yield f"$${correct.maths}$$"
    yield f"*Cite this finding:*\n\n```bibtex\n{_bibtex(statement, paper)}\n```"


def _bibtex(statement: Statement, paper: Paper) -> str:
    title = f"{statement.locus} of {paper.short}, {paper.title}: erratum"
    return (
        f"@misc{{dpacct-{statement.id.replace('.', '-').replace('_', '-')},\n"
        f"  title = {{{title}}},\n"
        "  author = {{The dpacct authors}},\n"
        f"  note = {{dpacct theorems show {statement.id}}}\n}}"
    )
