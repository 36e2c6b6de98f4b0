"""Verification of one statement: evidence, reference values, counter-example, proofs and a search."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.errors import OutsideDomain
from dpacct.papers.oracles.oracle import oracle_of, proofs_of
from dpacct.papers.page import Statement, shown
from dpacct.papers.refute import Judged, SearchOutcome, judge, search
from dpacct.papers.registry import get, ids
from dpacct.papers.tables import cells
from dpacct.vocabulary import Side

DRAWS = 200
"""Points by default, at most; a statement whose oracle is slow has fewer."""
_LEAST = 80  # characters of a derivation or a reason that says anything


@dataclass(frozen=True)
class VerifyReport:
    """The result: `problems` are sentences; `witness` is the smallest violation that the search found."""

    statement: Statement
    result: SearchOutcome | None
    witness: Judged | None
    problems: tuple[str, ...]

    @property
    def surprising(self) -> bool:
        """Return whether something contradicts what the page says."""
        unexpected = self.witness is not None and self.statement.evidence != "refuted"
        return bool(self.problems) or unexpected

    @property
    def checked(self) -> bool:
        """Return whether anything was judged: points, stored values or proofs."""
        points = self.result.judged if self.result else 0
        stored = self.statement.values or self.statement.witness
        return bool(points or stored or proofs_of(self.statement))

    @property
    def unjudged(self) -> bool:
        """Return whether there was an oracle but no point that it could judge."""
        return self.result is not None and not self.result.judged


def values(statement: Statement) -> list[str]:
    """The errors in the stored numbers, as messages that begin with file and line."""
    wrong, judge = [], oracle_of(statement)
    for row in statement.values:
        at = f"{statement.path}:{row.line}:"
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
        wrong.append(f"{statement.path}:2: {shown(outside)} is accepted, and should lie outside")
    return wrong


def witness(statement: Statement) -> list[str]:
    """The errors in the stored counter-example, which must lie in the domain and violate the claim."""
    if statement.witness is None:
        return []
    at = f"{statement.path}:{statement.first + statement.sections['Counter-example'][0]}:"
    judge, (point, _) = oracle_of(statement), statement.witness
    if judge is None:
        return [f"{at} a counter-example, and no oracle to show it by"]
    compared = judge.compare(statement, statement.checked(point))
    if compared is not None and compared.excess(statement.side) > judge.within:
        return []
    return [f"{at} the counter-example {shown(point)} violates nothing: {compared}"]


def proven(statement: Statement) -> list[str]:
    """The machine-checked proofs of the statement that failed."""
    failed = [prover for prover in proofs_of(statement) if not prover()]
    return [f"{statement.path}: the proof {prover.__name__} fails" for prover in failed]


def examine(statement: Statement, *, draws: int | None = None, seed: int = 0) -> VerifyReport:
    """Run every check. Without `draws` a refuted statement is judged by its stored counter-example.

    Others are searched at as many points as their oracle is quick for; 0 skips the search. Raises
    `MissingExtra` for a search without Hypothesis.
    """
    problems = [*values(statement), *witness(statement), *proven(statement), *missing(statement)]
    oracle, result, smallest = oracle_of(statement), None, None
    known = oracle is not None and statement.formula is not None and statement.side is not Side.NONE
    if oracle is not None and known and draws is None and statement.witness is not None:
        point, _ = statement.witness
        smallest = judge(statement, oracle, statement.checked(point))
    elif oracle is not None and known and draws != 0:
        asked = min(oracle.draws, DRAWS) if draws is None else draws
        result = search(statement, oracle, draws=asked, seed=seed)
        smallest = result.worst if result.violated else None
    return VerifyReport(statement, result, smallest, tuple(problems))


def missing(statement: Statement) -> list[str]:
    """List what the statement's evidence and verdict still lack, as sentences."""
    evidence, verdict, other = statement.evidence, statement.verdict, statement.corrected_by
    why, formula, open_ = statement.section("Why"), statement.formula, statement.printed_ok
    ours, refuted = evidence in ("derived", "corrected"), evidence == "refuted"
    needs: list[tuple[bool, object, str]] = [
        (
            ours or refuted or evidence == "searched",
            formula and oracle_of(statement),
            "independent oracle",
        ),
        (ours, len(statement.section("Derivation")) >= _LEAST, "derivation"),
        (ours, statement.values, "reference value"),
        (evidence == "proved", proofs_of(statement), "machine-checked proof"),
        (refuted, statement.witness, "counter-example"),
        (refuted, not open_, "verdict that says so"),
        (verdict == "false", refuted, "refutation"),
        (evidence == "asymptotic", verdict == "asymptotic", "verdict that says so"),
        (not open_ or verdict == "holds-with-condition", why, "reason"),
        (formula is None, len(why) >= _LEAST, "reason why nothing is evaluated"),
        (
            other in ids(),
            other in ids() and get(str(other)).is_answer,
            "correction that may be used",
        ),
    ]
    same = other not in ids() or get(str(other)).setting == statement.setting
    needs.append((other is not None, same, f"setting that {other} shares"))
    for linked in (*statement.relies_on, *([other] if other else [])):
        needs.append((True, linked in ids(), f"statement {linked} to refer to"))
    if evidence == "reproduced":
        printed = [c for c in cells(statement.paper) if c.formula.__name__ == statement.name]
        needs.append((True, printed and formula, "number in a table of the paper"))
        for cell in printed:
            value = float(formula(**cell.arguments())) if formula else math.nan
            what = f"{cell.printed} of {cell.table}, {cell.cell}, but {value!r}"
            needs.append((True, formula and cell.matches(value), what))
    head = f"{statement.id} is {evidence}, {verdict}, and has no"
    return [f"{head} {what}" for asked, there, what in needs if asked and not there]


def close(value: float, wanted: float, within: float) -> bool:
    """Return whether two numbers agree to a relative error; infinities only with themselves."""
    if math.isinf(value) or math.isinf(wanted):
        return value == wanted
    return abs(value - wanted) <= within * abs(wanted) + 1e-300
