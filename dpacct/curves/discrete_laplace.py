"""Discrete Laplace noise against itself moved by a whole number: finitely many losses, on a lattice."""

from __future__ import annotations

import math
from functools import cache

from .atomic import AtomicPair
from .outcomes import OutcomePair

_BASIS = (
    "discrete Laplace noise at the full shift: among log-concave noises the largest shift is the "
    "worst (Dong, Roth, Su 2022, Appendix A)"
)


def at_shift(scale: float, shift: int) -> AtomicPair:
    """P(x) ~ e^{-|x| / scale} against the same moved by `shift`.

    x <= 0 has the loss shift/scale, x in (0, shift) the loss (shift - 2x)/scale, and so on down.
    """
    fall = math.exp(-1.0 / scale)
    losses, masses = [shift / scale], [math.exp(-shift / scale) / (1.0 + fall)]
    peak = math.tanh(0.5 / scale)  # P(0) = (1 - e^{-1/scale}) / (1 + e^{-1/scale})
    for x in range(1, shift // 2 + 1):
        loss = (shift - 2 * x) / scale
        if loss >= 0.0:
            losses.append(loss)
            # what has no loss stands for both signs
            masses.append(peak * math.exp((x - shift) / scale) * (0.5 if 2 * x == shift else 1.0))
    return AtomicPair(tuple(losses), tuple(masses))


@cache
def discrete_laplace_pair(scale: float, shift: int) -> OutcomePair:
    """The dominating pair, and the one at half the shift."""
    return OutcomePair(at_shift(scale, shift), _BASIS, at_shift(scale, max(1, shift // 2)))
