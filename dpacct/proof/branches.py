"""Laws made of point masses and of smooth branches between two ends, in balls.

A branch is an interval of x with density e^{W(x)} under Q, loss +-log r, r = 1 - q + q e^l, l
linear in x; P has density e^W r on a favoured branch, e^W on its mirror image. The sampled Laplace
and C_q of both mechanisms are of this kind. Equation numbers: docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import acb, arb, ctx

from dpacct.engine.stable import Floats

from .balls import larger, least, spread
from .choices import demand, real, whole
from .envelope import Layers, layers
from .expsum import ExpSum
from .hill import hill_pieces, hill_top
from .window import Cut, right_tail


@dataclass(frozen=True)
class Branch:
    """log e^W = base + linear x - square x^2/2 on [start, end]; l = slope x - offset."""

    start: arb
    end: arb | None  # None: to infinity, which needs square = 1
    base: arb
    linear: arb
    square: int
    slope: arb
    offset: arb
    rate: arb
    favoured: bool
    cut: Cut | None = None  # only near draws, eq. (20)

    def log_cut(self, x: arb) -> arb:
        """Logarithm of the window."""
        return self.cut.log(x) if self.cut is not None else arb(0)

    def log_r(self, x: arb) -> arb:
        """log(1 - q + q e^l)."""
        value: arb = (self.rate * (self.slope * x - self.offset).expm1()).log1p()
        return value

    def log_r_slope(self, x: arb) -> arb:
        """D log r/dx, which increases from 0 to the slope of l."""
        growth = self.rate * (self.slope * x - self.offset).exp()
        return self.slope * growth / (1 - self.rate + growth)

    def loss(self, x: arb) -> arb:
        """The privacy loss at x."""
        value = self.log_r(x)
        return value if self.favoured else -value

    def log_weight(self, x: Any) -> Any:
        """W(x), real or complex."""
        return self.base + self.linear * x - self.square * x * x / 2

    def log_density(self, x: arb, kappa: arb, value: arb) -> arb:
        """log f, f = e^W r^kappa / (slope q e^l) the density of the loss; `value` is log r."""
        outer = self.slope * x - self.offset + (self.slope * self.rate).log()
        found: arb = self.log_weight(x) - outer + kappa * value + self.log_cut(x)
        return found

    def log_size(self, panel: tuple[arb, arb, arb], y: arb, t: arb) -> arb:
        """Upper bound of log|e^W r^{..}| on |Im| <= height, low <= Re <= high, eq. (12)."""
        low, high, height = panel
        angle = self.slope * height
        if not angle < arb.pi():
            return arb.pos_inf()
        nearest = low if low > 0 else (high if high < 0 else arb(0))
        share = self._share(high)
        turn = angle
        if share is not None:  # sin arg r = v sin(angle)/|r|, and |r| >= 1 - q up to a right angle
            sine = angle.sin() if angle < arb.pi() / 2 else arb(1)
            turn = least(angle, (share * sine).asin())
        size = self.base + height * height * self.square / 2 + t * turn
        size += larger(self.linear * low, self.linear * high)
        size -= self.square * nearest * nearest / 2
        if self.cut is not None:
            size += self.cut.growth * height * height / 2 + self.cut.log(low)
        if self.favoured:
            return size + (y + 1) * self.log_r(high)
        dip = (angle / 2).sin() ** 2
        if share is not None:
            dip *= 4 * share / (1 + share) ** 2
        return size - y * (self.log_r(low) + (-dip).log1p() / 2)

    def _share(self, high: arb) -> arb | None:
        """Upper bound of v/(1 - q), v = q e^l, on Re x <= high, where that is below 1."""
        ratio = (self.rate * (self.slope * high - self.offset).exp() / (1 - self.rate)).upper()
        return ratio if ratio < 1 else None


MOST_NODES = 5000


@dataclass(frozen=True)
class PanelRule:
    """Gauss-Legendre panels on each branch; ellipses of parameter rho bound the error."""

    panels: tuple[int, ...]
    ends: tuple[float, ...]  # where an infinite branch is cut off; else unused
    nodes: int
    rho: float
    cells: int
    cell_ends: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what (12) does not cover; raises `Unsound`."""
        demand(all(whole(one, 1) for one in self.panels), "this number of panels")
        demand(whole(self.nodes, 2, MOST_NODES), "this number of nodes")
        demand(real(self.rho) and self.rho > 1, "an ellipse that holds no panel")
        demand(whole(self.cells, 1), "this number of cells")
        demand(all(real(end) for end in (*self.ends, *self.cell_ends)), "an end that is no number")

    @property
    def size(self) -> int:
        """Terms and cells."""
        return sum(self.panels) * self.nodes + self.cells * len(self.panels)

    def fits(self, branches: Sequence[Branch]) -> bool:
        """Whether every branch has its panels and cells, from its start on to the right."""
        if not len(branches) == len(self.panels) == len(self.ends) == len(self.cell_ends):
            return False
        for branch, *ends in zip(branches, self.ends, self.cell_ends, strict=True):
            told = [branch.end] if branch.end is not None else [arb(end) for end in ends]
            if not all(end > branch.start for end in told):
                return False
        return True

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> PanelRule:
        """Read what `dataclasses.asdict` wrote."""
        told: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return cls(**told)


@lru_cache(maxsize=64)
def _legendre(count: int, bits: int) -> list[tuple[arb, arb]]:
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


@dataclass(frozen=True)
class Parts:
    """What a law is made of: finite point masses (loss, P-mass), and branches."""

    atoms: tuple[tuple[arb, arb], ...]
    branches: tuple[Branch, ...]


class PreparedBranches:
    """Moments by panels, and decay by layers, along Re s = c."""

    def __init__(self, parts: Parts, c: arb, rule: PanelRule) -> None:
        demand(rule.fits(parts.branches), "branches that are not covered")
        self.c, self.rule, self.parts = c, rule, parts
        losses: list[acb] = [acb(loss) for loss, _ in parts.atoms]
        weights: list[acb] = [acb(mass.log()) for _, mass in parts.atoms]
        self._panels: list[list[tuple[arb, arb]]] = []
        for k, branch in enumerate(parts.branches):
            edges = self._edges(k, branch)
            self._panels.append(edges)
            for middle, half in edges:
                for x, w in _legendre(rule.nodes, ctx.prec):
                    point = middle + half * x
                    log_r = branch.log_r(point)
                    weight = branch.log_weight(point) + (half * w).log() + branch.log_cut(point)
                    losses.append(acb(log_r if branch.favoured else -log_r))
                    weights.append(acb(weight + log_r if branch.favoured else weight))
        self._frequency = arb(0)
        self._sum = ExpSum(losses, weights, self.slack)
        self.at_c = self.moment(c)
        self._layers: Layers | None = None

    @property
    def node_count(self) -> int:
        """Nodes of the inner rule."""
        return len(self._sum.losses)

    def _edges(self, k: int, branch: Branch) -> list[tuple[arb, arb]]:
        """(middle, half width) of each panel."""
        end = arb(self.rule.ends[k]) if branch.end is None else branch.end
        half = (end - branch.start) / (2 * self.rule.panels[k])
        return [(branch.start + (2 * j + 1) * half, half) for j in range(self.rule.panels[k])]

    def slack(self, y: arb) -> tuple[arb, arb]:
        """Error of the panels, eq. (12), and of the cut-off, eq. (13), at the frequency in use."""
        rho, count = arb(self.rule.rho), self.rule.nodes
        wide, tall = (rho + 1 / rho) / 2, (rho - 1 / rho) / 2
        total = arb(0)
        for branch, panels in zip(self.parts.branches, self._panels, strict=True):
            for middle, half in panels:
                box = (middle - half * wide, middle + half * wide, half * tall)
                total += half * branch.log_size(box, y, self._frequency).exp()
            if branch.end is None:
                middle, half = panels[-1]
                total += _beyond(branch, middle + half, y) / _panel_factor(rho, count)
        return arb(0), total * _panel_factor(rho, count)

    def moment(self, y: arb) -> arb:
        """M(y), real y > 0."""
        before, self._frequency = self._frequency, arb(0)
        found = self._sum.moment(y)
        self._frequency = before
        return found

    def row(self, step: arb, count: int) -> list[acb]:
        """M(c + i k step), k = 0 .. count."""
        self._frequency = (step * count).upper()
        return self._sum.row(self.c, step, count, self.at_c)

    def atom_row(self, step: arb, count: int) -> list[acb]:
        """The part of the point masses alone, exactly."""
        found = []
        for k in range(count + 1):
            s = acb(self.c, k * step)
            found.append(sum((mass * (s * loss).exp() for loss, mass in self.parts.atoms), acb(0)))
        return found

    def atoms_at_c(self) -> arb:
        """Tilted mass of the atoms: their share of M(c), not normalised."""
        return sum((mass * (self.c * loss).exp() for loss, mass in self.parts.atoms), arb(0))

    def deficit(self, t: arb) -> arb:
        """Lower bound of -log|M(c + it')/M(c)|, t' >= t, eq. (7)."""
        return self.layers.deficit(t)

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, for the search."""
        return self.layers.float_deficit(t)

    def staircase(self) -> tuple[list[arb], list[arb]]:
        """(edges, heights): the tilted density of the loss is at least this, by branches."""
        edges: list[arb] = []
        heights: list[arb] = []
        order = sorted(
            range(len(self.parts.branches)), key=lambda k: self.parts.branches[k].favoured
        )
        for k in order:
            branch = self.parts.branches[k]
            end = arb(self.rule.cell_ends[k]) if branch.end is None else branch.end
            step = (end - branch.start) / self.rule.cells
            points = [branch.start + j * step for j in range(self.rule.cells + 1)]
            here, levels = self._levels(branch, points)
            if not branch.favoured:
                here, levels = here[::-1], levels[::-1]
            if edges:
                gap = here[0] - edges[-1]
                if gap > 0 or gap < 0 or not gap.contains(0):
                    heights.append(arb(0))
                    edges += here
                else:
                    edges += here[1:]
            else:
                edges += here
            heights += levels
        return edges, heights

    def _levels(self, branch: Branch, points: Sequence[arb]) -> tuple[list[arb], list[arb]]:
        """As for the sampled Gaussian: tangents of the convex log r, ends of what is concave."""
        kappa = self.c + 2 if branch.favoured else 1 - self.c
        log_m = self.at_c.log()
        values = [branch.log_r(x) for x in points]
        levels = []
        for j in range(len(points) - 1):
            a, b = points[j], points[j + 1]
            at_a, at_b = values[j], values[j + 1]
            if kappa > 0:
                middle = (a + b) / 2
                slope, value = branch.log_r_slope(middle), branch.log_r(middle)
                at_a, at_b = value + slope * (a - middle), value + slope * (b - middle)
            low, high = (branch.log_density(x, kappa, v) for x, v in ((a, at_a), (b, at_b)))
            least = low if low < high else high if high < low else low.min(high)
            levels.append((least - log_m).exp().lower())
        return [v if branch.favoured else -v for v in values], levels

    def variation(self) -> arb:
        """Upper bound of the total variation of the tilted density, unnormalised, eq. (17)."""
        total = arb(0)
        for k, branch in enumerate(self.parts.branches):
            kappa = self.c + 2 if branch.favoured else 1 - self.c
            infinite = branch.end is None
            end = arb(self.rule.cell_ends[k]) if branch.end is None else branch.end
            ends = [
                branch.log_density(x, kappa, branch.log_r(x)).exp() for x in (branch.start, end)
            ]
            if not infinite:  # W - l is linear: one critical point at most, a minimum
                total += 2 * (ends[0] + ends[1])
                continue
            # three critical points at most: two peaks
            total += 2 * ends[0] + 4 * self._peak(branch, kappa, end)
        return total.upper()

    def _peak(self, branch: Branch, kappa: arb, end: arb) -> arb:
        """Upper bound of the density on an infinite branch, by cells and then by pieces."""
        step = (end - branch.start) / self.rule.cells
        highest = arb(0)
        points = [branch.start + j * step for j in range(self.rule.cells)]
        power = kappa if kappa > 0 else arb(0)
        points += [a for a, _ in hill_pieces(end, power, branch.slope)]
        for j, low in enumerate(points):
            # -x^2/2 - l falls, log r rises; beyond the last point its slope is at most mu < x/kappa
            rising = kappa > 0 and j + 1 < len(points)
            value = branch.log_r(points[j + 1] if rising else low)
            highest = larger(highest, branch.log_density(low, kappa, value).exp())
        return highest

    @property
    def layers(self) -> Layers:
        """Uniform layers below the tilted density of the loss."""
        if self._layers is None:
            self._layers = layers(*self.staircase())
        return self._layers


def _panel_factor(rho: arb, count: int) -> arb:
    """(64/15) rho^{-2n}/(1 - rho^{-2}), per unit of half width and of size on the ellipse."""
    return arb(64) / 15 * rho ** (-2 * count) / (1 - rho ** (-2))


def _beyond(branch: Branch, end: arb, y: arb) -> arb:
    """Bound of a Gaussian half-line beyond its last panel, eq. (13)."""
    if not branch.favoured:
        size = branch.log_weight(end) - y * branch.log_r(end)
        return size.exp() / end if end > 0 else arb.pos_inf()
    total, power = arb(0), y + 1
    if branch.cut is not None:
        ratio = branch.log_r, branch.log_r_slope, branch.slope
        return branch.base.exp() * right_tail(branch.cut, ratio, power, end, None)
    for a, b in hill_pieces(end, power, branch.slope):
        at_a = power * branch.log_r(a)
        if b is None:
            total += (at_a - a * a / 2).exp() / (a - power * branch.slope)
            break
        crowd = (b - a) * hill_top(a, b, at_a, power * branch.log_r(b)).exp()
        rate = a - power * branch.log_r_slope(b)
        if rate > 0:
            crowd = least(crowd, (at_a - a * a / 2).exp() / rate)
        total += crowd
    return total * branch.base.exp()


def widened(value: acb, error: arb) -> acb:
    """The ball around a value with this error."""
    return value + spread(error)
