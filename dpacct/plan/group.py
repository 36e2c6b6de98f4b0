"""Group privacy: the guarantee of a plan for several units at once."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import GROUP_GDP, GROUP_PROFILE, GROUP_ZCDP, Citation
from dpacct.declare.domain import Integer
from dpacct.declare.number import ln
from dpacct.errors import Unsupported
from dpacct.plan.composition import Composition
from dpacct.plan.curve import log_profile
from dpacct.plan.node import Fields, Leaf, Node, know, nested, read, resolve_adjacency, take
from dpacct.pld import roots
from dpacct.pld.pair import Pair, PairMoments, Pairs
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength

if TYPE_CHECKING:
    from dpacct.plan.samplers.sampled import Sampler
    from dpacct.pld.stable import Floats

SIZE = Integer(1, 10**6)
"""Units in a group."""
# epsilons at which a bound is read for a composition, the largest, and log delta that is as good as none


class Profiled(Leaf):
    """A release known only by an upper bound of its profile."""

    basis: Citation

    @abstractmethod
    def log_above(self, epsilons: Floats, adjacency: Adjacency) -> Floats:
        """Log of an upper bound of delta at each epsilon >= 0, at most 0."""

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The pair whose profile is the lowest chain of chords through points of the bound.

        As a profile is convex in e^epsilon, chords of points above it are above it.
        """
        return _bounded(self, adjacency)

    def in_sample(self, sampler: Sampler) -> Leaf:
        """The release on a sample."""
        from dpacct.plan.samplers.sampled import on_one_sample

        return on_one_sample(sampler, self)


@lru_cache(
    maxsize=2
)  # a root is sought among readings of one composition, whose grids serve them all
def _composed(node: Node, adjacency: Adjacency) -> Composition:
    return Composition(node, adjacency)


@lru_cache(maxsize=16)  # both questions of a calibration or a comparison, by each method
def _bounded(release: Profiled, adjacency: Adjacency) -> Pairs:
    points = 150
    from dpacct.mechanisms.laws.knots import above_profile
    from dpacct.pld.loss import LossDistribution

    far = 1.0
    # e^-80 is as good as no delta
    farthest = 690.0  # its growth must be a double, with room to square a ratio
    while far < farthest and release.log_above(np.array([far]), adjacency)[0] > -80.0:
        far = min(1.5 * far, farthest)
    even, fine = np.linspace(0.0, far, points), np.geomspace(1e-3 * far, far, points)
    epsilons = np.union1d(even, fine)
    deltas = np.exp(release.log_above(epsilons, adjacency))
    if not deltas.min() < 1.0:
        raise Unsupported(f"no bound of delta below 1 is known for {release!r}", argument="plan")
    nothing = Pair.of(LossDistribution.of_outcomes([0.0], [1.0]))
    bound = Pair.of(above_profile(epsilons.tolist(), deltas.tolist()))
    return Pairs(bound.ways, (release.basis,), nothing.ways, math.inf)


@dataclass(frozen=True, repr=False, init=False)
class Group(Profiled, kind="group"):
    """A plan as seen by a group of `size` units that change together, 1 to 10^6.

    Plain Gaussian plans are exact: the distance grows to `size` times the sensitivity. Others are
    bounded through the profile, and plans of zCDP through k^2 rho. It is a plan like any other, of which
    the unit is the group: all that it is composed with must be said of groups too. Raises
    `InvalidArgument`.

    >>> import dpacct as dp
    >>> pair = Group(dp.Gaussian(sigma=4), size=2)
    >>> round(pair.epsilon(delta=1e-5).value, 9), pair.epsilon(delta=1e-5).side
    (1.993091404, <Side.TWO_SIDED: 'two-sided'>)
    """

    node: Node
    size: int

    basis = GROUP_PROFILE

    def __init__(self, plan: Node, *, size: int, adjacency: Adjacency | str | None = None) -> None:
        plan = Node.checked(plan, "a group must be given")
        object.__setattr__(self, "size", SIZE.check("size", size))
        object.__setattr__(self, "node", plan if adjacency is None else plan.under(adjacency))
        facts = self.node.facts
        know(self, facts.above(group=self.size * facts.group))

    @property
    def plan(self) -> Node:
        """The plan that protects one unit."""
        return self.node

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the plan."""
        return resolve_adjacency(self.node)

    def rho(self) -> float | None:
        """k^2 rho, where all of the plan is zCDP; else None."""
        from dpacct.mechanisms.opaque import ZCDP

        parts = self.releases()
        every = [float(leaf.rho) * n for leaf, n in parts if isinstance(leaf, ZCDP)]
        return math.fsum(every) if len(every) == len(parts) else None

    def gather(self) -> Mapping[Leaf, int]:
        """The releases as the group sees them, if all are known; else this node."""
        if self.size == 1:
            return dict(self.node.gathered)
        results: dict[Leaf, int] = {}
        for leaf, count in self.node.releases():
            grouped = leaf.grouped(self.size)
            if grouped is None:
                return {self: 1}
            results[grouped] = results.get(grouped, 0) + count
        return results

    def grouped(self, size: int) -> Group:
        """A group of groups."""
        return Group(self.node, size=self.size * size)

    def log_above(self, epsilons: Floats, adjacency: Adjacency) -> Floats:
        """Bound by the plan's own profile at a share of epsilon, times the sum of e^{i eps/k} over i < k."""
        share = epsilons / self.size
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = epsilons - share + np.log(np.expm1(-epsilons) / np.expm1(-share))
        factor = np.where(share == 0.0, math.log(self.size), factor)
        above = log_profile(_composed(self.node, adjacency), share) + factor
        return np.asarray(np.minimum(above + 1e-13 * (1.0 + np.abs(factor)), 0.0))

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """Bound groups of 2^c by 3^c times the divergence of order 2^c `order` (Mironov 2017, Proposition 2).

        For orders from 2 on; below, a divergence is at most that of order 2. Other sizes count as the next
        power of two.
        """
        plan, doublings = Composition(self.node, adjacency), (self.size - 1).bit_length()

        def log_moments(tilts: Floats) -> Floats:
            orders = np.maximum(tilts + 1.0, 2.0) * 2**doublings
            return np.asarray(tilts * 3**doublings * plan.renyi_at(orders))

        return (PairMoments(log_moments),)

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """Answer by the bound itself, which is a little less than what a composition makes of it."""
        if method != "auto" or self.releases() != ((self, 1),):
            return None
        word = resolve_adjacency(self, adjacency)
        if quantity == "delta":
            value = math.exp(self._log_delta(float(at), word))
        else:
            value = self._crossing(ln(at), word)
            if value == math.inf:
                if any(way.log_kept < 0.0 for way in _composed(self.node, word).upper):
                    message = f"no epsilon gives the group of {self.size} this delta by its profile"
                    raise Unsupported(message, argument="delta")
                return None  # a profile that is not known far out
        return Answer(
            quantity=quantity,
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="group",
            basis=(GROUP_PROFILE,),
            assumptions=self.assumptions(word),
            adjacency=word,
            unit=self.unit,
            tree=self,
        )

    def _crossing(self, log_target: float, adjacency: Adjacency) -> float:
        """The least epsilon at which the bound is down at the target: it may rise again beyond. Or inf."""

        def read(epsilon: float) -> tuple[float, float]:
            value, (before, at) = self._log_delta(epsilon, adjacency), last[-1]
            last.append((value, epsilon))
            return value, (value - before) / (epsilon - at) if epsilon != at else math.nan

        last = [(self._log_delta(0.0, adjacency), 0.0)]
        step, low, high = 0.25 * self.size, 0.0, 0.0
        while last[-1][0] > log_target:
            low, high, step = high, high + step, 1.3 * step
            if high > 600.0 * self.size:
                return math.inf
            read(high)
        return roots.decreasing(read, log_target, low, high) * (1.0 + 1e-9)

    def _log_delta(self, epsilon: float, adjacency: Adjacency) -> float:
        return float(self.log_above(np.array([epsilon]), adjacency)[0])

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The plan's assumptions."""
        return self.node.assumptions(adjacency)

    def citations(self) -> tuple[Citation, ...]:
        """The plan's, and the theorems about groups."""
        return (*self.node.citations(), GROUP_GDP, GROUP_ZCDP, GROUP_PROFILE)

    def __repr__(self) -> str:
        return f"Group({self.node!r}, size={self.size})"

    @property
    def inside(self) -> tuple[Node, ...]:
        """The plan that protects one unit."""
        return (self.node,)

    def fields(self) -> Fields:
        """The size, and the plan inside."""
        return {"size": self.size, "of": nested(self.node)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """A group from its JSON fields."""
        return cls(read(take(fields, "of")), size=take(fields, "size"))
