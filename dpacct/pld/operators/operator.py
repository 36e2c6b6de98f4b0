"""The statement of an operator on a branch of a loss distribution, from which all else is derived.

Sampling and its relatives change the loss of a release pointwise: at each place of the noise axis
(loss, log q) becomes another pair. A contour, a bracket and a proof all read the same statement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from dpacct.pld import stable
from dpacct.pld.stable import Floats


class Functions(Protocol):
    """The arithmetic that operators need: `stable` for floats and complex floats, `balls` for proofs."""

    def number(self, value: Any, /) -> Any:
        """An exact number in this arithmetic."""
        ...

    def exp(self, value: Any, /) -> Any:
        """e^value."""
        ...

    def log(self, value: Any, /) -> Any:
        """The natural logarithm, analytic where it is asked of a complex value."""
        ...

    def mixed_loss(self, rate: Any, loss: Any, /) -> Any:
        """log(1 - r + r e^loss)."""
        ...

    def blended_loss(self, terms: Any, loss: Any, /) -> Any:
        """log sum_j w_j e^{k_j loss - d_j}."""
        ...


Chain = tuple["Operator", ...]


class Operator(ABC):
    """An operator on (loss, log q), monotone in the loss; equal operators hash alike.

    A subclass states `apply`, `limit`, `undo`, `slope` and `drift`; the rest has defaults that hold for any
    operator which keeps the order of losses and moves them no faster than `steepest`.
    """

    sign: ClassVar[float] = 1.0
    """-1 where the order of losses turns round."""
    keeps_normal: ClassVar[bool] = False
    """True where a normal loss stays normal."""
    mixes: ClassVar[bool] = False
    """True where it makes (1-r) Q + r P against Q, r the `rate`, and nothing else."""

    @abstractmethod
    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """The new loss and log Q-density at the same place of the axis, elementwise."""

    @abstractmethod
    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""

    @abstractmethod
    def undo(self, loss: Floats) -> Floats:
        """The loss before, infinite where no loss before is as small."""

    @abstractmethod
    def slope(self, loss: Any, f: Functions = stable) -> Any:
        """|d new loss / d loss| at a loss before."""

    @property
    def share(self) -> float:
        """The probability with which a release shows anything of the unit."""
        return 1.0

    @property
    def steepest(self) -> float:
        """An upper bound of `slope`; off the axis losses are analytic for |Im loss| < pi / steepest."""
        return 1.0

    @property
    @abstractmethod
    def drift(self) -> float:
        """An upper bound of |d (new log q - log q) / d loss|; 0 where log q stays."""

    @property
    def shifts(self) -> tuple[float, float]:
        """The least and the greatest centre of normal noise afterwards, in shifts of P from Q."""
        return 0.0, 1.0

    @property
    def poles(self) -> tuple[float, ...]:
        """Losses before, beside which, at Im loss = pi, the new loss is infinite."""
        return ()

    @property
    def bends(self) -> tuple[float, ...]:
        """Losses before, about which the new loss passes from one straight line to another."""
        return ()

    def masses(self, p: float, q: float) -> tuple[float, float] | None:
        """The (P, Q) masses of an interval from those before; None where these do not tell."""
        return None

    def aside(self, loss: Floats, turn: Floats, log_q: Floats) -> tuple[Floats, Floats, Floats]:
        """Apply to loss + i turn: real and imaginary part of the new loss, real part of the new log q."""
        moved, weight = self.apply(loss + 1j * np.asarray(turn), log_q, stable)
        return moved.real, moved.imag, np.real(weight)

    def after(self, chain: Chain) -> Chain:
        """The chain of operators with this one applied last."""
        return (*chain, self)
