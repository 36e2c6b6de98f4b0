"""Quadrature rules for a tilted branch: nodes and weights that hold M(s) = E_P[e^{sL}] to rounding.

The trapezoid rule on a branch without ends, which converges geometrically in the strip of analyticity, and
panels of Gauss and Legendre on a branch with ends.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .loss import Branch
from .stable import Array, Floats, TooFine, quiet

Bools = npt.NDArray[np.bool_]
Nodes = tuple[Array, Array]  # losses, and logs of their P-weights

_GAUSS, _COARSE_GAUSS = (np.polynomial.legendre.leggauss(size) for size in (24, 12))
# e^-42 = 6e-19 of the largest value of an integrand is below half a unit of a double, 1.1e-16, also where
# 100 times as many nodes hold no more than that
NEGLIGIBLE = 42.0
_MOST_NODES, _MOST_PANELS = 40_000, 4000


def _significant(values: Floats, loss: Floats, scale: float) -> Bools:
    """Mark nodes where any of these log integrands matters to the mass, or to E[L^2]."""
    with quiet():
        square = 2.0 * np.log(np.minimum(scale * np.abs(loss) + 1e-300, 1.0))
    both = np.concatenate((values, values + square))
    kept: Bools = both > np.maximum.reduce(both, axis=1, keepdims=True) - NEGLIGIBLE
    return kept


def _places(kept: Bools) -> npt.NDArray[np.intp]:
    """Nodes that any row marks. Raises `TooFine` where there are none, as all values are infinite."""
    places: npt.NDArray[np.intp] = np.logical_or.reduce(kept, axis=0).nonzero()[0]
    if not places.size:
        raise TooFine
    return places


class Panels:
    """Gauss-Legendre between the ends of a branch, graded towards finite ends, where steep tilts live."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch

    def nodes(self, tilts: Floats, frequency: float, scale: float) -> Nodes:
        """A rule to rounding at these tilts and up to this frequency; `scale`: of L^2 beside 1."""
        # 24 points integrate e^{20 x} and e^{20 i x} on [0, 1] to rounding
        return self._on(self._panels(tilts, frequency, scale, 20.0), _GAUSS)

    def coarse(self, low: float, high: float) -> Nodes:
        """A rule to search with, at tilts in [low, high]: half of the nodes leave the root of the error."""
        tilts = np.array([-1.0, 0.0, low, high])
        return self._on(self._panels(tilts, 0.0, max(1.0, high), 50.0), _COARSE_GAUSS)

    def _on(self, panels: tuple[Floats, Floats], gauss: tuple[Floats, Floats]) -> Nodes:
        """Nodes of a Gauss rule on each of these panels."""
        left, width = panels
        x = (left[:, None] + width[:, None] * (0.5 + 0.5 * gauss[0])).ravel()
        loss, log_q = self.branch.at(x)
        log_w = np.log(0.5 * width[:, None] * gauss[1]).ravel()
        return loss, log_q + loss + log_w

    def _panels(
        self, tilts: Floats, frequency: float, scale: float, nats: float
    ) -> tuple[Floats, Floats]:
        """(left end, width) of the panels that hold all that is not negligible under any tilt."""
        x, kept = self._scan(tilts, scale)
        both = kept[:, :-1] | kept[:, 1:]
        # frequencies and steep tilts matter where those tilts have their mass
        steep: Bools = np.asarray(both[np.tile(tilts > 0.0, 2)].any(axis=0))
        if (
            tilts.size > 1 and tilts[-1] > tilts[-2] and steep.any()
        ):  # and where one between may have it
            live = np.flatnonzero(steep)
            steep[live[0] : live[-1] + 1] = True
        # |e^{(c + it) l}| moves by (c/2 + t) |dl| nats over a panel, with |dl| <= steep dx off the axis too
        turns = np.diff(x) * self.branch.steep
        often = (frequency + 0.5 * float(tilts.max())) / nats
        if not float(turns.max(initial=0.0)) * often <= 1.0:
            turns = np.minimum(turns, np.diff(x) * self.branch.turning(x))
        wanted = turns * often
        parts = np.where(steep, np.ceil(wanted).clip(1.0), np.where(both.any(axis=0), 1.0, 0.0))
        if not parts.sum() < _MOST_PANELS:
            raise TooFine
        count = parts.astype(int)
        width = np.repeat(np.diff(x) / np.maximum(count, 1), count)
        index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.repeat(x[:-1], count) + index * width, width

    def _scan(self, tilts: Floats, scale: float) -> tuple[Floats, Bools]:
        """Places that hold all there is, and where each tilt is significant, by mass and by E[L^2]."""
        branch = self.branch
        low, high, unit = branch.low, branch.high, branch.panel
        ends = [end for end in (low, high) if math.isfinite(end)]
        reach = max(16.0, self._far(float(tilts.max())), *(abs(e) for e in ends if abs(e) < 300.0))
        reach = max(reach, low + 16.0, 16.0 - high)
        while True:
            a, b = max(low, -reach), min(high, reach)
            count = max(1, math.ceil((b - a) / unit))
            if count > _MOST_NODES:
                raise TooFine
            x = np.linspace(a, b, count + 1)
            if ends:
                # at tilt c the mass next to an end is e^{-c steep d} wide: panels halve down to that
                depth = max(2, math.ceil(math.log2(unit * branch.steep * (scale + 1.0))))
                halves = unit * 0.5 ** np.arange(1, depth)
                graded = [end + (halves if end == low else -halves) for end in ends]
                x = np.concatenate([x, *graded])
                x.sort()
                x = x[(x >= a) & (x <= b) & np.append(True, x[1:] > x[:-1])]
            with quiet():
                loss, log_q = branch.at(x)
                values = np.multiply.outer(tilts, loss) + (log_q + loss)
            kept = _significant(np.where(np.isnan(values), -np.inf, values), loss, scale)
            open_low, open_high = kept[:, 0].any() and a > low, kept[:, -1].any() and b < high
            if reach > 1e6 or not (open_low or open_high):
                return x, kept
            reach *= 2.0

    def _far(self, c: float) -> float:
        """Up to where a steep tilt may have a peak of its own, beyond a valley, as losses rise."""
        branch = self.branch
        top = branch.high if branch.sign > 0.0 else branch.low
        if math.isfinite(top) or c * branch.steep < 10.0:
            return 0.0
        x = np.geomspace(10.0, 1e7, 300)
        with quiet():
            loss, log_q = branch.at(np.concatenate((np.linspace(-10.0, 10.0, 81), branch.sign * x)))
            value = log_q + (1.0 + c) * loss
        value = np.where(np.isnan(value), -np.inf, value)
        live = np.flatnonzero(value[81:] > value.max() - NEGLIGIBLE)
        return float(x[min(live[-1] + 1, 299)]) if live.size else 0.0


class Even:
    """The trapezoid rule on a branch without ends.

    With the integrand f analytic up to Im x = d, a step h leaves 2 max|f(x + id)| / (e^{2 pi d/h} - 1)
    (Trefethen, Weideman 2014, Theorem 5.1). One look along the axis and at three heights tells both.
    """

    _HEIGHTS = np.array([0.3, 0.6, 1.0])

    def __init__(self, branch: Branch, high: float) -> None:
        self.branch = branch
        unit, reach = branch.panel, 12.0 + (1.0 + max(0.0, high)) * branch.steep
        if not reach < _MOST_PANELS * unit:
            raise TooFine
        near = 12.0 + branch.steep  # the tilts of interest push one way
        left, right = (near, reach) if branch.sign > 0.0 else (reach, near)
        self.spacing = spacing = 0.5 * unit
        self.x = spacing * np.arange(-math.ceil(left / spacing), math.ceil(right / spacing) + 1.0)
        self.loss, log_q = branch.at(self.x)
        self.log_p = log_q + self.loss
        self._above: tuple[Floats, Floats, Floats] | None = None

    def coarse(self, low: float, high: float) -> Nodes:
        """The nodes of the first look, whatever the tilts."""
        return self.loss, self.log_p + math.log(self.spacing)

    def nodes(self, tilts: Floats, frequency: float, scale: float) -> Nodes:
        """Evenly spaced nodes where anything matters under these tilts."""
        values: Floats = np.multiply.outer(tilts, self.loss)
        values += self.log_p
        # sampling has a pole where 1 - r + r e^l = 0, at Im l = pi
        height = min(8.0, 0.97 * math.pi / self.branch.steep)
        heights = height * self._HEIGHTS
        if self._above is None:
            peak = np.maximum.reduce(values, axis=1, keepdims=True)
            live = _places(values > peak - (NEGLIGIBLE + 10.0))
            x = self.x[max(live[0] - 1, 0) : live[-1] + 2]
            self._above = self._raised(x, heights)
        step = self._step(values, self._above, tilts, frequency, heights)
        live = _places(_significant(values, self.loss, scale))
        first, last = max(int(live[0]) - 1, 0), min(int(live[-1]) + 1, self.x.size - 1)
        low, high = math.floor(float(self.x[first]) / step), math.ceil(float(self.x[last]) / step)
        if high - low > _MOST_NODES:
            raise TooFine
        loss, log_q = self.branch.at(step * np.arange(low, high + 1.0))
        return loss, log_q + loss + math.log(step)

    def _raised(self, x: Floats, heights: Floats) -> tuple[Floats, Floats, Floats]:
        """Log of the size of P's density, real and imaginary part of the loss, at heights above the axis.

        Where these are near a place at which the loss is infinite, they are looked at next to it.
        """
        branch = self.branch
        x, height = np.concatenate((x, branch.poles)), heights[:, None]
        if not branch.chain:
            loss, log_q = branch.at(x + 1j * height)
            return (log_q + loss).real, loss.real, np.abs(loss.imag)
        # most operators on normal noise take no complex functions
        loss, log_q = branch.plain(x)
        turn = branch.slope * height
        log_q = log_q + 0.5 * branch.square * height * height
        for operator in branch.chain:
            loss, turn, log_q = operator.aside(loss, turn, log_q)
        return log_q + loss, loss, np.abs(turn)

    @staticmethod
    def _step(
        values: Floats,
        above: tuple[Floats, Floats, Floats],
        tilts: Floats,
        frequency: float,
        heights: Floats,
    ) -> float:
        """The step 2 pi d / (41 + log of how much any tilted integrand grows from the axis to Im x = d).

        41 nats, not 37: what matters is the error relative to M - 1, which is as E[L^2]; and the growth at
        all tilts of the rule, as that of the highest is no bound for the low ones.
        """
        log_p, loss, turn = above
        if frequency:
            log_p = log_p + frequency * turn
        growth = np.multiply.outer(tilts, loss)
        growth += log_p
        rise = np.maximum.reduce(growth, axis=2)
        rise -= np.maximum.reduce(values, axis=1)[:, None]
        rise = np.maximum.reduce(rise, axis=0)
        steps = 2.0 * math.pi * heights / (41.0 + np.maximum(rise, 0.0))
        step = float(np.fmax.reduce(steps))
        if not step > 1e-6:
            raise TooFine
        return step


def rule_for(branch: Branch, high: float) -> Panels | Even:
    """A rule for tilts up to `high`."""
    return Even(branch, high) if branch.whole else Panels(branch)
