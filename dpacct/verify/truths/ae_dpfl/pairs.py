"""Lemmas 8, 9 and 13: the worst pairs of two-point laws that the hypotheses admit."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpacct.verify.truth import truth
from dpacct.verify.truths import conversions

_HALVE = 200


def _log_moment(alpha: float, log_p: float, log_q: float) -> float:
    """log(p^alpha q^(1-alpha) + (1-p)^alpha (1-q)^(1-alpha))."""
    other_p, other_q = math.log(-math.expm1(log_p)), math.log(-math.expm1(log_q))
    first = alpha * log_p + (1.0 - alpha) * log_q
    second = alpha * other_p + (1.0 - alpha) * other_q
    high = max(first, second)
    return high + math.log1p(math.exp(-abs(first - second)))


def divergence(alpha: float, p: float, q: float) -> float:
    """Renyi divergence of (p, 1-p) from (q, 1-q), from logarithms of both parts."""
    return max(0.0, _log_moment(alpha, math.log(p), math.log(q)) / (alpha - 1.0))


def _reach(start: float, end: float, admitted: Callable[[float], bool]) -> float:
    """The point between `start`, which is admitted, and `end` at which that stops; by halving odds."""
    inside, outside = math.log(start / (1.0 - start)), end
    for _ in range(_HALVE):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if admitted(1.0 / (1.0 + math.exp(-middle))):
            inside = middle
        else:
            outside = middle
    return 1.0 / (1.0 + math.exp(-inside))


def _partners(p: float, alpha: float, rho: float) -> list[float]:
    """The lowest and the highest q for which (p, 1-p) and (q, 1-q) are within rho both ways."""

    def near(q: float) -> bool:
        both = (0.0 < q < 1.0) and max(divergence(alpha, p, q), divergence(alpha, q, p)) <= rho
        return both or q == p

    return [_reach(p, -36.0, near), _reach(p, 36.0, near)]


@truth("ae_dpfl.lemma8_1", "ae_dpfl.lemma8_1_lower", "ae_dpfl.lemma8_1_corrected", draws=300)
def most_likely(q: float, alpha: float, rho: float) -> tuple[float, float]:
    """The events of two-point mechanisms at that divergence, both ways: the least and most likely."""
    least, most = _partners(q, alpha, rho) if rho > 0.0 else (q, q)
    return most * (1.0 - 1e-10), least * (1.0 + 1e-10)  # some mechanism attains each end


@truth("ae_dpfl.lemma8_3", draws=300)
def both_answers(alpha: float, first: float, second: float) -> float:
    """The divergence of two independent coins, summed over their four outcomes, 40 digits."""
    from mpmath import exp, fsum, log, mp, mpf

    with mp.workdps(40):
        a, laws = mpf(alpha), []
        for epsilon in (first, second):
            p = 1 / (1 + exp(-mpf(epsilon)))
            laws.append(((p, 1 - p), (1 - p, p)))
        one, two = laws
        terms = [(x * y) ** a * (u * v) ** (1 - a) for x, u in one for y, v in two]
        return float(log(fsum(terms)) / (a - 1))


@truth("ae_dpfl.lemma9", draws=300)
def converted(alpha: float, rho: float, delta: float) -> tuple[float, float]:
    """As for the conversion it quotes: the best of many two-point pairs."""
    return conversions.worst_epsilon(alpha, rho, delta)


def _at_least(value: float, alpha: float) -> tuple[float, float]:
    """What two-point laws attain, less the rounding of a logarithm over alpha - 1."""
    return value * (1.0 - 1e-9) - 1e-13 * alpha / (alpha - 1.0), math.inf


@truth("ae_dpfl.lemma13", draws=300)
def outcome_under_first(q: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """P = (1-q, q) and the two Q that are farthest from it, within eps at order 2 alpha both ways."""
    others = _partners(q, 2.0 * alpha, epsilon)
    return _at_least(max(divergence(alpha, q, other) for other in others), alpha)


@truth("ae_dpfl.lemma13_proof", "ae_dpfl.lemma13_corrected_event", draws=300)
def outcome_under_second(q: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """Q = (1-q, q) and the two P that are farthest from it, within eps at order 2 alpha both ways."""
    others = _partners(q, 2.0 * alpha, epsilon)
    return _at_least(max(divergence(alpha, other, q) for other in others), alpha)


@truth("ae_dpfl.lemma13_corrected", draws=300)
def outcome_under_both(q: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """One law is (1-q, q), the other misses with less: farthest within eps at order 2 alpha."""
    least = _partners(q, 2.0 * alpha, epsilon)[0]
    return _at_least(max(divergence(alpha, least, q), divergence(alpha, q, least)), alpha)


@truth("papernot2018.theorem6", draws=300)
def likely_outcome(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> tuple[float, float]:
    """P = (1-q, q) and the farthest Q that both Renyi bounds admit, both ways."""
    near = [_partners(q, mu1, epsilon1), _partners(q, mu2, epsilon2)]
    low, high = max(near[0][0], near[1][0]), min(near[0][1], near[1][1])
    return _at_least(max(divergence(order, q, low), divergence(order, q, high)), order)


@truth("ae_dpfl.log_inequality", "ae_dpfl.log_inequality_corrected", draws=300)
def logarithm(x: float) -> float:
    """-log(1 - x), 30 digits."""
    from mpmath import log1p, mp, mpf

    with mp.workdps(30):
        return float(-log1p(-mpf(x)))
