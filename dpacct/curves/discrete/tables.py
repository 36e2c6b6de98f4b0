"""Pairs on finitely many outcomes, as points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpacct.engine.discrete.pieces import Pieces
from dpacct.engine.stable import Floats
from dpacct.errors import InvalidArgument

_SUM = 1e-9


@dataclass(frozen=True)
class Table:
    """Losses (finite, +inf, -inf) with log masses under P and Q, outcomes of one loss merged."""

    losses: tuple[float, ...]
    log_p: tuple[float, ...]
    log_q: tuple[float, ...]

    @classmethod
    def of(cls, p: Sequence[float], q: Sequence[float]) -> Table:
        """From two lists of probabilities; each is renormalised, if it sums to 1 within 1e-9.

        Raises `InvalidArgument`.

        >>> [round(loss, 12) for loss in Table.of([0.75, 0.25], [0.25, 0.75]).losses]
        [-1.098612288668, 1.098612288668]
        """
        first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        if first.shape != second.shape or first.ndim != 1:
            told = f"p and q must be lists of equal length, got {first.shape} and {second.shape}"
            raise InvalidArgument(told, argument="q")
        for name, masses in (("p", first), ("q", second)):
            if not (np.isfinite(masses).all() and (masses >= 0.0).all()):
                told = f"{name} must be probabilities in [0, 1], got {masses.min()!r}"
                raise InvalidArgument(told, argument=name)
            total = math.fsum(masses.tolist())
            if abs(total - 1.0) > _SUM:
                told = f"{name} must sum to 1 within {_SUM:g}, got a sum of {total!r}"
                raise InvalidArgument(told, argument=name)
            masses /= total
        merged: dict[float, list[float]] = {}
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            if one == 0.0 == other:
                continue
            loss = math.inf if other == 0.0 else -math.inf
            if one > 0.0 and other > 0.0:
                loss = math.log(one) - math.log(other)
            both = merged.setdefault(loss, [0.0, 0.0])
            both[0] += one
            both[1] += other
        with np.errstate(divide="ignore"):
            ordered = sorted(merged.items())
            log_p, log_q = (
                tuple(np.log([masses[k] for _, masses in ordered]).tolist()) for k in (0, 1)
            )
        return cls(tuple(loss for loss, _ in ordered), log_p, log_q)

    @classmethod
    def of_losses(cls, losses: Sequence[float], log_p: Sequence[float]) -> Table:
        """From losses (finite or +inf, each once) and log P-masses; Q's rest is at loss -inf."""
        order = np.argsort(losses)
        at, p = np.asarray(losses, dtype=np.float64)[order], np.asarray(log_p, dtype=np.float64)
        p = p[order]
        points = Pieces.points(at, p)
        rest = 1.0 - float(np.exp(points.log_q).sum())
        if rest > 1e-15:
            at, p = np.append(-math.inf, at), np.append(-math.inf, p)
            points = Pieces(p, np.append(math.log(rest), points.log_q), at, at)
        return cls(tuple(at.tolist()), tuple(p.tolist()), tuple(points.log_q.tolist()))

    def reversed(self) -> Table:
        """The pair (Q, P)."""
        return Table(tuple(-loss for loss in self.losses[::-1]), self.log_q[::-1], self.log_p[::-1])

    @property
    def atoms(self) -> Floats:
        losses = np.array(self.losses)
        return np.asarray(losses[np.isfinite(losses)])

    bracketed = False

    @property
    def least(self) -> float:
        return self.losses[0]

    @property
    def only_atoms(self) -> bool:
        return True

    def span(self, log_mass: float) -> tuple[float, float]:
        atoms = self.atoms
        return (float(atoms.min()), float(atoms.max())) if atoms.size else (0.0, 0.0)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        losses = np.array(self.losses)
        return Pieces(np.array(self.log_p), np.array(self.log_q), losses, losses)
