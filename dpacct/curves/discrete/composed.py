"""A composition as one source, and what may be done to a source: reversed, thinned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpacct.engine.discrete.align import natural_step
from dpacct.engine.discrete.lattices import Layout
from dpacct.engine.discrete.pieces import (
    NO_LOSSES,
    DiscreteSource,
    Pieces,
    bracketed,
    least_loss,
    pointed,
)
from dpacct.engine.discrete.spread import spread
from dpacct.engine.discrete.whole import Whole, whole_laws
from dpacct.engine.discrete.window import tilted_sum, window
from dpacct.engine.stable import Floats

from .amplified import mirrored

# nodes of the coarse lattice that ends are found with
_COARSE = 2000
# losses of a composition that nodes can be made to meet
_FEW = 64
# points of a composition's whole law, about, at most
_MOST = 1 << 18


@dataclass(frozen=True)
class Composed:
    """The composition of sources (each with its count), in one direction.

    `log_kept` and `shift` are those of open failures that were taken apart (`compose.Direction`): the
    finite part weighs e^log_kept, and its losses are moved by `shift`.
    """

    parts: tuple[tuple[DiscreteSource, int], ...]
    log_kept: float = 0.0
    shift: float = 0.0

    @property
    def natural(self) -> float | None:
        """The step of the lattice that all losses lie on; None if they do not."""
        if len(self.parts) > 1 or not self.parts[0][0].only_atoms:
            return None
        return natural_step(self.parts[0][0].atoms)

    @property
    def atoms(self) -> Floats:
        """All losses, where these are few; none where they are many, and nodes cannot meet them all."""
        step = self.natural
        if step is None:
            return NO_LOSSES
        (source, count), *_ = self.parts
        places = count * round(float(np.ptp(source.atoms)) / step)
        if places > _FEW:
            return NO_LOSSES
        return np.asarray(
            self.shift + count * float(source.atoms.min()) + step * np.arange(places + 1)
        )

    bracketed = True
    least = -math.inf

    @property
    def only_atoms(self) -> bool:
        return self.atoms.size > 0

    @property
    def steps(self) -> int:
        """Steps in all."""
        return sum(count for _, count in self.parts)

    def span(self, log_mass: float) -> tuple[float, float]:
        return _span(self, log_mass)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Points of a pair on the asked side, finer than most edges are apart, gathered between them."""
        natural = self.natural
        if natural is not None:
            # exact as it is
            return self._side(natural, _span(self, -720.0)[1], upper, None)
        finite = edges[np.isfinite(edges)]
        gap = float(np.median(np.diff(finite))) if finite.size > 1 else 0.01
        # steps * spacing^2 is what the composition adds to one cell's (edges)^2
        asked = 0.7 * gap / math.sqrt(self.steps)
        low, high = _span(self, -60.0)
        top = float(finite[-1]) if finite.size else high
        top = min(max(top - self.shift, high), _span(self, -720.0)[1])
        asked = max(asked, (max(top, high) - low) / _MOST)
        # a few spacings serve all questions: those between are rounded down
        spacing = 2.0 ** (math.floor(3.0 * math.log2(asked)) / 3.0)
        return self._side(
            spacing, 2.0 ** (math.ceil(3.0 * math.log2(max(top, 1e-300))) / 3.0), upper, edges
        )

    def _side(self, spacing: float, high: float, upper: bool, edges: Floats | None) -> Pieces:
        whole = _whole(self, spacing, high)
        moved = None if edges is None else edges - self.shift
        pieces = whole[0 if upper else 1].pieces(moved)
        return pieces if self.log_kept == 0.0 else self._failing(pieces)

    def _failing(self, pieces: Pieces) -> Pieces:
        """With the open failures: the finite part weighs less under both, and is moved."""
        log_p = pieces.log_p + self.log_kept
        log_q = pieces.log_q + self.log_kept - self.shift
        finite = Pieces(log_p, log_q, pieces.low + self.shift, pieces.high + self.shift)
        lost = -math.expm1(self.log_kept)
        parts = [finite]
        if lost > 0.0:
            parts.append(Pieces.points(np.array([math.inf]), np.array([math.log(lost)])))
        hidden = -math.expm1(self.log_kept - self.shift)
        if hidden > 0.0:
            none = np.array([-math.inf])
            parts.append(Pieces(none, np.array([math.log(hidden)]), none, none))
        return Pieces.join(*parts)


@lru_cache(maxsize=256)
def _span(source: Composed, log_mass: float) -> tuple[float, float]:
    """Chernoff's bounds of where P lies, from a coarse upper law."""
    ends = [part.span(max(2.0 * log_mass, -740.0)) for part, _ in source.parts]
    widest = max(high - low for low, high in ends) or 1.0
    step = widest / _COARSE
    laws = []
    for (part, count), (low, high) in zip(source.parts, ends, strict=True):
        grid = Layout(part, count, low, high, _MOST).even(step)
        laws.append((spread(part.pieces(grid.nodes, upper=True), grid), float(count)))
    seen = window(laws, tilted_sum(laws, 0.0), log_mass)
    return seen.low + source.shift, seen.high + source.shift


@lru_cache(maxsize=16)
def _whole(source: Composed, spacing: float, high: float) -> tuple[Whole, Whole]:
    return whole_laws([(part, float(n)) for part, n in source.parts], spacing, high)


@dataclass(frozen=True)
class Reversed:
    """The pair (Q, P) of a source of (P, Q)."""

    of: DiscreteSource

    @property
    def atoms(self) -> Floats:
        return np.asarray(-self.of.atoms[::-1])

    least = -math.inf

    @property
    def bracketed(self) -> bool:
        return bracketed(self.of)

    @property
    def pointed(self) -> bool:
        return pointed(self.of)

    @property
    def only_atoms(self) -> bool:
        return self.of.only_atoms

    def span(self, log_mass: float) -> tuple[float, float]:
        # Q's ends are a little further down than P's; a cut tail is charged wherever it is
        low, high = self.of.span(log_mass)
        return -high, max(-low, high)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        return mirrored(self.of.pieces(-edges[::-1], upper=upper))


@dataclass(frozen=True)
class Thinned:
    """A source that runs with this probability, the same coin for both neighbours, and else tells nothing."""

    of: DiscreteSource
    rate: float

    @property
    def atoms(self) -> Floats:
        return np.unique(np.append(self.of.atoms, 0.0))

    @property
    def least(self) -> float:
        return min(least_loss(self.of), 0.0)

    @property
    def bracketed(self) -> bool:
        return bracketed(self.of)

    @property
    def pointed(self) -> bool:
        return pointed(self.of)

    @property
    def only_atoms(self) -> bool:
        return self.of.only_atoms

    def span(self, log_mass: float) -> tuple[float, float]:
        low, high = self.of.span(log_mass - math.log(self.rate))
        return min(low, 0.0), max(high, 0.0)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        pieces = self.of.pieces(edges, upper=upper)
        log_rate = math.log(self.rate)
        run = Pieces(
            pieces.log_p + log_rate,
            pieces.log_q + log_rate,
            pieces.low,
            pieces.high,
            pieces.slack + 4e-16,
            pieces.slips(),
            *pieces.losses(),
        )
        return Pieces.join(run, Pieces.points(np.zeros(1), np.array([math.log1p(-self.rate)])))
