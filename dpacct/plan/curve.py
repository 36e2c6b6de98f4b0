"""Curves of a plan: Renyi divergences, privacy profile, trade-off function; see `Node`.

The trade-off function follows from the profile (Dong, Roth, Su 2022, Proposition 2.13):

f(alpha) = sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^{-eps} (1 - delta(eps) - alpha)).
Any finite set of epsilons gives a lower bound of f, which is the safe side. At alpha = 0 the supremum
lies at infinity, and is the mass of finite losses.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpacct.answer.ask import strict
from dpacct.declare.domain import EPSILON, ORDER, Real
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.mechanisms.laws.knots import hull
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.pld.budget import one_question
from dpacct.pld.stable import Floats, TooFine, log_peak
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LogProfile = Callable[[Floats], Floats]

# s = order - 1 that moments are read at, a part in 200 apart: between two of them log delta is bound to be
# (0.0025)^2/2 times its second derivative in log s, about 20 at the best order, above the least: 6e-5
_TILTS = np.exp(0.005 * np.arange(-3684.0, 5526.0))
MANY = 128
"""More alphas than this share the epsilons of so many of them."""


@strict
def rdp(
    node: Node, order: ArrayLike, *, adjacency: Adjacency | str | None = None
) -> float | Floats:
    """See `Node.rdp`."""
    plan = Composition(node, resolve_adjacency(node, adjacency))
    orders = _checked("order", order, ORDER)
    try:
        result = plan.renyi_at(orders.ravel())
    except TooFine:
        message = f"order must be within the reach of the plan's quadrature, got {orders.max():g}"
        raise OutsideDomain(message, argument="order") from None
    values = np.array(result).reshape(orders.shape)
    return float(values) if values.ndim == 0 else values


def _checked(name: str, values: ArrayLike, domain: Real) -> Floats:
    """An array of floats, each in the domain."""
    if isinstance(values, str | Fraction):
        return np.asarray(float(domain.check(name, values)))
    array = np.asarray(values)
    if array.dtype == object or array.dtype.kind in "US":
        flat = [float(domain.check(name, number)) for number in array.ravel().tolist()]
        return np.array(flat).reshape(array.shape)
    flags = (bool, np.bool_)
    if isinstance(values, list | tuple) and any(isinstance(value, flags) for value in values):
        raise InvalidArgument(f"{name} must be numbers in {domain}, got a bool", argument=name)
    if array.dtype.kind not in "iuf":
        raise InvalidArgument(
            f"{name} must be numbers in {domain}, got {values!r:.60}", argument=name
        )
    array = array.astype(np.float64)
    # either end is nan where any number is
    for end in (array.min(), array.max()) if array.size else ():
        domain.check(name, float(end))
    return array


@strict
@one_question()
def profile(node: Node, epsilons: ArrayLike, *, adjacency: Adjacency | str | None = None) -> Floats:
    """See `Node.profile`: the upper end of each delta."""
    array = np.atleast_1d(_checked("epsilon", epsilons, EPSILON))
    word = resolve_adjacency(node, adjacency)
    (leaf, count), *others = node.releases()
    bound = leaf.direct_profile(array.ravel(), word) if count == 1 and not others else None
    log_deltas = log_profile(Composition(node, word), array.ravel()) if bound is None else bound
    deltas: Floats = np.exp(log_deltas)
    return np.reshape(deltas, array.shape)


# log of a delta of which a profile takes Chernoff's bound: e^-600 is near the least double
def log_profile(plan: Composition, epsilons: Floats, faint: float = -600.0) -> Floats:
    """Log of an upper end of delta at each epsilon, by lines to rounding, by brackets to 2e-3 of delta.

    Of what is below `faint` a bound will do.
    """
    rising, place = np.unique(epsilons, return_inverse=True)
    if not rising.size:
        return np.empty(epsilons.shape)
    if plan.renyi_only:
        return np.asarray(_by_moments(plan, rising)[place])
    ways = plan.upper
    readings = []
    for way in ways:
        last = bisect_left(
            range(rising.size), True, key=lambda k: way.chernoff(float(rising[k])) < faint
        )
        past = way.chernoff(float(rising[last])) if last < rising.size else 0.0
        readings.append(
            np.append(way.log_profile(rising[:last]), np.full(rising.size - last, past))
        )
    best = np.fmax.reduce(readings)
    # brackets are read where nothing cheaper shows that the other direction leads
    for way, values in zip(ways, readings, strict=True):
        rough = np.isnan(values)
        # below 1e-20, where nothing is promised, Chernoff's bound is all that is said
        last = bisect_left(
            range(rising.size), True, key=lambda k: way.chernoff(float(rising[k])) < -46.0
        )
        if last < rising.size:
            best[last:] = np.fmax(
                best[last:], np.where(rough[last:], way.chernoff(float(rising[last])), -math.inf)
            )
            rough[last:] = False
        for k in np.flatnonzero(rough & (best > -math.inf)).tolist() if len(ways) > 1 else ():
            rough[k] = way.chernoff(float(rising[k])) > best[k]
        if rough.any():
            best[rough] = np.fmax(best[rough], way.bracketed(rising[rough]))
    # a bound at a smaller epsilon holds at a larger one
    return np.asarray(np.minimum(np.minimum.accumulate(best), 0.0)[place])


def _by_moments(plan: Composition, epsilons: Floats) -> Floats:
    """log delta <= log M(s) - s eps + log(s^s/(1+s)^{1+s}) at rising epsilons (CKS 2020, Proposition 12)."""

    def level(tilts: Floats) -> Floats:
        return np.asarray(tilts * plan.renyi_at(1.0 + tilts) + log_peak(tilts))

    coarse = np.arange(0, _TILTS.size, 100)
    levels = level(_TILTS[coarse])
    # the best order rises with -epsilon
    ends = [int(np.argmin(levels - _TILTS[coarse] * float(epsilons[k]))) for k in (0, -1)]
    first, last = coarse[max(min(ends) - 1, 0)], coarse[min(max(ends) + 1, coarse.size - 1)]
    tilts = _TILTS[first : last + 1]
    levels = level(tilts)
    blocks = np.array_split(epsilons, -(-epsilons.size // 256))
    best = [(levels - np.multiply.outer(at, tilts)).min(axis=1) for at in blocks]
    return np.minimum(np.concatenate(best) + 1e-13, 0.0)


@strict
@one_question()
def tradeoff(
    node: Node, alpha: ArrayLike, *, adjacency: Adjacency | str | None = None
) -> float | Floats:
    """See `Node.tradeoff`."""
    array = _checked("alpha", alpha, Real(0, 1, "both"))
    plan = Composition(node, resolve_adjacency(node, adjacency))
    values = curve_of(plan, array.ravel()).reshape(array.shape)
    return float(values) if values.ndim == 0 else values


def curve_of(plan: Composition, alpha: Floats) -> Floats:
    """The trade-off function at alphas in [0, 1], from below."""
    smallest = float(alpha[alpha > 0.0].min(initial=1.0))
    # e^-23 of the least alpha is what a curve may be off by there
    faint = math.log(smallest) - 23.0
    read = lambda epsilons: log_profile(plan, epsilons, faint)  # noqa: E731
    if plan.renyi_only:
        return curve(read, alpha)
    return curve(
        read,
        alpha,
        finite_mass=math.exp(min(direction.log_kept for direction in plan.upper)),
        scale=max(direction.scale for direction in plan.upper),
        kinked=all(direction.kinked for direction in plan.upper),
        rough=plan.seldom_touched,
        largest=[direction.largest for direction in plan.upper],
    )


# --- from the profile to the trade-off function


def _lines(epsilons: Floats, log_delta: Floats, alpha: Floats) -> Floats:
    """Return the better of the two supporting lines for each (alpha, eps)."""
    room = -np.expm1(np.minimum(log_delta, 0.0))
    with np.errstate(divide="ignore"):
        growth = np.add.outer(np.log(alpha), epsilons)
    steep = room - np.exp(np.minimum(growth, 700.0))
    flat = np.exp(-epsilons) * (room - alpha[:, None])
    better: Floats = np.maximum(steep, flat)
    return better


def _summits(epsilons: Floats, values: Floats, kinked: bool) -> Floats:
    """Locate the tops of parabolas through the best epsilon of each row and its neighbours.

    A top too near a known epsilon is replaced by the middle of the wider gap. Where the profile has
    kinks a parabola errs to the same side each time: there both gaps are halved as well.
    """
    best = np.clip(values.argmax(axis=1), 1, epsilons.size - 2)
    rows = np.arange(best.size)
    left, middle, right = epsilons[best - 1], epsilons[best], epsilons[best + 1]
    low, top, high = values[rows, best - 1], values[rows, best], values[rows, best + 1]
    before, after = middle - left, right - middle
    down, up = (top - low) / before, (high - top) / after
    bend = (up - down) / (before + after)
    with np.errstate(divide="ignore", invalid="ignore"):
        summit = 0.5 * (left + middle) - 0.5 * down / bend
    wider = np.where(after > before, middle + 0.5 * after, middle - 0.5 * before)
    near = 0.02 * np.minimum(before, after)
    good = (bend < 0.0) & (summit > left + near) & (summit < right - near)
    good &= np.abs(summit - middle) > near
    chosen = np.where(good, summit, wider)
    if kinked:
        chosen = np.concatenate((chosen, 0.5 * (left + middle), 0.5 * (middle + right)))
    return np.unique(chosen)


def curve(
    log_profile: LogProfile,
    alpha: Floats,
    *,
    finite_mass: float = 1.0,
    scale: float = 1.0,
    kinked: bool = False,
    rough: bool = False,
    largest: Sequence[float] = (),
) -> Floats:
    """Lower bound of f at each alpha: a look at the epsilons that can matter, then each best one.

    `finite_mass` is that of the losses below infinity, `scale` about their standard deviation;
    `kinked`: the losses are points; `rough`: brackets read the profile. From the `largest` losses on delta
    is 0; where they have
    mass of their own, as Laplace noise's, the best line of every small alpha touches there.
    """
    corners = np.array([loss for loss in largest if 0.0 < loss < 700.0])
    few = alpha if alpha.size <= MANY else _representatives(alpha)
    rounds = 18 if kinked else 4 if rough else 10 if few is alpha else 6
    epsilons, log_delta = _refined(log_profile, few, corners, scale, rounds)
    if few is not alpha and not kinked:
        # between two representatives the best epsilon lies between theirs
        finer = (
            epsilons[:-1, None] + np.diff(epsilons)[:, None] * np.arange(0.2, 0.9, 0.2)
        ).ravel()
        epsilons = np.concatenate((epsilons, finer))
        log_delta = np.concatenate((log_delta, log_profile(finer)))
    reached = np.where(alpha == 0.0, finite_mass, _envelope(epsilons, log_delta, alpha))
    return np.clip(reached, 0.0, 1.0 - alpha)


def _representatives(alpha: Floats) -> Floats:
    """Choose some of the alphas, by rank and by size."""
    ordered = np.unique(alpha)
    ranks = np.unique(np.linspace(0, ordered.size - 1, MANY).astype(int))
    positive = ordered[ordered > 0.0]
    sizes = np.searchsorted(positive, np.geomspace(positive[0], positive[-1], MANY))
    return np.union1d(ordered[ranks], positive[np.minimum(sizes, positive.size - 1)])


def _envelope(epsilons: Floats, log_delta: Floats, alpha: Floats) -> Floats:
    """The largest of all supporting lines at each alpha: those of the lower hull of (slope, -height)."""
    room = -np.expm1(np.minimum(log_delta, 0.0))
    slopes = -np.concatenate((np.exp(np.minimum(epsilons, 700.0)), np.exp(-epsilons)))
    heights = np.concatenate((room, np.exp(-epsilons) * room))
    lines = np.array(hull([*zip(slopes.tolist(), (-heights).tolist(), strict=True)]))
    meets = np.diff(lines[:, 1]) / np.diff(lines[:, 0])
    best = lines[np.searchsorted(meets, alpha)]
    return np.asarray(best[:, 0] * alpha - best[:, 1])


def _refined(
    log_profile: LogProfile, alpha: Floats, corners: Floats, scale: float, rounds: int
) -> tuple[Floats, Floats]:
    """Epsilons at which the best lines of these alphas touch, and log delta there."""
    # beyond -log alpha the steep line is below 0, beyond 40 the flat one below 1e-17
    smallest = float(alpha[alpha > 0.0].min(initial=1.0))
    top = min(max(-math.log(smallest), 40.0), 745.0)
    finest = min(max(1e-3 * scale, 1e-9 * top), 1e-2 * top)
    epsilons = np.union1d(np.append(0.0, np.geomspace(finest, top, 64)), corners)
    log_delta = log_profile(epsilons)
    values = _lines(epsilons, log_delta, alpha)
    idle = 0
    # parabolas triple the digits of a smooth curve in each round, halves of a kinked one add a bit
    kinked = rounds > 10
    for _ in range(rounds):
        finer = np.setdiff1d(_summits(epsilons, values, kinked), epsilons)
        order = np.argsort(np.concatenate((epsilons, finer)))
        log_delta = np.concatenate((log_delta, log_profile(finer)))[order]
        epsilons = np.concatenate((epsilons, finer))[order]
        before, values = values.max(axis=1), _lines(epsilons, log_delta, alpha)
        gain = (values.max(axis=1) - before) / np.maximum(1.0 - before, 1e-300)
        idle = idle + 1 if float(gain.max(initial=0.0)) < 1e-9 else 0
        if idle == 3 and not kinked:
            break
    return epsilons, log_delta
