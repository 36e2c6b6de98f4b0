"""Lines for sums of common losses: all of them together, or by the largest one.

Where the common losses of many steps reach epsilon together, the vertical through the saddle tells what
they do. A law whose tilted density has a valley between its common losses and rarer ones is telescoped,

    A_b^T = A_a^T + (A_b^T - A_a^T) + ...,    A_y(s) = E[e^{sL}; L <= y],

a condition on the largest loss. Each bracket is the moment function of a positive measure, with a saddle
and a line of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from .lines import Line, even_line
from .loss import LossDistribution
from .moments import Cumulants, Moments, SummedMoments, Tilted, Unbent, tilted
from .rare_law import Counted, SampledLaw, near
from .rules import Nodes
from .saddle import Saddle, Totals
from .stable import Complexes, Floats, TooFine, expm1_linear, log1p

TOLERANCE = 1e-12
"""Relative error at which steps and ends of lines are chosen."""
MOST = 8192
"""Nodes of a line."""
_FIRST = 256  # where a coarse rule does not tell
_CANCELS = 60.0  # nats by which the integrand may be above what it tells
# relative error of a line that needs no telescope, and of all lines of one
_GOOD, _SHARED = 1e-10, 2e-10
_PIECES = (1, 2, 4)  # of what lies above a valley, as they are tried

Laws = Sequence[tuple[LossDistribution, float]]
Sums = tuple[Floats, Floats, Floats]
"""Log of a moment, mean and variance, at some tilts."""


def line(saddle: Saddle, y: float, about: float = math.inf, most: int = MOST) -> Line:
    """The vertical through the saddle at y; raises `TooFine` where none tells, or it cancels too much.

    `about`: log of a sum of which this is to tell a part.
    """
    total = saddle.for_epsilon(y, saddle.start)
    if total.log_delta(y) > about + _CANCELS:
        raise TooFine
    if saddle.plan.nodes > most:  # too far for a coarse rule to see it fall
        saddle.plan = saddle.plan._replace(nodes=_reach(saddle, total, most))
    result = even_line(saddle, total, y, most)
    if result is None:
        raise TooFine
    return result


def _reach(saddle: Saddle, total: Totals[float], most: int) -> int:
    """For how many nodes the integrand matters, by rules that are fine enough; too many if none are."""
    c, step, count = total.c, saddle.plan.step, _FIRST
    # a law that ends at its level falls as 1/t: a product of few of them is not there within so many nodes
    if sum(n for _, n in saddle.moments) * math.log1p(step * most / c) < -math.log(
        saddle.tolerance
    ):
        return 2 * most
    wanted = math.log(saddle.tolerance * math.pi) - 0.5 * math.log(2.0 * math.pi * total.curvature)
    while count <= most:
        far = step * count
        level = sum(n * part.even(c, far / 8.0, 9).real[-2:].max() for part, n in saddle.moments)
        if level + math.log(c * (1.0 + c) / far) < wanted:
            break
        count *= 2
    return count


# -- a sum whose largest loss is above a floor --------------------------------------------------------


class Above(Unbent):
    """log of prod A_i^{n_i} - prod B_i^{n_i}, B_i being A_i without the losses above a floor.

    With s_i the share that these have of A_i, it is sum n_i log A_i + log(1 - e^-nats), and nats
    - sum n_i log(1 - s_i).
    """

    def __init__(self, laws: Laws, floor: float, low: float, high: float) -> None:
        self.parts = [
            (SummedMoments(law.split(floor), low, high, by_loss=True), n) for law, n in laws
        ]
        self.floor = floor

    def _sums(
        self, cs: Floats, parts: Sequence[tuple[float, Sums, Nodes]]
    ) -> tuple[Sums, Floats, Floats]:
        """The sums at some tilts, nats, and what a loss above the floor adds to the mean."""
        log, mean, variance, nats, first, second = np.zeros((6, cs.size))
        for n, sums, (losses, log_w) in parts:
            log, mean, variance = log + n * sums[0], mean + n * sums[1], variance + n * sums[2]
            kept = losses > self.floor
            if kept.any():
                above = tilted(cs, losses[kept], log_w[kept])
                share = np.exp(np.minimum(above[0] - sums[0], -1e-12))
                apart, odds = above[1] - sums[1], share / (1.0 - share)
                nats = nats - n * np.log1p(-share)
                first = first + n * odds * apart
                second = second + n * odds * (above[2] - sums[2] + apart**2 * (1.0 + odds))
        rest = 1.0 / np.expm1(nats)
        variance = np.maximum(variance + rest * (second - (1.0 + rest) * first**2), 1e-300)
        return (log + np.log(-np.expm1(-nats)), mean + rest * first, variance), nats, rest * first

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """From the coarse rules."""
        return self._sums(cs, [(n, part.rough(cs), part.coarse) for part, n in self.parts])[0]

    def _fine(self, c: float, frequency: float) -> tuple[Sums, Floats, Floats]:
        """The same from rules made for this tilt and frequency."""
        parts = []
        for moments, n in self.parts:
            fine = moments.fine(c, frequency)
            of = fine.cumulants
            log, mean, variance = np.array([[of.log_moment], [of.mean], [of.variance]])
            parts.append((n, (log, mean, variance), (fine.losses, fine.log_w)))
        return self._sums(np.array([c]), parts)

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """From rules made for this tilt."""
        return Cumulants(*(float(value[0]) for value in self._fine(c, frequency)[0]))

    def turned(self, c: float, t: Floats) -> Complexes:
        """From the coarse rules."""
        made = [(Tilted(c, part.coarse), n) for part, n in self.parts]
        return self._turned(c, t, made, 0.0, lambda of: of.turned(t))

    def even(self, c: float, step: float, count: int) -> Complexes:
        """From rules made for this tilt and the last frequency."""
        t, far = step * np.arange(count), step * count
        made = [(part.fine(c, far), n) for part, n in self.parts]
        return self._turned(c, t, made, far, lambda of: of.even(step, count))

    def _turned(
        self,
        c: float,
        t: Floats,
        made: Sequence[tuple[Tilted, float]],
        frequency: float,
        log_ratio: Callable[[Tilted], Complexes],
    ) -> Complexes:
        _, nats, shift = self._fine(c, frequency)
        total, turned = -1j * t * shift[0], np.zeros(t.size, complex)
        for whole, n in made:
            ratio = log_ratio(whole)
            total += n * ratio
            kept = whole.losses > self.floor
            if kept.any():
                above = Tilted(c, (whole.losses[kept], whole.log_w[kept]))
                share = math.exp(min(above.level - whole.level, -1e-12))
                apart = 1j * t * (above.weights[2] - whole.weights[2])
                turned -= n * log1p(-share * np.exp(log_ratio(above) - ratio + apart))
        # e^-nats - 1, with its digits where that is little
        rise = expm1_linear(-turned) - turned
        return np.asarray(total + np.log(rise / math.expm1(-nats[0])))


class Largest(Saddle):
    """The saddle of a sum whose largest loss is above a floor."""

    def __init__(self, laws: Laws, floor: float, c: float) -> None:
        self.laws, self.floor = laws, floor
        super().__init__(laws, c, warm=True, by_loss=True, tolerance=TOLERANCE)

    def ready(self, low: float, high: float) -> list[tuple[Moments, float]]:
        """All of them together."""
        return [(Above(self.laws, self.floor, low, high), 1.0)]


# -- which lines ----------------------------------------------------------------------------------------


def valley(law: SampledLaw, level: float, c: float) -> float | None:
    """Where the density tilted by c is lowest between common losses and a rise beyond them, to the level."""
    low, high = law.branch.extent
    losses, log_q = law.branch.at(
        np.linspace(low, min(float(law.place(np.array(level))), high), 800)
    )
    first = int(np.argmax(log_q))
    density = (log_q + (1.0 + c) * losses)[first:]
    least = np.minimum.accumulate(density)
    rises = np.flatnonzero((density > least + 1.0) & (least < density[0] - 3.0))
    if not rises.size:
        return None
    return float(losses[first + int(np.argmin(density[: int(rises[0]) + 1]))])


def lines(
    laws: Counted, level: float, y: float, guess: float, about: float, negligible: float
) -> tuple[list[Line], float]:
    """Lines that tell the sum of losses up to a level at y and close by, and log of a bound of the rest.

    `about`: of log delta, where that is more than they tell. Parts of the telescope that are bounded
    `negligible` nats below the leading one are left out. Raises `TooFine`.
    """
    tilt = guess
    with suppress(TooFine):
        saddle = Saddle(near(laws, level), guess, warm=True, by_loss=True, tolerance=TOLERANCE)
        tilt = saddle.near_epsilon(y)
        whole = line(saddle, y, about)
        if whole.read(y)[2] < _GOOD:
            return [whole], -math.inf
    floors = set()
    for c in (tilt, guess):
        places = [valley(law, level, c) for law, _ in laws]
        floors |= {min(place for place in places if place is not None)} if any(places) else set()
    for pieces, floor in itertools.product(_PIECES, floors):
        with suppress(TooFine):
            return _telescope(laws, level, y, guess, floor, pieces, about, negligible)
    raise TooFine


def _telescope(
    laws: Counted,
    level: float,
    y: float,
    guess: float,
    floor: float,
    pieces: int,
    about: float,
    negligible: float,
) -> tuple[list[Line], float]:
    first = laws[0][0]
    low, high = first.place(np.array((floor, level))).tolist()
    places = np.linspace(low, high, pieces + 1)
    levels = [floor, *first.loss(places[1:-1]).tolist(), level]
    saddles = [Saddle(near(laws, floor), guess, warm=True, by_loss=True, tolerance=TOLERANCE)]
    saddles += [
        Largest(near(laws, over), under, guess) for under, over in itertools.pairwise(levels)
    ]
    bounds = [saddle.bound(y) for saddle in saddles]
    chosen, readings, left_out = [], [], []
    whole = -math.inf
    for k in np.argsort(bounds)[::-1].tolist():  # what leads tells what is too little
        if bounds[k] < whole - negligible:
            left_out.append(bounds[k])
            continue
        chosen.append(line(saddles[k], y, about))
        readings.append(chosen[-1].read(y))
        whole = float(np.logaddexp(whole, readings[-1][0]))
    if any(not error * math.exp(log - whole) < _SHARED for log, _, error in readings):
        raise TooFine
    return chosen, float(np.logaddexp.reduce(left_out, initial=-math.inf))
