"""The first step of Confident-GNMax and Interactive-GNMax: is the noisy lead large enough to answer at all?

Papernot et al. 2018, Algorithms 1 and 2: the largest of n_j - b_j, plus N(0, sigma_1^2), must reach the
threshold T. The baseline b is 0 (confident) or what the student expects (interactive); it is public. A
neighbour moves the largest by at most one step, so the step costs a Gaussian of that sensitivity.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpacct.mechanisms.gaussian import GaussianStatistic
from dpacct.plan.node import Node
from dpacct.pld.stable import Floats
from dpacct.voting.argmax import NOBODY, Moves
from dpacct.voting.level import Level
from dpacct.voting.published import log_sum

# of a log moment near 0: each of its terms is rounded
_ROUNDING = 2e-15


@dataclass(frozen=True)
class Screening:
    """Threshold and standard deviation of the first step, in shares of a vote."""

    threshold: Fraction
    sigma: Fraction

    def log_passes(self, top: Floats) -> tuple[Floats, Floats]:
        """Logs of the chances of no answer, and of an answer, by the largest of n - b."""
        from scipy.special import log_ndtr

        z = (top - float(self.threshold)) / float(self.sigma)
        return log_ndtr(-z), log_ndtr(z)

    def plan(self, level: Level, queries: int) -> Node:
        """The noisy largest counts of so many queries."""
        return GaussianStatistic(per_sensitivity=queries * level.step**2 / self.sigma**2)

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """Renyi divergence of one query's noisy largest count at each order."""
        return np.asarray(orders * (level.step**2 / (2.0 * float(self.sigma) ** 2)))

    def with_answer(
        self, top: Floats, answer: Floats, orders: Floats, level: Level, width: float = 0.0
    ) -> Floats:
        """Renyi bounds, either way, of both steps: for each query (row) at each order (column).

        They hold for largest counts from `top` to `top` + `width`.
        `answer` is the second step's. With a and a' the chances of an answer,
        sum_x P(x)^o Q(x)^{1-o} = (1-a)^o (1-a')^{1-o} + a^o a'^{1-o} e^{(o-1) answer}, which is convex in a
        and in a': the worst neighbours are those whose largest count moves by a whole step.
        """
        power = orders[None, :] - 1.0
        ends = (top,) if width == 0.0 else (top, top + width)
        near = (top - level.step, top, top + width + level.step)
        worst = np.zeros(answer.shape)
        for inner, outer in itertools.product(
            map(self.log_passes, ends), map(self.log_passes, near)
        ):
            for p, q in ((inner, outer), (outer, inner)):
                no = orders * p[0][:, None] - power * q[0][:, None]
                yes = orders * p[1][:, None] + power * (answer - q[1][:, None])
                worst = np.maximum(worst, log_sum(no, yes))
        return np.asarray((worst * (1.0 + 1e-12) + _ROUNDING) / power)

    def neighbours(self, residual: Floats, moves: Moves, level: Level) -> Floats:
        """The largest of n - b at each neighbour."""
        order = np.argsort(residual, axis=1)
        first = order[moves.row, -1]
        top = residual[moves.row, first]
        second = residual[moves.row, order[moves.row, -2]]
        lost = np.where(moves.source == first, np.maximum(top - level.step, second), top)
        gained = residual[moves.row, moves.target] + level.step
        return np.asarray(np.where(moves.target == NOBODY, lost, np.maximum(lost, gained)))

    def joined(self, top: Floats, labels: Floats) -> Floats:
        """Log probabilities of no answer and of each class."""
        no, yes = self.log_passes(top)
        return np.concatenate((no[:, None], yes[:, None] + labels), axis=1)

    def between(
        self, tops: tuple[Floats, Floats], low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Ends of the log probabilities of no answer and of each class, by those of top and classes."""
        (no_most, yes_least), (no_least, yes_most) = map(self.log_passes, tops)
        return (
            np.concatenate((no_least[:, None], yes_least[:, None] + low), axis=1),
            np.concatenate((no_most[:, None], yes_most[:, None] + high), axis=1),
        )
