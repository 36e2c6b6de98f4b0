"""Verification of one statement: evidence, reference values, counter-example, proofs and a search.

The search hunts for a counter-example: draws, a climb from the worst of them, and the simplest that is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TypeAlias

from dpacct.declare.domain import Integer
from dpacct.errors import DpacctError, InvalidArgument, OutsideDomain
from dpacct.papers.oracle import Comparison, Oracle, oracle_of, proofs_of
from dpacct.papers.page import Plain, Statement
from dpacct.papers.ranges import Interval, Value
from dpacct.papers.registry import get, ids
from dpacct.papers.tables import cells
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Side

Point: TypeAlias = Mapping[str, Value]
"""Exact arguments, as the domain draws them."""
CLIMBS, _STEPS = 4, 24  # a sixth of the draws lies on the boundary, the best few are climbed from
_KEEP = 0.1  # of the excess: a marginal counter-example convinces nobody
_TRIES = 400  # points judged while shrinking, at most; most take fewer than fifty


@dataclass(frozen=True)
class Judged:
    """A point, what is claimed there, what is true, and by how much the claim is missed."""

    point: Point
    comparison: Comparison
    excess: float


@dataclass(frozen=True)
class Case:
    """One statement and its oracle."""

    statement: Statement
    oracle: Oracle

    def at(self, point: Point) -> Judged | None:
        """Judge a point; None outside the domain, or where the truth is unavailable."""
        try:
            return self.judged(point, self.statement.checked(point))
        except DpacctError:
            return None

    def judged(self, point: Point, values: Mapping[str, Plain]) -> Judged | None:
        """Judge a point whose values are known to lie in the domain."""
        try:
            comparison = self.oracle.compare(self.statement, values)
        except (DpacctError, ArithmeticError, TooFine):  # the oracle gives no answer there
            return None
        if comparison is None:
            return None
        return Judged(point, comparison, comparison.excess(self.statement.side))

    def violated(self, judged: Judged | None) -> bool:
        """Return whether the claim is violated beyond the oracle's error."""
        return judged is not None and judged.excess > self.oracle.within

    def points(self, rng: Random, draws: int) -> Iterator[Point]:
        """Points of the whole domain and of its boundary."""
        for index in range(draws):
            if self.oracle.draw is not None:
                drawn = self.oracle.draw(rng)
                yield {k: v if isinstance(v, int) else Fraction(repr(v)) for k, v in drawn.items()}
                continue
            try:
                yield self.statement.domain.draw(rng, boundary=index % 6 == 5)
            except InvalidArgument:  # no boundary there, or an empty range for that draw
                continue

    def interval(self, name: str, point: Point) -> Interval:
        """The range of one argument, with the others as they are at that point."""
        domain = self.statement.domain
        return domain.ranges[name].at(point, domain.functions)


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search: the number of points judged, and the worst of them."""

    judged: int
    worst: Judged | None
    violated: bool


def search(case: Case, *, draws: int, seed: int, climbs: int = CLIMBS) -> SearchOutcome:
    """Look for a violation; stops at the first, or when the draws and the climbs are used up.

    What it does is counted and never timed: the points depend on the seed and the id only, so a
    result is the same on every machine.
    """
    rng = Random(f"{seed}:{case.statement.id}")
    best: list[Judged] = []
    count = 0
    for point in case.points(rng, draws):
        judged = case.at(point)
        if judged is None:
            continue
        count += 1
        if case.violated(judged):
            return SearchOutcome(count, judged, True)
        best = sorted([*best, judged], key=lambda each: -each.excess)[: max(1, climbs)]
    worst = best[0] if best else None
    for start in best[:climbs]:
        top, size = start, 1.0
        for _ in range(_STEPS):
            judged = case.at(neighbour(case, top.point, rng, size))
            if judged is not None:
                count += 1
                if case.violated(judged):
                    return SearchOutcome(count, judged, True)
                if judged.excess > top.excess:
                    top = judged
                    continue
            size *= 0.8
        worst = top if worst is None or top.excess > worst.excess else worst
    return SearchOutcome(count, worst, False)


def neighbour(case: Case, point: Point, rng: Random, size: float) -> Point:
    """The point with one or two arguments moved by a factor, or a whole number by some steps."""
    moved = dict(point)
    for name in rng.sample(list(point), k=min(len(point), rng.choice((1, 1, 2)))):
        interval, value = case.interval(name, point), point[name]
        if isinstance(value, tuple):
            place = rng.randrange(len(value))
            step = _moved(value[place], interval, rng, size)
            moved[name] = (*value[:place], step, *value[place + 1 :])
        else:
            moved[name] = _moved(value, interval, rng, size)
    return moved


def _moved(value: Fraction | int, interval: Interval, rng: Random, size: float) -> Fraction | int:
    if isinstance(interval, Integer):
        way = rng.choice((-1, 1))
        return int(value) + way * max(1, round(abs(int(value)) * size / 4))
    anchor = interval.lower if isinstance(interval.lower, Fraction) else Fraction(0)
    return anchor + (value - anchor) * Fraction(repr(math.exp(rng.gauss(0.0, size))))


# --- shrinking, as Hypothesis does it


def shrink(case: Case, judged: Judged, *, tries: int = _TRIES) -> Judged:
    """The same kind of violation at numbers with fewer digits, smaller whole numbers and shorter lists."""
    floor = max(case.oracle.within, _KEEP * min(judged.excess, 1.0))
    moved = True
    while moved:
        moved = False
        for name in judged.point:
            for simpler in _simpler(case, name, judged.point):
                if tries == 0:
                    return judged
                tries -= 1
                tried = case.at({**judged.point, name: simpler})
                if tried is not None and case.violated(tried) and tried.excess >= floor:
                    judged, moved = tried, True
                    break
    return judged


def _simpler(case: Case, name: str, point: Point) -> Iterator[Value]:
    """Candidates, the simplest first, each simpler than the value itself."""
    value, interval = point[name], case.interval(name, point)
    if not isinstance(value, tuple):
        yield from _simpler_number(value, interval)
        return
    for place, part in enumerate(value):
        yield (*value[:place], *value[place + 1 :])
        for simpler in _simpler_number(part, interval):
            yield (*value[:place], simpler, *value[place + 1 :])


def _simpler_number(value: Fraction | int, interval: Interval) -> Iterator[Fraction | int]:
    if isinstance(interval, Integer):
        low = int(interval.lower) if isinstance(interval.lower, Fraction) else 0
        whole = int(value)
        tries = [low, low + 1, 1, 2, 5, 10, 100, 1000, whole // 2, whole - 1]
        yield from (number for number in dict.fromkeys(tries) if number < whole)
        return
    exact = Fraction(value)
    if exact == 0:
        return
    round_ones = [Fraction(1), Fraction(1, 2), Fraction(2), Fraction(1, 10)]
    fewer = (Fraction(f"{float(exact):.{digits}g}") for digits in range(1, 9))
    yield from (number for number in (*round_ones, *fewer) if _cost(number) < _cost(exact))


def _cost(value: Fraction) -> int:
    """Digits of the shortest decimal; 1, then powers of ten, are the simplest."""
    mantissa, _, exponent = f"{float(value):.15e}".partition("e")
    digits = mantissa.rstrip("0").rstrip(".").replace(".", "").lstrip("-")
    return 3 * len(digits) + abs(int(exponent)) + (value != 1)


# --- a statement

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
        return bool(points or self.statement.values or proofs_of(self.statement))

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
    """Run every check. `draws` None takes the default of the statement's oracle; 0 skips the search.

    A refuted statement that the search can't refute by itself is a problem only with the default draws.
    """
    problems = [*values(statement), *witness(statement), *proven(statement), *missing(statement)]
    judge = oracle_of(statement)
    if judge is None or statement.formula is None or statement.side is Side.NONE or draws == 0:
        return VerifyReport(statement, None, None, tuple(problems))
    case = Case(statement, judge)
    result = search(case, draws=judge.draws if draws is None else draws, seed=seed)
    smallest = None
    if result.violated and result.worst is not None:
        smallest = shrink(case, result.worst)
    elif statement.evidence == "refuted" and draws is None and result.judged:
        problems.append(f"{statement.id} is refuted, and the search met no violation by itself")
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


def shown(point: Mapping[str, object]) -> str:
    """A point as `name=value, ...`.

    >>> shown({"alpha": 2, "tau": "0.05", "votes": (6, 0)})
    'alpha=2, tau=0.05, votes=[6, 0]'
    """
    return ", ".join(f"{name}={_number(value)}" for name, value in point.items())


def _number(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_number, value))}]"
    return format(float(value), ".12g") if isinstance(value, float | Fraction) else str(value)
