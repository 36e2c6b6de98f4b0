"""Delta of a plan whose parameter is being searched for: a rough value first, one direction next.

Nothing here is an answer. The saddle-point estimate is good to a part in a hundred and costs a third of an
evaluation; one direction costs half of both. The search settles its two ends by whole evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.routes import ROUTES
from dpacct.pld.interval import Interval
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Adjacency

_ROOT_2, _LOG_ROOT_2_PI = math.sqrt(2.0), 0.5 * math.log(2.0 * math.pi)
# standard deviations beyond which a Gaussian tail vanishes: e^{-10^60}
_FARTHEST = 1e30
# and those of the other tail beyond which one minus it is
_SURELY = -5.0


def score(log_delta: float) -> float:
    """About the normal quantile of 1 - delta; increasing in privacy, finite for delta in [0, 1)."""
    if log_delta >= 0.0:
        return -1e6
    return 1e8 if log_delta < -5e15 else math.sqrt(-2.0 * log_delta)


def normal_score(mu: float, epsilon: float) -> float:
    """Score of about the Gaussian whose loss has this standard deviation: a first guess for any plan."""
    if mu * _FARTHEST <= epsilon:
        return score(-math.inf)
    low, high = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    if low < _SURELY:  # delta is 1 to all digits, but how surely is still told
        return low
    # delta = phi(low) (m(low) - m(high)) with Mills' ratio m
    if low <= 0.0:
        lost = math.exp(min(epsilon, 700.0)) * math.erfc(high / _ROOT_2)
        return score(math.log(0.5 * max(math.erfc(low / _ROOT_2) - lost, 1e-300)))
    return score(-0.5 * low * low + _log_mills_fall(low, high, mu) - _LOG_ROOT_2_PI)


@dataclass
class Trials:
    """Evaluations at one epsilon, each starting from where the last one ended."""

    epsilon: float
    adjacency: Adjacency | str | None
    leading: int = 0  # the direction with the larger delta, as far as is known
    realised: bool = False
    tilts: dict[int, float] = field(default_factory=dict)  # for the next evaluation

    @staticmethod
    def apply(node: Node, method: str) -> bool:
        """Whether the plan is answered by the exact route, which these are trials of."""
        return method in ("quick", ROUTES["exact"].name) and all(
            leaf.has_pairs for leaf, _ in node.releases()
        )

    def _plan(self, node: Node, tilts: Mapping[int, float]) -> Composition:
        return Composition(node, resolve_adjacency(node, self.adjacency), tilts)

    def rough(self, node: Node) -> float:
        """Saddle-point estimate of log delta in the direction that leads; NaN if there is none.

        Which one leads is seen at the first trial, and checked by the whole evaluation at the end.
        """
        directions = self._plan(node, self.tilts).upper
        best = -math.inf
        for k, direction in enumerate(directions):
            if self.tilts and k != min(self.leading, len(directions) - 1):
                continue
            if not direction.has_contour:
                return math.nan
            try:
                value, tilt = direction.estimate(self.epsilon)
            except TooFine:
                return math.nan
            if value > best:
                best, self.leading = value, k
                result = tilt
        if math.isfinite(best):
            self.tilts[self.leading] = result
        return best

    def one_direction(self, node: Node) -> Interval:
        """Log delta in the leading direction alone; `realised` then says whether data sets have it."""
        plan = self._plan(node, self.tilts)
        self.realised = plan.lower is None
        k = min(self.leading, len(plan.upper) - 1)
        solved = plan.upper[k].log_delta(self.epsilon)
        if solved.tilt:
            self.tilts[k] = solved.tilt
        return solved


def _log_mills_fall(low: float, high: float, apart: float) -> float:
    """About log(m(low) - m(high)), to a few per cent, with m = (1 - Phi)/phi and 0 <= low = high - apart.

    m(z) is about 2 / (z + sqrt(z^2 + 8/pi)); the difference is written so that nothing cancels.
    """
    first, second = (math.sqrt(z * z + 8.0 / math.pi) for z in (low, high))
    rise = 1.0 + (low + high) / (first + second)
    return math.log(apart) + math.log(2.0 * rise / ((low + first) * (high + second)))
