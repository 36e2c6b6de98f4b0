"""Reversed: a pair read the other way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpacct.pld import stable
from dpacct.pld.stable import Floats

from .operator import Chain, Functions, Operator


@dataclass(frozen=True)
class Reversed(Operator):
    """Q against P: l -> -l, log q -> log q + l."""

    sign = -1.0
    keeps_normal = True

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """Negate the loss; log p takes the place of log q."""
        return -loss, log_q + loss

    def limit(self, loss: float) -> float:
        """Negate a single loss, which may be infinite."""
        return -loss

    def undo(self, loss: Floats) -> Floats:
        """The loss before."""
        return -loss

    def slope(self, loss: Any, f: Functions = stable) -> Any:
        """1, in the arithmetic of the loss."""
        return 0.0 * loss + 1.0

    @property
    def drift(self) -> float:
        """1: log p - log q is the loss."""
        return 1.0

    def masses(self, p: float, q: float) -> tuple[float, float]:
        """The two masses, exchanged."""
        return q, p

    def aside(self, loss: Floats, turn: Floats, log_q: Floats) -> tuple[Floats, Floats, Floats]:
        """Apply to a loss off the axis without complex functions."""
        return -loss, -turn, log_q + loss

    def after(self, chain: Chain) -> Chain:
        """Twice is nothing."""
        return chain[:-1] if chain and chain[-1] == self else (*chain, self)
