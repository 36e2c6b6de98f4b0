"""Operators on a branch of a privacy loss distribution: what sampling makes of (loss, log q) at a place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from . import stable
from .stable import Floats, quiet


class Functions(Protocol):
    """The arithmetic that operators need; the module `stable` provides it for floats."""

    def mixed_loss(self, rate: Any, loss: Any, /) -> Any:
        """log(1 - r + r e^loss)."""
        ...

    def blended_loss(self, terms: Any, loss: Any, /) -> Any:
        """log sum_j w_j e^{k_j loss - d_j}."""
        ...


class Operator(Protocol):
    """An operator on a branch: maps (loss, log q) forwards and a loss backwards."""

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """The new loss and log Q-density at the same place of the axis."""
        ...

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        ...

    def undo(self, loss: Floats) -> Floats:
        """The loss before, infinite where no loss before is as small."""
        ...

    def moves(self, before: Floats, after: Floats) -> Floats | float:
        """An upper bound of the derivative of the loss by the loss before."""
        ...


@dataclass(frozen=True)
class Reversed:
    """Q against P: l -> -l, log q -> log q + l."""

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """The operator at a place of the axis."""
        return -loss, log_q + loss

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        return -loss

    def undo(self, loss: Floats) -> Floats:
        """The loss before the operator was applied."""
        return -loss

    def moves(self, before: Floats, after: Floats) -> float:
        """1: errors of the loss pass unchanged."""
        return 1.0


@dataclass(frozen=True)
class SampledLoss:
    """(1 - r) Q + r P against Q: l -> log(1 - r + r e^l), log q stays; `rate` in (0, 1)."""

    rate: Any  # a Fraction stays exact, for arithmetic that is

    @cached_property
    def _rate(self) -> float:
        return float(self.rate)

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """The operator at a place of the axis."""
        return f.mixed_loss(self._rate if f is stable else self.rate, loss), log_q

    def beside(self, loss: Floats, turn: Floats) -> tuple[Floats, Floats]:
        """About the real and the imaginary part of the loss, where it was loss + i turn before."""
        level = np.maximum(loss, 0.0)
        grown = self._rate * np.exp(loss - level)
        real = np.exp(-level) * (1.0 - self._rate) + grown * np.cos(turn)
        imag = grown * np.sin(turn)
        return level + 0.5 * np.log(real * real + imag * imag), np.arctan2(imag, real)

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        if math.isinf(loss):
            return loss if loss > 0.0 else math.log1p(-self._rate)
        return float(stable.mixed_loss(self._rate, np.array(loss)))

    def undo(self, loss: Floats) -> Floats:
        """The loss before; -inf at and below log(1 - r)."""
        return stable.unmixed_loss(self._rate, loss)

    def moves(self, before: Floats, after: Floats) -> Floats:
        """The share r e^before / e^after of P in the mixture."""
        return np.fmin(self._rate * np.exp(before - after), 1.0)


@dataclass(frozen=True)
class Blended:
    """sum_j w_j P_j against Q, where log dP_j/dQ = k_j l - d_j: several shifts of one noise.

    For N(1, s^2) against N(0, s^2), N(j, s^2) has k_j = j and d_j = j (j-1) / (2 s^2): a user with j
    records in the sample. `terms`: (w_j, k_j, d_j), k_j >= 0, the w_j adding up to 1.
    """

    terms: tuple[tuple[float, float, float], ...]

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """The operator at a place of the axis."""
        return f.blended_loss(self.terms, loss), log_q

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        with quiet():
            return float(stable.blended_loss(self.terms, np.array(loss)))

    def undo(self, loss: Floats) -> Floats:
        """The loss before; -inf where no loss before is as small."""
        return stable.unblended_loss(self.terms, loss)

    def moves(self, before: Floats, after: Floats) -> float:
        """Return the steepest shift, which bounds all."""
        return max(multiple for _, multiple, _ in self.terms)
