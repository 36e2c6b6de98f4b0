"""Execution: what really ran, and whether that is what was accounted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dpacct.declare.domain import Integer, Real
from dpacct.declare.number import shown
from dpacct.errors import AssumptionViolated, InvalidArgument
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.plan.node import Leaf, Node, resolve_adjacency
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.plan.samplers.sampled import SampledRelease, Sampler
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus

CHANCE = 1e-9
"""A check fails where a correct run would look like this with at most this probability."""
_HELD, _VIOLATED = AssumptionStatus.HELD, AssumptionStatus.VIOLATED
_UNKNOWN = AssumptionStatus.UNKNOWN
_COUNT = Integer(0, 10**15)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Measurements of a run; whatever is left out is reported as unknown.

    `steps`: noisy releases, that is how often noise was drawn and its result used (not
    micro-batches). `population`: units in the data set. `batch_sizes`: units in each sample, before
    any of them is dropped. `noise_multiplier`: the least standard deviation (for Laplace: scale) /
    clip that was added. `weights`: factors a unit's clipped contribution was multiplied with.
    `noise_draws`: how often noise was drawn in all, where that is not once per step. `sampling`: how
    the program draws its samples, where that is known: "poisson", "uniform" (a fresh subset of one
    size each time) or "shuffle" (an order, cut into batches). `rate`: the sampling rate that the program
    is set to. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> ran = Execution(steps=100, population=1000, batch_sizes=[10] * 100)
    >>> for check in ran.compare(dp.Poisson(0.01)(dp.Gaussian(sigma=1)) * 100)[:2]:
    ...     print(check.status, check.text)
    held no more steps ran than were accounted
    violated each unit was sampled by its own coin
    """

    steps: int
    population: int | None = None
    batch_sizes: Sequence[int] | None = None
    noise_multiplier: float | None = None
    weights: Sequence[float] | None = None
    noise_draws: int | None = None
    sampling: str | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.sampling not in (None, "poisson", "uniform", "shuffle"):
            message = "sampling must be poisson, uniform, shuffle or None"
            raise InvalidArgument(f"{message}, got {shown(self.sampling)}", argument="sampling")
        _COUNT.check("steps", self.steps)
        for name in ("population", "noise_draws"):
            if getattr(self, name) is not None:
                _COUNT.check(name, getattr(self, name))
        sizes = [_COUNT.check("batch_sizes", size) for size in self.batch_sizes or ()]
        if self.population is not None and sizes and max(sizes) > self.population:
            message = f"batch_sizes must be at most population, {self.population}, got {max(sizes)}"
            raise InvalidArgument(message, argument="batch_sizes")
        for weight in self.weights or ():
            Real(-math.inf, math.inf).check("weights", weight)
        if self.rate is not None:
            Real(0, 1, "both").check("rate", self.rate)
        if self.noise_multiplier is not None:
            Real(0, math.inf, "left").check("noise_multiplier", self.noise_multiplier)

    def compare(
        self, plan: Node | None, adjacency: Adjacency | str | None = None
    ) -> tuple[Assumption, ...]:
        """Each assumption that can be checked, as held, violated or unknown; `source` says why.

        Raises `InvalidArgument` for an adjacency that the plan hasn't.
        """
        factor = 1 if plan is None else resolve_adjacency(plan, adjacency).clip_factor
        leaves = () if plan is None else plan.releases()
        accounted = 0 if plan is None else plan.facts.total
        sampler, mechanism = _shape(leaves)
        return tuple(
            [
                self._steps(accounted),
                self._coins(sampler),
                self._rate(sampler),
                self._noise(mechanism, factor),
                self._draws(),
                self._weights(),
            ]
        )

    # --- the checks

    def _steps(self, accounted: int) -> Assumption:
        comparison = f"{self.steps} ran, {accounted} were accounted"
        claim = Check("steps", "no more steps ran than were accounted")
        return claim.found(comparison, self.steps <= accounted)

    def _coins(self, sampler: Sampler | None) -> Assumption:
        """Poisson samples vary in size, fixed ones do not: a shuffled epoch is neither."""
        if isinstance(sampler, WithoutReplacement):
            return self._fixed()
        claim = Check("sampling.draw", "each unit was sampled by its own coin")
        if not isinstance(sampler, Poisson):
            return claim.open("the plan is not one kind of Poisson-sampled step")
        if self.sampling not in (None, "poisson"):
            return claim.found(f"the program samples by {self.sampling}", False)
        sizes = self.batch_sizes
        if not sizes or self.population is None:
            if self.sampling:
                return claim.found("the program samples so", True)
            return claim.open("batch_sizes and population were not measured")
        chance = steadiness(sizes, self.population, float(sampler.rate))
        evidence = (
            f"sizes from {min(sizes)} to {max(sizes)}; coins are so steady with chance {chance:.1e}"
        )
        return claim.found(evidence, chance > CHANCE)

    def _fixed(self) -> Assumption:
        claim = Check("sampling.draw", "every sample was a fresh subset of one size")
        if self.sampling not in (None, "uniform"):
            return claim.found(f"the program samples by {self.sampling}", False)
        sizes = self.batch_sizes
        if not sizes:
            return claim.open("batch_sizes were not measured")
        return claim.found(f"sizes from {min(sizes)} to {max(sizes)}", len(set(sizes)) == 1)

    def _rate(self, sampler: Sampler | None) -> Assumption:
        claim = Check("sampling.rate", "the sampling rate was at most the accounted one")
        if sampler is None:
            return claim.open("the plan does not have one rate")
        if self.rate is not None:
            comparison = f"{self.rate:.6g} is set, {float(sampler.rate):.6g} was accounted"
            # a rate is a quotient of two counts, rounded once or twice on its way
            return claim.found(comparison, self.rate <= float(sampler.rate) * (1 + 1e-9))
        if not self.batch_sizes or not self.population:
            return claim.open("batch_sizes and population were not measured")
        rate, trials = float(sampler.rate), self.population * len(self.batch_sizes)
        seen = sum(self.batch_sizes) / trials
        comparison = f"{seen:.6g} was seen, {rate:.6g} was accounted"
        if isinstance(sampler, WithoutReplacement):
            return claim.found(comparison, max(self.batch_sizes) <= sampler.rate * self.population)
        chance = excess(seen, rate, trials)
        if rate < seen and chance > CHANCE:
            comparison += ", a difference within chance"
        return claim.found(comparison, chance > CHANCE)

    def _noise(self, mechanism: Leaf | None, factor: int) -> Assumption:
        claim = Check("noise.size", "the noise was at least the accounted one")
        accounted = None if mechanism is None else _noise(mechanism, factor)
        if isinstance(mechanism, Laplace):
            accounted = mechanism.noise_multiplier if mechanism.b is None else mechanism.b * factor
        if accounted is None or self.noise_multiplier is None:
            return claim.open("noise_multiplier was not measured, or the plan has several")
        comparison = f"{self.noise_multiplier:.6g} was added, {float(accounted):.6g} was accounted"
        # What is set in a program went through a double or two: the last digits are not a breach.
        enough = self.noise_multiplier >= float(accounted) * (1 - 1e-12)
        return claim.found(comparison, enough)

    def _draws(self) -> Assumption:
        claim = Check("noise.draws", "noise was drawn once per step, not once per micro-batch")
        if self.noise_draws is None:
            return claim.open("noise_draws were not counted")
        count = f"{self.noise_draws} draws in {self.steps} steps"
        return claim.found(count, self.noise_draws == self.steps)

    def _weights(self) -> Assumption:
        claim = Check(
            "sensitivity.weights", "no weight raised a unit's contribution above its clip"
        )
        if self.weights is None:
            return claim.open("weights were not measured")
        most = max((abs(weight) for weight in self.weights), default=0.0)
        return claim.found(f"the largest weight was {most:.6g}", most <= 1)


class Check(NamedTuple):
    """One check of what ran: the assumption that it is about, a point, and the part; and what is claimed."""

    id: str
    text: str

    def found(self, evidence: str, fine: bool) -> Assumption:
        """The claim, held or violated."""
        return Assumption(self.text, f"checked: {evidence}", _HELD if fine else _VIOLATED, self.id)

    def open(self, why: str) -> Assumption:
        """The claim, of which nothing is known."""
        return Assumption(self.text, why, _UNKNOWN, self.id)


def _shape(leaves: Iterable[tuple[Leaf, int]]) -> tuple[Sampler | None, Leaf | None]:
    """The one sampler and the one mechanism of all leaves; None where they differ."""
    samplers = {_parts(leaf)[0] for leaf, _ in leaves}
    inner = {_parts(leaf)[1] for leaf, _ in leaves}
    return (
        samplers.pop() if len(samplers) == 1 else None,
        inner.pop() if len(inner) == 1 else None,
    )


def beyond(
    ran: Node | None, plan: Node, adjacency: Adjacency | str | None = None
) -> tuple[Leaf, int] | None:
    """A kind of release that was counted more often than the plan allows, and how often; None without one.

    More noise at the same sampling is within the plan: such a release takes the place of a planned one.
    """
    factor = resolve_adjacency(plan, adjacency).clip_factor
    left = dict(plan.releases())
    counted = () if ran is None else ran.releases()
    for leaf, count in sorted(counted, key=lambda each: _noise(each[0], factor) or 0.0):
        missing = count
        # the largest noise first: what has less stays for releases that have no more
        for planned in sorted(left, key=lambda each: -(_noise(each, factor) or 0.0)):
            if leaf == planned or _replaces(leaf, planned, factor):
                taken = min(missing, left[planned])
                left[planned] -= taken
                missing -= taken
        if missing:
            return leaf, count
    return None


def _parts(leaf: Leaf) -> tuple[Sampler | None, Leaf]:
    return (leaf.sampler, leaf.node) if isinstance(leaf, SampledRelease) else (None, leaf)


def _noise(leaf: Leaf, factor: int) -> Fraction | None:
    """Standard deviation / clip of Gaussian noise; None of other noises."""
    _, mechanism = _parts(leaf)
    if not isinstance(mechanism, Gaussian):
        return None
    return mechanism.noise_multiplier if mechanism.sigma is None else mechanism.sigma * factor


def _replaces(leaf: Leaf, planned: Leaf, factor: int) -> bool:
    noise, least = _noise(leaf, factor), _noise(planned, factor)
    if noise is None or least is None:
        return False
    return noise >= least and _parts(leaf)[0] == _parts(planned)[0]


def excess(seen: float, rate: float, trials: int) -> float:
    """A bound on the chance that independent coins of `rate` come up as often as `seen`.

    Chernoff (Hoeffding 1963, Theorem 1): P[mean >= seen] <= exp(-trials KL(seen || rate)).

    >>> excess(0.01, 0.01, 1000), excess(0.02, 0.01, 10**5) < 1e-100
    (1.0, True)
    """
    if seen <= rate:
        return 1.0
    if rate == 0.0:
        return 0.0
    divergence = seen * math.log(seen / rate)
    if seen < 1.0:
        divergence += (1.0 - seen) * math.log((1.0 - seen) / (1.0 - rate))
    return math.exp(-trials * divergence)


def steadiness(sizes: Sequence[int], population: int, rate: float) -> float:
    """About how likely coins of `rate` make batch sizes that vary as little as these.

    Sum of squared deviations over the variance of a batch size is nearly chi-squared with one
    degree of freedom less than there are batches. The last batch is left out of the run, as a
    loader may cut it short.

    >>> steadiness([10] * 50, 1000, 0.01) < 1e-20, steadiness([7, 12, 9, 14, 10], 1000, 0.01) > 0.1
    (True, True)
    """
    from scipy.special import chdtr

    kept = list(sizes[:-1]) if len(sizes) > 2 else list(sizes)
    variance = population * rate * (1.0 - rate)
    if len(kept) < 2 or variance == 0.0:
        return 1.0
    mean = sum(kept) / len(kept)
    spread = sum((size - mean) ** 2 for size in kept) / variance
    # Batch sizes are whole: two that are equal are no wonder, and the sum of squares takes steps of a half;
    # a spread below one unit's worth is what a small variance gives anyway.
    granular = max(0.5, 0.25 * len(kept) if variance < 1.0 else 0.0) / variance
    return float(chdtr(len(kept) - 1, spread + granular))


def demand(checks: Iterable[Assumption]) -> None:
    """Raise `AssumptionViolated` for the first check that failed."""
    for check in checks:
        if check.status is _VIOLATED:
            message = f"violated: {check.text} ({shown(check.source, 120)})"
            raise AssumptionViolated(message, argument="execution")
