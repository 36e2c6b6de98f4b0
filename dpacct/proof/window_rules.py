"""Inner rules under a window: the search's part, in floats; no proof."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.errors import NotCertified

from .branches import PanelRule
from .far_draws import NearDraws
from .half_gaussian import SymmetricGaussian
from .rules import MOST_INNER, RHO, Wanted, log_ratio, panel_counts, segments
from .sampled_gaussian import GaussianRule, Grid
from .window import Window
from .windowed_gaussian import WindowedGaussian

_FAR_CELLS = 120
_CELLS = 48
_FINE_CELLS = 240
_WIDEST = 2.4  # half width of a panel, in widths of the window


def _log_window(window: Window, far: bool, x: Floats) -> Floats:
    from scipy.special import log_ndtr

    if not far:
        return np.asarray(log_ndtr((window.near - x) / window.width))
    rising, falling = (
        log_ndtr((x - window.near) / window.width),
        log_ndtr((window.end - x) / window.width),
    )
    return np.asarray(np.minimum(rising, falling))


def near_rule(part: WindowedGaussian | NearDraws, wanted: Wanted) -> tuple[Any, float]:
    """A rule for near draws, and the nats that its own cancellation costs."""
    if isinstance(part, NearDraws):
        return _half_rule(part, wanted), 0.0
    return _gaussian_rule(part, wanted, 0)


def far_rule(part: WindowedGaussian, wanted: Wanted, copies: int) -> tuple[GaussianRule, float]:
    """A rule for far draws of which there are so many copies."""
    return _gaussian_rule(part, wanted, copies)


def _gaussian_rule(
    part: WindowedGaussian, wanted: Wanted, copies: int
) -> tuple[GaussianRule, float]:
    law, window = part.law, part.window
    sigma, rate = math.sqrt(law.sigma_squared), float(law.rate)
    mu, growth = 1.0 / sigma, 1.0 + window.width**-2
    # eq. (21): the shift whose strip allows the largest step
    shifts = np.minimum(0.49 * math.pi * sigma * np.linspace(0.02, 1.0, 60), 6.0)
    steps = 2.0 * math.pi * shifts / (wanted.nats + 1.0 + 2.0 * shifts * shifts * growth)
    k = int(np.argmax(steps))
    shift, step = float(shifts[k]), float(steps[k])
    lift = 0.5 * shift * shift * growth
    depth = wanted.nats + lift + 4.0
    low = min(-8.0 - math.sqrt(2.0 * depth), -12.0)
    high = window.end + window.width * (math.sqrt(2.0 * depth) + 40.0)
    edge = window.end if part.far else window.near
    hill = ((wanted.high + 1.0) * mu * window.width**2 + edge) / (1.0 + window.width**2)
    high = max(high, hill + math.sqrt(2.0 * depth) * window.width + 2.0)
    if high - low > 400.0:
        raise NotCertified("a window lets far draws through: the value is withheld")
    x = np.arange(low, high, 0.04)
    log_window = _log_window(window, part.far, x)
    log_r = log_ratio(mu, rate, x)
    kept = np.zeros(x.shape, dtype=bool)
    far_shift = min(math.sqrt(2.0 * (wanted.nats + 8.0) / (max(copies, 1) * growth)), 1.4 * sigma)
    margin = wanted.nats + 8.0 + 0.5 * far_shift**2 * growth
    for tilt in (wanted.low, wanted.c, wanted.high):
        value = (tilt + 1.0) * log_r - 0.5 * x * x + log_window
        kept |= value > value.max() - depth
        if tilt == wanted.c:
            body = value > value.max() - 10.0 - (0.0 if part.far else math.log(wanted.steps))
            wide = x[value > value.max() - margin]
    start = float(x[kept][0])
    if part.far:  # left of it the window must fall faster than the noise grows
        start = min(start, window.near / (1.0 + window.width**2) - 0.1)
    else:
        start = min(start, -1.0)
    first, last = math.floor(start / step) - 1, math.ceil(max(float(x[kept][-1]), 1.0) / step) + 2
    if last - first > MOST_INNER:
        raise NotCertified(f"the inner rule needs {last - first} nodes: the value is withheld")
    far = None
    if part.far:
        begin = min(float(wide[0]), window.near / (1.0 + window.width**2) - 0.1)
        far = Grid(begin, (float(wide[-1]) + 0.1 - begin) / _FAR_CELLS, _FAR_CELLS)
    return GaussianRule(
        shift, step, first, last, segments(x, body), far_shift if far else 0.0, far
    ), lift


def _half_rule(part: NearDraws, wanted: Wanted) -> PanelRule:
    law, window = part.law, part.window
    mu, rate = 1.0 / math.sqrt(law.sigma_squared), float(law.rate)
    if window.lone and not isinstance(law, SymmetricGaussian):
        both = (-window.end, window.end)
        count, nodes = panel_counts(mu, rate, both, mu * window.end - 0.5 * mu * mu, wanted)
        return PanelRule((count,), (0.0,), nodes, RHO, _FINE_CELLS, (0.0,))
    depth, start = wanted.nats + 4.0, 0.5 / math.sqrt(law.sigma_squared)
    ends: list[float] = []
    bodies: list[float] = []
    cells = _FINE_CELLS if window.lone else _CELLS
    for favoured in (True, False):
        reach = window.near + window.width * (math.sqrt(2.0 * depth) + 40.0) if favoured else 0.0
        if favoured and window.lone:
            ends, bodies = [window.end], [0.0]
            continue
        x = np.arange(start, max(reach, start + math.sqrt(2.0 * depth) + 2.0), 0.04)
        log_r = log_ratio(mu, rate, x)
        fall = _log_window(window, False, x) if favoured else np.zeros(x.shape)
        last = body = start
        for tilt in (wanted.low, wanted.c, wanted.high):
            value = ((tilt + 1.0) if favoured else -tilt) * log_r - 0.5 * x * x + fall
            # what is left out counts against the whole, which is 1 or more
            last = max(last, float(x[value > min(value.max(), 0.0) - depth][-1]))
            if tilt == wanted.c:
                body = float(x[value > value.max() - 10.0][-1])
        ends.append(last + 0.04)
        bodies.append(max(body, start + 0.1))
    found = [panel_counts(mu, rate, (start, end), mu * end - 0.5 * mu * mu, wanted) for end in ends]
    # the window grows on the ellipse, which is 15/8 of a half-width high
    narrow = 1 if window.lone else math.ceil(0.5 * (ends[0] - start) / (_WIDEST * window.width))
    counts = (max(found[0][0], narrow), found[1][0])
    return PanelRule(counts, tuple(ends), found[0][1], RHO, cells, tuple(bodies))
