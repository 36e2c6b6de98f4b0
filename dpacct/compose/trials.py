"""Delta of a plan whose parameter is being searched for: a rough value first, one direction next.

Nothing here is an answer. The saddle-point estimate is good to a part in a hundred and costs a third of an
evaluation; one direction costs half of both. The search settles its two ends by whole evaluations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpacct.compose.composition import Composition
from dpacct.compose.routes import ROUTES
from dpacct.engine.invert import Solved
from dpacct.engine.law import TooFine
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency


@dataclass
class Trials:
    """Evaluations at one epsilon, each starting from the tilt at which the last one ended."""

    epsilon: float
    adjacency: Adjacency | str | None
    leading: int = 0  # the direction with the larger delta, as far as is known
    realised: bool = False
    _tilts: dict[int, float] = field(default_factory=dict)

    @staticmethod
    def apply(node: Node, method: str) -> bool:
        """Whether the plan is answered by the exact route, which these are trials of."""
        return method in ("auto", ROUTES["exact"].name) and all(
            leaf.has_pairs for leaf, _ in node.releases()
        )

    def rough(self, node: Node) -> float:
        """Saddle-point estimate of log delta in the direction that leads; NaN if there is none.

        Which one leads is seen at the first trial, and checked by the whole evaluation at the end.
        """
        directions = Composition(node, resolve_adjacency(node, self.adjacency)).upper
        best = -math.inf
        for k, direction in enumerate(directions):
            if self._tilts and k != min(self.leading, len(directions) - 1):
                continue
            try:
                value, tilt = direction.estimate(self.epsilon, self._tilts.get(k))
            except TooFine:
                return math.nan
            if value > best:
                best, self.leading = value, k
                found = tilt
        if math.isfinite(best) and math.isfinite(found):
            self._tilts[self.leading] = found
        return best

    def one_direction(self, node: Node) -> Solved:
        """Log delta in the leading direction alone; `realised` then says whether data sets have it."""
        plan = Composition(node, resolve_adjacency(node, self.adjacency))
        self.realised = plan.lower is None
        k = min(self.leading, len(plan.upper) - 1)
        return plan.upper[k].log_delta(self.epsilon, self._tilts.get(k))
