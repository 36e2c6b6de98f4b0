"""Random pairs of sampled Gaussian steps, and log delta of both by quadrature in balls of 50 digits.

    python -m tests.pld.make_two_steps COUNT

Writes two_steps.json. delta of both is E over the first loss of the profile of the second, in closed form;
Gauss and Legendre, graded towards the place where the second loss has its end or its kink.
"""

import itertools
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flint import arb, ctx

from dpacct.pld import contour
from dpacct.pld.loss import LossDistribution, gaussian

HERE = Path(__file__).parent / "two_steps.json"
_NODES = 24
_HALVINGS = 40
_NIL = 1e-40  # of the largest part


@dataclass(frozen=True)
class Step:
    """One sampled Gaussian: remove, add, or a sample of fixed size."""

    way: str
    rate: float
    sigma: float

    @property
    def law(self) -> LossDistribution:
        law = gaussian(1.0 / self.sigma).sampled(self.rate)
        return {"remove": law, "add": law.reversed(), "mirrored": law.mirrored()}[self.way]

    @property
    def mu(self) -> arb:
        return arb(1.0 / self.sigma)

    def place(self, loss: arb) -> arb | None:
        """Of a loss of `remove` on the noise's axis; None below all losses."""
        grown = (loss.exp() - 1 + arb(self.rate)) / arb(self.rate)
        return grown.log() / self.mu + self.mu / 2 if grown > 0 else None

    def profile(self, epsilon: arb) -> arb:
        """delta of one step."""
        if self.way == "mirrored" and epsilon < 0:
            return 1 - epsilon.exp() + epsilon.exp() * self.profile(-epsilon)
        x = self.place(-epsilon if self.way == "add" else epsilon)
        if self.way == "add":
            if x is None:
                return arb(0)
            mixed = (1 - arb(self.rate)) * _normal(x) + arb(self.rate) * _normal(x - self.mu)
            return _normal(x) - epsilon.exp() * mixed
        if x is None:
            return 1 - epsilon.exp()
        mixed = (1 - arb(self.rate)) * _normal(-x) + arb(self.rate) * _normal(self.mu - x)
        return mixed - epsilon.exp() * _normal(-x)

    def at(self, x: arb, sign: int) -> tuple[arb, arb]:
        """P-density and loss at a place of the axis; sign -1: of what falls along it."""
        mixed = 1 - arb(self.rate) + arb(self.rate) * (self.mu * x - self.mu**2 / 2).exp()
        density = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        return (density * mixed, mixed.log()) if sign > 0 else (density, -mixed.log())

    def axes(self) -> list[tuple[arb, arb, int]]:
        """Intervals of the axis, and whether the loss rises there."""
        low, high = arb(-45), 45 + self.mu
        if self.way == "mirrored":
            return [(self.mu / 2, high, 1), (self.mu / 2, high, -1)]
        return [(low, high, 1 if self.way == "remove" else -1)]

    def at_zero(self) -> arb:
        """The mass of a loss of 0."""
        if self.way != "mirrored":
            return arb(0)
        mixed = (1 - arb(self.rate)) * _normal(-self.mu / 2) + arb(self.rate) * _normal(self.mu / 2)
        return 1 - _normal(-self.mu / 2) - mixed

    def end(self) -> arb:
        """The loss at which the profile is not smooth."""
        if self.way == "mirrored":
            return arb(0)
        least = (1 - arb(self.rate)).log()
        return least if self.way == "remove" else -least


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def delta_of_both(first: Step, second: Step, epsilon: float) -> arb:
    """delta of the composition of two steps."""
    eps = arb(epsilon)
    rule = [arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES)]
    total = first.at_zero() * second.profile(eps)
    for low, high, sign in first.axes():

        def value(x: arb, sign: int = sign) -> arb:
            density, loss = first.at(x, sign)
            return density * second.profile(eps - loss)

        kink = first.place(sign * (eps - second.end()))
        inside = [kink] if kink is not None and low < kink < high else []
        for a, b in zip([low, *inside], [*inside, high], strict=True):
            for left, right in _cells(a, b, 0.25 / max(1.0, float(first.mu)), value):
                half, middle = (right - left) / 2, (left + right) / 2
                total += half * sum((w * value(middle + half * x) for x, w in rule), arb(0))
    return total


def _cells(low: arb, high: arb, width: float, value: Callable[[arb], arb]) -> list[tuple[arb, arb]]:
    """Even ones that are not nil, the first and the last halved again and again."""
    count = max(3, math.ceil(float(high - low) / width))
    edges = [low + (high - low) * k / count for k in range(count + 1)]
    middles = [abs(float(value((a + b) / 2))) for a, b in itertools.pairwise(edges)]
    live = [size > _NIL * max(middles) for size in middles]
    kept = [
        (edges[k], edges[k + 1])
        for k in range(1, count - 1)
        if live[k] or live[k - 1] or live[k + 1]
    ]
    for end, other in ((low, edges[1]), (high, edges[-2])):
        points = [end, *(end + (other - end) / 2**k for k in range(_HALVINGS, -1, -1))]
        kept += [(a, b) if end is low else (b, a) for a, b in itertools.pairwise(points)]
    return kept


def drawn(index: int) -> tuple[Step, Step, float]:
    """Two steps, which may be the same, and a log delta."""
    draw = np.random.default_rng([7531, index])

    def step() -> Step:
        way = ("remove", "add", "add", "mirrored")[draw.integers(4)]
        rate, sigma = (
            float(f"{math.exp(draw.uniform(math.log(a), math.log(b))):.4g}")
            for a, b in ((1e-4, 0.97), (0.3, 10.0))
        )
        return Step(way, rate, sigma)

    first = step()
    return first, first if draw.random() < 0.6 else step(), -math.exp(draw.uniform(0.0, 6.0))


def row(index: int) -> list[object] | None:
    """Two steps, an epsilon, and the log of the true delta there; None where no epsilon is above 0."""
    first, second, log_target = drawn(index)
    epsilon = contour.epsilon([(first.law, 1), (second.law, 1)], log_target).value
    if not 0.0 < epsilon < math.inf:
        return None
    true = delta_of_both(first, second, epsilon)
    words = [[step.way, step.rate, step.sigma] for step in (first, second)]
    return [*words, epsilon, float(true.log())] if true > 0 else None


def main() -> None:
    ctx.dps = 50
    rows = [made for index in range(int(sys.argv[1])) if (made := row(index)) is not None]
    HERE.write_text("[\n" + ",\n".join(json.dumps(step) for step in rows) + "\n]\n")


if __name__ == "__main__":
    main()
