"""A plan as products of moment functions: one list of (law, count) per direction and side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpacct.curves.pairs import Pairs
from dpacct.engine import bounds, invert
from dpacct.engine.choice import ANEW, Start
from dpacct.engine.invert import Solved
from dpacct.engine.law import Law, TooFine
from dpacct.engine.stable import Floats
from dpacct.errors import Unsupported
from dpacct.pld import brackets, contour, stable
from dpacct.pld.loss import LossDistribution
from dpacct.pld.nested import merged
from dpacct.pld.outcomes import outcomes
from dpacct.pld.profile import Profile, Route
from dpacct.tree import Leaf, Node
from dpacct.vocabulary import Adjacency

from .low_sampling import FEW_HITS, LowSampling

Laws = list[tuple[Law, float]]
# relative error of a delta, and of an epsilon, above which another method is asked
_USABLE, _ROUGH = 1e-6, 1e-6
# what a profile's panels may miss where its readings are those of grids, 1e-4 wide
_ON_GRIDS = 1e-5
# relative rounding of the mass of open failures, and of what is added to it
_MIXED = 4e-15
# log of what is below all floats
_LEAST_LOG = -745.0


# orders that are asked for one by one; more share their rules, those whose tilts differ by less than a factor
_MANY = 64
_ALIKE = 1.25
_AT_ONCE = 128  # tilts of one table of moments


def _near_each_other(orders: Floats) -> Iterator[NDArray[np.intp]]:
    """Positions of the orders, in groups whose tilts differ by less than a factor."""
    rank = np.argsort(orders)
    level = np.floor(np.log(orders[rank] - 1.0) / math.log(_ALIKE))
    yield from np.split(rank, np.flatnonzero(np.diff(level)) + 1)


def _parts(tilts: Floats) -> int:
    return -(-tilts.size // _AT_ONCE)


def _mixing(log_value: float) -> float:
    """What a log probability is off by, as a sum or a difference with open failures, and as a float."""
    return _MIXED + 4e-16 * abs(log_value) if math.isfinite(log_value) else 0.0


def _between(found: contour.Solved) -> Solved:
    """A log probability with its relative error."""
    value = min(found.value, 0.0)
    if value == -math.inf:
        return Solved(value, value, value)
    upper = min(0.0, value + math.log1p(found.error))
    start = Start(found.tilt) if found.tilt else None
    return Solved(value, value + math.log1p(-found.error), upper, start=start)


@dataclass(frozen=True)
class Direction:
    """One direction of the neighbouring relation: finite losses, and the mass that escapes.

    delta(eps) = 1 - kept + kept * delta_finite(eps - shift): kept is the P-mass of finite losses, and
    shift restores the scale that renormalising P and Q to their common support took away.
    """

    laws: Laws
    log_kept: float
    shift: float
    start: Start = ANEW  # where a similar plan was answered

    @classmethod
    def of(cls, laws: Laws, start: Start = ANEW) -> Direction:
        kept = sum(n * math.log1p(-law.infinite_mass) for law, n in laws)
        lost = sum(n * math.log1p(-law.lost_mass) for law, n in laws)
        return cls(laws, kept, kept - lost, start)

    @property
    def has_contour(self) -> bool:
        """Whether every law has moments at complex arguments, and not just a lattice."""
        return all(getattr(law, "has_contour", True) for law, _ in self.laws)

    @cached_property
    def low_sampling(self) -> LowSampling | None:
        """What is asked where few steps are expected to touch a record; None where many are."""
        return LowSampling.of(self.laws) if self.log_kept == 0.0 else None

    @property
    def rare(self) -> LowSampling | None:
        """The same where it comes before any contour."""
        low = self.low_sampling
        return low if low is not None and low.hits < FEW_HITS else None

    @cached_property
    def parts(self) -> list[tuple[LossDistribution, float]]:
        """The finite losses as loss distributions; none where a law is not stated as one."""
        found = [(law.loss, n) for law, n in self.laws]
        return (
            [(loss, n) for loss, n in found if loss is not None]
            if all(loss is not None for loss, _ in found)
            else []
        )

    def _finite_log_delta(self, epsilon: float) -> Solved:
        """Of the finite losses: by contours of loss distributions; where these refuse, by the engine."""
        if self.parts:
            solved = contour.log_delta(self.parts, epsilon, self.start.tilt or 0.0)
            if solved.error < _USABLE:
                return _between(solved)
            bound = min(solved.above, contour.chernoff(self.parts, epsilon))
            if bound < _LEAST_LOG:  # below all floats, as surely as by any method
                return Solved(bound, -math.inf, bound, resolved=False)
            found = invert.log_delta(self.laws, epsilon, self.start)
            if found.resolved or not found.upper > (union := contour.basic(self.parts, epsilon)):
                return found
            return Solved(union, min(found.lower, union), union, resolved=False)
        return invert.log_delta(self.laws, epsilon, self.start)

    def log_delta(self, epsilon: float) -> Solved:
        if self.rare is not None and (found := self.rare.log_delta(epsilon)) is not None:
            return found
        if self.rare is not None:
            return self._touched(epsilon, self.rare.log_touched)
        solved = self._finite_log_delta(epsilon - self.shift)
        if not solved.resolved and self.low_sampling is not None:
            return self.low_sampling.log_delta(epsilon) or solved
        if self.log_kept == 0.0:
            return solved
        value, lower, upper = map(self._mixed, (solved.value, solved.lower, solved.upper))
        return Solved(
            value, lower - _mixing(lower), upper + _mixing(upper), solved.resolved, solved.start
        )

    def _touched(self, epsilon: float, most: float) -> Solved:
        """By contours, and never above the probability that a record is touched at all."""
        try:
            solved = self._finite_log_delta(epsilon)
        except TooFine:
            return Solved(most, -math.inf, most, resolved=False)
        if solved.upper <= most:
            return solved
        lower, value = min(solved.lower, most), min(solved.value, most)
        return Solved(value, lower, most, solved.resolved, solved.start)

    def _mixed(self, log_finite: float) -> float:
        if self.log_kept == 0.0:
            return log_finite
        return math.log(-math.expm1(self.log_kept) + math.exp(self.log_kept + log_finite))

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Saddle-point estimate of log delta, and the tilt it was made at (NaN where it needs none)."""
        if self.rare is not None:
            return self.rare.estimate(epsilon), math.nan
        at = epsilon - self.shift
        if self.parts:
            value, tilt = contour.estimate(self.parts, at, self.start.tilt or 0.0)
            return (self._mixed(value) if math.isfinite(value) else value), tilt
        value, tilt = invert.log_delta_estimate(self.laws, at, self.start.tilt)
        return self._mixed(value), tilt

    def log_delta_bound(self, epsilon: float) -> float:
        """A cheap upper bound of log delta, as smooth in the plan's parameters as delta."""
        return self._mixed(invert.log_delta_bound(self.laws, epsilon - self.shift))

    def epsilon(self, log_target: float) -> Solved:
        if self.log_kept == 0.0:
            return self._epsilon(log_target)
        # what is left of delta beside the open failures is a difference: move it by its rounding
        target, failing = math.exp(log_target), -math.expm1(self.log_kept)
        excess, slack = target - failing, _mixing(log_target) * (target + failing)
        if excess <= -slack:
            return Solved(math.inf, math.inf, math.inf)
        lower = self._epsilon(math.log(excess + slack) - self.log_kept)
        if excess <= slack:
            return Solved(lower.upper, lower.lower, math.inf, resolved=False)
        upper = self._epsilon(math.log(excess - slack) - self.log_kept)
        value = self._epsilon(math.log(excess) - self.log_kept)
        return Solved(value.value, lower.lower, upper.upper, value.resolved)

    def _epsilon(self, log_target: float) -> Solved:
        """For the finite losses, renormalised."""
        if self.rare is not None and (rare := self.rare.epsilon(log_target)) is not None:
            return rare
        found = self._finite_epsilon(log_target)
        if not found.resolved and self.rare is None and self.low_sampling is not None:
            return self.low_sampling.epsilon(log_target) or found
        value, lower, upper = (
            max(0.0, end + self.shift) for end in (found.value, found.lower, found.upper)
        )
        return Solved(value, lower, upper, found.resolved)

    def _finite_epsilon(self, log_target: float) -> Solved:
        floor = -self.shift
        if self.parts:
            found = contour.epsilon(self.parts, log_target, floor)
            if found.error < _ROUGH * max(found.value, 1e-300) or found == contour.Solved(
                floor, 0.0
            ):
                lower = max(floor, found.value - found.error)
                start = Start(found.tilt) if found.tilt else None
                return Solved(found.value, lower, found.value + found.error, start=start)
        return invert.epsilon(self.laws, log_target, floor)

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Whether a cheap bound already shows delta(epsilon) < e^{log_target}."""
        if self.log_kept < 0.0 or not math.isfinite(epsilon) or not self.has_contour:
            return False
        if self.rare is not None:
            return self.rare.surely_below(log_target, epsilon)
        if self.parts:
            at = epsilon - self.shift
            if at >= sum(n * loss.range[1] for loss, n in self.parts):
                return True
            return contour.chernoff(self.parts, at) < log_target
        return bounds.log_delta_bound(self.laws, epsilon - self.shift, log_target) < log_target

    def log_profile(self, epsilons: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Log delta at each epsilon, and how far the upper end is above it: at most about the tolerance.

        From readings at few epsilons, where these tell; else from grids.
        """
        values, errors = self._profile(epsilons, tolerance)
        rough = np.isinf(errors)
        errors[rough] = 0.0
        rough &= values > _LEAST_LOG
        if rough.any():
            # where no grid spans the losses, the bound stays
            with suppress(stable.TooFine):
                ends, missed = self._on_grids(epsilons[rough], max(tolerance, _ON_GRIDS))
                values[rough], errors[rough] = np.minimum(values[rough], ends), missed
        return values, errors

    @cached_property
    def _profile(self) -> Profile:
        if not any(law.has_density for law, _ in self.laws):
            few = outcomes(merged([(law.source(), count) for law, count in self.laws]))
            if few is not None:
                return Profile(lambda at: (few[1].log_deltas(at), np.zeros(at.shape)), every=True)
            return Profile(Route(self._by_contours), every=True)
        return Profile(Route(self._by_contours), Route(self._by_jumps))

    @cached_property
    def _on_grids(self) -> Profile:
        ends = brackets.Ends(merged([(law.source(), count) for law, count in self.laws]))
        return Profile(lambda at: (ends(at), np.zeros(at.shape)))

    def _by_contours(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Upper ends of log delta at rising epsilons; the error of one that is not resolved is inf."""
        if not self.parts:
            return np.zeros(epsilons.shape), np.full(epsilons.shape, math.inf)
        values, errors = contour.log_deltas(self.parts, epsilons - self.shift)
        resolved = errors < _USABLE
        values += np.where(resolved, np.log1p(np.where(resolved, errors, 0.0)), 0.0)
        if self.log_kept < 0.0:
            values = np.log(-math.expm1(self.log_kept) + np.exp(self.log_kept + values))
        return values, np.where(resolved, 0.0, math.inf)

    def _by_jumps(self, epsilons: Floats) -> tuple[Floats, Floats]:
        low = self.low_sampling
        if low is None:
            return np.zeros(epsilons.shape), np.full(epsilons.shape, math.inf)
        told = [low.log_delta(epsilon) for epsilon in epsilons.tolist()]
        values = np.array([low.log_touched if each is None else each.upper for each in told])
        return values, np.array([math.inf if each is None else 0.0 for each in told])

    @property
    def scale(self) -> float:
        """About the standard deviation of the loss."""
        return math.sqrt(sum(n * law.variance_hint for law, n in self.laws))

    @property
    def largest(self) -> float:
        """Of one release the largest loss; inf of several, whose sum hardly ever is the largest."""
        if [n for _, n in self.parts] != [1]:
            return math.inf
        return self.shift + float(self.parts[0][0].range[1])

    def log_moment(self, s: float) -> float:
        """log E_P[e^{sL}] of the composition, s > 0."""
        if self.log_kept < 0.0:
            return math.inf
        total = sum(n * law.prepare(s, s).cumulants(s).log_moment for law, n in self.laws)
        return total + s * self.shift


class Composition:
    """The composed laws of a plan under one adjacency; `starts`: where its directions may begin."""

    def __init__(
        self, node: Node, adjacency: Adjacency, starts: Mapping[int, Start] | None = None
    ) -> None:
        self.node = node
        self.adjacency = adjacency
        self._starts = starts or {}
        self.releases: tuple[tuple[Leaf, int], ...] = node.releases()

    @cached_property
    def pairs(self) -> list[tuple[Pairs, int]]:
        """The pairs of each leaf, with how often; raises `Unsupported` where a leaf has none."""
        return [part for leaf, n in self.releases for part in leaf.repeated(n, self.adjacency)]

    @cached_property
    def renyi_only(self) -> list[tuple[Leaf, int]]:
        """Leaves of which only a Renyi curve is known."""
        return [(leaf, count) for leaf, count in self.releases if not leaf.has_pairs]

    def _directions(self, sides: Sequence[tuple[tuple[Law, ...], int]]) -> list[Direction]:
        most = max((len(laws) for laws, _ in sides), default=1)
        found = []
        for k in range(most):
            merged: dict[Law, int] = {}
            for laws, count in sides:
                law = laws[min(k, len(laws) - 1)]
                merged[law] = merged.get(law, 0) + count
            laws_of = [(law, float(n)) for law, n in merged.items()]
            found.append(Direction.of(laws_of, self._starts.get(k, ANEW)))
        return found

    @cached_property
    def upper(self) -> list[Direction]:
        """Directions whose worst dominates the plan."""
        return self._directions([(pairs.upper, count) for pairs, count in self.pairs])

    @cached_property
    def lower(self) -> list[Direction] | None:
        """Directions that some data sets realise; None where `upper` itself is realised."""
        if all(pairs.lower is None for pairs, _ in self.pairs):
            return None
        return self._directions([(pairs.lower or pairs.upper, n) for pairs, n in self.pairs])

    @property
    def scale(self) -> float:
        """About the standard deviation of the loss, where no release is chosen by what came before it."""
        steps = [(leaf.pairs(self.adjacency).upper[0], n) for leaf, n in self.releases]
        return math.sqrt(sum(n * law.variance_hint for law, n in steps))

    @property
    def log_touched(self) -> float:
        """log of a bound of delta whatever the noise: that a record is touched at all; 0 if unknown."""
        ways = [direction.low_sampling for direction in self.upper]
        return max(0.0 if way is None else way.log_touched for way in ways)

    @cached_property
    def has_contour(self) -> bool:
        """Whether contours apply to all of it; the lattice does in any case."""
        return all(direction.has_contour for direction in (*self.upper, *(self.lower or ())))

    def past_all_losses(self, epsilon: Fraction) -> bool:
        """Whether the exact epsilon is at least the largest finite loss, known as exactly."""
        total = Fraction(0)
        for leaf, count in self.releases:
            loss: Fraction | None = getattr(leaf, "largest_loss", None)
            if loss is None:
                return False
            total += count * loss
        return epsilon >= total

    def promised(self, delta: Fraction) -> float | None:
        """The least epsilon that a lone release promises at exactly this delta, in so many words.

        Where delta is all that fails openly, what is left of it is 0, which doubles can't tell.
        """
        if len(self.releases) != 1 or self.releases[0][1] != 1:
            return None
        promises = getattr(self.releases[0][0], "promises", ())
        found = [epsilon for epsilon, at in promises if at <= delta]
        return math.nextafter(float(min(found)), math.inf) if found else None

    @cached_property
    def renyi_directions(self) -> list[Direction]:
        """Directions of the leaves that have pairs."""
        sides = [(leaf.moments(self.adjacency), n) for leaf, n in self.releases if leaf.has_pairs]
        return self._directions(sides)

    def log_moment(self, direction: Direction, s: float) -> float:
        """s times the Renyi divergence of order s + 1 of the whole plan, in one direction."""
        total = direction.log_moment(s) if direction.laws else 0.0
        for leaf, count in self.renyi_only:
            total += count * s * float(leaf.renyi(np.array([s + 1.0]), self.adjacency)[0])
        return total

    def renyi(self, order: float) -> float:
        """Renyi DP at a real order above 1: the worse direction.

        Raises `TooFine` for an order at which the moments are out of all proportion.
        """
        return max(self._divergence(direction, order) for direction in self.renyi_directions)

    def renyi_at(self, orders: Floats) -> Floats:
        """`renyi` at each order; many of them share the rules by which moments are summed."""
        found = np.full(orders.shape, math.nan)
        if orders.size > _MANY:
            with np.errstate(all="ignore"):  # what is no number is asked for once more below
                for group in _near_each_other(orders):
                    with suppress(TooFine):
                        found[group] = self._divergences(orders[group])
        for missing in np.flatnonzero(~np.isfinite(found)).tolist():
            found[missing] = self.renyi(float(orders[missing]))
        return found

    def _divergences(self, orders: Floats) -> Floats:
        """The worse direction's divergence at orders whose tilts lie near each other."""
        tilts = orders - 1.0
        known = np.zeros(orders.shape)
        for leaf, count in self.renyi_only:
            known = known + count * leaf.renyi(orders, self.adjacency)
        worst = np.full(orders.shape, -math.inf)
        for direction in self.renyi_directions:
            if direction.log_kept < 0.0:
                return np.full(orders.shape, math.inf)
            total = known + direction.shift
            for law, n in direction.laws:
                family = law.prepare(float(tilts.min()), float(tilts.max()))
                parts = [family.log_moments(part) for part in np.array_split(tilts, _parts(tilts))]
                total = total + n * (np.concatenate(parts) / tilts)
            worst = np.maximum(worst, total)
        return worst

    def _divergence(self, direction: Direction, order: float) -> float:
        s = order - 1.0
        known = sum(
            count * float(leaf.renyi(np.array([order]), self.adjacency)[0])
            for leaf, count in self.renyi_only
        )
        if direction.log_kept < 0.0 or not math.isfinite(known):
            return math.inf
        try:
            with np.errstate(all="ignore"):  # what is no number is looked for below
                value = known + (direction.log_moment(s) / s if direction.laws else 0.0)
        except TooFine:
            value = math.nan
        if math.isfinite(value):
            return value
        # the moment is no double, or out of reach, at an order where the divergence may well be known
        if not self.renyi_only and self.gaussian_mu_squared is not None:
            return 0.5 * self.gaussian_mu_squared * order
        largest = known + sum(n * law.largest_loss for law, n in direction.laws) + direction.shift
        if math.isfinite(largest):  # no divergence is more, and the gap falls as 1/order
            return largest
        raise TooFine

    @cached_property
    def gaussian_mu_squared(self) -> float | None:
        """mu^2 of the plan if all of it is plain Gaussian, else None."""
        parts = [(pairs.gaussian_mu, n) for pairs, n in self.pairs]
        if any(mu is None for mu, _ in parts):
            return None
        return sum(n * mu * mu for mu, n in parts if mu is not None)

    @property
    def gaussian_mu(self) -> float | None:
        """mu of the plan if all of it is plain Gaussian, else None."""
        square = self.gaussian_mu_squared
        return None if square is None else math.sqrt(square)

    @cached_property
    def clt_mu(self) -> float:
        """mu of the Gaussian limit of the composition."""
        total = sum(n * pairs.clt_mu_squared for pairs, n in self.pairs)
        if not math.isfinite(total):
            raise Unsupported("clt does not apply: the limit's mu is infinite", argument="method")
        return math.sqrt(total)

    @cached_property
    def basis(self) -> tuple[str, ...]:
        """Which theorems the pairs rest on."""
        return tuple(dict.fromkeys(line for pairs, _ in self.pairs for line in pairs.basis))
