"""Moments by a rule with a proven error: M(c + it) = sum_j w_j e^{(c + it) L_j} + error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from flint import acb, acb_mat, arb

from .balls import spread

Slack = Callable[[arb], tuple[arb, arb]]
"""Real tilt y -> (rho, kappa): |sum - M(y + it)| <= rho M(y) + kappa for the frequencies in use."""


class ExpSum:
    """Complex losses and log weights of a rule, and its proven error at each real tilt."""

    def __init__(self, losses: Sequence[acb], log_weights: Sequence[acb], slack: Slack) -> None:
        self.losses = losses
        self.log_weights = log_weights
        self._slack = slack

    def moment(self, y: arb) -> arb:
        """M(y) for real y: s - kappa <= M (1 + rho) and M (1 - rho) <= s + kappa."""
        total = sum(((w + y * x).exp() for w, x in zip(self._w, self._x, strict=True)), acb(0))
        relative, absolute = self._slack(y)
        if not relative < 1:
            return arb(0, arb.pos_inf())
        low = (total.real - absolute) / (1 + relative)
        high = (total.real + absolute) / (1 - relative)
        return low.union(high)

    @property
    def _w(self) -> Sequence[acb]:
        return self.log_weights

    @property
    def _x(self) -> Sequence[acb]:
        return self.losses

    def error(self, c: arb, moment: arb) -> arb:
        """Upper bound of |sum - M(c + it)| for every frequency in use."""
        relative, absolute = self._slack(c)
        return (relative * moment + absolute).upper()

    def row(self, c: arb, step: arb, count: int, moment: arb) -> list[acb]:
        """M(c + i k step), k = 0 .. count: one product of matrices (giant by baby steps)."""
        weights = [(w + c * x).exp() for w, x in zip(self._w, self._x, strict=True)]
        turn = acb(0, step)
        powers = [(turn * x).exp() for x in self._x]
        babies = math.isqrt(count) + 1
        giants = count // babies + 1
        columns = _powers(powers, babies + 1)
        leaps = _powers(columns.pop(), giants)
        rows = [[a * b for a, b in zip(weights, leap, strict=True)] for leap in leaps]
        left = acb_mat(giants, len(powers), [a for row in rows for a in row])
        right = acb_mat(babies, len(powers), [a for column in columns for a in column])
        product = left * right.transpose()
        error = spread(self.error(c, moment))
        found = [product[k // babies, k % babies] + error for k in range(count + 1)]
        found[0] = acb(moment)
        return found


def _powers(base: list[acb], count: int) -> list[list[acb]]:
    """base^0 .. base^(count-1), elementwise, each as a product of two halves.

    Multiplying a box by a rotation widens it by up to sqrt 2, so a chain of k products would widen
    its boxes exponentially; with halves the factor is a power of k.
    """
    found = [[acb(1)] * len(base), base]
    for k in range(2, count):
        half = found[k // 2]
        found.append([a * b for a, b in zip(half, found[k - k // 2], strict=True)])
    return found[:count]
