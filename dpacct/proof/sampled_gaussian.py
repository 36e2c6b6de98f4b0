"""The Poisson-sampled Gaussian's loss law in balls: moments on a shifted line, and their decay.

In units of the noise, with mu = 1/sigma, l(z) = mu z - mu^2/2 and r = 1 - q + q e^l:
remove: L = log r under phi r;  add: L = -log r under phi.
Equation numbers are those of docs/theory/certificate.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb

from dpacct.engine.stable import Floats

from .balls import ball, least
from .choices import MOST_TERMS, demand, positive, real, whole
from .envelope import Layers, layers
from .expsum import ExpSum
from .gaussian import sampled_profile
from .hill import hill_pieces, hill_top


@dataclass(frozen=True)
class Grid:
    """Points start + k step, k = 0 .. count; floats stand for their exact binary values."""

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        """Refuse cells of no width; raises `Unsound`."""
        demand(real(self.start) and positive(self.step), "cells that do not ascend")
        demand(whole(self.count, 1), "this number of cells")

    @property
    def end(self) -> Fraction:
        """The last point, exactly."""
        return Fraction(self.start) + self.count * Fraction(self.step)

    def points(self) -> list[arb]:
        """The points as balls."""
        start, step = arb(self.start), arb(self.step)
        return [start + k * step for k in range(self.count + 1)]


@dataclass(frozen=True)
class GaussianRule:
    """What the search chooses: any choice is valid, a bad one only makes the bounds wide.

    The inner rule has nodes j * step, first <= j <= last, on the line Im z = +-shift. `cells` cut
    the axis for the layers of the envelope, `far` for its damped form on the line Im z = far_shift.
    """

    shift: float
    step: float
    first: int
    last: int
    cells: tuple[Grid, ...]
    far_shift: float = 0.0
    far: Grid | None = None

    def __post_init__(self) -> None:
        """Refuse what (4), (5) and (7) do not cover; raises `Unsound`."""
        demand(positive(self.shift) and positive(self.step), "a shift or step that is not positive")
        demand(whole(self.last, 1), "nodes that end left of 0")
        demand(whole(self.first, self.last - MOST_TERMS, self.last - 1), "this number of nodes")
        demand(real(self.far_shift) and self.far_shift >= 0, "a line shifted to the other side")
        ends = zip(self.cells, self.cells[1:], strict=False)
        demand(all(a.end <= Fraction(b.start) for a, b in ends), "cells that overlap")

    @property
    def size(self) -> int:
        """Terms and cells."""
        cells = sum(grid.count for grid in self.cells) + (self.far.count if self.far else 0)
        return self.last - self.first + 1 + cells

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> GaussianRule:
        """Read what `dataclasses.asdict` wrote."""
        far = fields["far"]
        return cls(
            **{
                **fields,
                "cells": tuple(Grid(**cells) for cells in fields["cells"]),
                "far": None if far is None else Grid(**far),
            }
        )


@dataclass(frozen=True)
class SampledGaussian:
    """One direction of a Poisson-sampled Gaussian step, 0 < rate < 1, in exact numbers."""

    sigma_squared: Fraction
    rate: Fraction
    remove: bool

    def one_step(self, epsilon: arb) -> arb:
        """Delta of a single step, closed form, eq. (9)."""
        return sampled_profile(ball(1 / self.sigma_squared), ball(self.rate), self.remove, epsilon)

    def ceiling(self) -> arb:
        """The largest loss: -log(1-q) for add."""
        return arb.pos_inf() if self.remove else -(1 - ball(self.rate)).log()

    def top(self) -> arb:
        """No point mass."""
        return arb(0)

    def rule_from_json(self, fields: dict[str, Any]) -> GaussianRule:
        """A rule as a certificate holds it."""
        return GaussianRule.from_json(fields)

    def prepare(self, c: arb, rule: GaussianRule) -> PreparedGaussian:
        """The law ready for the line Re s = c."""
        return PreparedGaussian(self, c, rule)


class PreparedGaussian:
    """Moments with proven errors, and the proven decay along Re s = c."""

    def __init__(self, law: SampledGaussian, c: arb, rule: GaussianRule) -> None:
        self.c, self.rule, self.remove = c, rule, law.remove
        self.q = ball(law.rate)
        self.mu = ball(1 / law.sigma_squared).sqrt()
        self._half = self.mu * self.mu / 2
        self._norm = 1 / (2 * arb.pi()).sqrt()
        self._sum = self._nodes()
        self.at_c = self.moment(c)
        self._layers: Layers | None = None
        self._far: tuple[list[arb], list[arb], arb] | None = None

    # --- moments

    def _nodes(self) -> ExpSum:
        rule = self.rule
        step = arb(rule.step)
        lift = arb(rule.shift) if self.remove else -arb(rule.shift)
        x = rule.first * step
        growth = (self.mu * acb(x, lift) - self._half).exp()
        ratio = (self.mu * step).exp()
        scale = (step * self._norm).log()
        losses, weights = [], []
        for k in range(rule.last - rule.first + 1):
            z = acb(x + k * step, lift)
            log_r = (1 + self.q * (growth - 1)).log()
            weight = scale - z * z / 2 + self._log_window(z)
            losses.append(log_r if self.remove else -log_r)
            weights.append(weight + log_r if self.remove else weight)
            growth = growth * ratio  # real, so the boxes stay tight
        return ExpSum(losses, weights, self.slack)

    def _log_window(self, z: acb) -> acb:
        """Logarithm of what part of the draws is meant: here all."""
        return acb(0)

    def _real_log_window(self, x: arb) -> arb:
        return arb(0)

    def moment(self, y: arb) -> arb:
        """M(y), real y > 0."""
        return self._sum.moment(y)

    def row(self, step: arb, count: int) -> list[acb]:
        """M(c + i k step), k = 0 .. count."""
        return self._sum.row(self.c, step, count, self.at_c)

    def slack(self, y: arb) -> tuple[arb, arb]:
        """Error of the inner rule at real tilt y: eq. (4) for the step, (5) for the cut-offs."""
        relative, absolute = self._step_error(y)
        return relative, absolute + self._cut(y)

    def _angle_growth(self, y: arb, angle: arb) -> tuple[arb, arb]:
        """(a, b) at z = x + i sigma angle: (r/|r(z)|)^y <= a everywhere, and |r(z)|^{-y} <= b."""
        if self.remove:
            return arb(1), arb.pos_inf()
        half = (angle / 2).cos()
        first = half ** (-y) if half > 0 else arb.pos_inf()
        second = (1 - self.q) ** (-y) if angle < arb.pi() / 2 else arb.pos_inf()
        return first, second

    def _step_error(self, y: arb) -> tuple[arb, arb]:
        lift = arb(self.rule.shift)
        if not 2 * lift * self.mu < arb.pi():
            return arb(1), arb.pos_inf()
        decay = 1 / (2 * arb.pi() * lift / arb(self.rule.step)).expm1()
        rise = (2 * lift * lift).exp()
        times, most = self._angle_growth(y, 2 * lift * self.mu)
        if most < times:  # M(y) >= 1, so the absolute bound is the better one
            return decay, decay * rise * most
        return decay * (1 + rise * times), arb(0)

    def _log_r(self, x: arb) -> arb:
        return (self.q * (self.mu * x - self._half).expm1()).log1p()

    def _slope(self, x: arb) -> arb:
        """D log r/dx, increasing from 0 to mu."""
        growth = self.q * (self.mu * x - self._half).exp()
        return self.mu * growth / (1 - self.q + growth)

    def _cut(self, y: arb) -> arb:
        """Terms left out on both sides: geometric from the last one kept."""
        rule = self.rule
        step, lift = arb(rule.step), arb(rule.shift)
        low, high = rule.first * step, rule.last * step
        scale = step * self._norm * (lift * lift / 2).exp()

        def side(log_last: arb, rate: arb) -> arb:
            if not rate > 0:
                return arb.pos_inf()
            return scale * log_last.exp() / (step * rate).expm1()

        left_size, right_size = -low * low / 2, -high * high / 2
        if self.remove:
            left = side(left_size + (y + 1) * self._log_r(low), -low)
            return left + self._right_cut(y + 1, high, step, scale)
        times, most = self._angle_growth(y, lift * self.mu)
        tight = [
            side(left_size - y * self._log_r(low), -low - y * self._slope(low)) * times,
            side(right_size - y * self._log_r(high), high) * times,
        ]
        flat = [side(left_size, -low) * most, side(right_size, high) * most]
        return sum((least(a, b) for a, b in zip(tight, flat, strict=True)), arb(0))

    def _right_cut(self, power: arb, start: arb, step: arb, scale: arb) -> arb:
        """Terms phi r^power beyond `start`: eq. (6)."""
        total = arb(0)
        for a, b in hill_pieces(start, power, self.mu):
            if b is None:
                last = (-a * a / 2 + power * self._log_r(a)).exp()
                total += last / (1 - (-step * (a - power * self.mu)).exp())
                break
            at_a, at_b = self._log_r(a), self._log_r(b)
            crowd = ((b - a) / step + 1) * hill_top(a, b, power * at_a, power * at_b).exp()
            rate = a - power * self._slope(b)
            if rate > 0:
                chain = (-a * a / 2 + power * at_a).exp() / (1 - (-step * rate).exp())
                crowd = least(crowd, chain)
            total += crowd
        return scale * total

    @property
    def node_count(self) -> int:
        """Nodes of the inner rule."""
        return len(self._sum.losses)

    # --- decay

    def deficit(self, t: arb) -> arb:
        """Lower bound of -log|M(c + it')/M(c)|, t' >= t: the better of eq. (7) and eq. (8)."""
        found = self.layers.deficit(t)
        if self.rule.far is not None:
            damped = self._damped(t)
            found = damped if damped > found else found
        return found

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, for the search."""
        found = self.layers.float_deficit(t)
        if self.rule.far is not None:
            masses, angles, outside = self._far or self._far_cells()
            damping = np.exp(-np.multiply.outer(t, np.array([float(a) for a in angles])))
            sizes = damping @ np.array([float(m) for m in masses]) + float(outside)
            damped = -np.log(sizes / float(self.at_c.lower())) - 1e-9
            found = np.maximum(found, np.nan_to_num(damped, nan=0.0))
        return found

    @property
    def layers(self) -> Layers:
        """Uniform layers below the tilted density of the loss."""
        if self._layers is None:
            self._layers = self._cut_layers()
        return self._layers

    def _cut_layers(self) -> Layers:
        """f_L = exp(-x^2/2 - l + kappa log r)/(sqrt(2 pi) mu q M), kappa = c + 2 or 1 - c.

        -x^2/2 is concave and log r convex: kappa > 0 takes the tangent of log r at the middle of
        the cell, so that what is left is concave, and a concave function is least at an end.
        """
        kappa = self.c + 2 if self.remove else 1 - self.c
        base = (self._norm / (self.mu * self.q * self.at_c)).log()

        def level(x: arb, value: arb) -> arb:
            shape = base - x * x / 2 - self.mu * x + self._half
            return shape + kappa * value + self._real_log_window(x)

        masses: list[arb] = []
        widths: list[arb] = []
        for grid in self.rule.cells:
            points = grid.points()
            log_r = [self._log_r(x) for x in points]
            heights = []
            for j in range(len(points) - 1):
                a, b = points[j], points[j + 1]
                at_a, at_b = log_r[j], log_r[j + 1]
                if kappa > 0:
                    middle = (a + b) / 2
                    value, slope = self._log_r(middle), self._slope(middle)
                    at_a, at_b = value + slope * (a - middle), value + slope * (b - middle)
                heights.append(least(level(a, at_a), level(b, at_b)).exp().lower())
            if self.remove:
                found = layers(log_r, heights)
            else:
                found = layers([-value for value in reversed(log_r)], heights[::-1])
            masses += found.masses
            widths += found.widths
        return Layers(tuple(masses), tuple(widths))

    def _damped(self, t: arb) -> arb:
        """Eq. (8): |M(c + it)| <= e^{y^2/2} int phi |r(x + iy)|^p e^{-t theta(x)} dx, by cells."""
        if self._far is None:
            self._far = self._far_cells()
        masses, angles, outside = self._far
        total = outside
        for mass, angle in zip(masses, angles, strict=True):
            total += mass * (-t * angle).exp()
        size = total.upper() / self.at_c.lower()
        return (-size.log()).lower() if size < 1 else arb(0)

    def _far_cells(self) -> tuple[list[arb], list[arb], arb]:
        rule = self.rule
        assert rule.far is not None
        points = rule.far.points()
        lift = arb(rule.far_shift)
        if not lift * self.mu < arb.pi() / 2:
            return [], [], arb.pos_inf()
        scale = self._norm * (lift * lift / 2).exp()
        width = arb(rule.far.step)
        power = self.c + 1 if self.remove else -self.c
        r = [1 + self.q * ((self.mu * acb(x, lift) - self._half).exp() - 1) for x in points]
        size = [abs(value) ** power for value in r]
        angles = [value.arg().lower() for value in r]
        masses = []
        for j in range(len(points) - 1):
            a, b = points[j], points[j + 1]
            nearest = b if b <= 0 else (a if a >= 0 else arb(0))
            largest = size[j + 1] if self.remove else size[j]
            masses.append((scale * width * (-nearest * nearest / 2).exp() * largest).upper())
        low, high = points[0], points[-1]
        reach = high - (power * self.mu if self.remove else 0)
        if not (low < 0 and reach > 0):
            return [], [], arb.pos_inf()
        left = size[0] if self.remove else (1 - self.q) ** (-self.c)
        outside = scale * (
            (-low * low / 2).exp() * left / -low + (-high * high / 2).exp() * size[-1] / reach
        )
        return masses, angles[:-1], outside.upper()
