"""M(s) = E[e^{sL}] of one step near a line Re s = c: sums over nodes with proven errors, and proven decay.

Facts of r = 1 - q + q e^z at z = x + iy, theta = |y| < pi, v = q e^x, for every mechanism:

    0 <= arg r <= theta (on the side of y);  r(x) cos(theta/2) <= |r| <= r(x);  |r| >= 1 - q if theta <= pi/2;
    with k = v/(1-q) < 1:  |arg r| <= asin(k sin theta) (asin k for theta > pi/2),
                           |r|^2 >= r(x)^2 (1 - 4 k/(1+k)^2 sin^2(theta/2));
    log r is convex on the axis, with a slope v/(1-q+v) in [0, 1].

Of W: concave on the axis, Re W(x + iy) <= W(x) + growth y^2. Equation numbers: docs/theory/certificate.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from flint import acb, acb_mat, arb, ctx

from dpacct.pld.stable import Floats

from .balls import demand, spread
from .effort import PIECE, spend
from .law import Law, ProofBranch
from .operated import Box, OperatedBranch, exponents
from .rule import LineRule, PanelRule, PointRow, QuadratureRule, StripRule

# sinc falls from 1 to sinc(2.5) = 0.239 on [0, 2.5]; beyond, |sinc| stays below that, and below 1/u
_KNEE = 2.5
_FAR = 4.6
_SMALL = 0.25
_NOTHING = arb(0)


def beyond(branch: ProofBranch, power: arb, x: arb, side: int, step: arb | None = None) -> arb:
    """Bound of int e^W r^power beyond x on one side, or of step * the sum at spacing `step`, eq. (5), (6).

    W is concave: beyond a its slope is at most a chord's before a. log r is convex: on a piece it lies below
    its chord, and its slope is monotone. Pieces of any width, until the sum of both slopes is negative.
    """
    weight = branch.weight
    deviation = float((1 / (1 + 2 * weight.growth)).sqrt().mid())
    back = side * arb(deviation / 4)
    total: arb = arb(0)
    a = x
    for k in range(20_000):
        spend(PIECE)
        size = weight(a)
        # W is concave: beyond a its slope is at most that of a chord that ends at a (theorem 6)
        rise = 4 / arb(deviation) * (size - weight(a - back))
        height = size + power * branch.log_r(a)
        if side > 0:
            # log r is convex with a slope in [0, 1] that increases: p > 0 takes 1, p <= 0 the slope at a
            most = power if power > 0 else power * branch.slope(a)
        else:
            most = arb(0) if power > 0 else -power * branch.slope(a)
        fall = -(rise + most)
        if fall > 0:
            last = height.exp()
            # rho(a) < 0: an exponential integral, eq. (13), or a geometric series, eq. (5)
            total += last / fall if step is None else step * last / -(-step * fall).expm1()
            break
        width = arb(deviation * (1.0 + 0.004 * k))
        b = (a + side * width).mid()
        width = abs(b - a)
        chord = power * (branch.log_r(b) - branch.log_r(a)) if power > 0 else most * width
        top = height + (rise * width + chord).max(arb(0))
        # until then a piece of width w adds at most e^H w to the integral, e^H (w + eta) to the sum, eq. (6)
        total += top.exp() * (width if step is None else width + step)
        a = b
    else:
        return arb.pos_inf()
    return total


@lru_cache(maxsize=64)
def _legendre(count: int, bits: int) -> list[tuple[arb, arb]]:
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


def log_size(branch: ProofBranch, box: tuple[arb, arb, arb], y: arb, t: arb) -> arb:
    """Bound of log |e^W r^..| on low <= Re z <= high, |Im z| <= height, at frequencies <= t, eq. (12)."""
    low, high, height = box
    if branch.rate is not None and not height < arb.pi():
        return arb.pos_inf()
    weight, middle = branch.weight, (low + high) / 2
    m, left, right = weight(middle), weight(low), weight(high)
    # concave: on either half it lies below the chord of the other, drawn on
    size: arb = m.max(2 * m - left).max(2 * m - right) + weight.growth * height * height
    # |arg r| <= |Im z| (fact 1), and <= arcsin(k sin |Im z|) where k = q e^x/(1-q) < 1 (fact 4)
    turn, dip = height, arb(0)
    if branch.rate is not None:
        dip = (height / 2).sin() ** 2
        share = (branch.rate * high.exp() / (1 - branch.rate)).upper()
        if share < 1:
            sine = height.sin() if height < arb.pi() / 2 else arb(1)
            turn = turn.min((share * sine).asin())
            dip *= 4 * share / (1 + share) ** 2
    size += t * turn
    if branch.favoured:
        return size + (y + 1) * branch.log_r(high)
    # |r|^2 = r(x)^2 (1 - beta sin^2(Im z/2)) bounds r^{-c} from above at the low end (fact 2)
    return size - y * (branch.log_r(low) + (-dip).log1p() / 2)


# --- decay of |M(c + it)/M(c)|, eq. (7): where the tilted density of the loss is at least a sum of uniform
# ones of masses alpha_k and widths w_k, it is at most 1 - sum alpha_k (1 - S(t w_k/2)),
# S(u) = sup_{u' >= u} |sinc u'|


def flatness(u: arb) -> arb:
    """Lower bound of 1 - S(u), non-decreasing in u; for small u from sin u <= u - u^3/6 + u^5/120.

    >>> bool(flatness(arb(3)) < 0.77), bool(flatness(arb(10)) < 0.9001)
    (True, True)
    """
    u = u.lower()
    if u < _SMALL:
        square = u * u
        return (square / 6 * (1 - square / 20)).lower()
    if u < _KNEE:
        return (1 - u.sinc()).lower()
    if u < _FAR:
        return (1 - arb(_KNEE).sinc()).lower()
    return (1 - 1 / u).lower()


@dataclass(frozen=True)
class Layers:
    """Uniform pieces below the tilted density: lower bounds of their masses and widths."""

    masses: tuple[arb, ...]
    widths: tuple[arb, ...]

    def deficit(self, t: arb) -> arb:
        """Lower bound of -log |M(c + it')/M(c)| for all t' >= t; -log(1 - d) >= d."""
        half = t / 2
        lost = arb(0)
        for mass, width in zip(self.masses, self.widths, strict=True):
            lost += mass * flatness(half * width)
        lost = lost.lower()
        return (-(-lost).log1p()).lower() if lost < 1 else arb(0)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        masses, widths = (np.array([float(x) for x in row]) for row in (self.masses, self.widths))
        return masses, widths

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, a hair smaller: for the search, never for the proof."""
        masses, widths = self._floats
        u = np.multiply.outer(0.5 * t, widths)
        flat = np.where(u < _FAR, 1.0 - np.sinc(_KNEE / math.pi), 1.0 - 1.0 / np.maximum(u, 1.0))
        flat = np.where(u < _KNEE, 1.0 - np.sinc(u / math.pi), flat)
        flat = np.where(u < _SMALL, u * u / 6.0 * (1.0 - u * u / 20.0), flat)
        return np.asarray(-np.log1p(-np.minimum(flat @ masses, 1.0 - 1e-12)) * (1.0 - 1e-9))


def layers(edges: Sequence[arb], heights: Sequence[arb]) -> Layers:
    """Cut the region below a staircase into uniform layers, the widest first.

    Cell j is [edges[j], edges[j+1]] with density at least heights[j]. Below the lowest cell of a run
    lies one layer as wide as the run; what is above it falls into two runs.
    """
    lows = [max_zero(height.lower()) for height in heights]
    masses, widths = [], []
    runs = [(0, len(lows), arb(0))]
    while runs:
        first, end, level = runs.pop()
        if first == end:
            continue
        lowest = first
        for j in range(first, end):
            if lows[j] < lows[lowest]:
                lowest = j
        width = (edges[end] - edges[first]).lower()
        if lows[lowest] > level and width > 0:
            masses.append(((lows[lowest] - level) * width).lower())
            widths.append(width)
            level = lows[lowest]
        runs += [(first, lowest, level), (lowest + 1, end, level)]
    return Layers(tuple(masses), tuple(widths))


def max_zero(value: arb) -> arb:
    """The value, or 0 where it is not certainly positive."""
    return value if value > 0 else arb(0)


class ProofMoments:
    """One law's nodes, its moments on and near the line, and how fast they decay along it."""

    def __init__(self, law: Law, c: arb, rule: QuadratureRule) -> None:
        demand(rule.fits(law.branches), "branches that are not covered")
        self.law, self.rule, self.c = law, rule, c
        self.losses = [acb(loss) for loss, _ in law.atoms]
        self.log_weights = [acb(mass.log()) for _, mass in law.atoms]
        self._boxes: dict[int, list[list[Box]]] = {}
        for k, (branch, chosen) in enumerate(zip(law.branches, rule.branches, strict=True)):
            if isinstance(chosen.nodes, StripRule):
                self._strips(k, branch, chosen.nodes)
            elif isinstance(chosen.nodes, LineRule):
                self._line(branch, chosen.nodes)
            else:
                self._panels(branch, chosen.nodes)
        self._tilted = self._weights(c)
        self.at_c = self._moment(c, self._tilted)

    @property
    def node_count(self) -> int:
        """Nodes of the inner rule."""
        return len(self.losses)

    def _line(self, branch: ProofBranch, rule: LineRule) -> None:
        step, lift = arb(rule.step), arb(rule.shift if branch.favoured else -rule.shift)
        scale, q = step.log(), branch.share
        growth, ratio = q * acb(rule.first * step, lift).exp(), step.exp()
        for k in range(rule.first, rule.last + 1):
            z = acb(k * step, lift)
            log_r = z if branch.rate is None else (1 - q + growth).log()
            growth *= ratio  # real, so the boxes stay tight
            weight = branch.weight(z) + scale
            self.losses.append(log_r if branch.favoured else -log_r)
            self.log_weights.append(weight + log_r if branch.favoured else weight)

    def _panels(self, branch: ProofBranch, rule: PanelRule) -> None:
        for middle, half in panels_of(branch, rule):
            for x, w in _legendre(rule.nodes, ctx.prec):
                z = middle + half * x
                log_r = branch.log_r(z)
                weight = branch.weight(z) + (half * w).log()
                self.losses.append(acb(log_r if branch.favoured else -log_r))
                self.log_weights.append(acb(weight + log_r if branch.favoured else weight))

    def _strips(self, k: int, branch: OperatedBranch, rule: StripRule) -> None:
        panels = strips_of(branch, rule)
        self._boxes[k] = [branch.boxes(middle, half, arb(rule.rho)) for middle, half in panels]
        for middle, half in panels:
            for x, w in _legendre(rule.nodes, ctx.prec):
                loss, log_q = branch.at(middle + half * x)
                self.losses.append(acb(loss))
                self.log_weights.append(acb(log_q + loss + (half * w).log()))

    # --- errors: |sum - M(y + it)| <= relative M(y) + absolute for the frequencies in use

    def slack(self, y: arb, frequency: arb = _NOTHING) -> tuple[arb, arb]:
        """(relative, absolute) error of all rules at a real tilt y, up to this frequency."""
        relative, absolute = arb(0), arb(0)
        chosen_rules = zip(self.law.branches, self.rule.branches, strict=True)
        for k, (branch, chosen) in enumerate(chosen_rules):
            if isinstance(chosen.nodes, StripRule):
                absolute += self.strip_error(k, branch, chosen.nodes, y, frequency)
            elif isinstance(chosen.nodes, LineRule):
                more, flat = self.step_error(branch, chosen.nodes, y)
                relative += more
                absolute += flat + self.cut(branch, chosen.nodes, y)
            else:
                absolute += self.panel_error(branch, chosen.nodes, y, frequency)
        return relative, absolute

    def step_error(self, branch: ProofBranch, rule: LineRule, y: arb) -> tuple[arb, arb]:
        """Eq. (4): the strip from the axis to twice the shift."""
        lift, growth = arb(rule.shift), branch.weight.growth
        if branch.rate is not None and not 2 * lift < arb.pi():
            return arb(1), arb.pos_inf()
        decay = 1 / (2 * arb.pi() * lift / arb(rule.step)).expm1()
        # |e^W| on the far edge Im z = 2y of the strip is e^{W(x) + 4 g y^2} (theorem 5)
        rise = (4 * growth * lift * lift).exp()
        if branch.favoured or branch.rate is None:
            return decay * (1 + rise), arb(0)
        # mirrored: |r|^{-c} <= (r(x) cos y)^{-c} by fact 2, or <= (1-q)^{-c} by fact 3 where 4y < pi
        steep = lift.cos() ** (-y)
        if 4 * lift < arb.pi() and (flat := (1 - branch.rate) ** (-y)) < steep:
            return decay, decay * rise * flat
        return decay * (1 + rise * steep), arb(0)

    def cut(self, branch: ProofBranch, rule: LineRule, y: arb) -> arb:
        """Terms left out on both sides, eq. (5), (6) and (22): on the line |e^W r^..| is a little larger."""
        step, lift = arb(rule.step), arb(rule.shift)
        ends = ((rule.first * step, -1), (rule.last * step, 1))
        # on the nodes' own line Im z = y, eq. (22)
        scale = (branch.weight.growth * lift * lift).exp()
        power = branch.power(y)
        total = sum((beyond(branch, power, x, side, step) for x, side in ends), arb(0))
        if branch.favoured or branch.rate is None:
            return scale * total
        total *= (lift / 2).cos() ** (-y)
        if 2 * lift < arb.pi():
            flat = sum((beyond(branch, arb(0), x, side, step) for x, side in ends), arb(0))
            total = total.min(flat * (1 - branch.rate) ** (-y))
        return scale * total

    def panel_error(
        self, branch: ProofBranch, rule: PanelRule, y: arb, frequency: arb = _NOTHING
    ) -> arb:
        """Eq. (12), and (13) beyond the last panel."""
        rho = arb(rule.rho)
        wide, tall = (rho + 1 / rho) / 2, (rho - 1 / rho) / 2
        total, panels = arb(0), panels_of(branch, rule)
        for middle, half in panels:
            box = (middle - half * wide, middle + half * wide, half * tall)
            total += half * log_size(branch, box, y, frequency).exp()
        total *= arb(64) / 15 * rho ** (-2 * rule.nodes) / (1 - rho ** (-2))
        if branch.end is None:
            total += beyond(branch, branch.power(y), arb(rule.end), 1)
        return total

    def strip_error(
        self, k: int, branch: OperatedBranch, rule: StripRule, y: arb, frequency: arb = _NOTHING
    ) -> arb:
        """Eq. (12) with the integrand bounded on boxes, and theorem 20 beyond infinite ends."""
        rho, total, panels = arb(rule.rho), arb(0), strips_of(branch, rule)
        for (_, half), boxes in zip(panels, self._boxes[k], strict=True):
            total += half * exponents(boxes, y, frequency).exp()
        total *= arb(64) / 15 * rho ** (-2 * rule.nodes) / (1 - rho ** (-2))
        if branch.start is None:
            total += branch.beyond(y + 1, arb(rule.edges[0]), -1)
        if branch.end is None:
            total += branch.beyond(y + 1, arb(rule.edges[-1]), 1)
        return total

    # --- moments

    def _weights(self, y: arb) -> list[acb]:
        return [(w + y * x).exp() for w, x in zip(self.log_weights, self.losses, strict=True)]

    def _moment(self, y: arb, weights: Sequence[acb]) -> arb:
        """s - absolute <= M (1 + relative) and M (1 - relative) <= s + absolute."""
        relative, absolute = self.slack(y)
        total = sum((weight.real for weight in weights), arb(0))
        if not relative < 1:
            return arb(0, arb.pos_inf())
        return ((total - absolute) / (1 + relative)).union((total + absolute) / (1 - relative))

    def moment(self, y: arb) -> arb:
        """M(y), real y > 0."""
        return self.at_c if y is self.c else self._moment(y, self._weights(y))

    def row(self, step: arb, count: int) -> list[acb]:
        """M(c + i k step), k = 0 .. count: one product of matrices (giant by baby steps)."""
        relative, absolute = self.slack(self.c, (step * count).upper())
        # |sum - M(c + it)| <= relative M(c) + absolute, at every frequency in use
        error = spread((relative * self.at_c + absolute).upper())
        turn = acb(0, step)
        powers = [(turn * x).exp() for x in self.losses]
        babies = math.isqrt(count) + 1
        giants = count // babies + 1
        columns = _powers(powers, babies + 1)
        leaps = _powers(columns.pop(), giants)
        rows = [a * b for leap in leaps for a, b in zip(self._tilted, leap, strict=True)]
        left = acb_mat(giants, len(powers), rows)
        right = acb_mat(babies, len(powers), [a for column in columns for a in column])
        sums = (left * right.transpose()).entries()[: count + 1]
        return [acb(self.at_c), *(value + error for value in sums[1:])]

    # --- decay

    def _kappa(self, branch: ProofBranch) -> arb:
        """The density of the loss, tilted, is e^{W - z} r^kappa/q."""
        return self.c + 2 if branch.favoured else 1 - self.c

    def deficit(self, t: arb) -> arb:
        """Lower bound of -log|M(c + it')/M(c)|, t' >= t: the better of eq. (7) and eq. (8)."""
        bound = self.layers.deficit(t)
        if self.rule.damped:
            damped = self.damped(t)
            bound = damped if damped > bound else bound
        return bound

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, for the search."""
        bound = self.layers.float_deficit(t)
        if self.rule.damped:
            masses, angles, outside = self._damping
            turned = np.exp(-np.multiply.outer(t, np.array([float(a) for a in angles])))
            sizes = turned @ np.array([float(m) for m in masses]) + float(outside)
            damped = -np.log(sizes / float(self.at_c.lower())) - 1e-9
            bound = np.maximum(bound, np.nan_to_num(damped, nan=0.0))
        return bound

    @cached_property
    def layers(self) -> Layers:
        """Uniform layers below the tilted density of the loss, across the point where two branches meet."""
        stairs: list[tuple[list[arb], list[arb]]] = []
        for branch, chosen in zip(self.law.branches, self.rule.branches, strict=True):
            for k, grid in enumerate(chosen.cells):
                start = (
                    None if k else branch.start
                )  # cells ascend, the first a hair within the branch
                stairs.append(self.staircase(branch, grid, start))
        stairs.sort(key=lambda stair: float(stair[0][0]))
        joined = stairs[:1]
        for edges, heights in stairs[1:]:
            before, lower = joined[-1]
            if before[-1] == edges[0]:  # exactly, and no density is missing between
                joined[-1] = [*before, *edges[1:]], [*lower, *heights]
            else:
                joined.append((edges, heights))
        pieces = [layers(*stair) for stair in joined]
        masses = (mass for piece in pieces for mass in piece.masses)
        return Layers(tuple(masses), tuple(width for piece in pieces for width in piece.widths))

    def staircase(
        self, branch: ProofBranch, grid: PointRow, start: arb | None
    ) -> tuple[list[arb], list[arb]]:
        """(edges, heights): the tilted density of the loss is at least this, eq. (7).

        W - z is concave and log r convex: kappa > 0 takes the tangent of log r at the middle of the cell, so
        that what is left is concave, and a concave function is least at an end.
        """
        points = grid.points()
        if start is not None:
            points[0] = start
        if isinstance(branch, OperatedBranch):
            return self._operated_staircase(branch, points)
        kappa = self._kappa(branch)
        # density of the tilted loss: e^{W - z} r^kappa/(q M(c)), kappa = c + 2, or 1 - c mirrored (theorem 8)
        base = (self.at_c * branch.share).log()
        values = [branch.log_r(x) for x in points]
        level = [branch.weight(x) - x - base for x in points]
        heights = []
        for j in range(grid.count):
            at_a, at_b = values[j], values[j + 1]
            if kappa > 0 and branch.rate is not None:
                middle = (points[j] + points[j + 1]) / 2
                slope, value = branch.slope(middle), branch.log_r(middle)
                at_a = value + slope * (points[j] - middle)
                at_b = value + slope * (points[j + 1] - middle)
            height = (level[j] + kappa * at_a).min(level[j + 1] + kappa * at_b)
            heights.append(height.exp().lower())
        if branch.favoured:
            return values, heights
        return [-value for value in reversed(values)], heights[::-1]

    def _operated_staircase(
        self, branch: OperatedBranch, points: list[arb]
    ) -> tuple[list[arb], list[arb]]:
        """The density e^{V + (c+1) L} / |dL/dz| over M(c), at least its least value on each cell's ball."""
        edges, heights, power = [branch.at(z)[0] for z in points], [], self.c + 1
        log_c = self.at_c.log()
        for k, (a, b) in enumerate(pairwise(points)):
            _, log_q = branch.at(a.union(b))
            least = edges[k].min(edges[k + 1])  # L is monotone
            size = log_q + power * least - branch.steep(a.union(b)).log() - log_c
            height = size.lower().exp().lower()
            heights.append(height if height.is_finite() else arb(0))
        return (edges, heights) if branch.sign > 0.0 else (edges[::-1], heights[::-1])

    def damped(self, t: arb) -> arb:
        """Eq. (8): |M(c + it)| <= int |e^W r^..| e^{-t arg r} on the line Im z = lift, by cells."""
        masses, angles, outside = self._damping
        total = outside
        for mass, angle in zip(masses, angles, strict=True):
            total += mass * (-t * angle).exp()
        size = total.upper() / self.at_c.lower()
        return (-size.log()).lower() if size < 1 else arb(0)

    @cached_property
    def _damping(self) -> tuple[list[arb], list[arb], arb]:
        """Masses and least angles of the cells, and what lies outside; |r| and arg r grow with x."""
        masses = [mass * (self.c * loss).exp() for loss, mass in self.law.atoms]
        angles, outside = [arb(0) for _ in masses], arb(0)
        lift = arb(self.rule.lift)
        for branch, grid in zip(self.law.branches, self.rule.damped, strict=True):
            whole = branch.start is None and branch.end is None
            if not whole or not lift < arb.pi() / 2:
                return [], [], arb.pos_inf()
            power, rise = branch.power(self.c), branch.weight.growth * lift * lift
            points, width = grid.points(), arb(grid.step)
            q, turn = branch.share, acb(0, lift).exp()
            r = [1 - q + q * turn * x.exp() for x in points]
            tops = cell_tops([branch.weight(x) for x in _padded(points, width)])
            for j, top in enumerate(tops):
                # |r| and arg r grow with x: |r|^p at the end where it is larger, the angle at the lower one
                size = (abs(r[j + 1]) if power > 0 else abs(r[j])).log()
                masses.append((width * (top + rise + power * size).exp()).upper())
                angles.append(r[j].arg().lower())
            left, right = beyond(branch, power, points[0], -1), beyond(branch, power, points[-1], 1)
            if not branch.favoured and branch.rate is not None:
                # |r| >= 1 - q, or r(x) cos(lift/2)
                near = (lift / 2).cos() ** (-self.c)
                flat = (1 - branch.rate) ** (-self.c)
                left = (left * near).min(beyond(branch, arb(0), points[0], -1) * flat)
                right = (right * near).min(beyond(branch, arb(0), points[-1], 1) * flat)
            outside += rise.exp() * (left + right)
        return masses, angles, outside.upper()


def panels_of(branch: ProofBranch, rule: PanelRule) -> list[tuple[arb, arb]]:
    """(middle, half width) of each panel."""
    assert branch.start is not None
    end = arb(rule.end) if branch.end is None else branch.end
    half = (end - branch.start) / (2 * rule.panels)
    return [(branch.start + (2 * j + 1) * half, half) for j in range(rule.panels)]


def strips_of(branch: OperatedBranch, rule: StripRule) -> list[tuple[arb, arb]]:
    """(middle, half width) of each panel; finite ends of the branch are its own."""
    edges = [arb(edge) for edge in rule.edges]
    edges[0] = edges[0] if branch.start is None else branch.start
    edges[-1] = edges[-1] if branch.end is None else branch.end
    demand(all(bool(a < b) for a, b in pairwise(edges)), "edges beyond the branch's ends")
    return [((a + b) / 2, (b - a) / 2) for a, b in pairwise(edges)]


def _padded(points: Sequence[arb], width: arb) -> list[arb]:
    return [points[0] - width, *points, points[-1] + width]


def cell_tops(values: Sequence[arb]) -> list[arb]:
    """Bounds of a concave function on each cell but the first and the last of even ones, from its values.

    It lies below the chords of both neighbouring cells, drawn on: below the one that rises up to a place,
    below the one that falls from there on. Any place is valid, that where they meet the best.
    """
    tops = []
    for before, left, right, after in zip(values, values[1:], values[2:], values[3:], strict=False):
        up, down = left - before, right - after
        if up <= 0:
            tops.append(left)
        elif down <= 0:
            tops.append(right)
        elif up > 0 and down > 0:
            place = arb(min(max(float(((right - left + down) / (up + down)).mid()), 0.0), 1.0))
            tops.append((left + up * place).max(right + down * (1 - place)))
        else:
            tops.append(left + up.max(arb(0)))
    return tops


def _powers(base: list[acb], count: int) -> list[list[acb]]:
    """base^0 .. base^(count-1), elementwise, each as a product of two halves.

    Multiplying a box by a rotation widens it by up to sqrt 2, so a chain of k products would widen
    its boxes exponentially; with halves the factor is a power of k.
    """
    powers = [[acb(1)] * len(base), base]
    for k in range(2, count):
        half = powers[k // 2]
        powers.append([a * b for a, b in zip(half, powers[k - k // 2], strict=True)])
    return powers[:count]


class NormalProofMoments:
    """An unsampled normal loss: log M(s) = mu^2 s (s + 1)/2, so |M(c + it)/M(c)| = e^{-mu^2 t^2/2}."""

    def __init__(self, mu_squared: arb, c: arb) -> None:
        self.c, self._square = c, mu_squared
        self.at_c = self.moment(c)
        self.node_count = 1

    def moment(self, y: arb) -> arb:
        """M(y), real y > 0."""
        return (self._square * y * (y + 1) / 2).exp()

    def row(self, step: arb, count: int) -> list[acb]:
        """M(c + i k step), k = 0 .. count."""
        points = [acb(self.c, k * step) for k in range(count + 1)]
        return [(self._square * s * (s + 1) / 2).exp() for s in points]

    def deficit(self, t: arb) -> arb:
        """-log |M(c + it')/M(c)| for t' >= t."""
        return (self._square * t * t / 2).lower()

    def float_deficit(self, t: Floats) -> Floats:
        """A lower bound of `deficit` in floats, for the search."""
        return np.asarray(0.5 * float(self._square) * (1.0 - 1e-9) * t * t)
