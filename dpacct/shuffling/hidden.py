"""A randomised response hidden among fair coins: delta, epsilon and outcomes of a mixture of them.

One entry: the number a of ones among m messages, of which m - 1 are fair coins and one is a response that is
one with probability 1/(1 + fall) under P and fall/(1 + fall) under Q. With b = m - a,

    P[a] / Q[a] = (a + fall b) / (fall a + b),      P[a] + Q[a] = 2 Bin(m, 1/2)[a],

increasing in a, so that the best test for any epsilon is a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpacct.pld.binomial import ROUNDING, log_pmf_half, reaches, tail_half, tail_rounding
from dpacct.pld.stable import Floats

from .letters import Mixture

_AT_ONCE = 1 << 17  # outcomes of one table


def log_delta(mixture: Mixture, epsilon: float, *, upper: bool) -> float:
    """log of a bound of delta(epsilon), epsilon >= 0, on the asked side, rounding included."""
    coins, fall = mixture.messages - 1.0, mixture.falls
    growth = math.expm1(epsilon)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # of the response alone: its P-mass less e^epsilon times its Q-mass, times 1 + fall
        alone = -np.expm1(epsilon + np.log(fall))
        # P[a] > e^epsilon Q[a] where b = m - a is below this
        zeros = np.where(
            alone > 0.0, mixture.messages * alone / (mixture.gaps * (growth + 2.0)), 0.0
        )
        reached = zeros > 0.0
        threshold = mixture.messages - np.where(reached, np.ceil(zeros) - 1.0, 0.0)
        last = np.exp(log_pmf_half(threshold - 1.0, coins))
        beyond = tail_half(threshold, coins)
    gained, paid = last * np.maximum(alone, 0.0) / (1.0 + fall), growth * beyond
    off = (ROUNDING + tail_rounding(float(coins.max(initial=0.0)))) * (gained + paid)
    value = np.maximum(gained - paid + (off if upper else -off), 0.0)
    total = float(np.where(reached, value, 0.0) @ mixture.weights)
    charge = mixture.rounding + 1e-15 * math.sqrt(mixture.weights.size) + 1e-14
    if upper:
        total = total * (1.0 + charge) + math.exp(mixture.log_left)
    else:
        total *= 1.0 - charge
    return math.log(total) if total > 0.0 else -math.inf


def outcomes(mixture: Mixture) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(losses, P-masses, Q-masses) of some entries at a time, in no order.

    Each leaves out at most e^LOG_CUT of its own at either end. As many ones as zeros, or more, and the mirror
    image of that: the mass under both together is the same, and P and Q change places.
    """
    first, last = np.ceil(0.5 * mixture.messages), reaches(mixture.messages)[1]
    ends = np.cumsum(last - first + 1.0)
    chunks = np.searchsorted(ends, np.arange(_AT_ONCE, ends[-1], _AT_ONCE), side="left")
    for part in np.split(np.arange(ends.size), np.unique(chunks)):
        size = (last[part] - first[part] + 1.0).astype(np.int64)
        entry = np.repeat(part, size)
        a = np.arange(entry.size) - np.repeat(np.cumsum(size) - size, size) + first[entry]
        m, fall = mixture.messages[entry], mixture.falls[entry]
        b = m - a
        mass = mixture.weights[entry] * np.exp(log_pmf_half(a, m))
        scale = 2.0 * mass / (m * (1.0 + fall))
        scale[a == b] *= 0.5  # it is its own mirror image
        losses, p, q = loss(a, b, fall, mixture.gaps[entry]), a + fall * b, fall * a + b
        both = np.concatenate
        yield both((losses, -losses)), both((scale * p, scale * q)), both((scale * q, scale * p))


def loss(a: Floats, b: Floats, fall: float | Floats, gap: float | Floats) -> Floats:
    """log((a + fall b)/(fall a + b)) without cancellation; gap is 1 - fall.

    >>> float(loss(np.array([1.0]), np.array([0.0]), math.exp(-3.0), -math.expm1(-3.0))[0])
    3.0
    """
    size = np.log1p(gap * np.abs(a - b) / (fall * np.maximum(a, b) + np.minimum(a, b)))
    return np.copysign(size, a - b)
