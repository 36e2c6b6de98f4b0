"""Pieces: a pair of distributions cut up, with the range of the loss in each; what brings them.

This is all that the lattice engine asks of a mechanism. Let (P, Q) be the pair and L = log dP/dQ.
A piece is a set of outcomes (or a share of one): its mass under P and under Q, and two numbers that
enclose L on it. Knowing no more, the engine spreads the piece to lattice points outside the range
for the upper bound, and shrinks it to one point for the lower (docs/theory/lattice.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpacct.engine.stable import Floats

Kept = npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]

NO_LOSSES: Floats = np.empty(0)
ROUNDING = 8e-15
"""What the logs of masses and losses are taken to be off by, unless a source knows better."""


@dataclass(frozen=True)
class Pieces:
    """A pair (P, Q) as pieces: log masses, and an enclosure of the loss on each.

    `low` may be -inf and `high` +inf. A piece without Q-mass has log_q = -inf and both ends +inf (the
    loss is infinite there); one without P-mass has log_p = -inf and both ends -inf (it counts when the pair
    is amplified). Masses sum to 1 under P, and to 1 under Q, up to `slack`, which bounds the absolute
    error of each log mass (so the relative error of each mass). `slip` bounds the error of the ends.

    `loss` is the loss of a whole piece, log P/Q, off by at most `unsure`: where a difference of log masses
    would not know it as well.
    """

    log_p: Floats
    log_q: Floats
    low: Floats
    high: Floats
    slack: float | Floats = ROUNDING
    slip: float | Floats | None = None
    loss: Floats | None = None
    unsure: float | Floats = 0.0

    @property
    def end_slip(self) -> float:
        """What ends are off by: as much as log masses, unless told."""
        return float(np.max(self.slips(), initial=0.0))

    def slips(self) -> float | Floats:
        """The same for each piece."""
        return self.slack if self.slip is None else self.slip

    def losses(self) -> tuple[Floats, float | Floats]:
        """The loss of each piece as a whole, and what it is off by."""
        if self.loss is not None:
            return self.loss, self.unsure
        with np.errstate(invalid="ignore"):
            return self.log_p - self.log_q, 2.0 * self.slack

    def where(self, kept: Kept) -> Pieces:
        """Only some of the pieces."""

        def part(values: float | Floats) -> float | Floats:
            return values[kept] if isinstance(values, np.ndarray) else values

        loss = None if self.loss is None else self.loss[kept]
        return Pieces(
            self.log_p[kept],
            self.log_q[kept],
            self.low[kept],
            self.high[kept],
            part(self.slack),
            None if self.slip is None else part(self.slip),
            loss,
            part(self.unsure),
        )

    @staticmethod
    def join(*parts: Pieces) -> Pieces:
        """The pieces of all parts together."""

        def joined(values: Sequence[float | Floats]) -> Floats:
            sizes = [part.log_p.shape for part in parts]
            spread = [np.broadcast_to(v, s) for v, s in zip(values, sizes, strict=True)]
            return np.concatenate(spread)

        losses = [part.losses() for part in parts]
        return Pieces(
            np.concatenate([part.log_p for part in parts]),
            np.concatenate([part.log_q for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            joined([part.slack for part in parts]),
            joined([part.slips() for part in parts]),
            np.concatenate([loss for loss, _ in losses]),
            joined([unsure for _, unsure in losses]),
        )

    @staticmethod
    def points(losses: Floats, log_p: Floats, slack: float = ROUNDING) -> Pieces:
        """Point masses at these losses (finite, or +inf) with these log P-masses."""
        log_q = np.where(np.isposinf(losses), -math.inf, log_p - losses)
        return Pieces(log_p, log_q, losses, losses, slack, slack, losses, slack)


class DiscreteSource(Protocol):
    """The law of a privacy loss, ready to be cut. Hashable and immutable: equal sources are one law.

    A continuous law is cut at the losses `edges` (increasing), and what lies outside the first and the
    last edge is a piece with an infinite end; a law of finitely many outcomes returns its outcomes as
    points, whatever the edges. A source that can only be bracketed (a composition used as one step)
    returns, for `upper`, pieces of a pair whose profile lies nowhere below the truth, and for
    not `upper`, nowhere above it, and says so by `bracketed = True`; all others ignore the flag.

    A source may state `least`, a finite loss that none is below, under Q either (so none is -inf); and
    `pointed = True`, if it has points alone and gives them all where no edges are given.
    """

    def __hash__(self) -> int: ...

    @property
    def atoms(self) -> Floats:
        """Losses of finite point masses to which the lattice is to be aligned; few, or none."""
        ...

    @property
    def only_atoms(self) -> bool:
        """Whether finite point masses at `atoms` (and infinite losses) are all there is."""
        ...

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which P has less than e^log_mass at each end (roughly; a hint, finite)."""
        ...

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The law, cut at these losses where it is continuous."""
        ...


Sources = Sequence[tuple[DiscreteSource, float]]
"""A composition: sources, and how often each runs."""


def atom_masses(source: DiscreteSource) -> Floats:
    """Logs of the P-masses at the source's `atoms`."""
    atoms = source.atoms
    if not atoms.size:
        return atoms
    pieces = source.pieces(atoms, upper=True)
    points = (pieces.low == pieces.high) & np.isfinite(pieces.low)
    nearest = np.searchsorted(0.5 * (atoms[1:] + atoms[:-1]), pieces.low[points])
    masses = np.bincount(nearest, np.exp(pieces.log_p[points]), minlength=atoms.size)
    return np.log(np.maximum(masses, 1e-300))


def least_loss(source: DiscreteSource) -> float:
    """What no loss of the source is below; -inf where it does not say."""
    return float(getattr(source, "least", -math.inf))


def pointed(source: DiscreteSource) -> bool:
    """Whether the source gives all its losses, as points, where it is cut nowhere."""
    return bool(getattr(source, "pointed", False))


def bracketed(source: DiscreteSource) -> bool:
    """Whether the source's pieces differ for the two sides."""
    return bool(getattr(source, "bracketed", False))
