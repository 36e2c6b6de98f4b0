"""Search for a counter-example of one statement: Hypothesis draws over its hypotheses, and shrinks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from dpacct.declare.domain import Integer
from dpacct.errors import DpacctError, MissingExtra
from dpacct.papers.oracles.oracle import Comparison, Oracle
from dpacct.papers.page import Plain, Statement
from dpacct.papers.ranges import Interval, Range, Value
from dpacct.pld.stable import TooFine

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Point: TypeAlias = Mapping[str, Value]
"""Exact arguments, as the hypotheses have them."""
_LONGEST = 7  # of a list that is drawn


@dataclass(frozen=True)
class Judged:
    """A point, what is claimed there, what is true, and by how much the claim is missed."""

    point: Mapping[str, Plain]
    comparison: Comparison
    excess: float


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search: the number of points judged, the worst of them, and whether it violates."""

    judged: int
    worst: Judged | None
    violated: bool


def judge(statement: Statement, oracle: Oracle, values: Mapping[str, Plain]) -> Judged | None:
    """Compare claim and truth at arguments within the hypotheses; None where the truth is not known."""
    try:
        comparison = oracle.compare(statement, values)
    except (DpacctError, ArithmeticError, TooFine):  # the oracle gives no answer there
        return None
    if comparison is None:
        return None
    return Judged(values, comparison, comparison.excess(statement.side))


def search(statement: Statement, oracle: Oracle, *, draws: int, seed: int) -> SearchOutcome:
    """Look for a violation beyond the oracle's error; the same seed tries the same points.

    A violation that is found comes back at the simplest point that Hypothesis can shrink it to. Raises
    `MissingExtra` without Hypothesis.
    """
    try:
        from hypothesis import HealthCheck, Phase, find, settings
        from hypothesis.errors import NoSuchExample, Unsatisfiable
    except ImportError:
        message = "hypothesis is not installed: pip install '.[verify]' in dpacct's checkout"
        raise MissingExtra(message) from None
    judged: dict[tuple[tuple[str, Plain], ...], float] = {}
    worst: list[Judged] = []

    def violates(values: dict[str, Plain]) -> bool:
        found = judge(statement, oracle, values)
        if found is None:
            return False
        judged[tuple(sorted(values.items()))] = found.excess
        if not worst or found.excess > worst[0].excess:
            worst[:] = [found]
        return found.excess > oracle.within

    how = settings(
        max_examples=draws,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    random = Random(f"{seed}:{statement.id}")
    try:
        smallest = find(points(statement), violates, settings=how, random=random)
    except (NoSuchExample, Unsatisfiable):
        return SearchOutcome(len(judged), worst[0] if worst else None, False)
    return SearchOutcome(len(judged), judge(statement, oracle, smallest), True)


def points(statement: Statement) -> SearchStrategy[dict[str, Plain]]:
    """Arguments within the hypotheses of a statement, ends of closed ranges among them."""
    from hypothesis import reject
    from hypothesis import strategies as st

    domain = statement.domain

    @st.composite
    def drawn(draw: DrawFn) -> dict[str, Plain]:
        values: dict[str, Any] = {}
        try:
            for name in domain.order:
                each = domain.ranges[name]
                values[name] = draw(_value(each, each.at(values, domain.functions)))
            return statement.checked(values)
        except (DpacctError, ArithmeticError, ValueError):  # no point of the hypotheses
            reject()

    return drawn()


def _value(each: Range, interval: Interval) -> SearchStrategy[Any]:
    """Numbers of a range, or lists of them."""
    from hypothesis import strategies as st

    number = _whole(interval) if isinstance(interval, Integer) else _real(interval)
    if each.many is None:
        return number
    least, most = each.many
    return st.lists(number, min_size=least, max_size=min(most, max(least, _LONGEST))).map(tuple)


def window(domain: Interval) -> tuple[Fraction, Fraction]:
    """Finite ends to draw between: the typical ones, else the domain's own, else a million away."""
    if domain.typical:
        return Fraction(str(domain.typical[0])), Fraction(str(domain.typical[1]))
    low = domain.lower if isinstance(domain.lower, Fraction) else None
    high = domain.upper if isinstance(domain.upper, Fraction) else None
    if low is None:
        low = (high or Fraction(0)) - 10**6
    return low, high if high is not None else low + 10**6


def _window(interval: Interval) -> tuple[Fraction, Fraction]:
    """The ends that are drawn between; an empty range has no point."""
    low, high = window(interval)
    if low > high:
        raise ValueError(f"the range {interval} is empty")
    return low, high


def _whole(interval: Interval) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    least, most = _window(interval)
    low, high = math.ceil(least), math.floor(most)
    # by size, and by order of magnitude
    magnitudes = st.floats(0.0, math.log1p(high - low)).map(lambda x: low + int(math.expm1(x)))
    return st.integers(low, high) | magnitudes


def _real(interval: Interval) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    low, high = map(float, _window(interval))
    ways = [st.floats(low, high)]
    if high > 0.0:
        small = max(low, 1e-9 * high)
        ways.append(st.floats(math.log(small), math.log(high)).map(math.exp))
    if math.isfinite(high) and math.isfinite(low):  # close to either end
        near = st.floats(-20.0, 0.0).map(math.exp)
        ways += [
            near.map(lambda x: low + (high - low) * x),
            near.map(lambda x: high - (high - low) * x),
        ]
    ends = [end for end in (interval.lower, interval.upper) if isinstance(end, Fraction)]
    if ends:
        ways.append(st.sampled_from(ends))
    return st.one_of(ways)
