"""Search for a counter-example of one statement: Hypothesis draws over its hypotheses, and shrinks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

from dpacct.errors import DpacctError, MissingExtra
from dpacct.papers.oracles.oracle import Comparison, Oracle
from dpacct.papers.page import Plain, Statement
from dpacct.papers.ranges import Interval, Range
from dpacct.pld.stable import TooFine

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_LONGEST = 7  # of a list that is drawn


@dataclass(frozen=True)
class Judged:
    """A point, what is claimed and true there, and by how much the claim is missed."""

    point: Mapping[str, Plain]
    comparison: Comparison
    excess: float


def judge(statement: Statement, oracle: Oracle, values: Mapping[str, Plain]) -> Judged | None:
    """Compare claim and truth at arguments within the hypotheses; None where the truth is not known."""
    try:
        comparison = oracle.compare(statement, values)
    except (DpacctError, ArithmeticError, TooFine):  # the oracle gives no answer there
        return None
    if comparison is None:
        return None
    return Judged(values, comparison, comparison.excess(statement.side))


def search(
    statement: Statement, oracle: Oracle, *, draws: int, seed: int
) -> tuple[int, Judged | None]:
    """The number of points judged, and the simplest at which the claim is missed; None if there is none.

    More than the oracle's error must be missing. The same seed tries the same points. Raises
    `MissingExtra` without Hypothesis.
    """
    try:
        from hypothesis import HealthCheck, Phase, find, settings
        from hypothesis.errors import NoSuchExample, Unsatisfiable
    except ImportError:
        message = "hypothesis is not installed: pip install '.[verify]' in dpacct's checkout"
        raise MissingExtra(message) from None
    judged: set[str] = set()

    def violates(values: dict[str, Plain]) -> bool:
        result = judge(statement, oracle, values)
        if result is not None:
            judged.add(str(values))
        return result is not None and result.excess > oracle.within

    how = settings(
        max_examples=draws,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    random = Random(f"{seed}:{statement.id}")
    try:
        smallest = find(points(statement), violates, settings=how, random=random)
    except (NoSuchExample, Unsatisfiable):
        return len(judged), None
    return len(judged), judge(statement, oracle, smallest)


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
                number = _number(each, each.at(values, domain.functions))
                if each.many is not None:
                    least, most = each.many
                    most = min(most, max(least, _LONGEST))
                    number = st.lists(number, min_size=least, max_size=most).map(tuple)
                values[name] = draw(number)
            return statement.checked(values)
        except (DpacctError, ArithmeticError, ValueError):  # no point of the hypotheses
            reject()

    return drawn()


def window(domain: Interval) -> tuple[Fraction, Fraction]:
    """Finite ends to draw between: the typical ones, else the domain's own, else a million away."""
    if domain.typical:
        return Fraction(str(domain.typical[0])), Fraction(str(domain.typical[1]))
    low = domain.lower if isinstance(domain.lower, Fraction) else None
    high = domain.upper if isinstance(domain.upper, Fraction) else None
    if low is None:
        low = (high or Fraction(0)) - 10**6
    return low, high if high is not None else low + 10**6


def _number(each: Range, interval: Interval) -> SearchStrategy[Any]:
    """Numbers of a range: evenly, by order of magnitude, next to either end, and the ends themselves.

    Raises `ValueError` for an empty range.
    """
    from hypothesis import strategies as st

    least, most = window(interval)
    if least > most:
        raise ValueError(f"the range {interval} is empty")
    if each.whole:
        low, high = math.ceil(least), math.floor(most)
        magnitudes = st.floats(0.0, math.log1p(high - low)).map(lambda x: low + int(math.expm1(x)))
        return st.integers(low, high) | magnitudes
    start, end = float(least), float(most)
    near = st.floats(-20.0, 0.0).map(math.exp)
    ways: list[SearchStrategy[Any]] = [
        st.floats(start, end),
        near.map(lambda x: start + (end - start) * x),
        near.map(lambda x: end - (end - start) * x),
    ]
    if end > 0.0:
        ways.append(st.floats(math.log(max(start, 1e-9 * end)), math.log(end)).map(math.exp))
    closed = [end for end in (interval.lower, interval.upper) if isinstance(end, Fraction)]
    return st.one_of(ways + ([st.sampled_from(closed)] if closed else []))
