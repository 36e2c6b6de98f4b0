"""Places at which the integrand of atoms comes back along the vertical, and a bound of all farther out.

On Re s = c, with X the sum of the tilted losses less epsilon, phi(t) = M(c + it) e^{-it eps}/M(c) and
g(x) = e^{-cx} (1 - e^{-x}) for x > 0, 0 below: delta = M(c) e^{-c eps} E g(X), and the line integrates phi.
Atoms without a common step bring |phi| back near 1 again and again, for ever; but g is continuous, so what
comes back beyond a frequency D hardly matters:

Theorem. Let W be 1 up to D/10, 0 from D on, and a smooth step (of degree 7) between, and let h be the
function with the transform W g^. Then |E g(X) - E h(X)| <= 32/D^2 times the largest of the densities that phi
has below D, p = (1/pi) int_0^D |phi|.
Proof. g - h = e_D * g'', where e_D(x) = e_1(D x)/D has the transform -(1 - W(t/D))/t^2. e_1 falls like x^-5,
and |e_1(x)| <= 0.5436 j(2x/3) for the sum of Fejer's squares j(x) = f(x) + f(x - 2 pi)/2 + f(x + 2 pi)/2,
f(x) = (sin(x/4)/(x/4))^4, which has no zero, its transform on [-1, 1] and the integral 16 pi/3. g'' is 1 at
x = 0 and a density above, of total variation 1 + 2 max(-g') <= 1.28. So |g - h| is at most b = 0.5436/D of
j(2 D x/3) * |g''|, a function of band 2D/3 < D whose transform is at most 13.67/D^2 times 2.28: E b(X) is
that times p at most. The trapezoid rule adds up copies of g, h and b alike.

What lies between the places looked at is not missed: for U(t) = sum of n (1 - |m(t)|) over the laws, m their
tilted characteristic functions and sd^2 the variance of X, U(s)^(1/2) <= (-log |phi(t)|)^(1/2) + |s - t|
sd/2^(1/2) (E cos of Y + dX >= E cos Y - d^2 E X^2/2 - d (E sin^2 Y E X^2)^(1/2), then Minkowski).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .budget import tabulated
from .moments import Parts
from .saddle import Totals
from .stable import Complexes, Floats, TooFine, product

OUT_OF_BAND = 32.0
"""A factor of the density over D^2: frequencies from D on may move E g(X) by so much."""
_FLAT = 0.1  # of D up to which W is 1
_NIL = 38.0  # e^-38 of the integrand is nothing
# distances of the places looked at, first and last, in inverse deviations of X
_COARSE, _FINE = 16.0, 2.0
_WANTED, _ENOUGH = 3e-10, 1e-7  # relative to delta: what D is chosen for, and what it may come to
_MOST_TERMS, _MOST_CLOSER, _MOST_NODES = 1 << 25, 1 << 20, 1 << 16
# terms up to which a transform of all places costs more, and places of one at most
_MOST_DIRECT, _MOST_PLACES = 1 << 15, 1 << 21
# their distance at most, in inverse deviations of X, and in those of one draw
_EVEN, _SLIM = 0.5, 0.04
_ROWS, _COLUMNS = 256, 256  # places that share a table
_A_TERM = 0.2  # entries of a table that a term of it costs
_LIGHT = 0.25  # expected draws of atoms that are left out


TiltedAtoms = tuple[Floats, Floats, float]
"""The logs of a tilted law's weights, its losses, and how often it is drawn."""


@dataclass(frozen=True)
class Loud:
    """The nodes of a trapezoid rule, by number, at which the integrand is something, and D."""

    nodes: npt.NDArray[np.int64]
    end: float

    def weights(self, step: float) -> Floats:
        """W at the nodes."""
        x = np.clip((self.nodes * step / self.end - _FLAT) / (1.0 - _FLAT), 0.0, 1.0)
        return np.asarray(1.0 - x**4 * (35.0 - x * (84.0 - x * (70.0 - 20.0 * x))))

    def error(self, c: float, step: float, sizes: Floats) -> float:
        """Bound what (1/pi) int phi(t)/((1 + it/c) (1 + it/(1 + c))) leaves out, from |phi| at nodes."""
        density = (float(sizes.sum()) * step + math.exp(-_NIL) * self.end) / math.pi
        return OUT_OF_BAND * c * (1.0 + c) / self.end**2 * density + math.exp(-_NIL) * c


def loud(parts: Parts, total: Totals[float], step: float) -> Loud:
    """The nodes k step, k >= 0, that matter to a composition of atoms.

    Raises `TooFine` where they are too many, or too many places would have to be looked at.
    """
    c, sd = total.c, math.sqrt(total.variance)
    laws = [Heavy(law.log_p + c * law.losses, law.losses, n) for law, n in parts]
    atoms, apart = sum(law.losses.size for law in laws), _COARSE / sd
    # the density is about E g(X) c (1 + c)
    wanted = math.sqrt(OUT_OF_BAND * c * (1.0 + c) / _WANTED)
    rows = min(math.ceil(wanted / apart / _COLUMNS), _MOST_TERMS // (atoms * _COLUMNS))
    if not rows:
        raise TooFine
    end = rows * _COLUMNS * apart
    level = np.concatenate(
        [_even(laws, k, min(k + _ROWS, rows), apart) for k in range(0, rows, _ROWS)]
    )
    seen = _closer(laws, apart * np.flatnonzero(level <= _quiet(apart * sd)), sd)
    apart = _FINE / sd
    width = math.ceil(min(0.5 * apart / step, float(_MOST_NODES))) + 1
    most = _MOST_NODES // (2 * width + 1)
    if not most:
        raise TooFine
    if seen.size > most:  # D is less, and what lies beyond it is charged
        seen, end = seen[:most], seen[most] - apart
    if not OUT_OF_BAND * c * (1.0 + c) < _ENOUGH * end**2:
        raise TooFine
    middles = np.rint(seen / step).astype(np.int64)
    nodes = np.unique(np.abs(middles[:, None] + np.arange(-width, width + 1)))
    return Loud(nodes[nodes * step < end], end)


def quiet_between(laws: Sequence[Heavy], sd: float, start: float, end: float) -> bool:
    """Return whether |phi| is below e^-`_NIL` at all frequencies from start to end. Raises `TooFine`."""
    apart = _COARSE / sd
    count = max(0.0, math.ceil((end - start) / apart))
    if count * sum(law.losses.size for law in laws) > _MOST_CLOSER:
        raise TooFine
    places = start + apart * (np.arange(count) + 0.5)
    return not _closer(laws, places[_expected(laws, places) <= _quiet(_COARSE)], sd).size


def quiet_period(laws: Sequence[TiltedAtoms], sd: float, start: float, step: float) -> bool:
    """Return whether |phi| is below e^-`_NIL` from `start` to half of the period of losses on a lattice.

    Places that divide the period evenly are one transform of each law. Between two of them U is bounded as
    above, and |m| by the mean size of a loss times the way. Raises `TooFine`.
    """
    half, atoms = math.pi / step, sum(losses.size for _, losses, _ in laws)
    heavy = [Heavy(*law, light=0.0) for law in laws]
    apart = min(_EVEN / sd, _SLIM / max(law.deviation for law in heavy))
    count = 2 ** math.ceil(math.log2(max(2.0 * half / apart, 2.0)))
    if (half - start) * sd / _COARSE * atoms <= _MOST_DIRECT or count > _MOST_PLACES:
        return quiet_between([Heavy(*law) for law in laws], sd, start, half)
    apart = 2.0 * half / count
    expected, level = np.zeros((2, count // 2 + 1))
    for law in heavy:
        tabulated(count)
        index = np.rint((law.losses - law.losses.min()) / step).astype(np.int64) % count
        size = np.abs(np.fft.rfft(np.bincount(index, law.weights, count)))
        expected += law.count * (1.0 - size)
        level += law.count * np.log(np.minimum(size + 0.5 * apart * law.deviation, 1.0))
    quiet = (expected > _quiet(apart * sd)) | (level < -_NIL)
    return bool(quiet[round(start / apart) :].all())


def _closer(laws: Sequence[Heavy], seen: Floats, sd: float) -> Floats:
    """Return the places, `_FINE` inverse deviations apart, that are not quiet beside coarser ones seen."""
    apart, atoms = _COARSE, sum(law.losses.size for law in laws)
    while apart > _FINE:
        apart *= 0.5
        seen = (seen[:, None] + apart / sd * np.array([-0.5, 0.5])).ravel()
        if seen.size * atoms > _MOST_CLOSER:
            raise TooFine
        seen = seen[_expected(laws, seen) <= _quiet(apart)]
    return seen


def _quiet(apart: float) -> float:
    """U at a place, if |phi| is above e^-`_NIL` within half this distance, in inverse deviations of X."""
    return (math.sqrt(_NIL) + 0.5 * apart / math.sqrt(2.0)) ** 2


class Heavy:
    """The atoms of a tilted law that together are all but a few of its draws, about their mean."""

    def __init__(
        self, log_weights: Floats, losses: Floats, count: float, light: float = _LIGHT
    ) -> None:
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        order = np.argsort(weights)[::-1]
        left = 1.0 - np.cumsum(weights[order])
        kept = order[: int(np.count_nonzero(left * count > light)) + 1]
        self.weights, self.count = weights[kept], count
        self.losses = losses[kept] - float(weights @ losses)
        self.left = max(0.0, 1.0 - float(self.weights.sum()))

    @property
    def deviation(self) -> float:
        """The standard deviation of a draw."""
        return math.sqrt(float(self.weights @ np.square(self.losses)))

    def expected(self, sums: Complexes) -> Floats:
        """n (1 - |m|), from the sums of these atoms, or a little less."""
        return np.asarray(self.count * (1.0 - self.left - np.abs(sums)))


def _even(laws: Sequence[Heavy], first: int, last: int, apart: float) -> Floats:
    """U at `_COLUMNS` places of each of some rows."""
    tabulated(math.ceil(_A_TERM * (last - first) * _COLUMNS * sum(law.losses.size for law in laws)))
    starts = np.arange(first, last) * (_COLUMNS * apart)
    inside = np.arange(_COLUMNS) * apart
    level = np.zeros((last - first, _COLUMNS))
    for law in laws:
        rows = np.exp(1j * np.multiply.outer(starts, law.losses)) * law.weights
        level += law.expected(product(rows, np.exp(1j * np.multiply.outer(law.losses, inside))))
    return level.ravel()


def _expected(laws: Sequence[Heavy], places: Floats) -> Floats:
    """U at some places."""
    level = np.zeros(places.size)
    for law in laws:
        tabulated(places.size * law.losses.size)
        level += law.expected(np.exp(1j * np.multiply.outer(places, law.losses)) @ law.weights)
    return level
