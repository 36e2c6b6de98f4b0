"""Voting (PATE): data-dependent and data-independent cost, and the exact one."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import bounded, grade, safe_number
from dpacct.cli.command import QUIET, CommandLine, argument, command, group, option, switch, words
from dpacct.cli.output import Result, must_be_finite, within
from dpacct.cli.screens import of_answer
from dpacct.cli.target import MEANS
from dpacct.declare.domain import DELTA, Integer, Word
from dpacct.declare.number import rounded
from dpacct.declare.record import Usage
from dpacct.declare.words import COUNT
from dpacct.display import aligned
from dpacct.errors import InvalidArgument
from dpacct.voting.aggregator import Aggregator, GNMax, LNMax

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.voting.cost import VotingCost
    from dpacct.voting.votes import Votes


@command(
    "pate",
    group(
        "Noise",
        argument("votes", "VOTES"),
        option(
            "--mechanism NAME",
            "the noise on each count: gaussian (GNMax) or laplace (LNMax)",
            Word("gaussian", "laplace"),
            default="gaussian",
        ),
    ),
    words("Noise", GNMax.sigma, LNMax.b),
    words("Screening", GNMax.threshold, GNMax.threshold_sigma),
    group(
        "Screening",
        option(
            "--interactive FILE",
            "interactive GNMax: the votes that the student expects for each class, in the format of"
            " VOTES; the threshold applies to the largest excess over them",
        ),
    ),
    words("What is protected", Aggregator.level, Aggregator.neighbours),
    group(
        "Target",
        option("--delta D", MEANS["delta"], DELTA),
        option("--queries N", "use only the first N queries", COUNT),
    ),
    group(
        "Output",
        option("--per-query FILE", "write the cost of each query as CSV; - for standard output"),
        option("--top N", "show the N costliest queries", Integer(0, 10**9), default=5),
        switch(
            "--exact/--no-exact", "also compute the exact cost of the released labels", default=True
        ),
        switch("-q --quiet", QUIET),
    ),
    examples=(
        "pate votes.csv --sigma 40 --delta 1e-5",
        "pate votes.csv --sigma 40 --delta 1e-5 --level agent --per-query costs.csv",
        "pate votes.csv --sigma 40 --threshold 60 --threshold-sigma 30 --delta 1e-5 --json",
        "pate votes.csv --mechanism laplace --b 20 --delta 1e-5 --top 3",
    ),
)
def main(
    line: CommandLine,
    votes: str,
    *,
    mechanism: str,
    interactive: str | None,
    delta: Fraction | None,
    queries: int | None,
    per_query: str | None,
    top: int,
    exact: bool,
    quiet: bool,
) -> Result:
    """Account for labels released by a vote: PATE, PATE-FL, Private-kNN-FL.

    VOTES is a table of counts, one row a query and one column a class: text with commas, or NumPy's
    .npy. The data-independent epsilon holds for any votes. The data-dependent one and the
    exact one are computed from the votes and so are themselves private: they are for you, and the
    data-independent one, which --quiet prints, is what may be published.
    """
    if delta is None:
        raise Usage(f"--delta must be given: {MEANS['delta']}", argument="--delta")
    aggregator = _aggregator(line, mechanism)
    if interactive is not None and "threshold" not in line.typed:
        raise Usage("--interactive needs --threshold too", argument="--threshold")
    table, baseline = _read(votes, interactive, queries)
    cost = aggregator.cost(
        table, delta, baseline=baseline, exact=exact and not quiet, progress=line.tell
    )
    must_be_finite(cost.data_independent)
    to_stdout = per_query == "-"
    if per_query is not None:
        try:
            cost.per_query.write_csv(sys.stdout if to_stdout else per_query)
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", None) or str(error)).lower()
            message = f"cannot write {per_query[:80]!r}: {why}"
            raise Usage(message, argument="--per-query") from None
    if to_stdout:
        return Result(lambda: None, list, list, notes=[f"note: {SECRET}."])
    return Result(
        lambda: _as_json(cost, top),
        lambda: _lines_of(cost, top),
        lambda: [safe_number(cost.data_independent)],
        cost.data_independent,
    )


def _aggregator(line: CommandLine, mechanism: str) -> Aggregator:
    kind = GNMax if mechanism == "gaussian" else LNMax
    noise, other = ("sigma", "b") if kind is GNMax else ("b", "sigma")
    for name in (other, "threshold"):
        if name in line.typed and name not in kind.parameters:
            said = line.option(name)
            message = f"--mechanism {mechanism} takes --{noise}, not {said}"
            raise Usage(message, argument=said)
    return kind.read(line.typed, line.option)


def _read(path: str, interactive: str | None, queries: int | None) -> tuple[Votes, Any]:
    """The votes and the student's expectations."""
    from dpacct.voting.votes import Votes, read_rows

    votes, baseline = Votes.read(path), None
    if interactive is not None:
        baseline = read_rows(interactive, "--interactive", whole=False)
        if baseline.shape != votes.counts.shape:
            shape, size = (" x ".join(map(str, t.shape)) for t in (baseline, votes.counts))
            message = f"--interactive must hold as many rows and columns as VOTES, {size}"
            raise InvalidArgument(f"{message}, got {shape}.", argument="--interactive")
    if queries is not None:
        if queries > votes.queries:
            message = f"--queries must be at most {votes.queries}, the rows of VOTES"
            raise InvalidArgument(f"{message}, got {queries}", argument="--queries")
        votes = Votes(votes.counts[:queries])
        baseline = None if baseline is None else baseline[:queries]
    return votes, baseline


SECRET = (
    "the data-dependent and exact epsilons and the costs of single queries are computed from the"
    " votes, so they are private too; publish the data-independent one"
)
_ONE_WAY = "from these votes to neighbours"
_BOTH = "both directions"


def _about(aggregator: Aggregator, votes: Votes, delta: Fraction) -> dict[str, Any]:
    return {
        "queries": votes.queries,
        "classes": votes.classes,
        "mechanism": str(aggregator),
        "level": aggregator.level,
        "neighbours": aggregator.neighbours,
        "delta": float(delta),
    }


def _as_json(cost: VotingCost, top: int) -> dict[str, Any]:
    """The JSON object, with every method and the costliest queries."""
    body = _about(cost.aggregator, cost.votes, cost.delta)
    body |= {
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
        "costliest": cost.per_query.rows(cost.costliest(top).tolist()),
    }
    notes = [SECRET] + ([cost.why] if cost.exact is None or cost.why else [])
    return body | {"notes": notes}


def _lines_of(cost: VotingCost, top: int) -> list[str]:
    """The lines with the answers, every method and the costliest queries."""
    votes = cost.votes
    lines = _first(cost.data_independent, cost.delta, cost.aggregator, votes)
    rows = [
        ("for any votes", *_cells(cost.data_independent), "both directions, adaptive queries"),
        ("for these votes, bound", *_cells(cost.data_dependent), _BOTH),
    ]
    if cost.exact is not None:
        rows.append(("for these votes, exact", *_cells(cost.exact), _BOTH))
    rows += [
        (f"  {line.name}", *_cells(line.answer), _ONE_WAY if line.one_way else _BOTH)
        for line in cost.lines
    ]
    lines += aligned(("cost", "epsilon", "grade", "holds"), rows)
    if cost.exact is not None and cost.exact.lower is not None and cost.exact.upper is not None:
        low, high = rounded(cost.exact.lower, "down", 6), rounded(cost.exact.upper, "up", 6)
        lines.append(f"  the exact epsilon lies between {low} and {high}")
    if cost.aggregator.screening is not None:
        lines.append(f"  expected answers: {cost.answered:.6g} of {votes.queries}")
    if top:
        lines += ["", *_costliest(cost, top)]
    lines += _trusts(cost.data_dependent, cost.data_independent)
    if cost.why:
        lines.append(f"  exact: {cost.why}")
    return [*lines, f"  PRIVATE: {SECRET}"]


def _first(answer: Answer, delta: Fraction, aggregator: Aggregator, votes: Votes) -> list[str]:
    """The first screen: the epsilon that may be published, its plan and its assumptions."""
    screen = replace(
        of_answer(answer, {"delta": delta}),
        plan=f"{votes.queries:,} queries, {votes.classes:,} classes: {aggregator}",
        trust=[assumption.text for assumption in answer.assumptions],
    )
    return [*screen.lines(), ""]


def _trusts(of_votes: Answer, beside: Answer) -> list[str]:
    """The further assumptions of a number computed from the votes."""
    more = [each.text for each in of_votes.assumptions if each not in beside.assumptions]
    return [f"  for these votes: {text}" for text in more]


def _cells(answer: Answer) -> tuple[str, str]:
    return bounded(answer), grade(answer)


def _costliest(cost: VotingCost, top: int) -> list[str]:
    rows = [
        (
            str(row["query"]),
            str(row["label"]),
            f"{row['votes']:.6g}",
            f"{row['margin']:.6g}",
            f"{row['wrong_at_most']:.3g}",
            f"{row['cost']:.6g}",
            f"{100.0 * float(row['share'] or 0.0):.3g} %",
            "" if row["exact"] is None else f"{row['exact']:.6g}",
        )
        for row in cost.per_query.rows(cost.costliest(top).tolist())
    ]
    header = ("query", "label", "votes", "margin", "wrong at most", "cost", "share", "exact")
    return [
        f"costliest queries, by Renyi divergence of order {cost.order:.4g}",
        *aligned(header, rows),
    ]
