"""Execution: what really ran, and whether that is what was accounted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpacct.declare.domain import Integer, Real
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.plan.node import Leaf, Node, resolve_adjacency
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.plan.samplers.sampled import SampledRelease, Sampler
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus

CHANCE = 1e-9
"""A check fails where a correct run would look like this with at most this probability."""
_COUNT = Integer(0, 10**15)
_DRAWS = ("each unit was sampled by its own coin", "every sample was a fresh subset of one size")


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
        samplers = {_parts(leaf)[0] for leaf, _ in leaves}
        mechanisms = {_parts(leaf)[1] for leaf, _ in leaves}
        sampler = samplers.pop() if len(samplers) == 1 else None
        mechanism = mechanisms.pop() if len(mechanisms) == 1 else None
        steps = f"{self.steps} ran, {accounted} were accounted"
        found = {
            ("steps", "no more steps ran than were accounted"): (steps, self.steps <= accounted),
            ("sampling.draw", _DRAWS[type(sampler) is WithoutReplacement]): self._draw(sampler),
            ("sampling.rate", "the sampling rate was at most the accounted one"): self._rate(
                sampler
            ),
            ("noise.size", "the noise was at least the accounted one"): self._noise(
                mechanism, factor
            ),
            (
                "noise.draws",
                "noise was drawn once per step, not once per micro-batch",
            ): self._draws(),
            (
                "sensitivity.weights",
                "no weight raised a unit's contribution above its clip",
            ): self._weights(),
        }
        return tuple([_claim(id, text, *result) for (id, text), result in found.items()])

    # --- the checks: what was seen, and whether that is fine (None: not known)

    def _draw(self, sampler: Sampler | None) -> tuple[str, bool | None]:
        """Poisson samples vary in size, fixed ones do not: a shuffled epoch is neither."""
        fixed, sizes = isinstance(sampler, WithoutReplacement), self.batch_sizes
        if sampler is None or not (fixed or isinstance(sampler, Poisson)):
            return "the plan is not one kind of Poisson-sampled step", None
        if self.sampling not in (None, "uniform" if fixed else "poisson"):
            return f"the program samples by {self.sampling}", False
        if sizes and fixed:
            return f"sizes from {min(sizes)} to {max(sizes)}", len(set(sizes)) == 1
        if sizes and self.population is not None:
            chance = steadiness(sizes, self.population, float(sampler.rate))
            seen = f"sizes from {min(sizes)} to {max(sizes)}; coins are so steady with chance"
            return f"{seen} {chance:.1e}", chance > CHANCE
        if self.sampling and not fixed:
            return "the program samples so", True
        return "batch_sizes and population were not measured", None

    def _draws(self) -> tuple[str, bool | None]:
        if self.noise_draws is None:
            return "noise_draws were not counted", None
        return f"{self.noise_draws} draws in {self.steps} steps", self.noise_draws == self.steps

    def _weights(self) -> tuple[str, bool | None]:
        if self.weights is None:
            return "weights were not measured", None
        most = max((abs(weight) for weight in self.weights), default=0.0)
        return f"the largest weight was {most:.6g}", most <= 1

    def _rate(self, sampler: Sampler | None) -> tuple[str, bool | None]:
        if sampler is None:
            return "the plan does not have one rate", None
        rate = float(sampler.rate)
        if self.rate is not None:
            # a rate is a quotient of two counts, rounded once or twice on its way
            seen = f"{self.rate:.6g} is set, {rate:.6g} was accounted"
            return seen, self.rate <= rate * (1 + 1e-9)
        if not self.batch_sizes or not self.population:
            return "batch_sizes and population were not measured", None
        trials = self.population * len(self.batch_sizes)
        share = sum(self.batch_sizes) / trials
        seen = f"{share:.6g} was seen, {rate:.6g} was accounted"
        if isinstance(sampler, WithoutReplacement):
            return seen, max(self.batch_sizes) <= sampler.rate * self.population
        chance = excess(share, rate, trials)
        within = ", a difference within chance" if rate < share and chance > CHANCE else ""
        return seen + within, chance > CHANCE

    def _noise(self, mechanism: Leaf | None, factor: int) -> tuple[str, bool | None]:
        accounted = None if mechanism is None else _noise(mechanism, factor)
        if isinstance(mechanism, Laplace):
            accounted = mechanism.noise_multiplier if mechanism.b is None else mechanism.b * factor
        if accounted is None or self.noise_multiplier is None:
            return "noise_multiplier was not measured, or the plan has several", None
        seen = f"{self.noise_multiplier:.6g} was added, {float(accounted):.6g} was accounted"
        # What is set in a program went through a double or two: the last digits are not a breach.
        return seen, self.noise_multiplier >= float(accounted) * (1 - 1e-12)


def _claim(id: str, text: str, seen: str, fine: bool | None) -> Assumption:
    """An assumption: a point of an answer's, and the part; held, violated, or unknown (None)."""
    if fine is None:
        return Assumption(text, seen, AssumptionStatus.UNKNOWN, id)
    status = AssumptionStatus.HELD if fine else AssumptionStatus.VIOLATED
    return Assumption(text, f"checked: {seen}", status, id)


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
