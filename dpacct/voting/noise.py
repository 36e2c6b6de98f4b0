"""The noise on each count: its cost for any votes and for given ones, and its quadrature nodes.

Counts and scales are in shares of a vote (`level`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpacct.mechanisms.gaussian import GaussianStatistic
from dpacct.mechanisms.laplace import Laplace
from dpacct.pld.stable import Floats
from dpacct.voting import published
from dpacct.voting.level import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.plan.node import Node

    Counts = NDArray[np.int64]

FARTHEST = 400.0
"""Margins of more noise scales than this are not integrated: what they cost is far below 1e-300."""
NARROWEST = Fraction(1, 50)
"""Noise of a smaller scale (in shares) is not integrated."""
_CHUNK = 96
_TABLE = 300_000
_TAIL = 9.5


@dataclass(frozen=True)
class Nodes:
    """Densities and distribution functions of the noisy counts, in logs, at points on a line.

    Arrays are histograms x classes x points; the three are for the count as it is, with a step more,
    and with a step fewer. `log_weights` belongs to the points of each histogram.
    """

    rows: NDArray[np.intp]
    density: tuple[Floats, Floats, Floats]
    cumulated: tuple[Floats, Floats, Floats]
    log_weights: Floats


class Noise(ABC):
    """Independent noise of one scale on each count."""

    name: str

    @abstractmethod
    def plan(self, level: Level, queries: int) -> Node:
        """The noisy counts of so many queries: they dominate the argmax, whatever the votes are."""

    def log_mismatch(self, margins: Floats) -> Floats:
        """Log of how likely another class wins, at most, for each row of margins: by a union of tails."""
        return published.log_totals(self.log_tail(margins))

    @abstractmethod
    def log_tail(self, margin: Floats) -> Floats:
        """Log of how likely one count overtakes another that is so much ahead."""

    @abstractmethod
    def margin_of(self, log_tail: Floats) -> Floats:
        """The margin of at least 0 with this `log_tail` of at most log 1/2; rounding is the caller's."""

    @abstractmethod
    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """Renyi bounds by theorem: for each log q (row) at each order (column)."""

    @abstractmethod
    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """Renyi divergence of one query's noisy counts at each order."""

    @abstractmethod
    def nodes(self, counts: Counts, step: int) -> Iterator[Nodes]:
        """Where to integrate histograms (rows sorted, the largest count first), some at a time."""

    @abstractmethod
    def reach(self, step: int) -> float:
        """The largest margin that is integrated, in shares; below 0 where none is."""


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Normal noise; `sigma` in shares."""

    sigma: Fraction
    name = "gaussian"

    def plan(self, level: Level, queries: int) -> Node:
        """One Gaussian statistic: normal noise on all counts of all queries."""
        return GaussianStatistic(per_sensitivity=queries * level.l2_squared / self.sigma**2)

    def log_tail(self, margin: Floats) -> Floats:
        """The difference of two counts is normal (Papernot et al. 2018, Proposition 7)."""
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(-margin / (math.sqrt(2.0) * float(self.sigma))))

    def margin_of(self, log_tail: Floats) -> Floats:
        """The inverse of a normal tail."""
        from scipy.special import ndtri_exp

        return np.asarray(-math.sqrt(2.0) * float(self.sigma) * ndtri_exp(log_tail))

    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """By Theorem 6 of Papernot et al. (2018), and by Theorem 14 of AE-DPFL as corrected."""
        terms = (log_q[:, None], orders, float(self.sigma), level.l2)
        return {
            "papernot2018.theorem6": published.gaussian_votes(*terms),
            "ae_dpfl.theorem14_corrected": published.voting_rdp(*terms),
        }

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """alpha l2^2/(2 sigma^2)."""
        return np.asarray(orders * (level.l2_squared / (2.0 * float(self.sigma) ** 2)))

    def reach(self, step: int) -> float:
        """As far as densities of neighbours stay floats; below 0 for small noise."""
        # a step changes a density by up to e^{z step / sigma} at the farthest point z, twice in a product
        sigma = float(self.sigma)
        return min(_reach(self.sigma), 2.0 * sigma * (300.0 * sigma / step - 13.0))

    def nodes(self, counts: Counts, step: int) -> Iterator[Nodes]:
        """The trapezoidal rule: on the whole line it is exact to rounding for these entire functions.

        A product of C distribution functions and a density grows like e^{C y^2/2} off the real line, so
        a spacing h errs by about e^{-2 pi^2/(C h^2)}. Spacings divide a vote, or are divided by it, so
        that one table of log Phi serves all counts.
        """
        from scipy.special import log_ndtr

        sigma, classes = float(self.sigma), counts.shape[1]
        aimed = sigma * min(0.66 / math.sqrt(classes), 0.3)
        parts = math.ceil(1.0 / aimed) if aimed < 1.0 else 1
        stride = max(1, math.floor(aimed * parts))
        gaps = counts[:, 0] - counts[:, -1]
        order = np.argsort(gaps, kind="stable")
        beyond = (_TAIL + 1.0 + math.sqrt(2.0 * math.log(classes))) * sigma + step
        for start in range(0, order.size, _CHUNK):
            rows = order[start : start + _CHUNK]
            widest = int(gaps[rows[-1]])
            low = math.floor(-parts * (0.5 * widest + _TAIL * sigma + step))
            high = math.ceil(parts * beyond)
            offsets = np.arange(low, high + stride, stride)
            shift = parts * step
            first = low - shift
            below = parts * (counts[rows, :1] - counts[rows])
            place = offsets[None, None, :] + below[:, :, None]
            shifted = (place, place - shift, place + shift)
            z = [places / (parts * sigma) for places in shifted]
            size = int(offsets[-1]) + parts * widest + shift + 1 - first
            if size < _TABLE:
                table = log_ndtr(np.arange(first, first + size) / (parts * sigma))
                cumulated = [table[places - first] for places in shifted]
            else:
                cumulated = [log_ndtr(deviations) for deviations in z]
            scale = math.log(sigma * math.sqrt(2.0 * math.pi))
            density = [-0.5 * np.square(deviations) - scale for deviations in z]
            yield Nodes(
                rows,
                (density[0], density[1], density[2]),
                (cumulated[0], cumulated[1], cumulated[2]),
                np.full((rows.size, offsets.size), math.log(stride / parts)),
            )


@dataclass(frozen=True)
class LaplaceNoise(Noise):
    """Laplace noise; the scale `b` in shares."""

    b: Fraction
    name = "laplace"

    def plan(self, level: Level, queries: int) -> Node:
        """A Laplace release for each count that a neighbour changes."""
        return Laplace(b=self.b / level.step) * (queries * level.changed)

    def log_tail(self, margin: Floats) -> Floats:
        """Of the difference of two Laplace draws."""
        return published.log_overtaking(margin / float(self.b))

    def margin_of(self, log_tail: Floats) -> Floats:
        """m = log((2 + m)/4) - log_tail, by Newton from above, where the tail is convex."""
        m = 1.0 - 2.0 * np.asarray(log_tail)
        for _ in range(60):
            step = (m - np.log(2.0 + m) + math.log(4.0) + log_tail) / (1.0 - 1.0 / (2.0 + m))
            m = np.maximum(m - step, 0.0)
        return float(self.b) * m

    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """By how likely the outcome is, and by how far the counts are apart."""
        bound = published.likely_outcome(log_q[:, None], orders, level.margin / float(self.b))
        plain = self.data_independent(orders, level)[None, :]
        return {"papernot2017.theorem3": np.minimum(bound, plain)}

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """That of one count, times how many change."""
        each = Laplace(b=self.b / level.step).rdp(orders)
        return level.changed * np.asarray(each, dtype=np.float64)

    def reach(self, step: int) -> float:
        """The same for noise of any scale; below 0 where it is too small."""
        return _reach(self.b)

    def nodes(self, counts: Counts, step: int) -> Iterator[Nodes]:
        """Gauss' rule between the kinks, which are at the counts and a step beside them."""
        b = float(self.b)
        points, weights = np.polynomial.legendre.leggauss(14)
        for row in range(counts.shape[0]):
            votes = counts[row].astype(np.float64)
            kinks = np.unique(np.concatenate((votes, votes - step, votes + step)))
            ends = [kinks[0] - 42.0 * b, *kinks.tolist(), kinks[-1] + 42.0 * b]
            edges = np.concatenate(
                [
                    np.linspace(low, high, math.ceil((high - low) / (1.5 * b)) + 1)[:-1]
                    for low, high in pairwise(ends)
                ]
                + [np.array(ends[-1:])]
            )
            half = 0.5 * np.diff(edges)
            t = (edges[:-1, None] + half[:, None] * (1.0 + points[None, :])).ravel()
            log_weights = np.log(half[:, None] * weights[None, :]).ravel()
            z = [(t[None, :] - (votes + move)[:, None]) / b for move in (0.0, step, -step)]
            density = [-np.abs(scales)[None] - math.log(2.0 * b) for scales in z]
            cumulated = [_log_laplace_cdf(scales)[None] for scales in z]
            yield Nodes(
                np.array([row]),
                (density[0], density[1], density[2]),
                (cumulated[0], cumulated[1], cumulated[2]),
                log_weights[None, :],
            )


def _reach(scale: Fraction) -> float:
    return FARTHEST * float(scale) if scale >= NARROWEST else -1.0


def _log_laplace_cdf(z: Floats) -> Floats:
    low = np.minimum(z, 0.0) - math.log(2.0)
    return np.asarray(np.where(z < 0.0, low, np.log1p(-0.5 * np.exp(-np.abs(z)))))
