"""The questions that every plan answers: epsilon, delta, Renyi, profile, trade-off, comparison."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.answer.ask import strict
from dpacct.declare.domain import DELTA, EPSILON, ORDER, Real
from dpacct.declare.number import Number, ln
from dpacct.errors import InvalidArgument, OutsideDomain, Unsupported
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.routes import ROUTES, Finding, Question, Route, named
from dpacct.pld.budget import metered
from dpacct.pld.profile import Profile
from dpacct.pld.stable import Floats, TooFine
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


# of an upper end of delta that becomes an absolute error of a trade-off curve
_CURVE_TOLERANCE = 1e-8
# log of a delta of which a profile takes a bound; and of what a curve's least alpha may be off by, relative
_FAINT, _UNSEEN = -600.0, -23.0
# of a logarithm: what it is rounded by
_UNIT = 2.0**-52


QUICK = "quick"
"""The strongest method that answers in milliseconds: exact, or Renyi where only that is known."""


def _route(plan: Composition, method: str) -> Route:
    if method != QUICK:
        return named(method)
    return ROUTES["rdp"] if plan.renyi_only else ROUTES["exact"]


def fast_method(node: Node, adjacency: Adjacency | str | None = None) -> str:
    """The name of the strongest method that answers in milliseconds."""
    return _route(Composition(node, resolve_adjacency(node, adjacency)), QUICK).name


def _answer(
    plan: Composition, quantity: str, finding: Finding, route: Route, started: float
) -> Answer:
    node = plan.node
    value, lower, upper = finding.value, finding.lower, finding.upper
    log_value = None
    if quantity == "delta":
        log_value = value
        value, lower, upper = math.exp(value), _power(lower, down=True), _power(upper, up=True)
    return Answer(
        quantity=quantity,
        value=value,
        lower=lower,
        upper=upper,
        side=finding.side,
        strength=finding.strength,
        method=route.name,
        basis=finding.basis,
        assumptions=node.assumptions(plan.adjacency),
        adjacency=plan.adjacency,
        unit=node.unit,
        tree=node,
        seconds=time.perf_counter() - started,
        log_value=log_value if log_value is not None and math.isfinite(log_value) else None,
    )


def _power(log_value: float | None, *, up: bool = False, down: bool = False) -> float | None:
    """e^{log_value} as a probability, rounded outwards where an end is asked for."""
    if log_value is None:
        return None
    # the logarithm is a float itself, and half a unit of its last place is more than one of the value's
    margin = _UNIT * abs(log_value) if math.isfinite(log_value) else 0.0
    if up:
        return min(1.0, math.nextafter(math.exp(log_value + margin), 1.0))
    if down:
        return max(0.0, math.nextafter(math.exp(log_value - margin), 0.0))
    return math.exp(log_value)


@strict
@metered()
def epsilon(
    node: Node, *, delta: Number, method: str, adjacency: Adjacency | str | None = None
) -> Answer:
    """Epsilon by one method."""
    started = time.perf_counter()
    target = DELTA.check("delta", delta)
    plan = Composition(node, resolve_adjacency(node, adjacency))
    route = _route(plan, method)
    finding, most = route.answer(plan, Question(True, ln(target))), plan.promised(target)
    if most is not None and finding.upper is not None and finding.upper > most:
        finding = replace(finding, value=min(finding.value, most), upper=most)
    return _answer(plan, "epsilon", finding, route, started)


@strict
@metered()
def delta(
    node: Node, *, epsilon: Number, method: str, adjacency: Adjacency | str | None = None
) -> Answer:
    """Delta by one method."""
    started = time.perf_counter()
    exact = EPSILON.check("epsilon", epsilon)
    plan = Composition(node, resolve_adjacency(node, adjacency))
    route = _route(plan, method)
    at = float(exact)
    if plan.past_all_losses(exact):  # rounding must not put it below
        at = math.nextafter(at * (1 + 1e-14), math.inf)
    return _answer(plan, "delta", route.answer(plan, Question(False, at)), route, started)


@strict
@metered()
def safe_log_delta(
    node: Node,
    epsilon: float,
    *,
    method: str = QUICK,
    adjacency: Adjacency | str | None = None,
    tilts: Mapping[int, float] | None = None,
) -> tuple[Answer, float]:
    """Delta's answer, and the log of its safe end (of its value, where no end is known)."""
    started = time.perf_counter()
    plan = Composition(node, resolve_adjacency(node, adjacency), tilts)
    route = _route(plan, method)
    finding = route.answer(plan, Question(False, epsilon))
    end = finding.value if finding.upper is None else finding.upper
    return _answer(plan, "delta", finding, route, started), end


@strict
def rdp(
    node: Node, order: ArrayLike, *, adjacency: Adjacency | str | None = None
) -> float | NDArray[np.floating[Any]]:
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


def _checked(name: str, values: ArrayLike, domain: Real) -> NDArray[np.floating[Any]]:
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
@metered()
def profile(
    node: Node, epsilons: ArrayLike, *, adjacency: Adjacency | str | None = None
) -> NDArray[np.floating[Any]]:
    """See `Node.profile`: the upper end of each delta."""
    array = np.atleast_1d(_checked("epsilon", epsilons, EPSILON))
    plan = Composition(node, resolve_adjacency(node, adjacency))
    deltas: NDArray[np.floating[Any]] = np.exp(log_profile(plan, array.ravel()))
    return np.reshape(deltas, array.shape)


def log_profile(
    plan: Composition,
    epsilons: NDArray[np.floating[Any]],
    tolerance: float = 1e-9,
    faint: float = _FAINT,
) -> NDArray[np.floating[Any]]:
    """Log of an upper end of delta at each epsilon, by lines that are good to `tolerance`.

    Of what is below `faint` a bound will do.
    """
    if plan.renyi_only:

        def read(at: Floats) -> tuple[Floats, Floats]:
            route = ROUTES["rdp"]
            values = [
                route.answer(plan, Question(False, epsilon_at)).value for epsilon_at in at.tolist()
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
            ends = way.on_grids(rising[leading], tolerance)
            best[leading] = np.maximum(best[leading], np.minimum(values[leading], ends))
    # a bound at a smaller epsilon holds at a larger one
    return np.asarray(np.minimum(np.minimum.accumulate(best), 0.0)[place])


@strict
@metered()
def tradeoff(
    node: Node, alpha: ArrayLike, *, adjacency: Adjacency | str | None = None
) -> float | NDArray[np.floating[Any]]:
    """See `Node.tradeoff`."""
    array = _checked("alpha", alpha, Real(0, 1, "both"))
    plan = Composition(node, resolve_adjacency(node, adjacency))
    values = curve_of(plan, array.ravel()).reshape(array.shape)
    return float(values) if values.ndim == 0 else values


def curve_of(plan: Composition, alpha: Floats) -> Floats:
    """The trade-off function at alphas in [0, 1], from below."""
    from dpacct.plan.curve import MANY, curve

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


def compare(
    node: Node,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    adjacency: Adjacency | str | None = None,
) -> tuple[Answer, ...]:
    """See `Node.compare`."""
    if (delta is None) == (epsilon is None):
        got = "neither" if delta is None else "both"
        raise InvalidArgument(f"compare takes either delta or epsilon, got {got}", argument="delta")
    answers = []
    for name in ROUTES:
        try:
            if delta is not None:
                answers.append(node.epsilon(delta=delta, method=name, adjacency=adjacency))
            elif epsilon is not None:
                answers.append(node.delta(epsilon=epsilon, method=name, adjacency=adjacency))
        except Unsupported as refusal:
            last = refusal
    if not answers:
        raise last
    return tuple(answers)
