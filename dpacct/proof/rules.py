"""Inner rules for each kind of law: the search's part, in floats; no proof."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.errors import NotCertified, Unsupported

from .branches import PanelRule
from .gaussian import PlainGaussian
from .half_gaussian import SymmetricGaussian
from .hill import piece_width
from .laplace import SYMMETRIC, LaplaceStep
from .sampled_gaussian import GaussianRule, Grid, SampledGaussian

_CELLS = 48
_FAR_CELLS = 360
_FEW_STEPS = 80
MOST_INNER = 60_000


class Wanted(NamedTuple):
    """Tilts in use (the line's, the lowest and highest of the aliasing bound), and accuracy."""

    c: float
    low: float
    high: float
    nats: float
    steps: int
    outer_nats: float
    frequency: float = 0.0


@singledispatch
def propose_rule(law: object, wanted: Wanted) -> tuple[object, float]:
    """A rule for the law, and the nats that its own cancellation costs."""
    told = "guarantees taken on trust are certified among themselves only, not beside noise"
    raise Unsupported(told, argument="method")


@propose_rule.register
def _(law: PlainGaussian, wanted: Wanted) -> tuple[None, float]:
    return None, 0.0


def log_ratio(mu: float, rate: float, x: Floats) -> Floats:
    """log(1 - q + q e^l)."""
    loss = mu * x - 0.5 * mu * mu
    return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + loss))


@propose_rule.register
def _(law: SampledGaussian, wanted: Wanted) -> tuple[GaussianRule, float]:
    sigma = math.sqrt(law.sigma_squared)
    mu, rate = 1.0 / sigma, float(law.rate)
    nats = wanted.nats
    shift, step = _shift_and_step(sigma, rate, law.remove, wanted)
    lift = 0.5 * shift * shift
    depth = nats + lift + 4.0
    edge = math.sqrt(2.0 * depth) + 2.0
    if law.remove:
        tilts = [wanted.low + 1.0, wanted.c + 1.0, wanted.high + 1.0]
        low, high = -edge, tilts[-1] * mu + edge
    else:
        tilts = [-wanted.low, -wanted.c, -wanted.high]
        low, high = min(-edge, tilts[-1] * mu) - edge, edge
    x = _scan(low, high)
    log_r = log_ratio(mu, rate, x)
    kept = np.zeros(x.shape, dtype=bool)
    for power in tilts:
        value = power * log_r - 0.5 * x * x
        hills = _hill_margin(x, power, mu) if law.remove else 0.0
        kept |= value + hills > value.max() - depth
    first = math.floor(min(float(x[kept][0]), -1.0) / step) - 2
    last = math.ceil(max(float(x[kept][-1]), 1.0) / step) + 2
    if last - first > MOST_INNER:
        raise NotCertified(f"the inner rule needs {last - first} nodes: the value is withheld")
    power = tilts[1]
    value = power * log_r - 0.5 * x * x
    # a rare hit counts T times, so the layers look for it where it is T times smaller
    cells = segments(x, value > value.max() - 10.0 - math.log(wanted.steps))
    far_shift, far = 0.0, None
    if wanted.steps <= _FEW_STEPS:
        far_shift = min(1.2 * sigma, 3.0)
        body = x[value > value.max() - wanted.outer_nats - 10.0]
        start = min(float(body[0]), -3.0)
        end = max(float(body[-1]), power * mu + 3.0, 3.0)
        far = Grid(start, (end - start) / _FAR_CELLS, _FAR_CELLS)
    return GaussianRule(shift, step, first, last, cells, far_shift, far), lift


def _hill_margin(x: Floats, power: float, mu: float) -> Floats:
    """How much higher the proof sees a hill that is cut off: chords over its pieces, eq. (6)."""
    widths = np.array([piece_width(max(one, 0.0), power, mu) for one in x.tolist()])
    return np.where(x > 8.0, 3.0 + power * (mu * widths) ** 2 / 32.0, 0.0)


def segments(x: Floats, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[Grid, ...]:
    """A grid of cells on each stretch of kept points, all together few."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], kept.astype(np.int8), [0]))))
    ends: list[tuple[float, float]] = []
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        start, end = float(x[a]) - 0.1, float(x[b - 1]) + 0.1
        if ends and start < ends[-1][1] + 0.01:  # cells may not overlap
            start = ends.pop()[0]
        ends.append((start, end))
    found = []
    for start, end in ends:
        count = min(max(_CELLS, math.ceil((end - start) / 0.35)), 4 * _CELLS)
        found.append(Grid(start, (end - start) / count, count))
    return tuple(found[:4])


def _scan(low: float, high: float) -> Floats:
    if high - low < 4000.0:
        return np.arange(low, high + 0.125, 0.125)
    near = np.arange(-60.0, 60.0, 0.125)
    return np.unique(np.concatenate((near, np.linspace(low, high, 20_000))))


def _shift_and_step(sigma: float, rate: float, remove: bool, wanted: Wanted) -> tuple[float, float]:
    """The shift whose strip allows the largest step, eq. (4)."""
    shifts = 0.49 * math.pi * sigma * np.linspace(0.04, 1.0, 40)
    shifts = np.minimum(shifts, 6.0)
    nats = wanted.nats + 1.0 + 2.0 * shifts * shifts
    if not remove:
        growth = -wanted.high * np.log(np.cos(shifts / sigma))
        flat = np.where(2.0 * shifts / sigma < 1.57, -wanted.high * math.log1p(-rate), np.inf)
        nats = nats + np.minimum(growth, flat)
    steps = 2.0 * math.pi * shifts / nats
    k = int(np.argmax(steps))
    return float(shifts[k]), float(steps[k])


RHO = 4.0
_TALL, _WIDE = 0.5 * (RHO - 1.0 / RHO), 0.5 * (RHO + 1.0 / RHO)
_ROOM = 26.0  # nats by which the ellipse may exceed the panel


def panel_counts(
    mu: float, rate: float, ends: tuple[float, float], tallest: float, wanted: Wanted
) -> tuple[int, int]:
    """(panels, nodes): r stays off its zero, and the ellipse within its room, eq. (12).

    `tallest` is the largest loss of the plain mechanism: v = q e^l is the share of r that turns.
    """
    share = rate / (1.0 - rate) * math.exp(min(tallest, 600.0)) if rate < 1.0 else math.inf
    turn = min(1.0, 1.3 * share)
    dip = 0.5 * wanted.high * _TALL * _TALL * mu * mu * min(1.0, share)
    pull = mu * turn * (wanted.frequency * _TALL + (wanted.high + 2.0) * (_WIDE - 1.0)) + 0.5
    half = min(0.75 * math.pi / (mu * _TALL), 1.2, 0.7 * _ROOM / pull, math.sqrt(6.0 / (dip + 0.1)))
    nodes = math.ceil((wanted.nats + _ROOM + 4.0) / (2.0 * math.log(RHO)))
    return max(1, math.ceil(0.5 * (ends[1] - ends[0]) / half)), nodes


@propose_rule.register
def _(law: SymmetricGaussian, wanted: Wanted) -> tuple[PanelRule, float]:
    mu = 1.0 / math.sqrt(law.sigma_squared)
    depth = wanted.nats + 4.0
    reach = math.sqrt(2.0 * depth) + 2.0
    start, rate = 0.5 * mu, float(law.rate)
    ends, cell_ends = [], []
    for sign in (1.0, -1.0):
        # on the mirrored branch r^{-tilt} only falls
        x = start + _scan(0.0, (wanted.high + 2.0) * mu + reach if sign > 0 else reach)
        log_r = log_ratio(mu, rate, x)
        last, body = 0.0, 0.0
        for tilt in (wanted.low, wanted.c, wanted.high):
            power = (tilt + 1.0) if sign > 0 else -tilt
            value = power * log_r - 0.5 * x * x
            hills = _hill_margin(x, power, mu) if sign > 0 else 0.0
            last = max(last, float(x[value + hills > value.max() - depth][-1]))
            if tilt == wanted.c:
                body = float(x[value > value.max() - 10.0][-1])
        ends.append(max(last, start + 0.1))
        cell_ends.append(max(body, start + min(0.1, 5.0 / start)))
    counts = [
        panel_counts(mu, rate, (start, end), mu * end - 0.5 * mu * mu, wanted) for end in ends
    ]
    panels = (counts[0][0], counts[1][0])
    return PanelRule(panels, tuple(ends), counts[0][1], RHO, _CELLS, tuple(cell_ends)), 0.0


@propose_rule.register
def _(law: LaplaceStep, wanted: Wanted) -> tuple[PanelRule, float]:
    lam = 1.0 / float(law.b)
    symmetric = law.kind == SYMMETRIC
    ends = (0.0 if symmetric else -lam, lam)
    panels, nodes = panel_counts(1.0, float(law.rate), ends, lam, wanted)
    count = 2 if symmetric else 1
    zeros = (0.0,) * count
    return PanelRule((panels,) * count, zeros, nodes, RHO, _CELLS, zeros), 0.0
