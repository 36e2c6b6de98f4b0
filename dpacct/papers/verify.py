"""Verification of one statement: its reference values, its counter-example, and a search for another."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.errors import OutsideDomain
from dpacct.papers.oracles.oracle import oracle_of
from dpacct.papers.page import Statement, shown
from dpacct.papers.refute import Judged, judge, search
from dpacct.vocabulary import Side

DRAWS = 80
"""Points by default, at most; a statement whose oracle is slow has fewer."""


@dataclass(frozen=True)
class VerifyReport:
    """The result: `problems` are sentences; `witness` is the smallest violation that the search found.

    `judged` is the number of points that were compared; None without a search.
    """

    statement: Statement
    judged: int | None
    witness: Judged | None
    problems: tuple[str, ...]

    @property
    def surprising(self) -> bool:
        """Return whether something contradicts what the page says."""
        unexpected = self.witness is not None and self.statement.evidence != "refuted"
        return bool(self.problems) or unexpected

    @property
    def checked(self) -> bool:
        """Return whether anything was judged: points, or stored values."""
        return bool(self.judged or self.statement.values or self.statement.witness)

    @property
    def unjudged(self) -> bool:
        """Return whether there was an oracle but no point that it could judge."""
        return self.judged == 0


def values(statement: Statement) -> list[str]:
    """The errors in the stored numbers, as sentences that name the file."""
    wrong, judge = [], oracle_of(statement)
    for row in statement.values:
        at = f"{statement.path}: at {shown(row.inputs)}"
        if row.formula:
            value = statement.evaluate(row.inputs, as_printed=True)
            if not close(value, float(row.formula), row.tolerance):
                wrong.append(f"{at} the formula gives {value!r}, not {row.formula}")
        if row.truth and judge is not None:
            true, point = float(row.truth), statement.checked(row.inputs)
            compared = judge.compare(statement, point)
            room = max(row.tolerance, judge.within) * abs(true) + 1e-300
            if compared is None or not compared.lower - room <= true <= compared.upper + room:
                wrong.append(f"{at} the truth is {compared}, not {row.truth}")
    for outside in statement.refuses:
        try:
            statement.checked(outside)
        except OutsideDomain:
            continue
        wrong.append(f"{statement.path}: {shown(outside)} is accepted, and should lie outside")
    return wrong


def witness(statement: Statement) -> list[str]:
    """The errors in the stored counter-example, which must lie in the domain and violate the claim."""
    if statement.witness is None:
        return []
    judge, (point, _) = oracle_of(statement), statement.witness
    if judge is None:
        return [f"{statement.path}: a counter-example, and no oracle to show it by"]
    compared = judge.compare(statement, statement.checked(point))
    if compared is not None and compared.excess(statement.side) > judge.within:
        return []
    return [f"{statement.path}: the counter-example {shown(point)} violates nothing: {compared}"]


def examine(statement: Statement, *, draws: int | None = None, seed: int = 0) -> VerifyReport:
    """Run every check. Without `draws` a refuted statement is judged by its stored counter-example.

    Others are searched at as many points as their oracle is quick for; 0 skips the search. Raises
    `MissingExtra` for a search without Hypothesis.
    """
    problems = (*values(statement), *witness(statement))
    oracle, judged, smallest = oracle_of(statement), None, None
    if oracle is not None and statement.formula is not None and statement.side is not Side.NONE:
        if draws is None and statement.witness is not None:
            smallest = judge(statement, oracle, statement.checked(statement.witness[0]))
        elif draws != 0:
            asked = min(oracle.draws, DRAWS) if draws is None else draws
            judged, smallest = search(statement, oracle, draws=asked, seed=seed)
    return VerifyReport(statement, judged, smallest, problems)


def close(value: float, wanted: float, within: float) -> bool:
    """Return whether two numbers agree to a relative error; infinities only with themselves."""
    if math.isinf(value) or math.isinf(wanted):
        return value == wanted
    return abs(value - wanted) <= within * abs(wanted) + 1e-300
