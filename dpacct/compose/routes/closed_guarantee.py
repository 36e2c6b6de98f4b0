"""Theorems 1 and 2 of DP-Fed-LS as routes, for sampled Gaussian plans that repeat one release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpacct.compose import smallest_noise
from dpacct.compose.composition import Composition
from dpacct.errors import Unreachable, Unsupported
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.sampling.fixed_size import WithoutReplacement
from dpacct.sampling.poisson import Poisson
from dpacct.sampling.sampled import SampledRelease, Sampler
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_WIDTH = 1e-12


@dataclass(frozen=True)
class ClosedGuarantee(Route):
    """An upper bound as published: its proof has a gap, and no counter-example is known."""

    name: str
    theorem: smallest_noise.Guarantee
    sampler: type[Sampler]
    basis: str

    def sigma(self, plan: Composition, epsilon: float, log_delta: float) -> float:
        """Smallest standard deviation / sensitivity; raises `Unreachable` where no lambda exists.

        The theorem's nu is 2 G sqrt(x) whatever the adjacency; the sensitivity is G or 2G.
        """
        rate, steps, _ = self._facts(plan)
        result = self.theorem.smallest(epsilon, -log_delta, rate, steps)
        if result is None:
            least = self.theorem.least_epsilon(-log_delta, rate, steps)
            message = (
                f"no lambda meets the conditions of {self.name} at epsilon {epsilon:.6g}: the"
                f" smallest feasible epsilon is {least:.14g}"
            )
            raise Unreachable(message, argument="epsilon")
        return 2.0 * math.sqrt(result[0]) / plan.adjacency.clip_factor * (1.0 + 1e-14)

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        """The smallest epsilon for which the plan's noise is enough."""
        rate, steps, sigma = self._facts(plan)
        least = self.theorem.least_epsilon(-log_delta, rate, steps) * (1.0 + _WIDTH)

        def enough(epsilon: float) -> bool:
            return self.sigma(plan, epsilon, log_delta) <= sigma

        if enough(least):
            return self._finding(least)
        high = 2.0 * least
        while not enough(high):
            high *= 2.0
            if high > 1e9:
                raise Unsupported(f"{self.name} gives no epsilon for this plan", argument="method")
        return self._finding(_halved(enough, high, 0.5 * high))

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        """The smallest delta for which the plan's noise is enough; log 1 where there is none."""
        rate, steps, sigma = self._facts(plan)

        def enough(log_inverse: float) -> bool:
            result = self.theorem.smallest(epsilon, log_inverse, rate, steps)
            return result is not None and (
                2.0 * math.sqrt(result[0]) / plan.adjacency.clip_factor <= sigma
            )

        if not epsilon > 0.0 or not enough(1e-9):
            return self._finding(0.0)
        high = 1.0
        while enough(high):
            high *= 2.0
        return self._finding(-_halved(enough, 0.5 * high if high > 1.0 else 1e-9, high))

    def _facts(self, plan: Composition) -> tuple[float, int, float]:
        """Rate, number of steps and sigma; raises `Unsupported` for any other kind of plan."""
        if len(plan.releases) == 1:
            leaf, steps = plan.releases[0]
            if (
                isinstance(leaf, SampledRelease)
                and isinstance(leaf.sampler, self.sampler)
                and isinstance(leaf.node, Gaussian)
            ):
                return float(leaf.sampler.rate), steps, leaf.node.sigma_under(plan.adjacency)
        message = (
            f"method {self.name!r} applies to repeated Gaussian releases only, where "
            f"{self.sampler.drawing}"
        )
        raise Unsupported(message, argument="method")

    def _finding(self, value: float) -> Finding:
        return Finding(value, None, value, Side.UPPER, Strength.PUBLISHED, (self.basis,))


def _halved(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """The end of what holds, on its safe side."""
    while abs(outside - inside) > _WIDTH * abs(inside):
        middle = 0.5 * (inside + outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


_PAPER = "Liang, Wang, Gu, Osher, Yao 2020"
THEOREM1 = ClosedGuarantee(
    "dp_fed_ls.theorem1", smallest_noise.UNIFORM, WithoutReplacement, f"{_PAPER}, Theorem 1"
)
THEOREM2 = ClosedGuarantee(
    "dp_fed_ls.theorem2", smallest_noise.POISSON, Poisson, f"{_PAPER}, Theorem 2"
)
PUBLISHED = {route.name: route for route in (THEOREM1, THEOREM2)}
"""The theorems that answer by name; they are never the default."""
