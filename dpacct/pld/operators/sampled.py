"""SampledLoss: a unit that is in the sample by its own coin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpacct.pld import stable
from dpacct.pld.stable import Floats

from .operator import Chain, Functions, Operator


@dataclass(frozen=True)
class SampledLoss(Operator):
    """(1 - r) Q + r P against Q: l -> log(1 - r + r e^l), log q stays; `rate` in (0, 1).

    Zhu, Dong, Wang 2022, Theorem 11. A rate that is a Fraction stays exact for arithmetic that is.
    """

    rate: Any
    mixes = True

    @cached_property
    def _rate(self) -> float:
        return float(self.rate)

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """Mix the loss with no evidence."""
        return f.mixed_loss(self._rate if f is stable else self.rate, loss), log_q

    def aside(self, loss: Floats, turn: Floats, log_q: Floats) -> tuple[Floats, Floats, Floats]:
        """Apply to loss + i turn by real functions: 1 - r + r e^loss (cos turn + i sin turn)."""
        # |1 - r + r e^z| and its argument, scaled by e^{-max(Re z, 0)} so that neither overflows
        level = np.maximum(loss, 0.0)
        grown = self._rate * np.exp(loss - level)
        real = np.exp(-level) * (1.0 - self._rate) + grown * np.cos(turn)
        imag = grown * np.sin(turn)
        return level + 0.5 * np.log(real * real + imag * imag), np.arctan2(imag, real), log_q

    def limit(self, loss: float) -> float:
        """Map a single loss: -inf to log(1 - r), +inf to itself."""
        if math.isinf(loss):
            return loss if loss > 0.0 else math.log1p(-self._rate)
        return float(stable.mixed_loss(self._rate, np.array(loss)))

    def undo(self, loss: Floats) -> Floats:
        """The loss before; -inf at and below log(1 - r)."""
        return stable.unmixed_loss(self._rate, loss)

    def slope(self, loss: Any, f: Functions = stable) -> Any:
        """The share of P in the mixture, 1 / (1 + (1 - r)/r e^-l)."""
        rate = f.number(self.rate)
        # d/dl log(1 - r + r e^l) = r e^l/(1 - r + r e^l)
        return 1.0 / (1.0 + (1.0 - rate) / rate * f.exp(-loss))

    @property
    def share(self) -> float:
        """The rate."""
        return self._rate

    @property
    def drift(self) -> float:
        """0: log q stays."""
        return 0.0

    @property
    def poles(self) -> tuple[float, ...]:
        """The loss at which 1 - r = r e^Re l."""
        return (math.log1p(-self._rate) - math.log(self._rate),)

    @property
    def bends(self) -> tuple[float, ...]:
        """The loss at which r e^l is 1."""
        return (-math.log(self._rate),)

    def masses(self, p: float, q: float) -> tuple[float, float]:
        """(1 - r) Q + r P, and Q."""
        return q + self._rate * (p - q), q

    def after(self, chain: Chain) -> Chain:
        """Two samples in a row are one, of the product of the rates."""
        if chain and isinstance(chain[-1], SampledLoss):
            return (*chain[:-1], SampledLoss(chain[-1].rate * self.rate))
        return (*chain, self)
