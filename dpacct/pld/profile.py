"""Log delta at many epsilons from readings at few: Chebyshev panels that are checked, or chords.

A panel is read at 17 Chebyshev points. Four times what the interpolation from every other of them misses at
the rest is charged to the interpolation from all, whose error is far less once more points help at all:
of an analytic function about the square. A panel is halved where that is above the tolerance, or not a tenth
of what half as many points miss (unless that was below it); where few epsilons were asked for each is read
by itself. A resolved panel serves all later epsilons in it, as a trade-off curve comes back to it. So 10^5
epsilons of a composition take some hundred readings. Where kinks would take too many, delta lies below its
chords, as it is convex in e^eps (Dong, Roth, Su 2022, Proposition 2.12).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .budget import metered
from .stable import Floats

Read = Callable[[Floats], tuple[Floats, Floats]]
"""Upper ends of log delta at an array of epsilons, and their errors: inf for one that is a mere bound."""

_POINTS = 16
# what a panel of every fourth point may miss, for one of every other to be worth its readings; to what share
# that has to fall; and how much of the rest is charged
_ROUGH, _FALL, _CHARGED = 0.1, 0.1, 4.0
# readings after which the rest are chords, and seconds of work, as estimated, after which nothing is resolved
_MOST, _LONG = 3000, 2.0

_ANGLES = np.cos(math.pi * np.arange(_POINTS + 1) / _POINTS)


def _interpolated(nodes: Floats, values: Floats, at: Floats) -> Floats:
    """The polynomial through values at Chebyshev's points with both ends (Berrut, Trefethen 2004, (5.4))."""
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] *= 0.5
    distance = np.subtract.outer(at, nodes)
    distance[distance == 0.0] = 1e-300
    weights = signs / distance
    result: Floats = np.einsum("ij,j->i", weights, values) / weights.sum(axis=1)
    return result


class SkippedReadings:
    """Readings that are not tried between two epsilons at which nothing was resolved.

    Of many the ends and the middle one are tried first, as what does not resolve takes longest.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._failed = (math.inf, -math.inf)

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Return values and errors as `Read` does; value 0 where nothing was tried."""
        values, errors = np.zeros(epsilons.shape), np.full(epsilons.shape, math.inf)
        probes, rest = np.unique([0, epsilons.size // 2, epsilons.size - 1]), slice(None)
        for part in (probes, rest):
            low, high = self._failed
            tried = np.zeros(epsilons.shape, bool)
            tried[part] = True
            tried &= np.isinf(errors) & ((epsilons < low) | (epsilons > high))
            if tried.any():
                values[tried], errors[tried] = self._read(epsilons[tried])
                failed = epsilons[tried & np.isinf(errors)]
                if failed.size and (part is rest or np.isinf(errors[epsilons.size // 2])):
                    self._failed = min(low, float(failed[0])), max(high, float(failed[-1]))
        return values, errors


class Panel(NamedTuple):
    """Chebyshev's points of an interval of epsilons, what was read there, and the error between them."""

    nodes: Floats
    values: Floats
    charged: float

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Values and errors, as of `Read`."""
        result = _interpolated(self.nodes, self.values, epsilons)
        return result, np.full(epsilons.shape, self.charged)


class Profile:
    """A falling function of epsilon >= 0, convex in e^epsilon, that is read at as few places as will do."""

    def __init__(self, *routes: Read, every: bool = False) -> None:
        """`routes`: ways to read it, the first first; `every`: at each epsilon, as kinks are everywhere."""
        self._routes, self._every, self._spent, self._top = routes, every, 0.0, 0.0
        self._readings: dict[float, tuple[float, float]] = {}
        self._alone: Floats = np.empty(0)  # what was asked for outside all panels
        self._panels: list[Panel] = []

    def __call__(self, epsilons: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Upper ends at these, and errors of about the tolerance; inf where no reading resolves.

        At a tolerance of 0 each is read by itself.
        """
        x, inverse = np.unique(np.asarray(epsilons, float), return_inverse=True)
        values, errors = np.full(x.shape, math.nan), np.zeros(x.shape)
        if not x.size:
            return values, errors
        self._top = self._top or max(float(x[-1]), 1e-300)
        while self._top < x[-1]:  # by halves, so that panels are those of before
            self._top *= 2.0
        for panel in self._panels:
            if panel.charged <= tolerance:
                first, last = np.searchsorted(x, panel.nodes[[0, -1]])
                values[first:last], errors[first:last] = panel(x[first:last])
        left = np.isnan(values)
        if left.any():
            values[left], errors[left] = self._resolved(x[left], tolerance)
        return values[inverse], errors[inverse]

    def _resolved(self, x: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Resolve rising epsilons outside all panels."""
        values, errors = np.zeros(x.shape), np.zeros(x.shape)
        asked = np.union1d(self._alone, x)
        panels, most = deque([(0.0, self._top, 0, x.size)]), _MOST + len(self._readings)
        while panels:
            low, high, first, last = panels.popleft()
            part = slice(first, last)
            middle = 0.5 * (low + high)
            cut = first + int(np.searchsorted(x[part], middle))
            few = np.searchsorted(asked, high) - np.searchsorted(asked, low) <= _POINTS + 1
            if self._spent > _LONG:
                values[part], errors[part] = self._chords(x[part]), math.inf
            elif self._every or few or not tolerance:
                values[part], errors[part] = self._at(x[part])
                self._alone = np.union1d(self._alone, x[part])
            elif cut in (first, last):  # all in one half
                ends = (middle, high) if cut == first else (low, middle)
                panels.append((*ends, first, last))
            elif len(self._readings) > most:
                values[part] = self._chords(x[part])
            elif (result := self._panel(low, high, x[part], tolerance)) is not None:
                values[part], errors[part] = result
            else:
                panels += [(low, middle, first, cut), (middle, high, cut, last)]
        return values, errors

    def _at(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Readings, each of which is made once."""
        missing = sorted(e for e in epsilons.tolist() if e not in self._readings)
        if missing:
            at: Floats = np.array(missing)
            values, errors = np.zeros(len(missing)), np.full(len(missing), math.inf)
            with metered() as meter:
                for read in self._routes:
                    unresolved = np.isinf(errors)
                    if unresolved.any():
                        bounds, errors[unresolved] = read(at[unresolved])
                        values[unresolved] = np.minimum(values[unresolved], bounds)
            self._spent += meter.spent
            for k, epsilon in enumerate(missing):
                self._readings[epsilon] = float(values[k]), float(errors[k])
        both = np.array([self._readings[e] for e in epsilons.tolist()])
        return both[:, 0], both[:, 1]

    def _panel(
        self, low: float, high: float, at: Floats, tolerance: float
    ) -> tuple[Floats, Floats] | None:
        """Values and errors between two ends; None where its points do not tell them."""
        nodes = 0.5 * (low + high) - 0.5 * (high - low) * _ANGLES
        nodes[[0, -1]] = low, high
        if self._at(nodes[:1])[0][0] == -math.inf:
            return np.full(at.shape, -math.inf), np.zeros(at.shape)
        before = math.inf
        for every, most in ((8, math.inf), (2, _ROUGH), (1, tolerance / _CHARGED)):
            values, errors = self._at(nodes[::every])
            if np.isinf(errors).all():
                return self._chords(at), np.full(at.shape, math.inf)
            if not (np.isfinite(errors).all() and np.isfinite(values).all()):
                return None
            fewer = _interpolated(nodes[:: 2 * every], values[::2], nodes[every :: 2 * every])
            missed = float(np.abs(fewer - values[1::2]).max())
            settling = every > 1 or missed <= _FALL * before or before <= tolerance
            if missed > most or not settling:
                return None
            before = missed
        self._panels.append(Panel(nodes, values, _CHARGED * missed + 3.0 * float(errors.max())))
        return self._panels[-1](at)

    def _chords(self, at: Floats) -> Floats:
        """Chords in e^epsilon between upper ends that were read; the last one holds beyond.

        What is not known at 0 is a probability there.
        """
        nodes = np.array(sorted(self._readings))
        values, errors = self._at(nodes)
        values = np.minimum.accumulate(values + np.where(np.isinf(errors), 0.0, errors))
        if nodes[0] > 0.0:
            nodes, values = np.append(0.0, nodes), np.append(0.0, values)
        if nodes.size == 1:
            return np.full(at.shape, values[0])  # delta never rises
        right = np.clip(np.searchsorted(nodes, at), 1, nodes.size - 1)
        wide, along = (
            nodes[right] - nodes[right - 1],
            np.minimum(at, nodes[right]) - nodes[right - 1],
        )
        with np.errstate(divide="ignore"):
            share = np.exp(along - wide) * np.expm1(-along) / np.expm1(-wide)
            low, high = np.log1p(-share) + values[right - 1], np.log(share) + values[right]
        result: Floats = np.logaddexp(low, high)
        return result
