"""Parts of a law cut along an axis: a bulk, and narrow pieces; their moments as those of any law.

The cuts are smooth steps, so the parts are integrated as well as the whole, and sum to it exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from .law import Bend, Cumulants, JumpLaw, Positions
from .stable import (
    Complexes,
    Floats,
    exp_minus_linear,
    log1p_complex,
    log_sum_exp,
    sine_minus_identity,
)

# half-width of the smooth steps, in piece widths
BLUR = 0.6
_CHUNK = 1 << 18
_NEGLIGIBLE = 44.0


def _steep(u: Floats) -> Floats:
    """Argument of a normal cdf that makes a smooth step.

    It falls as e^{-e^{2|u|}/4}, faster than any e^{cL} can grow, and is analytic, with no growth, in the
    strip |Im u| < pi/4.
    """
    result: Floats = math.sqrt(2.0) * np.sinh(np.clip(u, -200.0, 200.0))
    return result


class Part(ABC):
    """A part of the law: its weights times a smooth window of the axis. Moments are not 1 at 0."""

    def __init__(self, law: JumpLaw) -> None:
        self._law = law
        self._x, self._losses, self._log_weights = self._cut(law.positions(0.0))

    @abstractmethod
    def _log_window(self, x: Floats) -> Floats:
        """Log of the share of the law that belongs to this part, at each x."""

    def _cut(self, rule: Positions) -> tuple[Floats, Floats, Floats]:
        log_weights = rule.log_weights + self._log_window(rule.x)
        kept = log_weights > -1e4
        return rule.x[kept], rule.losses[kept], log_weights[kept]

    def log_moments(self, cs: Floats) -> Floats:
        tilted = np.multiply.outer(cs, self._losses) + self._log_weights
        peak = tilted.max(axis=1)
        result: Floats = peak + np.log(np.exp(tilted - peak[:, None]).sum(axis=1))
        return result

    def cumulants(self, c: float) -> Cumulants:
        tilted = c * self._losses + self._log_weights
        total = log_sum_exp(tilted)
        weights = np.exp(tilted - total)
        mean = float(weights @ self._losses)
        return Cumulants(total, mean, float(weights @ (self._losses - mean) ** 2))

    def bend(self, c: float) -> Bend | None:
        return None

    def cut_weight(self, c: float) -> float:
        return 0.0

    def _steepness(self, c: float) -> float:
        """Largest d loss/d x where the tilted part has weight."""
        tilted = c * self._losses + self._log_weights
        near = np.flatnonzero(tilted > float(tilted.max()) - _NEGLIGIBLE)
        first, last = max(int(near[0]) - 1, 0), min(int(near[-1]) + 2, tilted.size)
        return float((np.diff(self._losses[first:last]) / np.diff(self._x[first:last])).max())

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        t = z.imag
        rule = self._law.positions(float(t.max()) * self._steepness(c))
        _, losses, log_weights = self._cut(rule)
        tilted = c * losses + log_weights
        kept = tilted > float(tilted.max()) - _NEGLIGIBLE
        losses, tilted = losses[kept], tilted[kept]
        if t.size > 8 and t.size * losses.size > _CHUNK:
            halves = (z[: z.size // 2], z[z.size // 2 :])
            return np.concatenate([self.centred_log_ratio(c, part) for part in halves])
        weights = np.exp(tilted - log_sum_exp(tilted))
        # about the mean of this very rule: i t times a difference of means would outlive the decay
        u = np.multiply.outer(t, losses - float(weights @ losses))
        half = np.sin(0.5 * u)
        return log1p_complex(
            -2.0 * np.einsum("ij,ij,j->i", half, half, weights),
            np.einsum("ij,j->i", sine_minus_identity(u), weights),
        )


class Piece(Part):
    """The law between two places of the axis, blurred at both."""

    def __init__(self, law: JumpLaw, low: float, high: float, blur: float) -> None:
        self._low, self._high, self._blur = low, high, blur
        super().__init__(law)

    def _log_window(self, x: Floats) -> Floats:
        """log(step(x - low) - step(x - high)), from whichever side does not cancel."""
        from scipy.special import log_ndtr

        up = _steep((x - self._low) / self._blur)
        down = _steep((x - self._high) / self._blur)
        right = up + down > 0.0
        large = log_ndtr(np.where(right, -down, up))
        small = log_ndtr(np.where(right, -up, down))
        result: Floats = large + np.log1p(-np.exp(small - large))
        return result


class Bulk(Part):
    """The law left of a place. Its moments stay accurate relative to M_A - 1, for any number of steps."""

    def __init__(self, law: JumpLaw, high: float, blur: float) -> None:
        self._high, self._blur = high, blur
        super().__init__(law)
        from scipy.special import log_ndtr

        rule = law.positions(0.0)

        outside = np.exp(rule.log_weights + log_ndtr(_steep((rule.x - high) / blur)))
        weights = np.exp(rule.log_weights)
        divergence = float(weights @ exp_minus_linear(-rule.losses))
        self._inner = np.exp(self._log_weights)
        self._missing = float(outside.sum())
        self._drift = divergence - float(outside @ rule.losses)  # E[L; A], from E[L] = KL(P||Q)

    def _log_window(self, x: Floats) -> Floats:
        from scipy.special import log_ndtr

        result: Floats = log_ndtr(-_steep((x - self._high) / self._blur))
        return result

    def log_moments(self, cs: Floats) -> Floats:
        y = np.multiply.outer(cs, self._losses)
        plain = super().log_moments(cs)
        near = plain < 1.0
        y = y[near]
        large = y > 30.0
        second = exp_minus_linear(np.where(large, 0.0, y)) @ self._inner
        far = np.where(large, np.exp(np.minimum(y + self._log_weights, 1.0)), 0.0)
        linear = np.where(large, 1.0 + y, 0.0) @ self._inner
        plain[near] = np.log1p(
            second + far.sum(axis=1) - linear + cs[near] * self._drift - self._missing
        )
        return plain

    def cumulants(self, c: float) -> Cumulants:
        plain = super().cumulants(c)
        if plain.log_moment > 1.0:
            return plain
        y = c * self._losses
        excess = np.where(
            y > 1.0,
            np.exp(y + self._log_weights) - self._inner,
            np.expm1(np.minimum(y, 1.0)) * self._inner,
        )
        mean = self._drift + float(excess @ self._losses)
        log_moment = float(self.log_moments(np.array([c]))[0])
        return Cumulants(log_moment, mean / math.exp(log_moment), plain.variance)
