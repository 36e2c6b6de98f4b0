"""Voting (PATE): data-dependent and data-independent cost, and the exact one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import bounded, grade, safe_number
from dpacct.cli.command import DELTA, QUIET, CommandLine, argument, command, group, option, switch
from dpacct.cli.output import Result, must_be_finite, within
from dpacct.cli.screens import of_answer
from dpacct.declare.domain import DELTA as SMALL
from dpacct.declare.domain import Word
from dpacct.declare.number import rounded
from dpacct.declare.record import Usage
from dpacct.display import aligned
from dpacct.voting.aggregator import Aggregator, GNMax, LNMax

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.voting.cost import VotingCost

KINDS: dict[str, type[Aggregator]] = {"gaussian": GNMax, "laplace": LNMax}
_SETTINGS = {**LNMax.parameters, **GNMax.parameters}
_TOP = 5  # queries that are shown


@command(
    "pate",
    group(
        "Noise",
        argument("VOTES"),
        option("--mechanism", "GNMax or LNMax", default="gaussian", choices=[*KINDS]),
    ),
    group("Noise", GNMax.sigma, LNMax.b),
    group("Screening", GNMax.threshold, GNMax.threshold_sigma),
    group("What is protected", Aggregator.level, Aggregator.neighbours),
    group("Target", DELTA),
    group(
        "Output",
        switch("--exact/--no-exact", "also the exact cost of the released labels", default=True),
        QUIET,
    ),
    examples=(
        "pate votes.csv --sigma 40 --delta 1e-5",
        "pate votes.csv --sigma 40 --delta 1e-5 --level agent",
        "pate votes.csv --sigma 40 --threshold 60 --threshold-sigma 30 --delta 1e-5 --json",
        "pate votes.csv --mechanism laplace --b 20 --delta 1e-5",
    ),
)
def main(line: CommandLine) -> Result:
    """Account for labels released by a vote: PATE, PATE-FL, Private-kNN-FL.

    VOTES is a table of counts, one row a query and one column a class: text with commas, or NumPy's
    .npy. The data-independent epsilon holds for any votes. The data-dependent one and the
    exact one are computed from the votes and so are themselves private: they are for you, and the
    data-independent one, which --quiet prints, is what may be published.
    """
    from dpacct.voting.votes import Votes

    line.needs("delta")
    delta = line.read("delta", SMALL) or 0
    mechanism, typed = line.read("mechanism", Word(*KINDS)) or "", line.pick(_SETTINGS)
    kind = KINDS[mechanism]
    for name in typed:
        if name not in kind.parameters:
            said, noise = line.option(name), "sigma" if kind is GNMax else "b"
            raise Usage(f"--mechanism {mechanism} takes --{noise}, not {said}", argument=said)
    aggregator, quiet = kind.read(typed, line.option), bool(line.get("quiet"))
    votes, exact = Votes.read(line.get("path")), bool(line.get("exact")) and not quiet
    cost = aggregator.cost(votes, delta, exact=exact, progress=line.tell)
    must_be_finite(cost.data_independent)
    published = cost.data_independent
    quiet_lines = lambda: [safe_number(published)]  # noqa: E731
    return Result(lambda: _as_json(cost), lambda: _lines(cost), quiet_lines, published)


SECRET = (
    "the data-dependent and exact epsilons and the costs of single queries are computed from the"
    " votes, so they are private too; publish the data-independent one"
)
_ONE_WAY, _BOTH = "from these votes to neighbours", "both directions"


def _as_json(cost: VotingCost) -> dict[str, Any]:
    """The JSON object, with every method and the costliest queries."""
    return {
        "queries": cost.votes.queries,
        "classes": cost.votes.classes,
        "mechanism": str(cost.aggregator),
        "level": cost.aggregator.level,
        "neighbours": cost.aggregator.neighbours,
        "delta": float(cost.delta),
        "data_independent": within(cost.data_independent),
        "data_dependent": within(cost.data_dependent),
        "exact": None if cost.exact is None else within(cost.exact),
        "private": cost.private,
        "answered": cost.answered,
        "order": cost.order,
        "methods": [
            {"name": line.name, "one_way": line.one_way, "epsilon": within(line.answer)}
            for line in cost.lines
        ],
        "costliest": cost.per_query.rows(cost.costliest(_TOP).tolist()),
        "notes": [SECRET] + ([cost.why] if cost.exact is None or cost.why else []),
    }


def _lines(cost: VotingCost) -> list[str]:
    """The answer that may be published, every method and the costliest queries."""
    votes, published, beside = cost.votes, cost.data_independent, cost.data_dependent
    screen = replace(
        of_answer(published, {"delta": cost.delta}),
        plan=f"{votes.queries:,} queries, {votes.classes:,} classes: {cost.aggregator}",
        trust=[assumption.text for assumption in published.assumptions],
    )
    rows = [
        _row("for any votes", published, "both directions, adaptive queries"),
        _row("for these votes, bound", beside, _BOTH),
        *([] if cost.exact is None else [_row("for these votes, exact", cost.exact, _BOTH)]),
        *(_row(f"  {e.name}", e.answer, _ONE_WAY if e.one_way else _BOTH) for e in cost.lines),
    ]
    lines = [*screen.lines(), "", *aligned(("cost", "epsilon", "grade", "holds"), rows)]
    if cost.exact is not None and cost.exact.lower is not None and cost.exact.upper is not None:
        low, high = rounded(cost.exact.lower, "down", 6), rounded(cost.exact.upper, "up", 6)
        lines.append(f"  the exact epsilon lies between {low} and {high}")
    if cost.aggregator.screening is not None:
        lines.append(f"  expected answers: {cost.answered:.6g} of {votes.queries}")
    trusts = [each.text for each in beside.assumptions if each not in published.assumptions]
    lines += [f"  for these votes: {text}" for text in trusts]
    lines += [f"  exact: {cost.why}"] if cost.why else []
    return [*lines, f"  PRIVATE: {SECRET}"]


def _row(what: str, answer: Answer, holds: str) -> tuple[str, ...]:
    return what, bounded(answer), grade(answer), holds
