"""A shuffle as one step of a composition: its outcomes as atoms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpacct.citations import Citation
from dpacct.errors import Unsupported
from dpacct.pld.binomial import HALF, LOG_CUT, reach
from dpacct.pld.derived import backwards, sampled
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pair import Pair, Pairs, Ways
from dpacct.pld.pieces import Cut
from dpacct.pld.stable import Floats
from dpacct.shuffling.count import Count
from dpacct.shuffling.letters import Letters, Mixture, leftover, loss, mixture, outcomes
from dpacct.vocabulary import Adjacency

# outcomes that are looked at, about, and atoms of a law: at most
_POINTS, _NODES = 1 << 21, 1 << 16
_ENTRIES, _FEWEST = 4800, 8


@dataclass(frozen=True)
class ShufflePair(Pair):
    """Upper: the letters of the reduction. Lower: randomised response, the others' inputs fixed."""

    @classmethod
    def of_letters(
        cls,
        letters: Letters,
        least: Letters | None,
        count: Count | None,
        basis: tuple[Citation, ...],
    ) -> ShufflePair:
        """The pair of a shuffle that every client joins, or joins by its own coin."""

        def below(rate: float) -> Ways:
            if rate < 1.0:
                # one client holds a one and all others zero, against all zero: no trace if not sampled
                remove = sampled(atoms(Count(letters.clients, letters.eps0)), rate)
                return remove, backwards(remove)
            ways = () if count is None else (count, count.reverse)
            realised = ways if least is None else (least, *ways)
            return tuple(atoms(way) for way in realised)

        return cls((atoms(letters, upper=True),), basis, below=below)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of unknown size is no shuffle of this many: raises `Unsupported`."""
        message = "a shuffle has a fixed number of clients: clients that take part by their own coins are "
        raise Unsupported(f"{message}Shuffle(..., rate=q)", argument="plan")


@lru_cache(maxsize=8)  # each method of a comparison asks for the same one
def atoms(of: Letters | Count, *, upper: bool = False) -> Cut:
    """The pair of a shuffle's letters, or of a count, as atoms: `upper` tells at least as much, else at most.

    What the tables leave out is a few more atoms above, as no loss exceeds eps0, and counts for nothing
    below. Masses are rounded to the side. There are too many atoms for a contour.
    """
    if isinstance(of, Count):
        losses, p, _ = of.outcomes()
        kept = p > 0.0
        return _law(losses[kept], np.log(p[kept]) - of.rounding)
    first, last = reach(math.ceil(2.0 * of.share * of.clients + 1.0), HALF)
    blocks = min(max(_POINTS // (last - first + 1), _FEWEST), _ENTRIES)
    losses, log_p = tabulated(mixture(of, upper, blocks), upper=upper)
    if upper:
        more, logs = leftover(of)
        losses = np.append(losses, np.minimum(more, of.largest_loss))
        log_p = np.append(log_p, logs)
    return _law(losses, log_p)


def _law(losses: Floats, log_p: Floats) -> Cut:
    return Cut(LossDistribution(losses, log_p - losses), contour=False)


def tabulated(mixture: Mixture, *, upper: bool) -> tuple[Floats, Floats]:
    """Rising losses of a mixture, and logs of P-masses: all of few, else merged to the asked side.

    Upper: each is split between the two nodes around it so that both masses are kept (a chord of the
    profile); lower: all within a cell become one, which is post-processing.
    """
    sign = 1.0 if upper else -1.0
    rounding = sign * (mixture.rounding + 2e-12)
    if mixture.messages.sum() <= 4 * _NODES:
        losses, p, _ = (np.concatenate(part) for part in zip(*outcomes(mixture), strict=True))
        order = np.argsort(losses, kind="stable")
        losses, p = losses[order], p[order]
        # equal losses of different entries differ in their last digits
        fresh = np.append(True, np.diff(losses) > 4e-15 * (1.0 + np.abs(losses[1:])))
        starts = np.flatnonzero(fresh)
        losses, p = losses[starts], np.add.reduceat(p, starts)
        return losses[p > 0.0], np.log(p[p > 0.0]) + rounding
    reached = _furthest(mixture)
    low, step = -reached * (1.0 + 1e-9), 2.0 * reached * (1.0 + 2e-9) / (_NODES - 1)
    sums = np.zeros((2, _NODES))
    for losses, p, q in outcomes(mixture):
        place = np.clip(np.floor((losses - low) / step), 0.0, _NODES - 2.0)
        cell = place.astype(np.int64)
        if upper:
            above = losses - (low + step * place)
            up = p * np.clip(np.expm1(-above) / math.expm1(-step), 0.0, 1.0)
            sums[0] += np.bincount(cell, weights=p - up, minlength=_NODES)
            sums[0] += np.bincount(cell + 1, weights=up, minlength=_NODES)
        else:
            sums[0] += np.bincount(cell, weights=p, minlength=_NODES)
            sums[1] += np.bincount(cell, weights=q, minlength=_NODES)
    kept = sums[0] > 0.0
    if upper:
        # a node's place is right to rounding of the splitting, which is relative to the cell
        return (low + step * np.arange(_NODES))[kept], np.log(sums[0][kept]) + rounding + 1e-13
    kept &= sums[1] > 0.0
    log_p, log_q = np.log(sums[:, kept])
    return log_p - log_q, log_p + rounding - 1e-12


def _furthest(mixture: Mixture) -> float:
    """The largest loss of any entry's outcomes."""
    wide = -LOG_CUT / 3.0 + np.sqrt(LOG_CUT * LOG_CUT / 9.0 - 0.5 * mixture.messages * LOG_CUT)
    ones = np.minimum(mixture.messages, np.ceil(0.5 * mixture.messages + wide) + 2.0)
    return float(loss(ones, mixture.messages - ones, mixture.falls, mixture.gaps).max())
