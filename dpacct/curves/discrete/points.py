"""A law whose losses are all point masses, as the points that it states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpacct.engine.discrete.pieces import Pieces
from dpacct.engine.law import Atoms
from dpacct.engine.stable import Floats


class AtomicSource(Protocol):
    """What states its point masses; hashable."""

    @property
    def atoms(self) -> Atoms: ...


@dataclass(frozen=True)
class PointsOf:
    """All the losses of `law`, finite and normalised both ways."""

    law: AtomicSource

    only_atoms = True
    bracketed = False

    @property
    def least(self) -> float:
        return float(self.law.atoms.losses.min())

    @property
    def atoms(self) -> Floats:
        return self.law.atoms.losses

    def span(self, log_mass: float) -> tuple[float, float]:
        atoms = self.law.atoms
        kept = atoms.losses[atoms.log_masses > log_mass]
        if not kept.size:
            kept = atoms.losses
        return float(kept.min()), float(kept.max())

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        atoms = self.law.atoms
        return Pieces.points(atoms.losses, atoms.log_masses)
