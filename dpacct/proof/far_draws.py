"""Rare large losses: one contour for each number of far draws, eq. (20) to (25).

One step of noise is M = N + F + G (near draws, far draws, given up). For one such law, repeated T times
beside others,

    delta = sum_k binom(T, k) delta[N^{T-k} F^k others],   k = 0, 1, ...,

each term on a line of its own, where it has no valley between the near and the far. What is left out is
bounded, and no term is negative. A sharp cut would spoil the decay of the moments; one as smooth as a normal
distribution function does not: |Phi((x + iy)/w)| <= e^{y^2/(2 w^2)} Phi(x/w), and log Phi is concave. So a
window is one more term of W, and every bound of `moments` holds for its part of a law as it stands.

This module knows nothing of how anything was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flint import acb, arb

from .balls import ball, demand, disc, positive
from .law import Law, Weight, normal_tail, remove
from .line import TabulatedLine, Terms, log_moment, payoff_peak, prepared
from .plan import Laws, Step
from .rule import Rules


@dataclass(frozen=True)
class SharpWindow:
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
        """Return whether there are near draws only."""
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

    window: SharpWindow
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


def given_up(step: Step, window: SharpWindow) -> arb:
    """P-mass of the draws beyond the end: int phi r Phi((x - end)/w) dx, or beyond +-end."""
    mu, rate, end = ball(step.mu_squared).sqrt(), ball(step.rate), arb(window.end)
    if window.lone:
        return (2 - rate) * normal_tail(end) + rate * normal_tail(end - mu)
    spread = (1 + arb(window.width) ** 2).sqrt()
    return (1 - rate) * normal_tail(end / spread) + rate * normal_tail((end - mu) / spread)


@dataclass(frozen=True)
class Split:
    """The law of a plan that is split, and its window."""

    laws: Laws
    which: int
    window: SharpWindow

    @property
    def count(self) -> int:
        """T, the repetitions of the law that is split."""
        return self.laws[self.which][1]

    @property
    def step(self) -> Step:
        """The law that is split."""
        step = self.laws[self.which][0] if self.which in range(len(self.laws)) else None
        if step is None or not step.splittable:
            raise ValueError("this law has no far draws")
        return step

    @property
    def lone(self) -> bool:
        """Return whether there are no far draws at all, only such as are given up."""
        return self.window.lone

    def pieces(self, far: int | None) -> Laws:
        """The laws N, F and the others, with their counts when this many draws are far.

        None: any number; then each occurs, but F where there are no far draws.
        """
        near = self.count - (far or 0)
        hit = far if far is not None else 0 if self.lone else 1
        draws = (Draws(self.window, is_far, self.step.sampled) for is_far in (False, True))
        parts = (replace(self.step, sampled=some) for some in draws)
        others = (law for k, law in enumerate(self.laws) if k != self.which)
        return *zip(parts, (near, hit), strict=True), *others

    def ways(self, far: int) -> arb:
        """Return the number of choices of the far draws: binom(T, k)."""
        return arb(self.count).bin(far)

    def log_term(self, far: int, c: float, rules: Rules) -> arb:
        """Logarithm of the moment of the term with so many far draws."""
        return log_moment(prepared(self.pieces(far), rules, c)) + self.ways(far).log()

    def log_rest(self, most: int, c: float, rules: Rules) -> arb:
        """Logarithm of an upper bound of the moments of all terms with more far draws, eq. (25)."""
        (near, _), (far, _), *others = prepared(self.pieces(None), rules, c)
        log = (self.count - most - 1) * (near.at_c + far.at_c).log()
        log += (most + 1) * far.at_c.log() + log_moment(others)
        return log + self.ways(most + 1).log()

    def given_up(self) -> arb:
        """Bound what the draws beyond the window's end add."""
        return (self.count * given_up(self.step, self.window)).upper()

    def too_much(self) -> arb:
        """Bound what F's draws below the half-line's start add, eq. (24)."""
        if self.lone or not self.step.symmetric:
            return arb(0)
        start = ball(self.step.mu_squared).sqrt() / 2
        mass = self.count * normal_tail((arb(self.window.near) - start) / arb(self.window.width))
        return (mass * mass.exp()).upper()


class FarDraws:
    """The terms, each on its line or bounded; good for every epsilon near the one it was made for."""

    def __init__(
        self,
        split: Split,
        lines: Mapping[int, TabulatedLine],
        bounds: Mapping[int, tuple[float, Rules]],
        rest: tuple[float, Rules],
    ) -> None:
        self.split, self.lines = split, lines
        settled = {*lines, *bounds}
        self.most = max(settled)
        if settled != set(range(self.most + 1)) or self.most > (0 if split.lone else split.count):
            raise ValueError("a number of far draws is left out")
        self._bounds = {
            f"{far} far: at most": (arb(c), split.log_term(far, c, rules))
            for far, (c, rules) in bounds.items()
        }
        if not split.lone and self.most < split.count:
            c, rules = rest
            self._bounds["more far"] = arb(c), split.log_rest(self.most, c, rules)

    @property
    def node_count(self) -> int:
        """Frequencies that a reading adds up."""
        return sum(line.contour.count for line in self.lines.values()) + 5 * len(self._bounds)

    def terms(self, epsilon: arb) -> Terms:
        """Each line's sum and errors, and what is left out, at this epsilon."""
        terms = {}
        for far, line in self.lines.items():
            ways = self.split.ways(far)
            for name, value in line.terms(epsilon).items():
                terms[f"{far} far: {name}"] = ways * value
        for name, (c, log_size) in self._bounds.items():
            terms[name] = ((log_size - c * epsilon).exp() * payoff_peak(c)).upper()
        terms["given up"] = self.split.given_up()
        terms["too much"] = self.split.too_much()
        return terms

    def delta(self, epsilon: arb, terms: Terms | None = None) -> arb:
        """An enclosure of the value at one epsilon."""
        terms = terms or self.terms(epsilon)
        low, high = -terms["too much"], terms["given up"]
        for far in self.lines:
            line_terms = {name: terms[f"{far} far: {name}"] for name in _OF_A_LINE}
            top = line_terms["sum"] + disc(line_terms["tail"])
            high += top
            low += top - (line_terms["aliasing above"] + line_terms["aliasing below"]).upper()
        high += sum((terms[name] for name in self._bounds), arb(0))
        return arb(high.upper()).union(arb(low.lower()))


_OF_A_LINE = ("sum", "tail", "aliasing above", "aliasing below")
