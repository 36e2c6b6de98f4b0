"""Rules that sum a tilted branch: where it has its nodes, on the axis and on paths beside it.

The trapezoid rule on a branch without ends, geometric in the strip of analyticity, and panels of Gauss and
Legendre between ends.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .loss import Branch
from .stable import Array, Floats, TooFine, log1p, quiet

Bools = npt.NDArray[np.bool_]
Nodes = tuple[Array, Array]  # losses, and logs of their P-weights

_GAUSS, _COARSE_GAUSS = (np.polynomial.legendre.leggauss(size) for size in (24, 12))
NEGLIGIBLE = 42.0
"""Nats below the peak of a tilted integrand, on its P-mass or on L^2 of it."""
_FOLDED = 41.0  # nats below the peak at which an even rule folds back what it leaves out
_LEAST_GAP = 0.97  # of the way to where the loss is infinite a strip may go so far
_MOST_NODES = 40_000
_MOST_PANELS = 4000
_FIRST, _FINER = 0.5, 0.3  # of a panel: distance of the nodes of a first look at the axis
_MOST_WINDOW = 4000  # panels' widths that a trapezoid rule may have to look at
# off the axis: shares of the height, and nats by which what is summed there may be larger than on it
_SHIFTS, _RISE = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08, 0.05, 0.03]), 1.0


def _live(values: Floats, loss: Floats, scale: float) -> Bools:
    """Mark where any of these logs of integrands matters, weighted by the squared loss or not."""
    with quiet():
        small = 2.0 * np.log(np.minimum(scale * np.abs(loss) + 1e-300, 1.0))
    both = np.concatenate((values, values + small))
    kept: Bools = both > np.maximum.reduce(both, axis=1, keepdims=True) - NEGLIGIBLE
    return kept


def _felt(kept: Bools) -> npt.NDArray[np.intp]:
    """Places that any row marks. Raises `TooFine` where there are none, as all numbers are infinite."""
    places: npt.NDArray[np.intp] = np.logical_or.reduce(kept, axis=0).nonzero()[0]
    if not places.size:
        raise TooFine
    return places


def _beside(branch: Branch, x: Floats, heights: Floats) -> tuple[Floats, Floats, Floats]:
    """About the loss, the size of its imaginary part, and log of the size of q, at heights above the axis."""
    height = heights[:, None]
    if not branch.square or not branch.chain:
        loss, log_q = branch.at(x + 1j * height)
        return loss.real, np.abs(loss.imag), log_q.real
    # most operators on normal noise take no complex functions
    loss, log_q = branch.plain(x)
    turn = branch.slope * height
    log_q = log_q + 0.5 * branch.square * height * height
    for operator in branch.chain:
        loss, turn, log_q = operator.aside(loss, turn, log_q)
    return loss, np.abs(turn), log_q


def _shift(branch: Branch, x: Floats, c: float) -> float:
    """Return the largest shift of a path off the axis at tilt c that keeps sums from cancelling.

    `x`: places that hold the tilted law. Off the axis a steep tilt grows as fast as it falls along it.
    """
    heights = branch.height * _SHIFTS
    with quiet():
        loss, _, log_q = _beside(branch, x, np.concatenate((np.zeros(1), heights)))
        level = np.nan_to_num((1.0 + c) * loss + log_q, nan=-np.inf).max(axis=1)
    fits = np.flatnonzero(level[1:] < level[0] + _RISE)
    return float(heights[fits[0] if fits.size else -1])


class Panels:
    """Gauss-Legendre between the ends of a branch, finer towards finite ends, where steep tilts live.

    `by_loss`: turns are counted by what the loss does, and not as if it were as steep everywhere.
    """

    def __init__(self, branch: Branch, by_loss: bool) -> None:
        self.branch, self.by_loss = branch, by_loss
        self._shifts: dict[float, float] = {}

    def nodes(self, tilts: Floats, frequency: float, scale: float) -> Nodes:
        """A rule to rounding at these tilts and up to this frequency; `scale`: of L^2 beside 1."""
        return self._on(self._panels(tilts, frequency, scale, 20.0), _GAUSS)

    def coarse(self, low: float, high: float) -> Nodes:
        """A rule to search with, at tilts in [low, high]: half of the nodes leave the root of the error.

        Not where panels are as wide as the loss allows.
        """
        panels = self._panels(np.array([-1.0, 0.0, low, high]), 0.0, max(1.0, high), 50.0)
        return self._on(panels, _GAUSS if self.by_loss else _COARSE_GAUSS)

    def _on(self, panels: tuple[Floats, Floats], gauss: tuple[Floats, Floats]) -> Nodes:
        """Nodes of a rule of Gauss on each of these panels."""
        left, width = panels
        x = (left[:, None] + width[:, None] * (0.5 + 0.5 * gauss[0])).ravel()
        loss, log_q = self.branch.at(x)
        log_w = np.log(0.5 * width[:, None] * gauss[1]).ravel()
        return loss, log_q + loss + log_w

    def damped(self, c: float, frequency: float) -> Nodes:
        """A rule on a path where e^{itL}, t > 0, is damped: up where the loss rises, down where it falls."""
        branch, height = self.branch, self.shift(c)
        left, width = self._panels(np.array([c]), 0.0, max(1.0, c) + frequency, 20.0, raised=True)
        x = (left[:, None] + width[:, None] * (0.5 + 0.5 * _GAUSS[0])).ravel()
        turn = min(1.0, 1.0 / branch.steep)
        a = 1.0 - np.exp((branch.low - x) / turn)
        b = 1.0 - np.exp((x - branch.high) / turn)
        slope = height * ((1.0 - a) * b - a * (1.0 - b)) / turn
        loss, log_q = branch.at(x + 1j * branch.sign * height * a * b)
        log_w = np.log(0.5 * width[:, None] * _GAUSS[1]).ravel() + log1p(1j * branch.sign * slope)
        return loss, log_q + loss + log_w

    def shift(self, c: float) -> float:
        """Return the largest distance of `damped`'s path from the axis."""
        if c not in self._shifts:
            self._shifts[c] = _shift(self.branch, self._scan(np.array([c]), max(1.0, c))[0], c)
        return self._shifts[c]

    def _panels(
        self, tilts: Floats, frequency: float, scale: float, nats: float, raised: bool = False
    ) -> tuple[Floats, Floats]:
        """(left end, width) of the panels that hold all that is not negligible under any tilt.

        `raised`: for a path off the axis.
        """
        x, loss, kept = self._scan(tilts, scale)
        both = kept[:, :-1] | kept[:, 1:]
        # frequencies and steep tilts matter where those tilts are at home
        steep: Bools = np.asarray(both[np.tile(tilts > 0.0, 2)].any(axis=0))
        if tilts.size > 1 and tilts[-1] > tilts[-2] and steep.any():  # and where one between may be
            live = np.flatnonzero(steep)
            steep[live[0] : live[-1] + 1] = True
        # beside the axis a loss moves as if it were steep; on it little more than between the panel's ends
        turns = np.diff(x) * self.branch.steep
        if self.by_loss and not raised:
            turns = np.minimum(2.5 * np.abs(np.diff(loss)), turns)
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

    def _scan(self, tilts: Floats, scale: float) -> tuple[Floats, Floats, Bools]:
        """Places that hold all there is, their losses, and where each tilt is felt, plain and by L^2."""
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
                depth = max(2, math.ceil(math.log2(unit * branch.steep * (scale + 1.0))))
                halves = unit * 0.5 ** np.arange(1, depth)
                graded = [end + (halves if end == low else -halves) for end in ends]
                x = np.concatenate([x, *graded])
                x.sort()
                x = x[(x >= a) & (x <= b) & np.append(True, x[1:] > x[:-1])]
            with quiet():
                loss, log_q = branch.at(x)
                values = np.multiply.outer(tilts, loss) + (log_q + loss)
            kept = _live(np.where(np.isnan(values), -np.inf, values), loss, scale)
            open_low, open_high = kept[:, 0].any() and a > low, kept[:, -1].any() and b < high
            if reach > 1e6 or not (open_low or open_high):
                return x, loss, kept
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

    One look along the axis, and at heights above it, tells where anything is and which step it takes.
    """

    _HEIGHTS = np.array([0.3, 0.6, 1.0])

    def __init__(self, branch: Branch, high: float, share: float = _FIRST) -> None:
        """`share`: of a panel, by which the nodes of the first look are apart."""
        self.branch, self.reach = branch, 12.0 + (1.0 + max(0.0, high)) * branch.steep
        unit, reach = branch.panel, self.reach
        if not reach < _MOST_WINDOW * unit:
            raise TooFine
        near = 12.0 + branch.steep  # the tilts of interest push one way
        left, right = (near, reach) if branch.sign > 0.0 else (reach, near)
        self.spacing = spacing = share * unit
        self.x = spacing * np.arange(-math.ceil(left / spacing), math.ceil(right / spacing) + 1.0)
        self.loss, log_q = branch.at(self.x)
        self.log_p = log_q + self.loss
        self._above: tuple[Floats, Floats, Floats] | None = None
        self._shifts: dict[float, float] = {}
        self._paths: dict[float, Nodes] = {}

    def coarse(self, low: float, high: float) -> Nodes:
        """The nodes of the first look, whatever the tilts."""
        return self.loss, self.log_p + math.log(self.spacing)

    def nodes(self, tilts: Floats, frequency: float, scale: float) -> Nodes:
        """Evenly spaced nodes where anything matters under these tilts."""
        values = self._values(tilts)
        height = min(8.0, _LEAST_GAP * math.pi / self.branch.steep)
        above = self._above
        if above is None:
            peak = np.maximum.reduce(values, axis=1, keepdims=True)
            live = _felt(values > peak - (NEGLIGIBLE + 10.0))
            x = self.x[max(live[0] - 1, 0) : live[-1] + 2]
            above = self._above = self._raised(x, height * self._HEIGHTS)
        step = self._step(values, above, tilts, frequency, height * self._HEIGHTS)
        return self._at(values, scale, step, 0.0)

    def damped(self, c: float, frequency: float) -> Nodes:
        """The rule on a line off the axis, whatever the frequency."""
        if c not in self._paths:
            self._paths[c] = self._path(c)
        return self._paths[c]

    def _path(self, c: float) -> Nodes:
        if 12.0 + (1.0 + c) * self.branch.steep > self.reach:  # made for smaller tilts
            return Even(self.branch, c)._path(c)
        tilts, shift = np.array([c]), self.shift(c)
        # what is folded back lies above, where a reversed law grows, and below, where frequencies do
        values, room = self._values(tilts), _LEAST_GAP * math.pi / self.branch.steep - shift
        ahead = room * self._HEIGHTS
        above = self._raised(self.x, shift + ahead)
        step = min(self._step(values, above, tilts, 0.0, ahead), 2.0 * math.pi * shift / _FOLDED)
        loss, log_q = self.branch.at(self.x + 1j * self.branch.sign * shift)
        reached = np.maximum(values, (log_q + (1.0 + c) * loss).real)
        return self._at(reached, max(1.0, c), step, shift)

    def shift(self, c: float) -> float:
        """Return the distance of `damped`'s line from the axis."""
        if c not in self._shifts:
            self._shifts[c] = _shift(self.branch, self.x, c)
        return self._shifts[c]

    def _values(self, tilts: Floats) -> Floats:
        values: Floats = np.multiply.outer(tilts, self.loss)
        values += self.log_p
        return values

    def _at(self, values: Floats, scale: float, step: float, shift: float) -> Nodes:
        live = _felt(_live(values, self.loss, scale))
        first, last = max(int(live[0]) - 1, 0), min(int(live[-1]) + 1, self.x.size - 1)
        low, high = math.floor(float(self.x[first]) / step), math.ceil(float(self.x[last]) / step)
        if high - low > _MOST_NODES:
            raise TooFine
        x = step * np.arange(low, high + 1.0)
        loss, log_q = self.branch.at(x + 1j * self.branch.sign * shift if shift else x)
        return loss, log_q + loss + math.log(step)

    def _raised(self, x: Floats, heights: Floats) -> tuple[Floats, Floats, Floats]:
        """Log of the size of P's density, real and imaginary part of the loss, at heights above the axis.

        Where these are near a place at which the loss is infinite, they are looked at next to it.
        """
        x = np.concatenate((x, self.branch.poles))
        loss, turn, log_q = _beside(self.branch, x, heights)
        return log_q + loss, loss, turn

    @staticmethod
    def _step(
        values: Floats,
        above: tuple[Floats, Floats, Floats],
        tilts: Floats,
        frequency: float,
        heights: Floats,
    ) -> float:
        """2 pi d / (41 + log of how much any tilted integrand grows from the axis to Im x = d).

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
        steps = 2.0 * math.pi * heights / (_FOLDED + np.maximum(rise, 0.0))
        step = float(np.fmax.reduce(steps))
        if not step > 1e-6:
            raise TooFine
        return step


def rule_for(branch: Branch, high: float, by_loss: bool, finer: bool) -> Panels | Even:
    """A rule for tilts up to `high`; `finer`: of an even one the first look is."""
    return (
        Even(branch, high, _FINER if finer else _FIRST) if branch.whole else Panels(branch, by_loss)
    )
