"""The smallest mu for which a Gaussian trade-off function lies below a given one.

G_mu <= f everywhere means delta_f(eps) <= delta_mu(eps) at every eps >= 0 (Dong, Roth, Su 2022, Corollary
2.13). In t = e^eps both are convex; between two points f's lies below its chord, and delta_mu less a line of
slope m is least where its own slope -Phi(-mu/2 - eps/mu) is m, in closed form. So finitely many points decide
it for all eps between them. Beyond the last point delta_f must be 0, or at most `slack`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, ndtri

from dpacct.answer import Answer
from dpacct.citations import GDP
from dpacct.declare.domain import Real
from dpacct.declare.number import Number
from dpacct.errors import Unsupported
from dpacct.pld.roots import first_miss, halved
from dpacct.vocabulary import Side, Strength

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.plan.tradeoff import Forms

    Floats = NDArray[np.floating[Any]]

SLACK = Real(0, 1, "left")


def _delta(mu: float, epsilons: Floats) -> Floats:
    """delta of G_mu, from below (it is compared with what lies above)."""
    first, second = 0.5 * mu - epsilons / mu, -0.5 * mu - epsilons / mu
    high, low = np.exp(log_ndtr(first)), np.exp(epsilons + log_ndtr(second))
    value: Floats = np.maximum(high - low, 0.0) - 4e-16 * (high + low)
    return value


def _misses(mu: float, epsilons: Floats, deltas: Floats) -> NDArray[np.bool_]:
    """Return for each interval whether delta_mu is below these deltas, or the chord between them."""
    short = _delta(mu, epsilons) < deltas
    growth = np.exp(epsilons)
    rise = np.diff(growth)  # 0 where two epsilons are one to rounding: no chord, only its ends
    slope = np.divide(np.diff(deltas), rise, out=np.zeros(rise.size), where=rise > 0.0)
    with np.errstate(invalid="ignore"):
        # where delta_mu falls as fast as the chord
        touch = -mu * (ndtri(np.clip(-slope, 0.0, 1.0)) + 0.5 * mu)
    inside = (touch > epsilons[:-1]) & (touch < epsilons[1:])
    at = np.where(inside, touch, epsilons[:-1])
    chord = deltas[:-1] + slope * (np.exp(at) - growth[:-1])
    return np.asarray((inside & (_delta(mu, at) < chord)) | short[1:] | short[:-1])


def _least(epsilons: Floats, deltas: Floats) -> float:
    """The least mu, to 1e-7, that misses no interval."""
    # a mu at which nothing is learnt, or hardly anything
    least = 1e-9

    def misses(mu: float) -> bool:
        return bool(_misses(mu, epsilons, deltas).any())

    if not misses(least):
        return least
    low, high = first_miss(misses, 1.0, most=1e6) if misses(1.0) else (least, 1.0)
    if high == math.inf:
        message = "no mu-GDP holds for a mechanism that fails openly; give a slack that covers it"
        raise Unsupported(message, argument="slack")
    return halved(misses, low, high, 1e-7)[1]


def _last(forms: Forms, slack: float) -> float:
    """An epsilon beyond which delta is at most the slack; not far beyond, so that a grid lies well."""
    if slack == 0.0:
        if forms.largest < 690.0:
            return max(forms.largest, 1e-9)
        message = "mu-GDP of unbounded losses (or losses beyond 690) needs a slack, by which delta"
        message += " may exceed that of G_mu, such as slack=1e-12"
        raise Unsupported(message, argument="slack")

    def over(epsilon: float) -> bool:
        return float(forms.profile(np.array([epsilon]))[0]) > slack

    low, high = first_miss(over, 0.5, 1.5, 690.0) if over(0.5) else (0.0, 0.5)
    if high == math.inf:
        message = "slack must be above delta at epsilon = 690, where a grid of doubles ends, got "
        raise Unsupported(f"{message}{slack:g}", argument="slack")
    return halved(over, low, high, 0.02)[1]


def gdp(forms: Forms, *, slack: Number = 0) -> Answer:
    """The least mu (to 1e-7) for which delta_f(eps) <= delta_mu(eps) + slack is sure at every eps >= 0.

    `slack` in [0, 1): 0 is G_mu <= f. Raises `Unsupported` where the losses have no end and the slack is 0,
    and where no mu will do.
    """
    room = float(SLACK.check("slack", slack))
    end = _last(forms, room)

    def read(epsilons: Floats) -> Floats:
        deltas = np.maximum(np.asarray(forms.profile(epsilons)) - room, 0.0)
        return np.where(epsilons >= end, 0.0, deltas)

    shares = np.concatenate(([0.0], np.geomspace(1e-3, 1.0, 32)))
    epsilons = np.unique(np.concatenate((shares * end, end * (1.0 - shares[1:-1]))))
    deltas = read(epsilons)
    mu = _least(epsilons, deltas)
    for _ in range(5):
        # finer where a slightly smaller mu would fail
        tight = np.flatnonzero(_misses(mu * (1.0 - 1e-4), epsilons, deltas))
        parts = [np.linspace(epsilons[i], epsilons[i + 1], 6)[1:-1] for i in tight[:12]]
        if not parts:
            break
        more = np.concatenate(parts)
        order = np.argsort(np.concatenate((epsilons, more)))
        deltas = np.concatenate((deltas, read(more)))[order]
        epsilons = np.concatenate((epsilons, more))[order]
        before, mu = mu, _least(epsilons, deltas)
        if mu > before * (1.0 - 1e-6):
            break
    return Answer(
        quantity="mu",
        value=mu,
        upper=mu,
        side=Side.UPPER,
        strength=Strength.BOUND,
        method="gdp",
        basis=(GDP,),
        extra={"slack": room},
    )
