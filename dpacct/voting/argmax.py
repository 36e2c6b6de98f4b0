"""The noisy argmax: the probability that each class wins, at the votes and at every neighbour's.

P_j = int f_j prod_{i != j} F_i dt, f and F the density and distribution function of each noisy count. A
neighbour changes one or two factors of it, so one set of densities serves them all: with W_j the integrand
at the votes, a neighbour's is the sum over the points of W_j times a ratio F'/F for each changed class (or
f'/f, if j itself has changed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pld.stable import Floats
from dpacct.voting.level import Level
from dpacct.voting.noise import Nodes, Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Places = NDArray[np.intp]

NOBODY = -1
"""No class: none loses a vote, or none gains one."""


@dataclass(frozen=True)
class Moves:
    """Neighbouring histograms: of `row`, class `source` loses a step and class `target` gains one."""

    row: Places
    source: Places
    target: Places

    def kept(self, chosen: NDArray[np.bool_]) -> Moves:
        """Some of the moves."""
        return Moves(self.row[chosen], self.source[chosen], self.target[chosen])


def moves(counts: Counts, level: Level, *, alike: bool = True, negative: bool = False) -> Moves:
    """All neighbours of each histogram (rows sorted, the largest first).

    Classes with equal counts are interchangeable, if `alike`; then one of each kind is enough. (Baselines
    of interactive screening tell them apart.) `negative`: an agent may also leave a class that has fewer.
    """
    rows, classes = counts.shape
    first = np.ones((rows, classes), dtype=bool)
    if alike:
        first[:, 1:] = counts[:, 1:] != counts[:, :-1]
    index = np.arange(classes)
    if level.is_agent:
        gain_row, gain = np.nonzero(first)
        lose_row, lose = np.nonzero(first & ((counts >= level.step) | negative))
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


def laws(
    counts: Counts, level: Level, noise: Noise, *, alike: bool = True, negative: bool = False
) -> Laws:
    """The argmax at histograms (rows sorted, the largest count first) and at all their neighbours.

    >>> from fractions import Fraction
    >>> from dpacct.voting.noise import GaussianNoise
    >>> result = laws(np.array([[2, 0, 0]]), Level("agent"), GaussianNoise(Fraction(1)))
    >>> np.exp(result.base).round(12).tolist()
    [[0.865767175635, 0.067116412183, 0.067116412183]]
    """
    every = moves(counts, level, alike=alike, negative=negative)
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
