"""Bounds on epsilon, mu and the trade-off curve from counts of right and wrong guesses.

Proofs of every formula are in docs/theory/auditing.md. A probability of error is one less confidence;
each bound is one-sided. Two worlds are independent runs with and without the unit, with false
positives among `outs` and false negatives among `ins`. In one run each of `canaries` was included by
its own fair coin, and of `guesses` of them `right` are right.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.declare.domain import DELTA, EPSILON, SHARE, Integer, Real
from dpacct.errors import InvalidArgument
from dpacct.pld.roots import first_miss, halved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.declare.number import Number
    from dpacct.plan.node import Node
    from dpacct.vocabulary import Adjacency

    Floats = NDArray[np.floating[Any]]

CONFIDENCE = Real(0, 1)
"""The probability, before the scores are seen, that a bound holds."""
COUNT = Integer(0, 10**12)
_MOST = 60.0
"""Epsilons and mus above it are all the same: every guess is right."""
_TOLERANCE = 1e-7
_ROUNDING = 1e-12
_QUANTILE = 1e-8
"""Relative: more than scipy's error in a quantile of a Beta law."""


def _error(confidence: Number) -> float:
    return float(1 - CONFIDENCE.check("confidence", confidence))


def _lost(delta: Number) -> float:
    return 0.0 if delta == 0 else float(DELTA.check("delta", delta))


def _in_order(**counts: int) -> None:
    """Check that these are whole numbers in non-decreasing order."""
    for name, count in counts.items():
        COUNT.check(name, count)
    if sorted(counts.values()) != [*counts.values()]:
        listed = ", ".join(map(str, counts.values()))
        message = f"{' <= '.join(counts)} must hold, got {listed}"
        raise InvalidArgument(message, argument=next(iter(counts)))


def largest(refuted: Callable[[float], bool]) -> float:
    """The largest number in [0, 60] that is refuted, rounded down; 0 if none is."""
    if not refuted(0.0):
        return 0.0
    low, high = first_miss(refuted, 1.0, most=_MOST) if refuted(1.0) else (0.0, 1.0)
    return low if high == math.inf else halved(refuted, low, high, _TOLERANCE)[0]


# --- two worlds


def upper_rate(events: int, trials: int, confidence: Number) -> float:
    """Clopper and Pearson 1934, one-sided: the rate at which so few events have chance 1 - confidence.

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> f"{upper_rate(0, 100, 0.95):.6f}", f"{1 - 0.05 ** (1 / 100):.6f}"
    ('0.029513', '0.029513')
    """
    error = _error(confidence)
    _in_order(events=events, trials=trials)
    if events == trials:
        return 1.0
    from scipy.special import betainccinv

    rate = float(betainccinv(events + 1, trials - events, error))
    return min(1.0, rate + _QUANTILE * rate * (1.0 - rate))


def epsilon_of_rates(false_positive: float, false_negative: float, delta: Number) -> float:
    """The least epsilon at which a test may have these rates: 1 - beta <= e^eps alpha + delta, both ways.

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> round(epsilon_of_rates(0.1, 0.1, 0), 6)  # log 9
    2.197225
    """
    lost = _lost(delta)
    alpha = float(SHARE.check("false_positive", false_positive))
    beta = float(SHARE.check("false_negative", false_negative))
    best = 0.0
    for rate, other in ((alpha, beta), (beta, alpha)):
        if other < 1.0 - lost:
            gain = math.inf if rate == 0.0 else math.log((1.0 - lost - other) / rate)
            best = max(best, gain)
    return best


def mu_of_rates(false_positive: float, false_negative: float) -> float:
    """The least mu with G_mu(alpha) <= beta (Nasr et al. 2023, Tight Auditing, section 5).

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> round(mu_of_rates(0.158655, 0.158655), 4)
    2.0
    """
    from scipy.special import ndtri

    alpha = float(SHARE.check("false_positive", false_positive))
    beta = float(SHARE.check("false_negative", false_negative))
    return 0.0 if alpha + beta >= 1.0 else float(-ndtri(alpha) - ndtri(beta))


def epsilon_of_mu(mu: float, delta: Number) -> float:
    """A lower bound of the epsilon of mu-GDP (mu >= 0) at a delta in (0, 1).

    Dong, Roth, Su 2022, Corollary 2.13. Raises `InvalidArgument`.

    >>> round(epsilon_of_mu(1.0, 1e-5), 4)
    4.3772
    """
    from dpacct.mechanisms.gaussian import Gaussian

    DELTA.check("delta", delta)
    size = float(EPSILON.check("mu", mu))
    if size < _TOLERANCE:
        return 0.0
    answer = Gaussian(sigma=1 / size).epsilon(delta=delta, method="exact")
    return max(0.0, answer.value if answer.lower is None else answer.lower)


# --- one run


def one_run_p_value(
    canaries: int, guesses: int, right: int, epsilon: Number, delta: Number
) -> float:
    """An upper bound on the probability of this many right guesses under (epsilon, delta)-DP.

    Steinke, Nasr, Jagielski, Privacy Auditing with One (1) Training Run (NeurIPS 2023), Theorem 5.2,
    with a smaller delta term: beta + m delta beta (1 - beta)/(v b), where beta = P[B >= v] and b =
    P[B = v] for a binomial B of r trials of chance e^eps/(1 + e^eps).

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> round(one_run_p_value(1000, 100, 60, 0, 0), 6), one_run_p_value(1000, 100, 60, 1, 0) > 0.99
    (0.028444, True)
    """
    lost = _lost(delta)
    _in_order(right=right, guesses=guesses, canaries=canaries)
    from scipy.special import betainc, betaln

    eps = float(EPSILON.check("epsilon", epsilon))
    if right == 0:
        return 1.0
    wrong = guesses - right
    log_chance, log_rest = -math.log1p(math.exp(-eps)), -float(np.logaddexp(0.0, eps))
    tail = float(betainc(right, wrong + 1.0, math.exp(log_chance)))
    if lost == 0.0:
        return tail
    rest = float(betainc(wrong + 1.0, right, math.exp(log_rest)))
    # v b = chance times the density of Beta(v, r - v + 1) at chance
    log_mass = right * log_chance + wrong * log_rest - float(betaln(right, wrong + 1.0))
    ratio = math.exp(min(eps, _MOST)) * wrong / (right + 1.0)
    if rest == 0.0:
        return 1.0
    if tail > 1e-290:
        slope = math.exp(math.log(tail) + math.log(rest) - log_mass)
    else:  # beta/b is at most a geometric series of the first ratio
        slope = 1.0 / (right * (1.0 - ratio)) if ratio < 1.0 else math.inf
    return min(1.0, tail + canaries * lost * slope)


def one_run_epsilon(
    canaries: int, guesses: int, right: int, delta: Number, confidence: Number
) -> float:
    """The largest epsilon that this many right guesses refute; 0 if none.

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> round(one_run_epsilon(1000, 1000, 1000, 0, 0.95), 4)  # p/(1 - p) with p^1000 = 0.05
    5.8091
    """
    error = _error(confidence)

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(canaries, guesses, right, epsilon, delta) <= error

    return largest(refuted)


@dataclass(frozen=True)
class Curve:
    """A lower bound of a trade-off function by supporting lines: f(1 - x) >= max(0, a + b x).

    >>> curve = Curve.gaussian(1)
    >>> f"{curve.at(0.5):.4f}"  # Phi(Phi^-1(0.5) - 1)
    '0.1587'
    """

    epsilons: Floats
    deltas: Floats

    @staticmethod
    def of_plan(
        plan: Node, *, adjacency: Adjacency | str | None = None, points: int = 401
    ) -> Curve:
        """The curve of a plan, from its exact privacy profile at epsilons up to where delta is 1e-14.

        Raises what `Node.profile` raises.
        """
        top = 1.0
        while top < _MOST and float(plan.profile([top], adjacency=adjacency)[0]) > 1e-14:
            top *= 1.5
        # few at a time: a long array is one that grids may answer, for which they take a minute
        epsilons = top * np.linspace(0.0, 1.0, points) ** 2
        parts = [plan.profile(part, adjacency=adjacency) for part in np.array_split(epsilons, 5)]
        return Curve(epsilons, np.concatenate(parts))

    @staticmethod
    def gaussian(mu: float) -> Curve:
        """The trade-off curve G_mu of Gaussian noise.

        Raises `InvalidArgument`.

        >>> round(Curve.gaussian(1.0).at(0.95), 4)
        0.7405
        """
        from scipy.special import ndtr

        size = max(float(EPSILON.check("mu", mu)), 1e-9)
        epsilons = size * np.linspace(0.0, 0.5 * size + 8.5, 1501)
        first, second = 0.5 * size - epsilons / size, -0.5 * size - epsilons / size
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.asarray(ndtr(first) - np.exp(np.minimum(epsilons, 700.0)) * ndtr(second))
        return Curve(epsilons, np.clip(lost, 0.0, 1.0))

    @cached_property
    def _lines(self) -> tuple[list[float], list[float], list[float]]:
        """The start, intercept and slope of each line of the upper envelope.

        Any line is a lower bound. One whose delta is larger than need be lies below its neighbours, begins
        after its end, and is left out, or it would hide those that follow.
        """
        growth = np.exp(np.minimum(self.epsilons, 700.0))
        slopes = np.concatenate((1.0 / growth[::-1], growth))
        heights = np.concatenate(((-self.deltas / growth)[::-1], 1.0 - self.deltas - growth))
        kept = np.append(True, np.diff(slopes) > 0.0)
        while True:
            slopes, heights = slopes[kept], heights[kept]
            starts = -np.diff(heights) / np.diff(slopes)
            kept = np.concatenate(([True], starts[:-1] <= starts[1:] + _ROUNDING, [True]))
            if kept.all():
                starts = np.maximum.accumulate(starts)
                return starts.tolist(), heights.tolist(), slopes.tolist()

    def at(self, x: float) -> float:
        """A lower bound of f(1 - x). Raises `InvalidArgument` for an x outside [0, 1]."""
        place = float(SHARE.check("x", x))
        starts, heights, slopes = self._lines
        line = bisect_right(starts, place)
        return max(0.0, heights[line] + slopes[line] * place)


def _refutes(curve: Curve, canaries: int, guesses: int, right: int, chance: float) -> bool:
    """Return whether no f-DP run can have this many right guesses with this probability.

    Mahloujifar, Melis, Chaudhuri, Auditing f-Differential Privacy in One Run (ICML 2025). Of the sums
    R_v = sum_{i >= v} i p_i/m and H_v = sum_{i >= v} (r - i) p_i/m over the law p of the number of right
    guesses, f-DP says H_{v-1} >= f(1 - R_v). A tail of this chance at `right` is carried down by that; if
    the total then exceeds 1, there is no such law.
    """
    starts, heights, slopes = curve._lines
    hits, misses = chance * right / canaries, chance * (guesses - right) / canaries
    whole = guesses / canaries * (1.0 + _ROUNDING)
    for count in range(right - 1, -1, -1):
        line = bisect_right(starts, hits)
        least = heights[line] + slopes[line] * hits
        if least <= misses:
            return False
        hits += count / (guesses - count) * (least - misses)
        misses = least
        if hits + misses > whole:
            return True
    return False


def one_run_f_p_value(curve: Curve, canaries: int, guesses: int, right: int) -> float:
    """An upper bound on the probability of this many right guesses under f-DP.

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> round(one_run_f_p_value(Curve.gaussian(1), 10_000, 1000, 960), 4)
    0.0906
    """
    _in_order(right=right, guesses=guesses, canaries=canaries)

    def possible(log_chance: float) -> bool:
        return not _refutes(curve, canaries, guesses, right, math.exp(log_chance))

    least = -300.0 * math.log(10.0)
    return math.exp(halved(possible, least, 0.0, 1e-8)[1] if possible(least) else least)


def one_run_mu(canaries: int, guesses: int, right: int, confidence: Number) -> float:
    """The largest mu for which mu-GDP is refuted; 0 if none.

    Raises `InvalidArgument` for counts or shares that cannot be.

    >>> f"{one_run_mu(10_000, 1000, 909, 0.95):.3f}"
    '0.707'
    """
    error = _error(confidence)
    _in_order(right=right, guesses=guesses, canaries=canaries)
    return largest(lambda mu: _refutes(Curve.gaussian(mu), canaries, guesses, right, error))
