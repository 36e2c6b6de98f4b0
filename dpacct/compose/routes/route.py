"""What a route provides: both questions, and what its answers are worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dpacct.compose.composition import Composition
from dpacct.vocabulary import Side, Strength


@dataclass(frozen=True)
class Finding:
    """A value with its known ends (None: unknown) and grade; for delta all three are logarithms."""

    value: float
    lower: float | None
    upper: float | None
    side: Side
    strength: Strength
    basis: tuple[str, ...]


class Route(ABC):
    """One way from a composition to epsilon or delta."""

    name: str

    @abstractmethod
    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        """Epsilon at this log delta; raises `Unsupported` where the route does not apply."""

    @abstractmethod
    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        """Log delta at this epsilon; raises `Unsupported` where the route does not apply."""
