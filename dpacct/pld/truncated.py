"""Poisson samples of which at most B records are kept: the pair of a truncated batch.

Let S be the sample of the n - 1 other records, each taken with probability q, and |x| <= C the unit's part of
the sum. Where |S| < B, the unit's coin adds x: the pair of a Poisson sample of rate q. Where |S| >= B, the
batch without the unit is T + y, T of B - 1 records; with the unit it is, with probability q B / (|S| + 1),
T + x for the same T, since the B records are drawn at random. As (T, y) does not depend on |S|, the
probability may be averaged over |S| >= B:

    P[|S| >= B] r = sum over k >= B of Bin(n - 1, q)(k) q B / (k + 1) = (B / n) P[Bin(n, q) > B].

By joint convexity over T and y, (1 - r) N(y) + r N(x) against N(y) dominates there, |x - y| <= 2 C; and by
joint convexity over the event |S| >= B, which both neighbours share, one pair with probability
P[|S| < B] and else the other dominates all. Under replace-one and zero-out the other side is (1 - r) N(y) +
r N(x') too, |x' - y| <= 2 C or C (x' = 0), of which `Exchanged` is the worst case. (Chua et al. 2024 add the
tail to delta; Ganesh 2025 bounds Renyi divergences.) Below, where all others add 0: the unit is in the batch
with a probability that is known.
"""

from __future__ import annotations

import math

from dpacct.citations import TRUNCATED
from dpacct.vocabulary import Adjacency

from .loss import LossDistribution, gaussian
from .operators import Blended, Exchanged
from .pair import Pair, Pairs
from .pieces import Cut


def truncated(pair: Pair, rate: float, most: int, size: int, adjacency: Adjacency) -> Pairs:
    """The pairs of Gaussian noise on a Poisson sample of `size` records, cut to `most` at random."""
    from scipy.stats import binom

    exchanged = adjacency is Adjacency.REPLACE_ONE
    if exchanged and pair.near is not None:
        pair = pair.near()
    mu = pair.normal_shift("batches are truncated")
    full = float(binom.sf(most - 1, size - 1, rate))
    swapped = float(binom.sf(most, size, rate)) * most / size
    shown = rate * float(binom.cdf(most - 1, size - 1, rate)) + swapped
    # the other side moves by as much, by nothing, or, of a full batch under zero-out, by half as much
    opposed = {Adjacency.REPLACE_ONE: (1, 2), Adjacency.ZERO_OUT: (0, 1)}.get(adjacency, (0, 0))
    parts = [(1.0 - full, _moved(rate, mu, 1, opposed[0]))]
    if swapped > 0.0:
        parts.append((full, _moved(min(1.0, swapped / full), mu, 2, opposed[1])))
    upper = _mixed([(weight, law) for weight, law in parts if weight > 0.0])
    lower = _moved(min(1.0, shown), mu, 1, opposed[0])
    if exchanged:  # each is its own mirror image
        return Pairs((Cut(upper),), (TRUNCATED,), (Cut(lower),))
    ways, below = ((Cut(law), Cut(law.reversed())) for law in (upper, lower))
    return Pairs(ways, (TRUNCATED,), below)


def _moved(rate: float, mu: float, here: int, there: int) -> LossDistribution:
    """(1 - r) N(0, 1) + r N(here mu, 1) against (1 - r) N(0, 1) + r N(-there mu, 1)."""
    if not there:
        return gaussian(here * mu).sampled(rate)
    favoured, opposed = (
        Blended(((1.0 - rate, 0.0, 0.0), (rate, float(k), 0.5 * k * (k - 1) * mu * mu)))
        for k in (here, there)
    )
    return gaussian(mu).through(Exchanged(favoured, opposed, -1, mu * mu))


def _mixed(laws: list[tuple[float, LossDistribution]]) -> LossDistribution:
    """One of these laws, by a coin that both neighbours share and that is seen."""
    branches = [part.weighted(math.log(weight)) for weight, law in laws for part in law.branches]
    return LossDistribution(branches=tuple(branches))
