"""Compute each refuted statement's value beside the truth, along one of its arguments.

The sweep goes through the stored counter-example. The judge of the statement (dpacct/papers) tells the
truth, as an interval where no more is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpacct.errors import DpacctError
from dpacct.papers.oracles.oracle import Comparison, Oracle, oracle_of
from dpacct.papers.page import Plain, Statement
from dpacct.papers.registry import statements

POINTS = 25
SPAN = 12.0  # how many times smaller and larger than at the witness
FEWEST = 8  # points at which something can be said, for a picture
FLAT = 0.05  # a line that moves by less, relative to its largest value, shows nothing
CHOSEN = {
    # the rest are chosen by how much they show; these by what the statement is about
    "ae_dpfl.theorem14": ("alpha",),
    "dp_fedsam.theorem2": ("rounds",),
    "dp_fedsam.theorem2_algorithm1": ("rounds",),
    "federated_fdp.theorem2_gdp": ("epsilon",),
    "udp_fl.variance_gap_gaussian": ("gamma",),
}
LEFT_OUT = (
    # the numbers are those of the statement before
    *("udp_fl.theorem2", "federated_fdp.theorem1_strong", "ae_dpfl.lemma13_proof"),
    # both lines look like one, or the violation is as thin as a line
    *("dp_fedsam.lemma5_sign", "dp_fedsam.theorem5", "dp_fed_ls.theorem2_proof"),
)
"""Refuted statements whose pictures would show nothing more."""
Values = Mapping[str, float | int]


@dataclass(frozen=True)
class Seen:
    """One point of a sweep."""

    x: float
    comparison: Comparison


@dataclass(frozen=True)
class Sweep:
    """A statement along one argument; `at` is where the stored point has it."""

    statement: Statement
    argument: str
    at: float
    seen: tuple[Seen, ...]

    @property
    def violated(self) -> tuple[bool, ...]:
        """Return whether the claim is violated, by point."""
        within = must_judge(self.statement).within
        return tuple(point.comparison.excess(self.statement.side) > within for point in self.seen)


def must_judge(statement: Statement) -> Oracle:
    """The oracle of a statement that has one."""
    judge = oracle_of(statement)
    assert judge is not None
    return judge


def stored(statement: Statement) -> Values | None:
    """The counter-example; the numbers of a list by name, as `votes[0]`."""
    if statement.witness is None:
        return None
    point: dict[str, float | int] = {}
    for name, value in statement.checked(statement.witness[0]).items():
        if isinstance(value, tuple):
            point |= {f"{name}[{place}]": part for place, part in enumerate(value)}
        else:
            point[name] = value
    return point


def folded(values: Values) -> dict[str, Plain]:
    """The same with each list as one."""
    point: dict[str, Plain] = {}
    for name, value in values.items():
        whole, bracket, _ = name.partition("[")
        if bracket:
            parts = point.get(whole, ())
            assert isinstance(parts, tuple)
            point[whole] = (*parts, value)
        else:
            point[name] = value
    return point


def compared(statement: Statement, values: Values) -> Comparison | None:
    """Claim and truth, or None outside the domain and where none can be made."""
    try:
        point = statement.checked(folded(values))
        comparison = must_judge(statement).compare(statement, point)
    except (DpacctError, ArithmeticError, ValueError):
        return None
    if (
        comparison is None
        or not math.isfinite(comparison.claimed)
        or not math.isfinite(comparison.lower)
    ):
        return None
    return comparison


def along(statement: Statement, argument: str, base: Values) -> tuple[Seen, ...]:
    """The statement at values of one argument, the others as they are stored."""
    results = []
    for x in values_of(statement, argument, base[argument]):
        comparison = compared(statement, {**base, argument: x})
        if comparison is not None:
            results.append(Seen(float(x), comparison))
    return tuple(results)


def values_of(statement: Statement, argument: str, at: float) -> list[float] | list[int]:
    """Return arguments from a twelfth of the stored value to twelve times it, or across a finite domain."""
    domain = statement.domain.ranges[argument.partition("[")[0]]
    low_end, high_end = (
        math.nan if end in domain.dependent else float(Fraction(end) if "/" in end else end)
        for end in domain.ends
    )
    ends = np.fmax(low_end, -math.inf), np.fmin(high_end, math.inf)  # nan: depends on the others
    if domain.whole:
        low, high = max(at / SPAN, ends[0], 1), min(max(at * SPAN, at + SPAN), ends[1])
        return sorted({round(x) for x in np.geomspace(low, high, POINTS)} | {int(at)})
    if all(map(math.isfinite, ends)) and ends[1] - ends[0] <= 2:
        if ends[0] == 0 and at < 0.03:  # a small probability
            return [float(x) for x in at * np.geomspace(1 / SPAN, SPAN, POINTS)]
        inner = np.linspace(*ends, POINTS + 2)
        return sorted({*(float(x) for x in inner[1:-1]), at})
    if at <= 0:
        return []
    spread = at * np.geomspace(1 / SPAN, SPAN, POINTS)
    if ends[0] == 1 and at > 1:  # orders: what counts is how far above 1
        spread = 1 + (at - 1) * np.geomspace(1 / SPAN, SPAN, POINTS)
    return [float(x) for x in spread]


def telling(sweep: Sweep) -> tuple[float, ...]:
    """Rank a sweep by what it shows: a change of side first, then the change of the ratio."""
    excess = [point.comparison.excess(sweep.statement.side) for point in sweep.seen]
    # the logarithm of the ratio of claim and truth, where there is one
    finite = [math.copysign(math.log1p(-abs(e)), -e) for e in excess if abs(e) < 1]
    spread = max(finite) - min(finite) if finite else 0.0
    changes = any(sweep.violated) and not all(sweep.violated)
    return (len(sweep.seen) >= POINTS // 2, changes, min(spread, 20.0), len(sweep.seen))


def best(statement: Statement) -> Sweep | None:
    """The sweep that shows most, or None where there is nothing to see."""
    base = stored(statement)
    if statement.formula is None or oracle_of(statement) is None or base is None:
        return None
    tried = [
        Sweep(statement, argument, float(at), along(statement, argument, base))
        for argument, at in base.items()
        if argument in CHOSEN.get(statement.id, base)
    ]
    fit = [sweep for sweep in tried if len(sweep.seen) >= FEWEST and moves(sweep)]
    return max(fit, key=telling, default=None)


def moves(sweep: Sweep) -> bool:
    """Return whether the claim or the truth changes visibly."""
    lines = ([getattr(p.comparison, end) for p in sweep.seen] for end in ("claimed", "lower"))
    return any(max(line) - min(line) > FLAT * max(map(abs, line)) for line in lines)


def sweeps() -> Iterator[Sweep]:
    """One for every refuted statement that has something to show."""
    for statement in statements():
        if statement.evidence == "refuted" and statement.id not in LEFT_OUT:
            result = best(statement)
            if result is not None:
                yield result
