"""Curves of a plan: Renyi divergences, privacy profile, trade-off function; see `Node`.

The trade-off function follows from the profile (Dong, Roth, Su 2022, Proposition 2.13):

f(alpha) = sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^{-eps} (1 - delta(eps) - alpha)).
Any finite set of epsilons gives a lower bound of f, which is the safe side. At alpha = 0 the supremum
lies at infinity, and is the mass of finite losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer.ask import strict
from dpacct.declare.domain import EPSILON, ORDER, Real
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.routes import ROUTES, RouteQuestion
from dpacct.pld.budget import one_question
from dpacct.pld.profile import Profile
from dpacct.pld.stable import Floats, TooFine
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LogProfile = Callable[[Floats], Floats]

# of an upper end of delta that becomes an absolute error of a trade-off curve
_CURVE_TOLERANCE = 1e-8
# log of a delta of which a profile takes a bound; and of what a curve's least alpha may be off by, relative
_FAINT, _UNSEEN = -600.0, -23.0

# epsilons of the first look, and how often each alpha's best one is moved to the top of a parabola
_COARSE = 64
_ROUNDS = 10
_KINKED_ROUNDS = 18
# more alphas than this share the epsilons of so many of them
MANY = 128
# parts of each gap between epsilons that are looked at then
_BETWEEN = 5
# alphas of one block, and lines beside the best ones of its ends that are looked at too
_BLOCK, _SPARE = 256, 8
# a gain, as a share of 1 - f, that isn't worth another round; rounds without one after which no more follow:
# of few alphas, and of those that stand for many, whose epsilons are made finer still
_LEAST_GAIN, _IDLE = (1e-9, 1e-7), (3, 2)


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


def log_profile(
    plan: Composition,
    epsilons: Floats,
    tolerance: float = 1e-9,
    faint: float = _FAINT,
) -> Floats:
    """Log of an upper end of delta at each epsilon, by lines that are good to `tolerance`.

    Of what is below `faint` a bound will do.
    """
    if plan.renyi_only:

        def read(at: Floats) -> tuple[Floats, Floats]:
            route = ROUTES["rdp"]
            values = [
                route.answer(plan, RouteQuestion(False, epsilon_at)).value
                for epsilon_at in at.tolist()
            ]
            return np.array(values), np.zeros(at.shape)

        values, errors = Profile(read)(epsilons, tolerance)
        return np.minimum(values + errors, 0.0)
    rising, place = np.unique(epsilons, return_inverse=True)
    best = np.full(rising.shape, -np.inf)
    middle = float(rising[rising.size // 2]) if rising.size else 0.0
    ways = sorted(plan.upper, key=lambda way: -way.chernoff(middle))  # the larger first
    readings = [(way, *way.log_profile(rising, tolerance, faint)) for way in ways]
    for _, values, errors, rough in readings:
        best = np.maximum(best, np.where(rough, -np.inf, values + np.log1p(errors)))
    # grids are made where nothing cheaper shows that the other direction leads
    for way, values, _, rough in readings:
        for k in np.flatnonzero(rough & (values > best) & (best > -np.inf)).tolist():
            values[k] = min(values[k], way.chernoff(float(rising[k])))
        leading = rough & (values > best)
        if leading.any():
            ends = way.bracketed(rising[leading], tolerance)
            best[leading] = np.maximum(best[leading], np.minimum(values[leading], ends))
    # a bound at a smaller epsilon holds at a larger one
    return np.asarray(np.minimum(np.minimum.accumulate(best), 0.0)[place])


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
    about: dict[str, Any] = {"finite_mass": 1.0, "scale": 1.0, "kinked": False}
    if not plan.renyi_only:
        about = {
            "finite_mass": math.exp(min(direction.log_kept for direction in plan.upper)),
            "scale": max(direction.scale for direction in plan.upper),
            "kinked": all(direction.kinked for direction in plan.upper),
            "largest": [direction.largest for direction in plan.upper],
        }
    faint = _UNSEEN + math.log(float(alpha[alpha > 0.0].min(initial=1.0)))
    tolerance = _CURVE_TOLERANCE if alpha.size > MANY else 0.0  # few are read one by one
    return curve(lambda e: log_profile(plan, e, tolerance, faint), alpha, **about)


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
    finite_mass: float,
    scale: float,
    kinked: bool,
    largest: Sequence[float] = (),
) -> Floats:
    """Lower bound of f at each alpha: a look at the epsilons that can matter, then each best one.

    `finite_mass` is that of the losses below infinity, `scale` about their standard deviation;
    `kinked` says that the losses are points. From the `largest` losses on delta is 0; where they have
    mass of their own, as Laplace noise's, the best line of every small alpha touches there.
    """
    corners = np.array([loss for loss in largest if 0.0 < loss < 700.0])

    def refined(alphas: Floats) -> tuple[Floats, Floats, Floats]:
        return _refined(
            log_profile, alphas, corners, scale=scale, kinked=kinked, many=alphas is not alpha
        )

    if alpha.size > MANY:
        few = _representatives(alpha)
        epsilons, log_delta, _ = refined(few)
        if not kinked:  # between two representatives the best epsilon lies between theirs
            shares = np.arange(1, _BETWEEN) / _BETWEEN
            finer = (epsilons[:-1, None] + np.diff(epsilons)[:, None] * shares).ravel()
            epsilons = np.concatenate((epsilons, finer))
            log_delta = np.concatenate((log_delta, log_profile(finer)))
        reached = _envelope(epsilons, log_delta, alpha)
    else:
        reached = refined(alpha)[2]
    reached = np.where(alpha == 0.0, finite_mass, reached)
    return np.clip(reached, 0.0, 1.0 - alpha)


def _representatives(alpha: Floats) -> Floats:
    """Choose some of the alphas, by rank and by size."""
    ordered = np.unique(alpha)
    ranks = np.unique(np.linspace(0, ordered.size - 1, MANY).astype(int))
    positive = ordered[ordered > 0.0]
    sizes = np.searchsorted(positive, np.geomspace(positive[0], positive[-1], MANY))
    return np.union1d(ordered[ranks], positive[np.minimum(sizes, positive.size - 1)])


def _envelope(epsilons: Floats, log_delta: Floats, alpha: Floats) -> Floats:
    """The largest of all supporting lines at each alpha, in memory that grows with their number alone.

    The steeper a line, the smaller the alphas at which it is the largest: between two alphas only those
    lines matter that are between the best ones of the two. A line left out lowers a lower bound.
    """
    order = np.argsort(epsilons)
    epsilons, room = epsilons[order], -np.expm1(np.minimum(log_delta[order], 0.0))
    steep, flat = np.exp(np.minimum(epsilons, 700.0))[::-1], np.exp(-epsilons)
    slopes = -np.concatenate((steep, flat))
    heights = np.concatenate((room[::-1], flat * room))
    rank = np.argsort(alpha)
    ordered = alpha[rank]
    blocks = np.unique(np.append(np.arange(0, ordered.size, _BLOCK), ordered.size - 1))
    best = (heights + np.multiply.outer(ordered[blocks], slopes)).argmax(axis=1)
    values = np.empty(ordered.shape)
    for first, last, line, next_line in zip(blocks, blocks[1:], best, best[1:], strict=False):
        near = slice(max(0, min(line, next_line) - _SPARE), max(line, next_line) + _SPARE + 1)
        among = ordered[first : last + 1]
        lines = heights[near] + np.multiply.outer(among, slopes[near])
        values[first : last + 1] = lines.max(axis=1)
    reached = np.empty(alpha.shape)
    reached[rank] = values
    return reached


def _refined(
    log_profile: LogProfile,
    alpha: Floats,
    corners: Floats,
    *,
    scale: float,
    kinked: bool,
    many: bool,
) -> tuple[Floats, Floats, Floats]:
    """Epsilons at which the best lines of these alphas touch, log delta there, and f by those lines."""
    # beyond -log alpha the steep line is below 0, beyond 40 the flat one below 1e-17
    smallest = float(alpha[alpha > 0.0].min(initial=1.0))
    top = min(max(-math.log(smallest), 40.0), 745.0)
    finest = min(max(1e-3 * scale, 1e-9 * top), 1e-2 * top)
    epsilons = np.union1d(np.append(0.0, np.geomspace(finest, top, _COARSE)), corners)
    log_delta = log_profile(epsilons)
    values = _lines(epsilons, log_delta, alpha)
    reached = values.max(axis=1)
    idle = 0
    for _ in range(_KINKED_ROUNDS if kinked else _ROUNDS):
        finer = np.setdiff1d(_summits(epsilons, values, kinked), epsilons)
        epsilons = np.concatenate((epsilons, finer))
        log_delta = np.concatenate((log_delta, log_profile(finer)))
        order = np.argsort(epsilons)
        epsilons, log_delta = epsilons[order], log_delta[order]
        values = _lines(epsilons, log_delta, alpha)
        following = values.max(axis=1)
        gain = float(((following - reached) / np.maximum(1.0 - reached, 1e-300)).max(initial=0.0))
        reached = following
        idle = idle + 1 if gain < _LEAST_GAIN[many] else 0
        if idle == _IDLE[many] and not kinked:
            break
    return epsilons, log_delta, reached
