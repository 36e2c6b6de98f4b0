"""Blended: a unit of several records, of which a random number is in the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpacct.pld import stable
from dpacct.pld.stable import Floats, quiet

from .operator import Functions, Operator


@dataclass(frozen=True)
class Blended(Operator):
    """sum_j w_j P_j against Q, where log dP_j/dQ = k_j l - d_j: several shifts of one noise.

    For N(1, s^2) against N(0, s^2), N(j, s^2) has k_j = j and d_j = j (j-1) / (2 s^2) (Ganesh 2024):
    a user with j records in the sample. `terms`: (w_j, k_j, d_j), k_j >= 0, the w_j adding up to 1.
    """

    terms: tuple[tuple[Any, Any, Any], ...]

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """Mix the shifts of the loss."""
        return f.blended_loss(self.terms, loss), log_q

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        with quiet():
            return float(stable.blended_loss(self.terms, np.array(loss)))

    def undo(self, loss: Floats) -> Floats:
        """The loss before; -inf where no loss before is as small."""
        return stable.unblended_loss(self.terms, loss)

    def slope(self, loss: Any, f: Functions = stable) -> Any:
        """sum_j k_j w_j e^{k_j l - d_j}, divided by the sum without k_j."""
        # L = log sum_j w_j e^{k_j l - d_j}, so dL/dl = sum_j k_j w_j e^{k_j l - d_j - L}
        mixed = f.blended_loss(self.terms, loss)
        parts = [
            f.number(k) * f.number(w) * f.exp(f.number(k) * loss - f.number(d) - mixed)
            for w, k, d in self.terms
            if k
        ]
        return sum(parts[1:], parts[0])

    @property
    def steepest(self) -> float:
        """The largest multiple."""
        return float(max(multiple for _, multiple, _ in self.terms))

    @property
    def drift(self) -> float:
        """0: log q stays."""
        return 0.0

    @property
    def shifts(self) -> tuple[float, float]:
        """The centres of the least and the greatest shift."""
        return 0.0, self.steepest
