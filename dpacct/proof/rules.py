"""Nodes, cells and shifts for each branch of a law: the search's part, in floats; no proof.

Branches on the whole axis or on a half-line are Gaussian, and are scanned in standard deviations of their
noise, x = (z - centre)/mu; finite ones on the axis of plain losses itself, mu = 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.stable import Floats

from .law import ProofBranch
from .operated import OperatedBranch
from .plan import Step
from .rule import BranchRule, LineRule, PanelRule, PointRow, QuadratureRule, StripRule

_CELLS = 48
MOST_INNER = 60_000
RHO = 4.0
_TALL, _WIDE = 0.5 * (RHO - 1.0 / RHO), 0.5 * (RHO + 1.0 / RHO)
_ROOM = 26.0  # nats by which the ellipse may exceed the panel


class Wanted(NamedTuple):
    """Tilts in use (the line's, the lowest and highest of the aliasing bound), and accuracy."""

    c: float
    low: float
    high: float
    nats: float
    steps: int
    outer_nats: float
    frequency: float = 0.0


class View:
    """A branch in floats."""

    def __init__(self, branch: ProofBranch) -> None:
        weight = branch.weight
        square = float(weight.square.mid())
        self.normal = square > 0.0
        self.mu = (2.0 * square) ** -0.5 if self.normal else 1.0
        self.centre = float(weight.linear.mid()) / (2.0 * square) if self.normal else 0.0
        self.rate = 1.0 if branch.rate is None else float(branch.rate.mid())
        self.favoured = branch.favoured
        self.start = None if branch.start is None else self.place(float(branch.start.mid()))
        self.end = None if branch.end is None else self.place(float(branch.end.mid()))

    def place(self, z: float) -> float:
        """x of a plain loss."""
        return (z - self.centre) / self.mu

    def loss(self, x: float) -> float:
        """Plain loss at x."""
        return self.centre + self.mu * x

    def log_r(self, x: Floats) -> Floats:
        """log(1 - q + q e^l)."""
        loss = self.centre + self.mu * x
        if self.rate == 1.0:
            return np.asarray(loss)
        return np.asarray(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + loss))

    def density(self, x: Floats) -> Floats:
        """W, up to a constant."""
        return -0.5 * x * x if self.normal else -0.5 * x

    def powers(self, wanted: Wanted) -> list[float]:
        """kappa at the three tilts."""
        tilts = (wanted.low, wanted.c, wanted.high)
        return [tilt + 1.0 if self.favoured else -tilt for tilt in tilts]

    def grid(self, start: float, end: float, count: int) -> PointRow:
        """Even cells of plain losses, a hair within both ends."""
        low, high = self.loss(start), self.loss(end)
        hair = 1e-9 * (high - low)
        return PointRow(low + hair, (high - low - 2.0 * hair) / count, count)


def propose_rule(law: Step, wanted: Wanted) -> tuple[QuadratureRule | None, float]:
    """A rule for the law, and the nats that its own cancellation costs; None: nothing to choose."""
    if law.normal:
        return None, 0.0
    branches = law.law().branches
    if any(isinstance(branch, OperatedBranch) for branch in branches):
        return QuadratureRule(tuple(_strips(branch, wanted) for branch in branches)), 0.0
    views = [View(branch) for branch in branches]
    chosen = [_branch_rule(view, wanted) for view in views]
    lift = max((nats for _, nats in chosen), default=0.0)
    shift, damped = 0.0, []
    if views and all(view.start is None for view in views):
        for view in views:
            shift, grid = _damping(view, wanted)
            damped += [grid] if grid is not None else []
    return QuadratureRule(
        tuple(rule for rule, _ in chosen), shift if damped else 0.0, tuple(damped)
    ), lift


def _branch_rule(view: View, wanted: Wanted) -> tuple[BranchRule, float]:
    if view.start is None:
        return _line(view, wanted)
    return _panels(view, wanted), 0.0


# --- the whole axis


def _line(view: View, wanted: Wanted) -> tuple[BranchRule, float]:
    shift, step = _shift_and_step(view, wanted)
    lift = 0.5 * shift * shift
    depth = wanted.nats + lift + 4.0
    powers = view.powers(wanted)
    x = _axis(view, powers, depth)
    log_r, density = view.log_r(x), view.density(x)
    kept = np.zeros(x.shape, dtype=bool)
    for power in powers:
        value = power * log_r + density
        if view.favoured:
            value_seen = value + _hill_margin(x, power, view.mu)
        else:  # off the axis |r| >= r cos(y/2), and |r| >= 1 - q, eq. (22)
            dip = math.log(math.cos(min(0.5 * shift * view.mu, 1.5)))
            least = math.log1p(-view.rate) if view.rate < 1.0 else -math.inf
            value_seen = density + power * np.maximum(log_r + dip, least) - 4.0
        kept |= np.maximum(value, value_seen) > value.max() - depth
    low, high = min(float(x[kept][0]), -1.0), max(float(x[kept][-1]), 1.0)
    step_z = step * view.mu
    first = math.floor(view.loss(low) / step_z) - 2
    last = math.ceil(view.loss(high) / step_z) + 2
    if last - first > MOST_INNER:
        raise NotCertified(f"the inner rule needs {last - first} nodes")
    value = powers[1] * log_r + density
    # a rare hit counts T times, so the layers look for it where it is T times smaller
    body = value > value.max() - 10.0 - math.log(wanted.steps)
    nodes = LineRule(shift * view.mu, step_z, first, last)
    return BranchRule(nodes, segments(view, x, body)), lift


def _shift_and_step(view: View, wanted: Wanted) -> tuple[float, float]:
    """The shift whose strip allows the largest step, eq. (4)."""
    shifts = 0.49 * math.pi / view.mu * np.linspace(0.02, 1.0, 60)
    if view.rate == 1.0:
        shifts = np.linspace(0.1, 6.0, 60)
    shifts = np.minimum(shifts, 6.0)
    nats = wanted.nats + 1.0 + 2.0 * shifts * shifts
    if not view.favoured and view.rate < 1.0:
        growth = -wanted.high * np.log(np.cos(shifts * view.mu))
        right = 2.0 * shifts * view.mu < 1.57
        nats = nats + np.minimum(
            growth, np.where(right, -wanted.high * math.log1p(-view.rate), np.inf)
        )
    steps = 2.0 * math.pi * shifts / nats
    k = int(np.argmax(steps))
    return float(shifts[k]), float(steps[k])


def _axis(view: View, powers: list[float], depth: float) -> Floats:
    """Places that are looked at."""
    edge = math.sqrt(2.0 * depth) + 2.0
    if view.favoured:
        return scan(-edge, powers[-1] * view.mu + edge)
    return scan(min(-edge, powers[-1] * view.mu) - edge, edge)


def _hill_margin(x: Floats, power: float, mu: float) -> Floats:
    """Bound how much higher the proof sees a hill that is cut off: chords over its pieces, eq. (6)."""
    width = 1.0 / math.sqrt(1.0 + mu * mu)
    return np.where(x > 8.0, 3.0 + min(power * mu * mu, 40.0) * width**2 / 32.0, 0.0)


def scan(low: float, high: float) -> Floats:
    """Places in [low, high]: close to each other, at least near 0."""
    if high - low < 4000.0:
        return np.arange(low, high + 0.125, 0.125)
    near = np.arange(-60.0, 60.0, 0.125)
    return np.unique(np.concatenate((near, np.linspace(low, high, 20_000))))


def segments(
    view: View, x: Floats, kept: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[PointRow, ...]:
    """A grid of cells on each stretch of kept points, all together few."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], kept.astype(np.int8), [0]))))
    ends: list[tuple[float, float]] = []
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        start, end = float(x[a]) - 0.1, float(x[b - 1]) + 0.1
        if ends and start < ends[-1][1] + 0.01:  # cells may not overlap
            start = ends.pop()[0]
        ends.append((start, end))
    grids = []
    for start, end in ends:
        count = min(max(_CELLS, math.ceil((end - start) / 0.35)), 4 * _CELLS)
        grids.append(view.grid(start, end, count))
    return tuple(grids[:4])


def _damping(view: View, wanted: Wanted) -> tuple[float, PointRow | None]:
    """A shift and cells for the damped bound, eq. (8), of few steps."""
    if wanted.steps > 80:
        return 0.0, None
    power, shift = view.powers(wanted)[1], min(1.2 / view.mu, 3.0)
    x = _axis(view, view.powers(wanted), wanted.outer_nats + 10.0)
    value = power * view.log_r(x) + view.density(x)
    wide = x[value > value.max() - wanted.outer_nats - 10.0]
    start, end = min(float(wide[0]), -3.0), max(float(wide[-1]), power * view.mu + 3.0, 3.0)
    return shift * view.mu, view.grid(start, end, 360)


# --- half-lines and intervals


def panel_counts(view: View, ends: tuple[float, float], wanted: Wanted) -> tuple[int, int]:
    """(panels, nodes): r stays off its zero, and the ellipse within its room, eq. (12)."""
    tallest, mu = view.loss(ends[1]), view.mu
    share = view.rate / (1.0 - view.rate) if view.rate < 1.0 else math.inf
    share *= math.exp(min(tallest, 600.0))
    turn = min(1.0, 1.3 * share)  # v = q e^l is the share of r that turns
    dip = 0.5 * wanted.high * _TALL * _TALL * mu * mu * min(1.0, share)
    pull = mu * turn * (wanted.frequency * _TALL + (wanted.high + 2.0) * (_WIDE - 1.0)) + 0.5
    half = min(1.2, 0.7 * _ROOM / pull, math.sqrt(6.0 / (dip + 0.1)))
    if view.rate < 1.0:
        half = min(half, 0.75 * math.pi / (mu * _TALL))
    nodes = math.ceil((wanted.nats + _ROOM + 4.0) / (2.0 * math.log(RHO)))
    return max(1, math.ceil(0.5 * (ends[1] - ends[0]) / half)), nodes


def _panels(view: View, wanted: Wanted) -> BranchRule:
    assert view.start is not None
    start = view.start
    if view.end is not None:
        panels, nodes = panel_counts(view, (start, view.end), wanted)
        cells = view.grid(start, view.end, _CELLS)
        return BranchRule(PanelRule(0.0, panels, nodes, RHO), (cells,))
    depth = wanted.nats + 4.0
    reach = math.sqrt(2.0 * depth) + 2.0
    # on the mirrored branch r^{-tilt} only falls
    wide = (wanted.high + 2.0) * view.mu if view.favoured else 0.0
    x = start + scan(0.0, wide + reach)
    log_r, density = view.log_r(x), view.density(x)
    last = body = start
    for tilt, power in zip((wanted.low, wanted.c, wanted.high), view.powers(wanted), strict=True):
        value = power * log_r + density
        hills = _hill_margin(x, power, view.mu) if view.favoured else 0.0
        # what is left out counts against the whole, which is 1 or more
        top = value.max()
        # at the other tilts the composition is wanted roughly
        # nats of accuracy of a step, beyond those that its repetitions take
        down = depth if tilt == wanted.c else min(depth, math.log(wanted.steps) + 8.0)
        last = max(last, float(x[value + hills > top - down][-1]))
        if tilt == wanted.c:
            body = float(x[value > value.max() - 10.0][-1])
    end = max(last, start + 0.1)
    body = max(body, start + min(0.1, 5.0 / max(start, 1e-9)))
    panels, nodes = panel_counts(view, (start, end), wanted)
    cells = view.grid(start, body, _CELLS)
    return BranchRule(PanelRule(view.loss(end), panels, nodes, RHO), (cells,))


# --- branches after any operators


_AROUND_ELLIPSE = np.exp(1j * np.linspace(0.0, math.pi, 17))


def strip_ends(branch: OperatedBranch, tilts: Floats, depth: float) -> tuple[float, float]:
    """Two ends of plain losses outside of which no tilt sees anything e^-depth of its peak."""
    floats = branch.floats
    if branch.start is not None:
        return floats.low, floats.high
    width, centre = floats.square**-0.5, floats.linear / floats.square
    steep, drift = float(branch.steepest.mid()), float(branch.drift.mid())
    reach = width * (math.sqrt(2.0 * depth) + 3.0)
    hill = ((1.0 + float(tilts.max())) * steep + drift) / floats.square
    near = drift / floats.square
    left, right = (near, hill) if branch.sign > 0.0 else (hill, near)
    return centre - left - reach, centre + right + reach


def _strips(branch: OperatedBranch, wanted: Wanted) -> BranchRule:
    """Panels that are halved until the integrand around each is small enough, eq. (12)."""
    operated_cells = 320
    floats, tilts = branch.floats, np.array([wanted.low, wanted.c, wanted.high])
    depth = wanted.nats + 6.0
    low, high = strip_ends(branch, tilts, depth)
    places = np.linspace(low, high, 2000)
    loss, log_q = floats.at(places)
    values = np.multiply.outer(1.0 + tilts, loss) + log_q
    tops = values.max(axis=1)
    seen = np.flatnonzero((values > tops[:, None] - depth).any(axis=0))
    width = high - low
    if branch.start is None:
        width = floats.square**-0.5
        low, high = float(places[seen[0]]) - 0.5 * width, float(places[seen[-1]]) + 0.5 * width
        # beyond the ends W must fall faster than theorem 20 lets all else rise
        steep = (1.0 + wanted.high) * float(branch.steepest.mid())
        # where losses rise, and where they fall
        rising, falling = float(branch.drift.mid()) + 1.0 + steep, float(branch.drift.mid()) + 1.0
        left, right = (rising, falling) if branch.sign < 0.0 else (falling, rising)
        centre = floats.linear / floats.square
        low, high = (
            min(low, centre - left / floats.square),
            max(high, centre + right / floats.square),
        )
    nodes = math.ceil((wanted.nats + _ROOM + 4.0) / (2.0 * math.log(RHO)))

    def excess(middle: float, half: float) -> float:
        """Nats by which the integrand around a panel exceeds its peak on the axis."""
        circle = half * (_WIDE * _AROUND_ELLIPSE.real + 1j * _TALL * _AROUND_ELLIPSE.imag)
        loss, log_q = floats.at(middle + circle)
        sizes = np.multiply.outer(1.0 + tilts, loss.real) + log_q.real
        sizes += wanted.frequency * np.abs(loss.imag)
        return float((sizes.max(axis=1) - tops).max())

    edges, pending = [low], [(low, high)]
    while pending:
        a, b = pending.pop()
        half = 0.5 * (b - a)
        # an ellipse of height 1.35 in losses: e^z of a box that reaches as high stays off the negative axis
        short = half <= 1.2 * width and half * _TALL <= 1.35
        # bounds on boxes may exceed the values at a few points by 8 nats
        if short and excess(0.5 * (a + b), half) <= _ROOM - 8.0:
            edges.append(b)
            continue
        if len(edges) + len(pending) > MOST_INNER // nodes:
            raise NotCertified("the inner rule needs too many panels")
        pending += [(0.5 * (a + b), b), (a, 0.5 * (a + b))]
    body = places[values[1] > tops[1] - 10.0 - math.log(wanted.steps)]
    first, last = float(body[0]), float(body[-1])
    hair = 1e-9 * (last - first)
    cells = PointRow(first + hair, (last - first - 2.0 * hair) / operated_cells, operated_cells)
    return BranchRule(StripRule(tuple(edges), nodes, RHO), (cells,))
