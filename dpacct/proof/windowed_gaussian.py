"""Near and far draws of the sampled Gaussian, remove direction: its moments under a smooth window.

M = N + F + G: near draws, far draws, and what is given up; equations (20) to (23) of
docs/theory/certificate.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import acb, arb

from .balls import ball
from .gaussian import normal_tail
from .sampled_gaussian import GaussianRule, PreparedGaussian, SampledGaussian
from .window import Window, geometric, right_tail


@dataclass(frozen=True)
class WindowedGaussian:
    """The near or the far draws of one step, a measure of mass at most 1."""

    law: SampledGaussian
    window: Window
    far: bool

    def prepare(self, c: arb, rule: GaussianRule) -> PreparedWindow:
        """The part ready for the line Re s = c."""
        return PreparedWindow(self, c, rule)

    def rule_from_json(self, fields: dict[str, Any]) -> GaussianRule:
        """A rule as a certificate holds it."""
        return GaussianRule.from_json(fields)


def given_up(sigma_squared: arb, rate: arb, window: Window) -> arb:
    """P-mass of the draws beyond the end: int phi r Phi((x - end)/w) dx, or beyond +-end."""
    mu, end = (1 / sigma_squared).sqrt(), arb(window.end)
    if window.lone:
        return (2 - rate) * normal_tail(end) + rate * normal_tail(end - mu)
    spread = (1 + arb(window.width) ** 2).sqrt()
    return (1 - rate) * normal_tail(end / spread) + rate * normal_tail((end - mu) / spread)


class PreparedWindow(PreparedGaussian):
    """`PreparedGaussian` with a window in every integral."""

    def __init__(self, part: WindowedGaussian, c: arb, rule: GaussianRule) -> None:
        self.cut = part.window.cut(part.far)
        super().__init__(part.law, c, rule)

    def _log_window(self, z: acb) -> acb:
        return self.cut.complex(z).log()

    def _real_log_window(self, x: arb) -> arb:
        return self.cut.log(x)

    def _step_error(self, y: arb) -> tuple[arb, arb]:
        """Eq. (21): the upper edge of the strip is at height 2 shift."""
        lift = arb(self.rule.shift)
        if not 2 * lift * self.mu < arb.pi():
            return arb(1), arb.pos_inf()
        decay = 1 / (2 * arb.pi() * lift / arb(self.rule.step)).expm1()
        return decay * (1 + (2 * lift * lift * (1 + self.cut.growth)).exp()), arb(0)

    def _cut(self, y: arb) -> arb:
        """Eq. (22)."""
        rule = self.rule
        step, lift = arb(rule.step), arb(rule.shift)
        scale = step * self._norm * (lift * lift * (1 + self.cut.growth) / 2).exp()
        low, high = rule.first * step, rule.last * step
        return scale * (self._left(y + 1, low, step) + self._right(y + 1, high, step))

    def _left(self, power: arb, x: arb, step: arb | None) -> arb:
        """Sum of the terms left of x, or their integral: phi r^power times the window."""
        size, rate = self.cut.left(x)
        return geometric((-x * x / 2 + power * self._log_r(x)).exp() * size, rate - x, step)

    def _right(self, power: arb, start: arb, step: arb | None) -> arb:
        """Sum of the terms right of start, or their integral, by pieces of the axis."""
        return right_tail(self.cut, (self._log_r, self._slope, self.mu), power, start, step)

    def _far_cells(self) -> tuple[list[arb], list[arb], arb]:
        """Eq. (23): eq. (8) with the window, whose largest value on a cell is bounded."""
        rule = self.rule
        assert rule.far is not None
        points, lift = rule.far.points(), arb(rule.far_shift)
        if not lift * self.mu < arb.pi() / 2:
            return [], [], arb.pos_inf()
        scale = self._norm * (lift * lift * (1 + self.cut.growth) / 2).exp()
        width, power = arb(rule.far.step), self.c + 1
        r = [1 + self.q * ((self.mu * acb(x, lift) - self._half).exp() - 1) for x in points]
        masses = []
        for j in range(len(points) - 1):
            a, b = points[j], points[j + 1]
            nearest = b if b <= 0 else (a if a >= 0 else arb(0))
            top = (-nearest * nearest / 2).exp() * abs(r[j + 1]) ** power
            masses.append((scale * width * top * self.cut.largest(a, b)).upper())
        outside = self._left(power, points[0], None) + self._right(power, points[-1], None)
        return masses, [value.arg().lower() for value in r[:-1]], (scale * outside).upper()


def near_and_far(law: SampledGaussian, window: Window) -> tuple[WindowedGaussian, WindowedGaussian]:
    """The two parts of a step."""
    return WindowedGaussian(law, window, far=False), WindowedGaussian(law, window, far=True)


def lost(law: SampledGaussian, window: Window) -> arb:
    """What is given up of one step."""
    return given_up(ball(law.sigma_squared), ball(law.rate), window)
