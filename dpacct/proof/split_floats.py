"""Near and far draws in floats: for the search, never for the proof."""

from __future__ import annotations

import math

import numpy as np

from dpacct.pld.stable import Floats

from .effort import spend
from .step import Step
from .window import Window

_PANEL, _PANEL_NODES = 0.5, 8
_ENTRY = 4e-8  # seconds for a node and a tilt


class SplitFloats:
    """log N(c), log F(c) in floats, and how fast they decay."""

    def __init__(self, law: Step, window: Window) -> None:
        from scipy.special import log_ndtr

        self.mu, self.rate = math.sqrt(law.mu_squared), float(law.rate)
        self.symmetric, self.window = law.symmetric, window
        low = 0.5 * self.mu if self.symmetric else -10.0
        high = window.end + (0.0 if window.lone else 40.0 * window.width)
        edges = np.linspace(low, high, math.ceil((high - low) / _PANEL) + 1)
        if not window.lone:  # a large tilt may raise a hill far beyond a window
            edges = np.concatenate((edges, high + np.arange(1.0, 31.0)))
        points, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        x = edges[:-1, None] + half * (1.0 + points)
        self.x: Floats = x.ravel()
        loss = self.mu * self.x - 0.5 * self.mu**2
        with np.errstate(all="ignore"):
            self.log_r: Floats = np.log1p(self.rate * np.expm1(loss))
            log_w = np.log(half * weights).ravel() - 0.5 * self.x**2
            self.log_w: Floats = log_w - 0.5 * math.log(2.0 * math.pi)
            ends = (window.near, window.end)
            up, beyond = (log_ndtr((self.x - end) / window.width) for end in ends)
            down, before = (log_ndtr((end - self.x) / window.width) for end in reversed(ends))
            left = up + np.log(-np.expm1(beyond - up))
            right = down + np.log(-np.expm1(before - down))
        far = np.where(self.x < 0.5 * (window.near + window.end), left, right)
        if window.lone:
            before, up = np.where(self.x < window.end, [[0.0], [-np.inf]], [[-np.inf], [0.0]])
        self.log_far: Floats = np.nan_to_num(far, nan=-np.inf, posinf=-np.inf)
        self.log_near: Floats = before
        self._not_near = np.exp(up)

    def logs(self, cs: Floats) -> tuple[Floats, Floats]:
        """log N(c) and log F(c)."""
        spend(_ENTRY * self.x.size * cs.size)
        ratio = self.log_r[:, None]
        with np.errstate(all="ignore"):
            far = _log_sum((self.log_w + self.log_far)[:, None] + (cs + 1.0) * ratio)
            turn = cs * ratio
            risen = np.exp(np.minimum(self.log_near[:, None] + turn, 600.0))
            growth = np.exp(self.log_near)[:, None] * np.expm1(np.minimum(turn, 30.0))
            rise = np.where(turn < 30.0, growth, risen) - self._not_near[:, None]
            excess = (np.exp(self.log_w + self.log_r)[:, None] * rise).sum(0)
            if self.symmetric:
                excess += (np.exp(self.log_w)[:, None] * np.expm1(-cs * ratio)).sum(0)
            large = _log_sum((self.log_w + self.log_near)[:, None] + (cs + 1.0) * ratio)
            if self.symmetric:  # the atom, and its mirror image's at most
                large = np.logaddexp(large, 0.0)
            near = np.where(np.abs(excess) < 10.0, np.log1p(np.clip(excess, -0.999, 10.0)), large)
        if self.window.lone:
            return near, far
        # beyond the grid a hill may stand that is not seen
        square, last = self.window.width**2, float(self.x[-1]) - 3.0
        rise = (cs + 1.0) * self.mu * square
        near = np.where(rise + self.window.near > last * (1.0 + square), np.inf, near)
        return near, np.where(rise + self.window.end > last * (1.0 + square), np.inf, far)

    def near_decay(self, c: float, log_near: float, t: Floats) -> Floats:
        """About -log|N(c + it)/N(c)|, for large frequencies no more than a part of it."""
        with np.errstate(all="ignore"):
            log_mass = self.log_w + self.log_near + (c + 1.0) * self.log_r - log_near
            mass = np.exp(np.minimum(log_mass, 0.0))
        decays = []
        for frequency in t.tolist():
            turn = frequency * self.log_r
            real, imaginary = (mass * (1.0 - np.cos(turn))).sum(), (mass * np.sin(turn)).sum()
            decays.append(max(0.0, float(real - 0.5 * imaginary * imaginary)))
        return np.array(decays)


def _log_sum(values: Floats) -> Floats:
    top = np.max(values, axis=0)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=0)))
