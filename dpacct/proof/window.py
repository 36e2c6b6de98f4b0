"""Smooth windows over one draw's noise: near draws, far draws, and what is given up beyond, eq. (20).

A sharp cut would spoil the decay of the moments; a cut as smooth as a normal distribution function does not:
|Phi((x + iy)/w)| <= e^{y^2/(2 w^2)} Phi(x/w), and log Phi is concave. So a window is one more term of W, and
every bound of `moments` holds for its part of a law as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flint import acb, arb

from .balls import ball
from .choices import Unsound, demand, positive
from .law import Law, Weight, normal_tail, remove
from .moments import Moments
from .rule import Rule
from .step import Step


@dataclass(frozen=True)
class Window:
    """Phi(-(x - near)/width) for near draws, Phi((x - near)/width) - Phi((x - end)/width) for far.

    x in standard deviations of the noise. `near == end`: there are no far draws, and the end is sharp.
    Floats stand for their exact binary values.
    """

    near: float
    end: float
    width: float

    def __post_init__(self) -> None:
        """Refuse windows that are not in [0, 1]; raises `Unsound`."""
        demand(
            positive(self.near) and positive(self.end) and self.near <= self.end,
            "far draws that end before they start",
        )
        demand(positive(self.width), "a window of no width")

    @property
    def lone(self) -> bool:
        """Whether there are near draws only."""
        return self.near == self.end


@dataclass(frozen=True)
class Windowed:
    """W with the logarithm of the near or the far window added, on the axis of plain losses."""

    base: Weight
    near: arb
    end: arb
    width: arb
    far: bool

    @property
    def growth(self) -> arb:
        """Re W(x + iy) <= W(x) + growth y^2."""
        return self.base.growth + 1 / (2 * self.width * self.width)

    def __call__(self, z: Any) -> Any:
        """W(z), real or complex; not finite where the window is not resolved."""
        return self.base(z) + self._share(z).log()

    def _share(self, z: Any) -> Any:
        if not self.far:
            return self._tail(z - self.near)
        if (z.real if isinstance(z, acb) else z) < (self.near + self.end) / 2:
            return self._tail(self.near - z) - self._tail(self.end - z)
        return self._tail(z - self.end) - self._tail(z - self.near)

    def _tail(self, u: Any) -> Any:
        if isinstance(u, arb):
            return normal_tail(u / self.width)
        return (u / (self.width * arb(2).sqrt())).erfc() / 2


@dataclass(frozen=True)
class Part:
    """Near or far draws of one step: a measure of mass at most 1.

    Far draws are taken on the whole axis also for the symmetric law: eq. (24) bounds what is too much.
    """

    step: Step
    window: Window
    far: bool

    def law(self) -> Law:
        """Point masses and branches, at the working precision."""
        mu = ball(self.step.mu_squared).sqrt()
        near, end = (mu * arb(x) - mu * mu / 2 for x in (self.window.near, self.window.end))
        whole = self.step.law()
        if self.far:
            whole = remove(self.step.stated(*self.step.numbers), ball(self.step.rate))
            whole = Law((), whole.branches)
        first, *others = whole.branches
        assert isinstance(first.weight, Weight)
        if not self.window.lone:
            weight = Windowed(first.weight, near, end, mu * arb(self.window.width), self.far)
            return Law(whole.atoms, (replace(first, weight=weight), *others))
        start = first.start if first.start is not None else -end - mu * mu  # x = -end
        return Law(whole.atoms, (replace(first, start=start, end=end), *others))

    def prepare(self, c: arb, rule: Rule | None) -> Moments:
        """The part ready for the line Re s = c."""
        if rule is None:
            raise Unsound("no bound is stated for a part of a law without nodes")
        return Moments(self.law(), c, rule)


def given_up(step: Step, window: Window) -> arb:
    """P-mass of the draws beyond the end: int phi r Phi((x - end)/w) dx, or beyond +-end."""
    mu, rate, end = ball(step.mu_squared).sqrt(), ball(step.rate), arb(window.end)
    if window.lone:
        return (2 - rate) * normal_tail(end) + rate * normal_tail(end - mu)
    spread = (1 + arb(window.width) ** 2).sqrt()
    return (1 - rate) * normal_tail(end / spread) + rate * normal_tail((end - mu) / spread)
