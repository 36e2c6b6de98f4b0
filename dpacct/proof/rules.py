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

from .far_draws import SharpWindow, Windowed
from .law import ProofBranch, Weight
from .plan import Step
from .rule import BranchRule, LineRule, PanelRule, PointRow, QuadratureRule

_CELLS = 48
_FINE_CELLS = 240
_DAMPED_CELLS = 360
_FAR_CELLS = 120
_FEW_STEPS = 80
_ROUGH = 8.0  # nats of accuracy of a step, beyond those that its repetitions take
_WIDEST = 2.4  # half width of a panel, in widths of a window
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
        shape = branch.weight if isinstance(branch.weight, Windowed) else None
        weight = branch.weight if shape is None else shape.base
        assert isinstance(weight, Weight)
        square = float(weight.square.mid())
        self.normal = square > 0.0
        self.mu = (2.0 * square) ** -0.5 if self.normal else 1.0
        self.centre = float(weight.linear.mid()) / (2.0 * square) if self.normal else 0.0
        self.rate = 1.0 if branch.rate is None else float(branch.rate.mid())
        self.favoured = branch.favoured
        self.start = None if branch.start is None else self.place(float(branch.start.mid()))
        self.end = None if branch.end is None else self.place(float(branch.end.mid()))
        self.sharp = self.normal and self.end is not None  # near draws alone
        self.window, self.far = None, shape is not None and shape.far
        if shape is not None:
            near, end = (self.place(float(z.mid())) for z in (shape.near, shape.end))
            self.window = SharpWindow(near, end, float(shape.width.mid()) / self.mu)
        self.growth = 1.0 if self.window is None else 1.0 + self.window.width**-2

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
        value = -0.5 * x * x if self.normal else -0.5 * x
        return value if self.window is None else value + _log_window(self.window, self.far, x)

    def powers(self, wanted: Wanted) -> list[float]:
        """kappa at the three tilts."""
        tilts = (wanted.low, wanted.c, wanted.high)
        return [tilt + 1.0 if self.favoured else -tilt for tilt in tilts]

    def grid(self, start: float, end: float, count: int) -> PointRow:
        """Even cells of plain losses, a hair within both ends."""
        low, high = self.loss(start), self.loss(end)
        hair = 1e-9 * (high - low)
        return PointRow(low + hair, (high - low - 2.0 * hair) / count, count)


def _log_window(window: SharpWindow, far: bool, x: Floats) -> Floats:
    from scipy.special import log_ndtr

    near = log_ndtr((window.near - x) / window.width)
    if not far:
        return np.asarray(near)
    rising = log_ndtr((x - window.near) / window.width)
    falling = log_ndtr((window.end - x) / window.width)
    return np.asarray(np.minimum(rising, falling))


def propose_rule(law: Step, wanted: Wanted) -> tuple[QuadratureRule | None, float]:
    """A rule for the law, and the nats that its own cancellation costs; None: nothing to choose."""
    if law.normal:
        return None, 0.0
    views = [View(branch) for branch in law.law().branches]
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
    lift = 0.5 * shift * shift * view.growth
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
    if view.far and view.window is not None:
        # left of it the window must fall faster than the noise grows
        low = min(float(x[kept][0]), view.window.near / view.growth / view.window.width**2 - 0.1)
    step_z = step * view.mu
    first = math.floor(view.loss(low) / step_z) - 2
    last = math.ceil(view.loss(high) / step_z) + 2
    if last - first > MOST_INNER:
        raise NotCertified(f"the inner rule needs {last - first} nodes: the value is withheld")
    value = powers[1] * log_r + density
    # a rare hit counts T times, so the layers look for it where it is T times smaller
    body = value > value.max() - 10.0 - (0.0 if view.far else math.log(wanted.steps))
    nodes = LineRule(shift * view.mu, step_z, first, last)
    return BranchRule(nodes, segments(view, x, body)), lift


def _shift_and_step(view: View, wanted: Wanted) -> tuple[float, float]:
    """The shift whose strip allows the largest step, eq. (4), (21)."""
    shifts = 0.49 * math.pi / view.mu * np.linspace(0.02, 1.0, 60)
    if view.rate == 1.0:
        shifts = np.linspace(0.1, 6.0, 60)
    shifts = np.minimum(shifts, 6.0)
    nats = wanted.nats + 1.0 + 2.0 * shifts * shifts * view.growth
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
    if view.window is None:
        if view.favoured:
            return scan(-edge, powers[-1] * view.mu + edge)
        return scan(min(-edge, powers[-1] * view.mu) - edge, edge)
    window, reach = view.window, math.sqrt(2.0 * depth)
    edge = window.end if view.far else window.near
    hill = (powers[-1] * view.mu * window.width**2 + edge) / (1.0 + window.width**2)
    low = min(-8.0 - reach, -12.0)
    high = max(window.end + window.width * (reach + 40.0), hill + reach * window.width + 2.0)
    if high - low > 400.0:
        raise NotCertified("a window lets far draws through: the value is withheld")
    return np.arange(low, high, 0.04)


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
    """A shift and cells for the damped bound, eq. (8): few steps, or far draws, of which there are few."""
    limit = 1.4 / view.mu if view.rate < 1.0 else math.inf
    power = view.powers(wanted)[1]
    if view.far and view.window is not None:
        shift = min(math.sqrt(2.0 * (wanted.nats + 8.0) / (wanted.steps * view.growth)), limit)
        depth, count = wanted.nats + 8.0 + 0.5 * shift**2 * view.growth, _FAR_CELLS
    elif view.window is None and wanted.steps <= _FEW_STEPS:
        shift = min(1.2 / view.mu, 3.0)
        depth, count = wanted.outer_nats + 10.0, _DAMPED_CELLS
    else:
        return 0.0, None
    x = _axis(view, view.powers(wanted), depth)
    value = power * view.log_r(x) + view.density(x)
    wide = x[value > value.max() - depth]
    start, end = float(wide[0]), float(wide[-1])
    if view.window is None:
        start, end = min(start, -3.0), max(end, power * view.mu + 3.0, 3.0)
    else:
        edge = view.window.near / view.growth / view.window.width**2 - 0.1
        start, end = min(start, edge), end + 0.1
    return shift * view.mu, view.grid(start, end, count)


# --- half-lines and intervals


def panel_counts(
    view: View, ends: tuple[float, float], wanted: Wanted, steep: float = 0.0
) -> tuple[int, int]:
    """(panels, nodes): r stays off its zero, and the ellipse within its room, eq. (12).

    `steep`: a slope of W that a window adds, against which r may grow.
    """
    tallest, mu = view.loss(ends[1]), view.mu
    share = view.rate / (1.0 - view.rate) if view.rate < 1.0 else math.inf
    share *= math.exp(min(tallest, 600.0))
    turn = min(1.0, 1.3 * share)  # v = q e^l is the share of r that turns
    dip = 0.5 * wanted.high * _TALL * _TALL * mu * mu * min(1.0, share)
    pull = mu * turn * (wanted.frequency * _TALL + (wanted.high + 2.0) * (_WIDE - 1.0)) + 0.5
    pull += steep * (_WIDE - 1.0)
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
        cells = view.grid(start, view.end, _FINE_CELLS if view.sharp else _CELLS)
        return BranchRule(PanelRule(0.0, panels, nodes, RHO), (cells,))
    depth = wanted.nats + 4.0
    reach = math.sqrt(2.0 * depth) + 2.0
    window = view.window
    if window is not None:
        far = window.near + window.width * (math.sqrt(2.0 * depth) + 40.0)
        x = np.arange(start, max(far, start + reach), 0.04)
    else:  # on the mirrored branch r^{-tilt} only falls
        wide = (wanted.high + 2.0) * view.mu if view.favoured else 0.0
        x = start + scan(0.0, wide + reach)
    log_r, density = view.log_r(x), view.density(x)
    last = body = start
    for tilt, power in zip((wanted.low, wanted.c, wanted.high), view.powers(wanted), strict=True):
        value = power * log_r + density
        hills = _hill_margin(x, power, view.mu) if view.favoured else 0.0
        # what is left out counts against the whole, which is 1 or more
        top = value.max() if window is None else min(float(value.max()), 0.0)
        # at the other tilts the composition is wanted roughly
        down = depth if tilt == wanted.c else min(depth, math.log(wanted.steps) + _ROUGH)
        last = max(last, float(x[value + hills > top - down][-1]))
        if tilt == wanted.c:
            body = float(x[value > value.max() - 10.0][-1])
    end = max(last, start + 0.1) + (0.04 if window is not None else 0.0)
    body = max(body, start + min(0.1, 5.0 / max(start, 1e-9)))
    steep = 0.0 if window is None else end + max(0.0, end - window.near) / window.width**2
    panels, nodes = panel_counts(view, (start, end), wanted, steep)
    if window is not None:  # the window grows on the ellipse, which is 15/8 of a half-width high
        panels = max(panels, math.ceil(0.5 * (end - start) / (_WIDEST * window.width)))
    cells = view.grid(start, body, _CELLS)
    return BranchRule(PanelRule(view.loss(end), panels, nodes, RHO), (cells,))
