"""A plan as a sum of independent privacy losses: a list of (law, count) per direction and side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpacct.citations import Citation
from dpacct.errors import Unsupported
from dpacct.plan.node import Leaf, Node
from dpacct.pld import bracket, contour
from dpacct.pld.bracket.nested import merged
from dpacct.pld.interval import Interval
from dpacct.pld.moments import Part
from dpacct.pld.outcomes import Outcomes, outcomes
from dpacct.pld.pair import PairMoments, Pairs, Ways
from dpacct.pld.pieces import Source, Sources
from dpacct.pld.stable import Floats, TooFine
from dpacct.vocabulary import Adjacency


def _near_each_other(orders: Floats) -> Iterator[NDArray[np.intp]]:
    """Positions of the orders, in groups whose tilts differ by less than a factor."""
    rank = np.argsort(orders)
    level = np.floor(np.log(orders[rank] - 1.0) / math.log(1.25))
    yield from np.split(rank, np.flatnonzero(np.diff(level)) + 1)


def _mixing(log_value: float) -> float:
    """The error of a log probability after adding or removing open failures, rounding included."""
    # relative rounding of the mass of open failures, and of what is added to it
    return 4e-15 + 4e-16 * abs(log_value) if math.isfinite(log_value) else 0.0


def expected_hits(parts: list[Part]) -> float:
    """Return the expected number of steps that touch a record; inf where a law has no sampled branches."""
    hits = 0.0
    for law, n in parts:
        share = law.branches[0].share if law.branches else 1.0
        hits += n * share if share < 1.0 else math.inf
    return hits


@dataclass(frozen=True)
class Direction:
    """One direction of the neighbouring relation: the loss distribution of each release, with its count.

    delta(eps) is the probability of an infinite loss, and E[(1 - e^{eps - L})_+] over the finite ones.
    """

    sources: Sources
    tilt: float = 0.0  # where a similar plan was answered; 0: nothing is known

    @cached_property
    def log_kept(self) -> float:
        """Log of the P-mass of finite losses."""
        return sum(n * math.log1p(-source.infinite) for source, n in self.sources)

    @cached_property
    def failing(self) -> float:
        """P-mass of infinite losses."""
        return -math.expm1(self.log_kept)

    @cached_property
    def parts(self) -> list[Part]:
        """The laws for contours; empty if some law is known only in pieces."""
        results = [(source.distribution, n) for source, n in self.sources]
        parts = [(law, n) for law, n in results if law is not None]
        return parts if len(parts) == len(results) else []

    @property
    def has_contour(self) -> bool:
        """Return whether contours apply, and not just grids."""
        return bool(self.parts)

    @cached_property
    def log_touched(self) -> float:
        """log of the probability that the record is in any step, an upper bound of delta; 0 if unknown."""
        untouched = 0.0
        for law, n in self.parts:
            share = law.branches[0].share if law.branches else 1.0
            untouched += n * math.log1p(-share) if share < 1.0 else -math.inf
        known = self.parts and self.log_kept == 0.0
        return math.log(-math.expm1(untouched)) if known and untouched < 0.0 else 0.0

    # -- log delta, by the line: not resolved where that refuses ---------------------------------

    def log_delta(self, epsilon: float) -> Interval:
        """log delta, open failures included."""
        solved = contour.log_delta(self.parts, epsilon, self.tilt)
        if self.log_kept == 0.0 or not solved.resolved:
            return solved
        value, lower, upper = map(self._mixed, (solved.value, solved.lower, solved.upper))
        return Interval(value, lower - _mixing(lower), upper + _mixing(upper), True, solved.tilt)

    def _mixed(self, log_finite: float) -> float:
        if self.log_kept == 0.0:
            return log_finite
        # the finite losses have no more than their own mass
        return min(0.0, math.log(self.failing + math.exp(min(log_finite, self.log_kept))))

    def estimate(self, epsilon: float, tilt: float) -> tuple[float, float]:
        """The saddle-point estimate of log delta, and the saddle; nan where none is found."""
        value, tilt = contour.estimate(self.parts, epsilon, tilt)
        return self._mixed(value), tilt

    def log_delta_bound(self, epsilon: float) -> float:
        """A cheap upper bound of log delta, as smooth in the plan's parameters as delta."""
        return self._mixed(min(0.0, contour.chernoff(self.parts, epsilon)))

    # -- epsilon ----------------------------------------------------------------------------

    def epsilon(self, log_target: float) -> Interval:
        """The least epsilon >= 0 with log delta at most the target."""
        if self.log_touched <= log_target < 0.0:
            return Interval.about(0.0, 0.0)
        if self.log_kept == 0.0:
            return self._epsilon(log_target)
        # what is left of delta beside the open failures is a difference: move it by its rounding
        target = math.exp(log_target)
        excess, slack = target - self.failing, _mixing(log_target) * (target + self.failing)
        if excess <= -slack:
            return Interval(math.inf, math.inf, math.inf)
        lower = self._epsilon(math.log(excess + slack))
        if excess <= slack:
            return Interval(lower.upper, lower.lower, math.inf, resolved=False)
        upper = self._epsilon(math.log(excess - slack))
        value = self._epsilon(math.log(excess))
        # each is found by a search of its own
        ends = min(lower.lower, value.lower), max(upper.upper, value.upper)
        resolved = lower.resolved and upper.resolved and value.resolved
        return Interval(value.value, *ends, resolved)

    def _epsilon(self, log_target: float) -> Interval:
        """The least epsilon for the finite losses."""
        answer = contour.epsilon(self.parts, log_target)
        return answer if not answer.lower < 0.0 else replace(answer, lower=0.0)

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Return whether a cheap bound shows delta(epsilon) < e^{log_target}."""
        if self.log_kept < 0.0 or not math.isfinite(epsilon) or not self.parts:
            return False
        return contour.surely_below(self.parts, epsilon, log_target)

    # -- curves ------------------------------------------------------------------------------

    def log_profile(self, epsilons: Floats) -> Floats:
        """Upper ends of log delta at rising epsilons; nan where no contour resolves them."""
        if self._few is not None:
            return self._few.log_deltas(epsilons)
        if not self.parts:
            return np.full(epsilons.shape, math.nan)
        values, errors = self._readings(epsilons)
        resolved = errors < contour.ACCURATE
        values = np.where(resolved, values + np.log1p(np.where(resolved, errors, 0.0)), math.nan)
        if self.log_kept < 0.0:
            return np.asarray(np.log(self.failing + np.exp(np.minimum(values, self.log_kept))))
        values[epsilons >= self.ceiling] = -math.inf  # no loss reaches these
        return values

    def bracketed(self, epsilons: Floats) -> Floats:
        """Upper ends of log delta at rising epsilons, from brackets; of many, chords between some of them.

        A profile is convex in e^epsilon, and so below its chords (Dong, Roth, Su 2022, Proposition 2.12).
        """
        # epsilons of a curve that are read by brackets; 130 are about as many as a trade-off curve has bends
        most_read = 130
        if epsilons.size <= most_read or self.kinked:
            return self._bracketed(epsilons)[0]
        some = np.unique(np.linspace(0, epsilons.size - 1, most_read).astype(int))
        nodes, values = epsilons[some], self._bracketed(epsilons[some])[0]
        right = np.clip(np.searchsorted(nodes, epsilons), 1, nodes.size - 1)
        wide, along = nodes[right] - nodes[right - 1], epsilons - nodes[right - 1]
        with np.errstate(divide="ignore"):
            share = np.exp(along - wide) * np.expm1(-along) / np.expm1(-wide)
            low, high = np.log1p(-share) + values[right - 1], np.log(share) + values[right]
        return np.asarray(np.logaddexp(low, high))

    def chernoff(self, epsilon: float) -> float:
        """Chernoff's bound on log delta; 0 where there is none."""
        bounded = self.has_contour and self.log_kept == 0.0
        return contour.chernoff(self.parts, epsilon) if bounded else 0.0

    @cached_property
    def _few(self) -> Outcomes | None:
        """All outcomes from above, where losses are atoms and few."""
        few = outcomes(merged(self.sources)) if self.kinked else None
        return None if few is None else few[1]

    @cached_property
    def _bracketed(self) -> bracket.CurveEnds:
        return bracket.CurveEnds(merged(self.sources))

    @cached_property
    def _readings(self) -> contour.Readings:
        return contour.Readings(self.parts)

    @property
    def scale(self) -> float:
        """Roughly the standard deviation of the loss."""
        return math.sqrt(sum(n * source.variance for source, n in self.sources))

    @property
    def kinked(self) -> bool:
        """Return whether all losses are atoms, so that delta has kinks."""
        return bool(self.parts) and not any(law.branches or law.round for law, _ in self.parts)

    @cached_property
    def ceiling(self) -> float:
        """An upper bound of the sum of all finite losses; inf if none is known."""
        if self.parts:
            return contour.ceiling(self.parts)
        return sum(n * source.ceiling for source, n in self.sources)

    @property
    def largest(self) -> float:
        """The largest loss of a single release; inf for several, whose sum is hardly ever the largest."""
        return self.ceiling if [n for _, n in self.sources] == [1] else math.inf


class Composition:
    """The composed laws of a plan under one adjacency; `tilts`: where its directions were answered."""

    def __init__(
        self, node: Node, adjacency: Adjacency, tilts: Mapping[int, float] | None = None
    ) -> None:
        self.node = node
        self.adjacency = adjacency
        self._tilts = tilts or {}
        self.releases: tuple[tuple[Leaf, int], ...] = node.releases()

    @cached_property
    def pairs(self) -> list[tuple[Pairs, int]]:
        """The pairs of each leaf, with how often; raises `Unsupported` where a leaf has none."""
        return [part for leaf, n in self.releases for part in leaf.repeated(n, self.adjacency)]

    @cached_property
    def renyi_only(self) -> list[tuple[Leaf, int]]:
        """The leaves known only by a Rényi curve."""
        return [(leaf, count) for leaf, count in self.releases if not leaf.has_pairs]

    @property
    def loose(self) -> bool:
        """Return whether moments may give a smaller bound than the dominating pairs."""
        return any(leaf.loose for leaf, _ in self.releases)

    def _directions(self, sides: Sequence[tuple[Ways, int]]) -> list[Direction]:
        most = max((len(ways) for ways, _ in sides), default=1)
        directions = []
        for k in range(most):
            sources = [(ways[k % len(ways)], float(count)) for ways, count in sides]
            if len(sources) > 1:
                counts: dict[Source, float] = {}
                for source, n in sources:
                    counts[source] = counts.get(source, 0.0) + n
                sources = list(counts.items())
            directions.append(Direction(sources, self._tilts.get(k, 0.0)))
        return directions

    @cached_property
    def upper(self) -> list[Direction]:
        """The directions whose maximum dominates the plan."""
        return self._directions([(pairs.upper, count) for pairs, count in self.pairs])

    @cached_property
    def lower(self) -> list[Direction] | None:
        """The directions that some data sets attain; None if `upper` itself is attained."""
        if all(pairs.lower is None for pairs, _ in self.pairs):
            return None
        return self._directions([(pairs.lower or pairs.upper, n) for pairs, n in self.pairs])

    @cached_property
    def seldom_touched(self) -> bool:
        """Return whether a record is expected in fewer than one of several sampled steps.

        Then M(c + it)^T tends to the mass of no hit at all, and a vertical contour does not end.
        """
        return any(
            direction.parts
            and sum(n for _, n in direction.parts) > 1
            and any(law.branches for law, _ in direction.parts)
            and expected_hits(direction.parts) < 1.0
            for direction in self.upper
        )

    @property
    def scale(self) -> float:
        """Roughly the standard deviation of the loss, if no release is chosen adaptively."""
        steps = [(leaf.pairs(self.adjacency).upper[0], n) for leaf, n in self.releases]
        return math.sqrt(sum(n * source.variance for source, n in steps))

    @property
    def log_touched(self) -> float:
        """log of the probability that a record is in any step, which bounds delta; 0 if unknown."""
        return max(direction.log_touched for direction in self.upper)

    @cached_property
    def has_contour(self) -> bool:
        """Return whether contours apply to every law; the lattice always does."""
        return all(direction.has_contour for direction in (*self.upper, *(self.lower or ())))

    def past_all_losses(self, epsilon: Fraction) -> bool:
        """Return whether the exact epsilon is at least the largest finite loss, known as exactly."""
        total = Fraction(0)
        for leaf, count in self.releases:
            loss = leaf.largest_loss(self.adjacency)
            if loss is None:
                return False
            total += count * loss
        return epsilon >= total

    def promised(self, delta: Fraction) -> float | None:
        """The least epsilon that a lone release is stated to have at exactly this delta.

        Where delta is all that fails openly, what is left of it is 0, which doubles cannot resolve.
        """
        if len(self.releases) != 1 or self.releases[0][1] != 1:
            return None
        epsilons = [epsilon for epsilon, at in self.releases[0][0].promises if at <= delta]
        return math.nextafter(float(min(epsilons)), math.inf) if epsilons else None

    # -- moments ---------------------------------------------------------------------------------

    @cached_property
    def moments(self) -> list[list[tuple[PairMoments, int]]]:
        """Bounds of the moments of each release, with counts: one list per direction."""
        sides = [(leaf.moments(self.adjacency), n) for leaf, n in self.releases]
        most = max((len(ways) for ways, _ in sides), default=1)
        return [[(ways[k % len(ways)], n) for ways, n in sides] for k in range(most)]

    def renyi(self, order: float) -> float:
        """Renyi DP at a real order above 1: the worse direction.

        Raises `TooFine` for an order at which the moments are out of all proportion.
        """
        return max(self._divergence(way, order) for way in self.moments)

    def renyi_at(self, orders: Floats) -> Floats:
        """`renyi` at each order; many of them share the rules by which moments are summed."""
        result = np.full(orders.shape, math.nan)
        # so many orders share their rules, where their tilts differ by less than a factor of 1.25
        if orders.size > 64:
            with np.errstate(all="ignore"):  # what is no number is asked for once more below
                for group in _near_each_other(orders):
                    tilts = orders[group] - 1.0
                    with suppress(TooFine):
                        ends = [log_moments(way, tilts) / tilts for way in self.moments]
                        result[group] = np.max(ends, axis=0)
        for missing in np.flatnonzero(~np.isfinite(result)).tolist():
            result[missing] = self.renyi(float(orders[missing]))
        return result

    def _divergence(self, way: list[tuple[PairMoments, int]], order: float) -> float:
        s = order - 1.0
        if any(moments.infinite for moments, _ in way):
            return math.inf
        try:
            with np.errstate(all="ignore"):  # what is no number is looked for below
                value = float(log_moments(way, np.array([s]))[0]) / s
        except TooFine:
            value = math.nan
        if math.isfinite(value):
            return value
        # the moment is no double, or out of reach, at an order where the divergence may well be known
        if self.renyi_only:
            return math.inf
        if self.gaussian_mu_squared is not None:
            return 0.5 * self.gaussian_mu_squared * order
        largest = sum(n * moments.ceiling for moments, n in way)
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
    def basis(self) -> tuple[Citation, ...]:
        """The theorems behind the pairs."""
        return tuple(dict.fromkeys(line for pairs, _ in self.pairs for line in pairs.basis))


def log_moments(way: Sequence[tuple[PairMoments, int]], tilts: Floats) -> Floats:
    """log E_P[e^{sL}] of a composition, s > 0: s times the Renyi divergence of order s + 1."""
    total = np.zeros(tilts.shape)
    for moments, count in way:
        if moments.infinite:
            return np.full(tilts.shape, math.inf)
        total = total + count * moments.log_moments(tilts)
    return total
