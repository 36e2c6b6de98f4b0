"""The noisy argmax: the probability that each class wins, at the votes and at every neighbour's.

P_j = int f_j prod_{i != j} F_i dt, f and F the density and distribution function of each noisy count. A
neighbour changes one or two factors of it, so one set of densities serves them all: with W_j the integrand
at the votes, a neighbour's is the sum over the points of W_j times a ratio F'/F for each changed class (or
f'/f, if j itself has changed). `CountNoise` says where to integrate, and what the counts cost at any votes.
Counts and scales are in shares of a vote (`Level`).

`Screening` is the first step of Confident-GNMax (Papernot et al. 2018, Algorithm 1): the largest count plus
N(0, sigma_1^2) must reach the threshold T. A neighbour moves the largest by at most one step, so the step
costs a Gaussian of that sensitivity.
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
from dpacct.plan.node import Node
from dpacct.pld.stable import Floats
from dpacct.voting import published
from dpacct.voting.published import log_sum
from dpacct.voting.votes import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Places = NDArray[np.intp]

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


class CountNoise(ABC):
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
    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """Renyi bounds by theorem: for each log q (row) at each order (column)."""

    @abstractmethod
    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """Renyi divergence of one query's noisy counts at each order."""

    @abstractmethod
    def nodes(self, counts: Counts, step: int) -> Iterator[Nodes]:
        """Yield nodes of integration for histograms (rows sorted, the largest count first), in batches."""

    @abstractmethod
    def reach(self, step: int) -> float:
        """The largest margin that is integrated, in shares; below 0 where none is."""


@dataclass(frozen=True)
class GaussianNoise(CountNoise):
    """Normal noise; `sigma` in shares."""

    sigma: Fraction
    name = "gaussian"

    def plan(self, level: Level, queries: int) -> Node:
        """One Gaussian statistic: normal noise on all counts of all queries."""
        return GaussianStatistic(per_sensitivity=queries * level.l2_squared / self.sigma**2)

    def log_tail(self, margin: Floats) -> Floats:
        """The difference of two counts is normal (Papernot et al. 2018, Proposition 7)."""
        return published.log_phi(-margin / (math.sqrt(2.0) * float(self.sigma)))

    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """Return the bounds of Theorem 6 of Papernot et al. (2018) and of AE-DPFL's Theorem 14, corrected."""
        terms = (log_q[:, None], orders, float(self.sigma), level.l2)
        return {
            "papernot2018.theorem6": published.gaussian_votes(*terms),
            "ae_dpfl.theorem14_corrected": published.voting_rdp(*terms),
        }

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """alpha l2^2/(2 sigma^2)."""
        return np.asarray(orders * (level.l2_squared / (2.0 * float(self.sigma) ** 2)))

    def reach(self, step: int) -> float:
        """Return the largest margin at which neighbours' densities are floats; below 0 for small noise."""
        # a step changes a density by up to e^{z step / sigma} at the farthest point z, twice in a product
        sigma = float(self.sigma)
        return min(_reach(self.sigma), 2.0 * sigma * (300.0 * sigma / step - 13.0))

    def nodes(self, counts: Counts, step: int) -> Iterator[Nodes]:
        """The trapezoidal rule: on the whole line it is exact to rounding for these entire functions.

        A product of C distribution functions and a density grows like e^{C y^2/2} off the real line, so
        a spacing h errs by about e^{-2 pi^2/(C h^2)}. Spacings divide a vote, or are divided by it, so
        that one table of log Phi serves all counts.
        """
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
                table = published.log_phi(np.arange(first, first + size) / (parts * sigma))
                cumulated = [table[places - first] for places in shifted]
            else:
                cumulated = [published.log_phi(deviations) for deviations in z]
            scale = math.log(sigma * math.sqrt(2.0 * math.pi))
            density = [-0.5 * np.square(deviations) - scale for deviations in z]
            yield Nodes(
                rows,
                (density[0], density[1], density[2]),
                (cumulated[0], cumulated[1], cumulated[2]),
                np.full((rows.size, offsets.size), math.log(stride / parts)),
            )


@dataclass(frozen=True)
class LaplaceNoise(CountNoise):
    """Laplace noise; the scale `b` in shares."""

    b: Fraction
    name = "laplace"

    def plan(self, level: Level, queries: int) -> Node:
        """A Laplace release for each count that a neighbour changes."""
        return Laplace(b=self.b / level.step) * (queries * level.changed)

    def log_tail(self, margin: Floats) -> Floats:
        """Return the log tail of the difference of two Laplace draws."""
        return published.log_overtaking(margin / float(self.b))

    def tables(self, log_q: Floats, orders: Floats, level: Level) -> dict[str, Floats]:
        """Return the bound by the outcome's likelihood, and by the distance of the counts."""
        bound = published.likely_outcome(log_q[:, None], orders, level.margin / float(self.b))
        plain = self.data_independent(orders, level)[None, :]
        return {"papernot2017.theorem3": np.minimum(bound, plain)}

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """Return the divergence of one count, times the number of counts that change."""
        each = Laplace(b=self.b / level.step).rdp(orders)
        return level.changed * np.asarray(each, dtype=np.float64)

    def reach(self, step: int) -> float:
        """Return the largest margin, for any scale of noise; below 0 where the noise is too small."""
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


# --- the argmax at the votes and at every neighbour's

NOBODY = -1
"""No class: none loses a vote, or none gains one."""


@dataclass(frozen=True)
class Moves:
    """Neighbouring histograms: of `row`, class `source` loses a step and class `target` gains one."""

    row: Places
    source: Places
    target: Places

    def kept(self, chosen: NDArray[np.bool_]) -> Moves:
        """Return the chosen moves."""
        return Moves(self.row[chosen], self.source[chosen], self.target[chosen])


def moves(counts: Counts, level: Level) -> Moves:
    """All neighbours of each histogram (rows sorted, the largest first).

    Classes with equal counts are interchangeable: one of each kind is enough.
    """
    rows, classes = counts.shape
    first = np.ones((rows, classes), dtype=bool)
    first[:, 1:] = counts[:, 1:] != counts[:, :-1]
    index = np.arange(classes)
    if level.is_agent:
        gain_row, gain = np.nonzero(first)
        lose_row, lose = np.nonzero(first & (counts >= level.step))
        nobody = np.full
        return Moves(
            np.concatenate((gain_row, lose_row)),
            np.concatenate((nobody(gain.size, NOBODY), lose)),
            np.concatenate((gain, nobody(lose.size, NOBODY))),
        )
    # the second of several equal classes is what the first one's share can move to
    second = ~first
    second[:, 1:] &= first[:, :-1]
    same = second[:, None, :] & (index[None, :, None] + 1 == index[None, None, :])
    pairs = first[:, :, None] & (first[:, None, :] | same)
    pairs &= (index[:, None] != index[None, :])[None] & (counts >= level.step)[:, :, None]
    return Moves(*np.nonzero(pairs))


@dataclass(frozen=True)
class Laws:
    """Log probabilities of each class: `base` at each histogram, `other` at each of its neighbours."""

    base: Floats
    moves: Moves
    other: Floats


def laws(counts: Counts, level: Level, noise: CountNoise) -> Laws:
    """The argmax at histograms (rows sorted, the largest count first) and at all their neighbours.

    >>> from fractions import Fraction
    >>> from dpacct.voting.argmax import GaussianNoise
    >>> result = laws(np.array([[2, 0, 0]]), Level("agent"), GaussianNoise(Fraction(1)))
    >>> np.exp(result.base).round(12).tolist()
    [[0.865767175635, 0.067116412183, 0.067116412183]]
    """
    every = moves(counts, level)
    log_p = np.empty(counts.shape)
    other = np.empty((every.row.size, counts.shape[1]))
    place = np.argsort(every.row, kind="stable")
    starts = np.searchsorted(every.row[place], np.arange(counts.shape[0] + 1))
    for nodes in noise.nodes(counts, level.step):
        of_rows = [place[starts[row] : starts[row + 1]] for row in nodes.rows.tolist()]
        chosen = np.concatenate(of_rows)
        at = np.repeat(np.arange(nodes.rows.size), [part.size for part in of_rows])
        local = Moves(at, every.source[chosen], every.target[chosen])
        log_p[nodes.rows], other[chosen] = _integrated(nodes, local)
    return Laws(log_p, every, other)


def _integrated(nodes: Nodes, changed: Moves) -> tuple[Floats, Floats]:
    density, more_density, fewer_density = nodes.density
    cumulated, more, fewer = nodes.cumulated
    whole = cumulated.sum(axis=1) + nodes.log_weights
    height = density - cumulated + whole[:, None, :]
    peak = height.max(axis=2)
    w = np.exp(height - peak[:, :, None])
    log_p = peak + np.log(w.sum(axis=2))
    nothing = np.ones((w.shape[0], 1, w.shape[2]))
    # F'/F where a class has a step more or fewer; the last entry is for NOBODY
    gained = np.concatenate((np.exp(more - cumulated), nothing), axis=1)
    lost = np.concatenate((np.exp(fewer - cumulated), nothing), axis=1)
    row, source, target = changed.row, changed.source, changed.target
    factor_gained, factor_lost = gained[row, target], lost[row, source]
    both = factor_gained * factor_lost
    other = np.empty((row.size, w.shape[1]))
    ends = np.searchsorted(row, np.arange(w.shape[0] + 1))
    for index in range(w.shape[0]):
        part = slice(ends[index], ends[index + 1])
        other[part] = both[part] @ w[index].T
    every = np.arange(row.size)
    for classes, raised, rest in (
        (target, more_density, factor_lost),
        (source, fewer_density, factor_gained),
    ):
        is_one = classes != NOBODY
        r, c = row[is_one], classes[is_one]
        ratio = np.exp(raised[r, c] - density[r, c])
        other[every[is_one], c] = (w[r, c] * ratio * rest[is_one]).sum(axis=1)
    with np.errstate(divide="ignore"):
        return log_p, peak[row] + np.log(other)


# of a log moment near 0: each of its terms is rounded
_ROUNDING = 2e-15


# --- the first step of confident GNMax


@dataclass(frozen=True)
class Screening:
    """Threshold and standard deviation of the first step, in shares of a vote."""

    threshold: Fraction
    sigma: Fraction

    def log_passes(self, top: Floats) -> tuple[Floats, Floats]:
        """Logs of the chances of no answer, and of an answer, by the largest count."""
        z = (top - float(self.threshold)) / float(self.sigma)
        return published.log_phi(-z), published.log_phi(z)

    def plan(self, level: Level, queries: int) -> Node:
        """The noisy largest counts of so many queries."""
        return GaussianStatistic(per_sensitivity=queries * level.step**2 / self.sigma**2)

    def data_independent(self, orders: Floats, level: Level) -> Floats:
        """Renyi divergence of one query's noisy largest count at each order."""
        return np.asarray(orders * (level.step**2 / (2.0 * float(self.sigma) ** 2)))

    def with_answer(self, top: Floats, answer: Floats, orders: Floats, level: Level) -> Floats:
        """Renyi bounds, either way, of both steps: for each query (row) at each order (column).

        `answer` is the second step's. With a and a' the chances of an answer,
        sum_x P(x)^o Q(x)^{1-o} = (1-a)^o (1-a')^{1-o} + a^o a'^{1-o} e^{(o-1) answer}, which is convex in a
        and in a': the worst neighbours are those whose largest count moves by a whole step.
        """
        power = orders[None, :] - 1.0
        worst, inner = np.zeros(answer.shape), self.log_passes(top)
        for near in (top - level.step, top, top + level.step):
            outer = self.log_passes(near)
            for p, q in ((inner, outer), (outer, inner)):
                no = orders * p[0][:, None] - power * q[0][:, None]
                yes = orders * p[1][:, None] + power * (answer - q[1][:, None])
                worst = np.maximum(worst, log_sum(no, yes))
        return np.asarray((worst * (1.0 + 1e-12) + _ROUNDING) / power)

    def neighbours(self, counts: Counts, moves: Moves, level: Level) -> Floats:
        """The largest count at each neighbour; rows are sorted, the largest first."""
        top, second = counts[moves.row, 0].astype(float), counts[moves.row, 1]
        lost = np.where(moves.source == 0, np.maximum(top - level.step, second), top)
        gained = counts[moves.row, moves.target] + level.step
        return np.asarray(np.where(moves.target == NOBODY, lost, np.maximum(lost, gained)))

    def joined(self, top: Floats, labels: Floats) -> Floats:
        """Log probabilities of no answer and of each class."""
        no, yes = self.log_passes(top)
        return np.concatenate((no[:, None], yes[:, None] + labels), axis=1)
