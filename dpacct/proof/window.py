"""Smooth windows over one draw's noise: near draws, far draws, and what is given up beyond, eq. (20).

A sharp cut would spoil the decay of the moments; a cut as smooth as a normal distribution function
does not, and is bounded on a shifted line by its own values on the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import acb, arb

from .choices import demand, positive
from .effort import PIECE, spend
from .gaussian import normal_tail
from .hill import MOST_PIECES, hill_top, piece_width

_REACHES = (4.0, 2.0, 1.0, 0.5, 0.25)


@dataclass(frozen=True)
class Window:
    """Phi(-(x - near)/width) for near draws, Phi((x - near)/width) - Phi((x - end)/width) for far.

    `near == end`: there are no far draws, and the end is sharp. Floats stand for their exact binary values.
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

    def cut(self, far: bool) -> Cut:
        """One of the two windows."""
        return Cut(arb(self.near), arb(self.end), arb(self.width), far)


@dataclass(frozen=True)
class Cut:
    """The near or the far window, in balls."""

    near: arb
    end: arb
    width: arb
    far: bool

    def at(self, x: arb) -> arb:
        """The window on the real axis."""
        if not self.far:
            return normal_tail((x - self.near) / self.width)
        if x < (self.near + self.end) / 2:
            rising = normal_tail((self.near - x) / self.width)
            return rising - normal_tail((self.end - x) / self.width)
        falling = normal_tail((x - self.end) / self.width)
        return falling - normal_tail((x - self.near) / self.width)

    def log(self, x: arb) -> arb:
        """Logarithm of the window on the real axis, concave; not finite where it is not resolved."""
        return self.at(x).log()

    def complex(self, z: acb) -> acb:
        """The window at a complex point."""

        def tail(u: Any) -> acb:
            found: acb = (u / (self.width * arb(2).sqrt())).erfc() / 2
            return found

        if not self.far:
            return tail(z - self.near)
        if z.real < (self.near + self.end) / 2:
            return tail(self.near - z) - tail(self.end - z)
        return tail(z - self.end) - tail(z - self.near)

    @property
    def growth(self) -> arb:
        """1/width^2: at height y the window is at most e^{growth y^2/2} times itself below."""
        return 1 / (self.width * self.width)

    @property
    def edge(self) -> arb:
        """Where it falls to the right."""
        return self.end if self.far else self.near

    def left(self, x: arb) -> tuple[arb, arb]:
        """(bound, rate): to the left of x it is at most bound e^{-rate (x - .)}."""
        if not self.far:
            return arb(1), arb(0)
        gap = self.near - x
        size = normal_tail(gap / self.width)
        return size, (gap * self.growth if gap > 0 else arb(0))

    def right(self, x: arb) -> tuple[arb, arb]:
        """(bound, rate): to the right of x it is at most bound e^{-rate (. - x)}."""
        gap = x - self.edge
        return normal_tail(gap / self.width), (gap * self.growth if gap > 0 else arb(0))

    def largest(self, low: arb, high: arb) -> arb:
        """Upper bound of the window on [low, high]."""
        if not self.far:
            return self.at(low)
        rising = normal_tail((self.near - high) / self.width)
        falling = normal_tail((low - self.end) / self.width)
        return rising if rising < falling else falling


def geometric(size: arb, rate: arb, step: arb | None, *, first: bool = False) -> arb:
    """size e^{-rate x} summed over x = step, 2 step, ... (from 0 if `first`), or integrated.

    >>> bool(abs(geometric(arb(1), arb(2).log(), arb(1)) - 1) < 1e-9)
    True
    """
    if not rate > 0:
        return arb.pos_inf()
    if step is None:
        return size / rate
    return size / (1 - (-step * rate).exp()) if first else size / (step * rate).expm1()


def right_tail(
    cut: Cut,
    ratio: tuple[Callable[[arb], arb], Callable[[arb], arb], arb],
    power: arb,
    start: arb,
    step: arb | None,
) -> arb:
    """e^{-x^2/2} r^power times the window, summed over start, start + step, ..., or integrated.

    `ratio` holds log r, its slope, and the slope's limit. Any pieces are valid, eq. (22).
    """
    log_r, log_r_slope, mu = ratio
    total, a = arb(0), start
    if not a > 0:
        return arb.pos_inf()
    times, slope = float(power.mid()), float(mu.mid())
    for _ in range(MOST_PIECES):
        spend(PIECE)
        bound, pull = cut.right(a)
        at_a = power * log_r(a)
        size = (at_a - a * a / 2).exp() * bound
        if a + pull > power * mu:
            return total + geometric(size, a + pull - power * mu, step, first=True)
        for reach in _REACHES:
            b = (a + reach / mu).mid()
            rate = a + pull - power * log_r_slope(b)
            if rate > 0:
                total += geometric(size, rate, step, first=True)
                break
        else:
            b = (a + arb(piece_width(float(a.mid()), times, slope))).mid()
            many = (b - a) / step + 1 if step is not None else b - a
            total += many * hill_top(a, b, at_a, power * log_r(b)).exp() * bound
        a = b
    return arb.pos_inf()
