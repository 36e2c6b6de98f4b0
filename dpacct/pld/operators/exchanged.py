"""Exchanged: Poisson sampling where one record is exchanged for another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpacct.pld import stable
from dpacct.pld.stable import Floats, quiet

from .operator import Functions, Operator
from .sampled import SampledLoss


@dataclass(frozen=True)
class Exchanged(Operator):
    """`favoured` of A against `opposed` of B, from the loss l of A against R.

    R is the noise without the record, A and B that with one record or the other; the loss of B against R at
    the same place is k = turn l - level. Then L = favoured(l) - opposed(k), log q = log r + opposed(k)
    (docs/theory/subsampling.md, "One record exchanged"). Normal noise N(0, s^2) with contributions of C has
    turn -1 and level (C/s)^2; noise of bounded loss (Laplace) has turn 0 and level its largest loss, on the
    side where B has its least loss. `favoured`, `opposed`: a `SampledLoss` or a `Blended`, which keep log r.
    """

    favoured: Operator
    opposed: Operator
    turn: int
    level: Any

    @cached_property
    def _level(self) -> float:
        return float(self.level)

    @property
    def share(self) -> float:
        """The probability with which the record shows."""
        return self.favoured.share

    def _other(self, loss: Any, f: Functions) -> Any:
        """The loss k of B against R."""
        level = self._level if f is stable else f.number(self.level)
        return (-loss if self.turn else 0.0 * loss) - level

    def apply(self, loss: Any, log_q: Any, f: Functions) -> tuple[Any, Any]:
        """L = favoured(l) - opposed(k), log q + opposed(k)."""
        opposed = self.opposed.apply(self._other(loss, f), 0.0, f)[0]
        return self.favoured.apply(loss, 0.0, f)[0] - opposed, log_q + opposed

    def limit(self, loss: float) -> float:
        """Map a single loss, which may be infinite."""
        other = -loss - self._level if self.turn else -self._level
        return self.favoured.limit(loss) - self.opposed.limit(other)

    def undo(self, loss: Floats) -> Floats:
        """The loss before: closed for equal coins, else by Newton's steps, as L rises with l."""
        if not self.turn:
            return self.favoured.undo(loss + self.opposed.limit(-self._level))
        if self.favoured == self.opposed and self.favoured.mixes:
            return self._undo_coins(np.asarray(loss, float))
        return self._undo_by_steps(np.asarray(loss, float))

    def _undo_coins(self, loss: Floats) -> Floats:
        """l = h + asinh(a sinh h) - m/2 with h = L/2, a = e^{m/2} (1-r)/r.

        With u = l + m/2, e^L = (a + e^u) / (a + e^-u), so a sinh h = sinh(u - h).
        """
        half, rate = 0.5 * loss, self.favoured.share
        log_a = 0.5 * self._level + math.log1p(-rate) - math.log(rate)
        size = np.abs(half)
        with quiet():
            # log of a sinh |h|, and asinh of its exponential
            log_sinh = size + np.log(-np.expm1(-2.0 * size)) - math.log(2.0) + log_a
            small = np.arcsinh(np.exp(np.minimum(log_sinh, 20.0)))
            large = log_sinh + math.log(2.0) + 0.25 * np.exp(-2.0 * log_sinh)
            moved = np.where(log_sinh < 20.0, small, large)
        return np.asarray(half + np.copysign(moved, half) - 0.5 * self._level)

    def _undo_by_steps(self, loss: Floats) -> Floats:
        """Newton's steps within an interval that holds the loss before, halved where one leaves it."""
        result, some = np.array(loss, float), np.isfinite(loss)
        wanted: Floats = result[some]

        def off(at: Floats) -> Floats:
            return np.asarray(self.apply(at, 0.0, stable)[0] - wanted)

        low, high = np.full(wanted.shape, -1.0), np.full(wanted.shape, 1.0)
        with quiet():
            for ends, sign in ((low, -1.0), (high, 1.0)):
                for _ in range(40):
                    short = sign * off(ends) < 0.0
                    if not short.any():
                        break
                    ends[short] *= 2.0
            x = np.clip(wanted, low, high)
            # so many halvings make an interval of losses as narrow as floats allow
            for _ in range(110):
                error = off(x)
                low, high = np.where(error < 0.0, x, low), np.where(error < 0.0, high, x)
                step = x - error / self.slope(x, stable)
                inside = (step > low) & (step < high)
                after = np.where(inside, step, 0.5 * (low + high))
                settled = np.abs(after - x) <= 4e-15 * np.abs(x)
                x = after
                if settled.all():
                    break
        result[some] = x
        return result

    def slope(self, loss: Any, f: Functions = stable) -> Any:
        """favoured'(l) + opposed'(k) for turn -1, favoured'(l) for turn 0."""
        slope = self.favoured.slope(loss, f)
        return slope + self.opposed.slope(self._other(loss, f), f) if self.turn else slope

    @cached_property
    def _steepest(self) -> float:
        """(2 + 2 a cosh u)/(a^2 + 1 + 2 a cosh u), for equal coins: at most 1, or 2/(1 + a) at u = 0."""
        if not self.turn:
            return self.favoured.steepest
        if self.favoured == self.opposed and self.favoured.mixes:
            rate = self.favoured.share
            a = math.exp(min(0.5 * self._level, 700.0)) * (1.0 - rate) / rate
            return max(1.0, 2.0 / (1.0 + a))
        return self.favoured.steepest + self.opposed.steepest

    @property
    def steepest(self) -> float:
        """An upper bound of the slope."""
        return self._steepest

    @property
    def drift(self) -> float:
        """An upper bound of the slope of opposed, for turn -1."""
        return self.opposed.steepest if self.turn else 0.0

    @property
    def shifts(self) -> tuple[float, float]:
        """A record on either side of none."""
        back = -self.opposed.shifts[1] if self.turn else 0.0
        return back, self.favoured.shifts[1]

    @property
    def poles(self) -> tuple[float, ...]:
        """Those of either mixture."""
        behind = tuple(-self._level - pole for pole in self.opposed.poles) if self.turn else ()
        return self.favoured.poles + behind

    @property
    def bends(self) -> tuple[float, ...]:
        """Those of either mixture."""
        behind = tuple(-self._level - bend for bend in self.opposed.bends) if self.turn else ()
        return self.favoured.bends + behind


def exchanged_coins(rate: Any, turn: int, level: Any) -> Exchanged:
    """Exchange one record under Poisson sampling at a rate in (0, 1)."""
    return Exchanged(SampledLoss(rate), SampledLoss(rate), turn, level)
