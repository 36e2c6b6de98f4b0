"""The papers' statements, and which of them hold."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, argument, command, group, switch
from dpacct.cli.output import Result
from dpacct.declare.domain import Real, one_of
from dpacct.declare.number import shown
from dpacct.declare.record import Usage
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.papers.page import Statement


@command(
    "theorems",
    group(
        "Evaluation",
        argument(
            "[list [PAPER] | show ID | search WORDS | eval ID NAME=VALUE ...]", "words", many=True
        ),
        switch("--as-printed", "evaluate a refuted statement all the same, as the paper prints it"),
    ),
    examples=(
        "theorems",
        "theorems list UDP-FL",
        'theorems search "Lemma 2"',
        "theorems show dp_fed_ls.lemma2",
        "theorems eval dp_fed_ls.lemma2 tau=0.05 nu2=1 alpha=2",
        "theorems eval dp_fed_ls.lemma1 alpha=8 rho=1 delta=1e-5 --json",
    ),
)
def main(line: CommandLine) -> Result:
    """List, find, show or evaluate the statements of the papers.

    Every lemma, theorem and constant is there as printed, with its domain, its verdict, its
    counter-example if it is false, and what to use instead. A paper goes by its key, a name, an arXiv
    number, its authors or the file of its text; `search` takes what the PDF prints. `eval` refuses arguments
    outside the hypotheses (exit code 3), and a refuted statement unless --as-printed is given.
    """
    action, *rest = line.get("words") or ("list",)
    wants = {"show": "the id of a theorem, or words that find one", "eval": "the id of a theorem"}
    wants["search"] = "words that the paper prints"
    if action != "list" and action not in wants:
        message = f"theorems has the actions {one_of(['list', 'show', 'search', 'eval'])},"
        raise Usage(f"{message} got {shown(action)}", argument="WORDS")
    if action != "list" and not rest:
        raise Usage(f"theorems {action} needs {wants[action]} after it", argument=action)
    if action == "eval":
        return _evaluate(rest[0], rest[1:], as_printed=bool(line.get("as_printed")))
    return {"list": _list, "show": _show, "search": _search}[action](" ".join(rest))


def summary(statement: Statement) -> dict[str, Any]:
    """The JSON object of the list."""
    domains = [f"{a.name} in {a.range.replace('integer in ', '')}" for a in statement.arguments]
    return {
        "id": statement.id,
        "paper": statement.paper,
        "locus": statement.locus,
        "statement": statement.claim,
        "side": str(statement.side),
        "domain": ", ".join(domains),
        "verdict": statement.verdict,
        "status": statement.evidence,
        "printed_ok": statement.printed_ok,
        "evaluable": statement.evaluable,
        "corrected_by": statement.corrected_by,
    }


def _list(words: str) -> Result:
    from dpacct.papers.registry import UnknownName, named, papers, select, statements

    try:
        chosen = tuple(statements(named(words).key if words else None))
    except UnknownName as unknown:
        if len(unknown.candidates) > 1:
            raise
        chosen = tuple(select(tuple(words.split())))

    def lines() -> Iterable[str]:
        wide = max((len(s.id) for s in chosen), default=0)
        for index, (paper, listing) in enumerate(groupby(chosen, key=lambda s: s.paper)):
            yield from [""] if index else []
            yield f"{papers()[paper].short}: {papers()[paper].title}"
            yield from (f"  {s.id:{wide}}  {s.verdict:20}  {s.locus}: {s.claim}" for s in listing)

    return Result(lambda: [summary(s) for s in chosen], lambda: _cut(lines()))


def _search(query: str) -> Result:
    from dpacct.papers.registry import papers
    from dpacct.papers.search import search

    chosen = search(query)

    def lines() -> list[str]:
        if not chosen:
            raise Usage(f"no statement of the papers matches {shown(query)}", argument="WORDS")
        rows = [
            (s.id, s.verdict, f"{papers()[s.paper].short}, {s.locus}: {s.claim}") for s in chosen
        ]
        return _cut(aligned(rows[0], rows[1:]))

    return Result(lambda: [summary(s) for s in chosen], lines)


def _cut(lines: Iterable[str]) -> list[str]:
    """Lines of a list, none wider than the terminal."""
    width = _width()
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def _width() -> int:
    return max(60, min(shutil.get_terminal_size((120, 24)).columns, 120))


def _show(words: str) -> Result:
    from dpacct.papers.search import meant
    from dpacct.papers.show import rendered

    statement = meant(words)
    body = {
        "command": "theorems show",
        **summary(statement),
        "quantity": statement.quantity,
        "maths": statement.maths,
        "reason": statement.section("Why"),
        "looseness": statement.section("How tight"),
        "derivation": statement.section("Derivation"),
        "relies_on": list(statement.relies_on),
        "witness": statement.witness and dict(statement.witness[0]),
        "vectors": [
            {
                "inputs": {name: text for name, text in row.inputs.items() if text},
                "value": float(row.formula) if row.formula else None,
                "truth": float(row.truth) if row.truth else None,
                "source": row.source,
            }
            for row in statement.values
        ],
    }
    return Result(lambda: body, lambda: rendered(statement))


def _evaluate(name: str, pairs: Sequence[str], *, as_printed: bool) -> Result:
    from dpacct.papers.registry import get

    statement, values = get(name), dict(map(_pair, pairs))
    value = statement.evaluate(values, as_printed=as_printed)
    finite: float | str = value if math.isfinite(value) else str(value)
    said = {k: [*map(str, v)] if isinstance(v, tuple) else str(v) for k, v in values.items()}
    body = {
        "command": "theorems eval",
        "id": statement.id,
        "value": finite,
        "side": str(statement.side),
        "verdict": statement.verdict,
        "status": statement.evidence,
        "inputs": {k: v if isinstance(v, str) else f"[{', '.join(v)}]" for k, v in said.items()},
    }
    grade = f"{statement.side}, {statement.verdict} ({statement.evidence})"
    return Result(lambda: body, lambda: [f"{statement.id} = {finite!r}  {grade}"])


def _pair(text: str) -> tuple[str, Fraction | int | tuple[Fraction | int, ...]]:
    """`rate=1/3`, or a list of numbers: `votes=6,0,0`."""
    name, equals, numbers = text.partition("=")
    if not equals or not name.isidentifier():
        raise Usage(f"an argument must be written NAME=VALUE, got {shown(text)}", argument="WORDS")
    checked = [Real(as_float=False).check(name, part) for part in numbers.strip("[] ").split(",")]
    parts = tuple(each.numerator if each.denominator == 1 else each for each in checked)
    return name, parts if "," in numbers else parts[0]
