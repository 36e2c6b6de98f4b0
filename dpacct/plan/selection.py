"""Private selection: a plan is run a random number of times, and only the best result is released."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpacct.citations import SELECTION, Citation
from dpacct.declare.domain import Real
from dpacct.declare.number import Number, literal, text
from dpacct.errors import Unsupported
from dpacct.plan.composition import Composition
from dpacct.plan.curve import log_profile
from dpacct.plan.node import Around, Fields, Leaf, Node, know, nested, read, resolve_adjacency, take
from dpacct.pld.stable import Floats, TooFine
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.pld.pair import PairMoments, Pairs

MEAN = Real(1, 10**12, "both", typical=(1, 1000))
"""The mean number of runs."""
SHAPE = Real(0, 10**6, "left", typical=(0, 5))
"""The shape of the truncated negative binomial."""
POISSON = "poisson"
Cost: TypeAlias = Callable[[Floats], Floats]
_KNOWN = Assumption(
    "the number of runs is drawn from the stated distribution, and neither it nor any other run is released",
    id="selection",
)


@dataclass(frozen=True, repr=False, init=False)
class RepeatAndSelect(Around, Leaf, kind="repeat-and-select"):
    """`plan` run K times on the same data, K at random with this mean; only the best run is released.

    `shape`: of the truncated negative binomial law of K: 1 is geometric, 0 logarithmic, smaller ones cost
    less and stray more; or "poisson" (nothing is released if K = 0). What is best is decided by what the runs
    release, such as a score on public data. This is what tuning over parameters costs; selections compose.
    Only Renyi divergences are known (Papernot and Steinke 2022). Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> tuned = RepeatAndSelect(run, mean=40, shape=0)
    >>> print(f"{float(run.epsilon(1e-5)):.2f} {float(tuned.epsilon(1e-5)):.2f}")
    1.52 3.32
    """

    node: Node
    mean: Fraction
    shape: Fraction | None
    has_pairs = False

    def __init__(self, plan: Node, *, mean: Number, shape: Number = 1) -> None:
        plan = Node.checked(plan, "a selection must be given")
        object.__setattr__(self, "node", plan)
        object.__setattr__(self, "mean", MEAN.check("mean", mean))
        poisson = isinstance(shape, str) and shape == POISSON
        checked = None if poisson else SHAPE.check("shape", shape)
        object.__setattr__(self, "shape", checked)
        if plan.facts.group > 1:
            message = "a group's plan is not selected from: form the group of the selection"
            raise Unsupported(message, argument="plan")
        know(self, plan.facts.above(total=1))

    def renyi(self, orders: Any, adjacency: Adjacency) -> Any:
        """The bound at these orders: at its least one for all that are smaller."""
        cost, least = _bound(self, adjacency)
        return cost(np.maximum(np.atleast_1d(orders), 1.0 + least))

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """Those of the bound; raises where the plan's own cannot be stated."""
        _bound(self, adjacency)
        return super().moments(adjacency)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """(2 + eta) times that of a single run (Corollary 3); None for a Poisson number of runs."""
        single = None if self.shape is None else _pure(self.node, adjacency)
        return None if single is None or self.shape is None else (2 + self.shape) * single

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """Raise `Unsupported`: only moments are known."""
        raise Unsupported(f"{self!r} has no dominating pair", argument="method")

    def in_sample(self, sampler: Any) -> Leaf:
        """Raise `Unsupported`: moments alone give no bound for a sample."""
        message = f"{self!r} cannot be amplified by sampling: it has no dominating pair"
        raise Unsupported(message, argument="plan")

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The plan's, and that the number of runs is secret."""
        return (*self.node.assumptions(adjacency), _KNOWN)

    def citations(self) -> tuple[Citation, ...]:
        """The plan's, and the selection's."""
        return (*self.node.citations(), SELECTION)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the plan."""
        return resolve_adjacency(self.node)

    def fields(self) -> Fields:
        """The law of the number of runs, and the plan inside."""
        shape = POISSON if self.shape is None else text(self.shape)
        return {"mean": text(self.mean), "shape": shape, "of": nested(self.node)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """Read what `fields` wrote."""
        mean, shape = take(fields, "mean"), take(fields, "shape")
        return cls(read(take(fields, "of")), mean=mean, shape=shape)

    def __repr__(self) -> str:
        shape = repr(POISSON) if self.shape is None else literal(self.shape)
        return f"RepeatAndSelect({self.node!r}, mean={literal(self.mean)}, shape={shape})"


@lru_cache(maxsize=64)  # one curve answers every order
def _bound(release: RepeatAndSelect, adjacency: Adjacency) -> tuple[Cost, float]:
    """The bound by order, and about the order less 1 at which it is least."""
    cost = (_poisson if release.shape is None else _negative_binomial)(release, adjacency)
    return cost, _lowest(cost)


def _pure(node: Node, adjacency: Adjacency) -> Fraction | None:
    """The epsilon of a plan that is purely private; else None."""
    total = Fraction(0)
    for leaf, count in node.releases():
        epsilon = leaf.pure_epsilon(adjacency)
        if epsilon is None:
            return None
        total += count * epsilon
    return total


def _single(node: Node, adjacency: Adjacency) -> Cost:
    """Renyi divergences of a single run, infinite where they are out of reach."""
    plan = Composition(node, adjacency)
    plan.moments  # noqa: B018  # raises what is outside of a mechanism's domain

    def renyi(orders: Floats) -> Floats:
        try:
            return plan.renyi_at(orders)
        except TooFine:
            return np.array([_or_infinite(plan, order) for order in orders.tolist()])

    return renyi


def _or_infinite(plan: Composition, order: float) -> float:
    try:
        return plan.renyi(order)
    except TooFine:
        return math.inf


def _negative_binomial(release: RepeatAndSelect, adjacency: Adjacency) -> Cost:
    """Papernot and Steinke 2022, Theorem 2, at the order of the second run that is best.

    e(a) + log(m)/(a - 1) + (1 + eta) min over b of ((1 - 1/b) e(b) + log(1/gamma)/b).
    """
    single, mean, eta = (
        _single(release.node, adjacency),
        float(release.mean),
        float(release.shape or 0),
    )
    rest = -math.log(_gamma(mean, eta))

    def second(orders: Floats) -> Floats:
        return ((orders - 1.0) * single(orders) + rest) / orders

    best = float(second(np.array([1.0 + _lowest(second)]))[0])
    pure = _pure(release.node, adjacency)  # the second run's cost at the order infinity
    extra = (1.0 + eta) * min(rest, best, math.inf if pure is None else float(pure))
    return lambda orders: single(orders) + math.log(mean) / (orders - 1.0) + extra


def _poisson(release: RepeatAndSelect, adjacency: Adjacency) -> Cost:
    """Papernot and Steinke 2022, Theorem 6: e(a) + m delta(log(1 + 1/(a - 1))) + log(m)/(a - 1).

    Delta of a single run is that of its profile, or by its moments where nothing else is known.
    """
    single, mean = _single(release.node, adjacency), float(release.mean)

    def cost(orders: Floats) -> Floats:
        epsilons = np.log1p(1.0 / (orders - 1.0))
        deltas = np.exp(log_profile(Composition(release.node, adjacency), epsilons))
        return np.asarray(single(orders) + mean * deltas + math.log(mean) / (orders - 1.0))

    return cost


def _lowest(cost: Cost) -> float:
    """About where the cost of an order 1 + s is least: any s gives a bound."""
    places = np.geomspace(1e-6, 1e9, 91)
    for _ in range(3):
        best = int(np.argmin(cost(1.0 + places)))
        low, high = places[max(0, best - 1)], places[min(places.size - 1, best + 1)]
        places = np.union1d(np.geomspace(low, high, 31), places[best])
    return float(places[int(np.argmin(cost(1.0 + places)))])


def _gamma(mean: float, eta: float) -> float:
    """The parameter gamma of a truncated negative binomial law of this mean.

    The mean is eta (1 - g) / (g (1 - g^eta)), at eta = 0 its limit (1 - g) / (g log(1/g)), and falls in g.
    """
    from scipy.optimize import brentq

    if mean == 1.0:
        return 1.0

    def log_mean(x: float) -> float:  # at g = e^-x
        grown = math.log(math.expm1(x))
        if eta * x < 1e-12:
            return grown - math.log(x)
        return grown + math.log(eta) - math.log(-math.expm1(-eta * x))

    most = 1.0
    while log_mean(most) < math.log(mean):
        most *= 2.0
    x = brentq(lambda x: log_mean(x) - math.log(mean), 1e-12, most, xtol=1e-300, rtol=1e-14)
    return math.exp(-x * (1.0 + 1e-13))  # a smaller gamma is the larger cost
