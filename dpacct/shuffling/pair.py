"""A shuffle as one step of a composition: its outcomes as points that the lattice engine cuts up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpacct.citations import Citation
from dpacct.errors import Unsupported
from dpacct.pld.binomial import HALF, LOG_CUT, reach
from dpacct.pld.derived import backwards, sampled
from dpacct.pld.pair import Pair, Pairs, Ways
from dpacct.pld.pieces import Pieces, Source, gathered
from dpacct.pld.stable import Floats
from dpacct.vocabulary import Adjacency

from .count import Count
from .hidden import loss, outcomes
from .leftover import leftover
from .letters import Letters, Mixture, mixture

# outcomes that are looked at, about, and losses of a table: at most
_POINTS, _NODES = 1 << 21, 1 << 16
_ENTRIES, _FEWEST = 4800, 8
# log of the P-mass of the largest losses that compositions take as infinite
_LOG_RARE = -60.0
# losses that nodes can be made to meet
_FEW = 2048


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
        """Every client's message is in the shuffle, or is by its own coin."""

        def below(rate: float) -> Ways:
            if rate < 1.0:
                # one client holds a one and all others zero, against all zero: no trace if not sampled
                seen = ShuffleSource(Count(letters.clients, letters.eps0), upper=False)
                remove = sampled(seen, rate)
                return remove, backwards(remove)
            ways = () if count is None else (count, count.reverse)
            realised = ways if least is None else (least, *ways)
            return tuple(ShuffleSource(way, upper=False) for way in realised)

        return cls((ShuffleSource(letters, upper=True),), basis, below=below)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of unknown size is no shuffle of this many: raises `Unsupported`."""
        message = "a shuffle has a fixed number of clients: clients that take part by their own coins are "
        raise Unsupported(f"{message}Shuffle(..., rate=q)", argument="plan")


@dataclass(frozen=True)
class ShuffleSource(Source):
    """The pair of a shuffle's letters, or of a count, rounded to one side: `upper` tells at least as much.

    What its table leaves out is as good as infinite above, and counts for nothing below. `infinite` stays 0:
    no loss is above eps0.
    """

    of: Letters | Count
    upper: bool

    @cached_property
    def table(self) -> Pieces:
        """Its outcomes by rising losses, rounded to the source's side."""
        return _table(self)

    @cached_property
    def left(self) -> tuple[Floats, Floats]:
        """(losses, logs of P-masses) of what the table leaves out, rounded up; nothing where not `upper`."""
        if not self.upper or isinstance(self.of, Count):
            return np.empty(0), np.empty(0)
        losses, logs = leftover(self.of)
        return np.minimum(losses, self.of.largest_loss), logs

    @cached_property
    def variance(self) -> float:
        """About E[L^2], for the width of a grid."""
        return float(np.exp(self.table.log_p) @ np.square(self.table.loss))

    def log_moments(self, tilts: Floats) -> Floats:
        """Rounded up, with what the table leaves out: that is no infinite loss, as no loss exceeds eps0.

        So Renyi divergences are finite at every order: sums over the table, upper bounds if it is upper.
        """
        losses = np.concatenate((self.table.loss, self.left[0]))
        level = np.concatenate((self.table.log_p, self.left[1])) + np.multiply.outer(tilts, losses)
        top = level.max(axis=1)
        total = top + np.log(np.exp(level - top[:, None]).sum(axis=1))
        charge = self.table.slack + 1e-15 * (4.0 + np.abs(tilts) * self.of.largest_loss)
        return np.asarray(total + charge)

    @property
    def atoms(self) -> Floats:
        """All losses, where these are few."""
        return self._near.loss if self.only_atoms else np.empty(0)

    @property
    def only_atoms(self) -> bool:
        """Whether losses are so few that nodes can meet each."""
        return self._near.loss.size <= _FEW

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which the table has less than e^log_mass at each end."""
        losses, p = self._near.loss, np.exp(self._near.log_p)
        bar = math.exp(max(log_mass, -700.0))
        low = int(np.searchsorted(np.cumsum(p), bar))
        high = p.size - 1 - int(np.searchsorted(np.cumsum(p[::-1]), bar))
        return float(losses[min(low, high)]), float(losses[max(low, high)])

    @cached_property
    def _near(self) -> Pieces:
        """The table without its rarest large losses: with what it leaves out, these count as infinite.

        Moments, which need the losses of what is rare, take the whole table.
        """
        table = self.table
        rare = np.cumsum(np.exp(table.log_p[::-1]))[::-1] < math.exp(_LOG_RARE)
        logs = np.concatenate((self.left[1], table.log_p[rare]))
        left = math.exp(np.logaddexp.reduce(logs) + table.slack) if logs.size else 0.0
        return _points(
            table.log_p[~rare],
            table.loss[~rare],
            float(table.slack),
            infinite=left if self.upper else 0.0,
        )

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """All outcomes of a cell together: what is between two nodes is spread by its two masses alone."""
        return gathered(self._near, edges)


def _points(log_p: Floats, losses: Floats, rounding: float, *, infinite: float = 0.0) -> Pieces:
    """Outcomes, each mass right to this relative error."""
    return Pieces(log_p, losses, losses, losses, rounding, 2.0 * rounding, rounding, infinite)


@lru_cache(maxsize=8)  # each method of a comparison asks for the same one
def _table(source: ShuffleSource) -> Pieces:
    of = source.of
    if isinstance(of, Count):
        losses, p, _ = of.outcomes()
        some = p > 0.0
        return _points(np.log(p[some]), losses[some], of.rounding)
    first, last = reach(math.ceil(2.0 * of.share * of.clients + 1.0), HALF)
    blocks = min(max(_POINTS // (last - first + 1), _FEWEST), _ENTRIES)
    return tabulated(mixture(of, source.upper, blocks), upper=source.upper)


def tabulated(mixture: Mixture, *, upper: bool) -> Pieces:
    """The outcomes of a mixture: as they are where they are few, else merged to the asked side.

    Upper: each is split between the two nodes around it so that both masses are kept (a chord of the
    profile); lower: all within a cell become one, which is post-processing.
    """
    rounding = mixture.rounding + 2e-12
    if mixture.messages.sum() <= 4 * _NODES:
        losses, p, _ = (np.concatenate(part) for part in zip(*outcomes(mixture), strict=True))
        order = np.argsort(losses, kind="stable")
        losses, p = losses[order], p[order]
        # equal losses of different entries differ in their last digits
        fresh = np.append(True, np.diff(losses) > 4e-15 * (1.0 + np.abs(losses[1:])))
        starts = np.flatnonzero(fresh)
        losses, p = losses[starts], np.add.reduceat(p, starts)
        return _points(np.log(p[p > 0.0]), losses[p > 0.0], rounding)
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
        nodes = low + step * np.arange(_NODES)
        return _points(np.log(sums[0][kept]), nodes[kept], rounding + 1e-13)
    kept &= sums[1] > 0.0
    log_p, log_q = np.log(sums[:, kept])
    return _points(log_p, log_p - log_q, rounding + 1e-12)


def _furthest(mixture: Mixture) -> float:
    """The largest loss of any entry's outcomes."""
    wide = -LOG_CUT / 3.0 + np.sqrt(LOG_CUT * LOG_CUT / 9.0 - 0.5 * mixture.messages * LOG_CUT)
    ones = np.minimum(mixture.messages, np.ceil(0.5 * mixture.messages + wide) + 2.0)
    return float(loss(ones, mixture.messages - ones, mixture.falls, mixture.gaps).max())
