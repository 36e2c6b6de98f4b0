"""Smooth windows over one draw's noise: near draws, far draws, and what is given up beyond, eq. (20).

A sharp cut would spoil the decay of the moments; a cut as smooth as a normal distribution function does not:
|Phi((x + iy)/w)| <= e^{y^2/(2 w^2)} Phi(x/w), and log Phi is concave. So a window is one more term of W, and
every bound of `moments` holds for its part of a law as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flint import acb, arb

from .balls import ball
from .choices import demand, positive
from .law import Law, Weight, normal_tail, remove
from .plan import Step


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
class Draws:
    """Near or far draws of a sampled step, a measure of mass at most 1: one more operator on its base pair.

    Far draws are taken on the whole axis also for the symmetric law: eq. (24) bounds what is too much.
    """

    window: Window
    far: bool
    sampled: Callable[[Law, arb], Law]

    def __call__(self, base: Law, rate: arb) -> Law:
        """Point masses and branches, at the working precision."""
        noise = base.branches[0].weight
        assert isinstance(noise, Weight)
        mu = 1 / (2 * noise.square).sqrt()
        near, end = (mu * arb(x) - mu * mu / 2 for x in (self.window.near, self.window.end))
        whole = Law((), remove(base, rate).branches) if self.far else self.sampled(base, rate)
        first, *others = whole.branches
        if not self.window.lone:
            weight = Windowed(noise, near, end, mu * arb(self.window.width), self.far)
            return Law(whole.atoms, (replace(first, weight=weight), *others))
        start = first.start if first.start is not None else -end - mu * mu  # x = -end
        return Law(whole.atoms, (replace(first, start=start, end=end), *others))


def given_up(step: Step, window: Window) -> arb:
    """P-mass of the draws beyond the end: int phi r Phi((x - end)/w) dx, or beyond +-end."""
    mu, rate, end = ball(step.mu_squared).sqrt(), ball(step.rate), arb(window.end)
    if window.lone:
        return (2 - rate) * normal_tail(end) + rate * normal_tail(end - mu)
    spread = (1 + arb(window.width) ** 2).sqrt()
    return (1 - rate) * normal_tail(end / spread) + rate * normal_tail((end - mu) / spread)
