"""Inner rules for each kind of law: the search's part, in floats; no proof."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from dpacct.engine.stable import Floats

from .gaussian import PlainGaussian
from .sampled_gaussian import GaussianRule, Grid, SampledGaussian

_CELLS = 48
_FAR_CELLS = 360
_FEW_STEPS = 80
_MOST_INNER = 60_000


class Wanted(NamedTuple):
    """Tilts in use (the line's, the lowest and highest of the aliasing bound), and accuracy."""

    c: float
    low: float
    high: float
    nats: float
    steps: int
    outer_nats: float


@singledispatch
def propose_rule(law: object, wanted: Wanted) -> tuple[object, float]:
    """A rule for the law, and the nats that its own cancellation costs."""
    raise TypeError(f"no rule for {law!r}")


@propose_rule.register
def _(law: PlainGaussian, wanted: Wanted) -> tuple[None, float]:
    return None, 0.0


def log_ratio(mu: float, rate: float, x: Floats) -> Floats:
    """log(1 - q + q e^l)."""
    loss = mu * x - 0.5 * mu * mu
    return np.logaddexp(math.log1p(-rate), math.log(rate) + loss)


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
        kept |= value > value.max() - depth
    first = math.floor(min(float(x[kept][0]), -1.0) / step) - 2
    last = math.ceil(max(float(x[kept][-1]), 1.0) / step) + 2
    if last - first > _MOST_INNER:
        from dpacct.errors import NotCertified

        raise NotCertified(f"the inner rule needs {last - first} nodes: the value is withheld")
    power = tilts[1]
    value = power * log_r - 0.5 * x * x
    body = x[value > value.max() - 10.0]
    cells = Grid(float(body[0]), float(body[-1] - body[0]) / _CELLS, _CELLS)
    far_shift, far = 0.0, None
    if wanted.steps <= _FEW_STEPS:
        far_shift = min(1.2 * sigma, 3.0)
        body = x[value > value.max() - wanted.outer_nats - 10.0]
        start = min(float(body[0]), -3.0)
        end = max(float(body[-1]), power * mu + 3.0, 3.0)
        far = Grid(start, (end - start) / _FAR_CELLS, _FAR_CELLS)
    return GaussianRule(shift, step, first, last, cells, far_shift, far), lift


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
