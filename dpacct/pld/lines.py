"""Contours: the integrand tabulated on a line, read at any epsilon whose saddle is near."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np

from .atoms import Atoms, convolved, power, spacing
from .loss import ULPS
from .moments import Moments, Summand
from .returns import loud, quiet_period
from .saddle import FEW, Saddle, Totals, VerticalSum, aliasing, atomic_share, reach
from .stable import Array, Complexes, Floats, TooFine, log1p, sin_linear

Jumping = tuple[Moments, float, float]  # a law's moments, its count, and how far it jumps
Reading = tuple[float, float, float]  # log delta, its slope in epsilon, its relative error
Closed = Callable[[float, float], tuple[float, float]]
Path = Callable[[Floats], Complexes]  # z at frequencies
# log |M(c + z)|/M(c) of some laws at frequencies
Level = Callable[[Sequence[Jumping], Floats], Floats]

FLOOR = 1e-13
_PLACED = 4e-16  # relative rounding of the losses beside epsilon
_MOST_FIRST, _MOST = 2400, 6000  # nodes of a line to begin with, and once it was halved
# of the expansion of an odd atom: nodes, terms, and atoms of its law
_MOST_ODD_NODES, _MOST_ODD, _FEW_ATOMS = 4096, 600, 64
_BLOCKS = (193, 961, 5057)  # nodes of the remainder beside atoms, until it is nil
_MOST_BESIDE = 1 << 17  # of the vertical, where atoms lie beside little noise
# of stacks: frequencies at which a revival of |M| is looked for, log|M| that is nil, and what that leaves out
_FREQUENCIES, _NIL, _LEFT_OUT = 96, -26.0, 1e-10
# where |M| may come back beyond a line: frequencies in a period of the jumps of a loss, periods looked at,
# and frequencies in all; how many of the best are looked at more closely, and at how many places
_IN_A_PERIOD, _PERIODS, _MOST_LOOKED_AT, _CLOSER, _PLACES = 12.0, 2.0, 1000, 3, 17
# relative variance of a jump that is broad, and how many of these |M| does not survive: two values have up to
# 0.125 without any breadth, a jump that is normal about 0 has 0.178
_BROAD, _MANY_JUMPS = 0.165, 100.0
# share of a valley's depth by which the top beside it may be misjudged from there
_OFF_A_COSINE = 0.01
_NIL_MASS = 38.0  # e^-38 of M(c) is nothing
_COMES_BACK = 1e-11  # relative size of what a line may leave out there
# terms at the end of a line that tell how fast it falls, and the least that it is taken to fall by
_ENDS, _SLOWEST = 20, 1e-3
# of a rough line: inverse deviations of the loss that it goes, and if it has not fallen by then; its nodes at
# most; and the share of delta that it may leave out
_WIDTHS, _MOST_ROUGH, _FALLEN = (12.0, 30.0), 300, 1e-4
_SEEN = 24  # places of a line at which its noise is looked at
_NOTHING: Reading = (-math.inf, math.nan, math.inf)


class ContourLine:
    """The integrand on a contour through c, good for every epsilon whose saddle is near.

    `closed`: what was taken out, (value, slope) at an epsilon over e^height. `error`: what was left out;
    `relative`: what the value is off by otherwise. `halved`: the step was found by halving, and half the
    nodes tell how far that has settled; else it is that of the aliasing bound.
    """

    def __init__(
        self,
        total: Totals[float],
        z: Complexes,
        weights: Array,
        table: Complexes,
        closed: Closed | None = None,
        error: float = 0.0,
        relative: float = 0.0,
        halved: bool = False,
    ) -> None:
        self.total, self.z, self.weights, self.table = total, z, weights, table
        self.closed, self.error, self.relative, self.halved = closed, error, relative, halved

    def read(self, eps: float) -> Reading:
        """log delta, d log delta / d eps, relative error."""
        t, c = self.total, self.total.c
        height = t.log_moment - c * eps - math.log(c) - math.log1p(c)
        terms = self.weights * np.exp((t.mean - eps) * self.z) * self.table
        value = float(terms.real.sum())
        moment = float((terms * (c + self.z)).real.sum())
        size = float(np.abs(terms.real).sum())
        change = abs(value - float(2.0 * terms[::2].real.sum()))
        last = _beyond(np.abs(terms[-_ENDS:])) if self.halved else _last(np.abs(terms))
        if self.closed is not None:
            v, s = self.closed(eps, height)
            value, moment, size = value + v, moment - s, size + abs(v)
        if not (value > 0.0 and moment > 0.0):
            return _NOTHING
        left = change if self.halved else 1e-14 * _alias(t, eps)
        error = (last + self.error + left + 5e-15 * size) / value + self.relative
        return height + math.log(value), -moment / value, error + _rounding(t, eps)


def _last(sizes: Floats) -> float:
    """The largest of the last four terms; 0 where there are hardly more."""
    return float(sizes[-4:].max()) if sizes.size > 2 * 4 else 0.0


def _beyond(sizes: Floats) -> float:
    """Bound the sum of the terms that follow these, which fall faster and faster: a geometric series.

    A leaning line falls like exp(-lean t (eps - top)) beside atoms: at a smaller epsilon than that for which
    it was ended more is left.
    """
    last = _last(sizes)
    if last == 0.0:
        return 0.0
    fall = math.log(float(sizes[:4].max()) / last) / (sizes.size - 4)
    return last / -math.expm1(-max(fall, _SLOWEST))


def _alias(total: Totals[float], eps: float) -> float:
    """The estimate over e^height: folded copies are below a part of it, and the integral may be less."""
    gap, curvature = eps - total.saddle_epsilon, total.curvature
    return min(1.0, math.exp(-0.5 * gap * gap / curvature) / math.sqrt(2.0 * math.pi * curvature))


def _rounding(total: Totals[float], eps: float) -> float:
    """The rounding error of the height log M(c) - c eps."""
    return FLOOR + 4e-16 * (abs(total.log_moment) + total.c * (abs(eps) + abs(total.mean)))


class EvenLine(ContourLine):
    """The vertical at equal steps; a reading is one exponential and one product with three columns."""

    def __init__(
        self,
        total: Totals[float],
        step: float,
        table: Complexes,
        error: float,
        tolerance: float,
        z: Complexes | None = None,
    ) -> None:
        """`z`: where not all places up to the last are nodes, these, from 0 on."""
        self.tolerance = tolerance
        z = 1j * step * np.arange(table.size) if z is None else z
        s = total.c + z
        table = table * (step / math.pi)
        table[0] *= 0.5
        super().__init__(total, z, table, table, error=error)
        self.columns = np.empty((table.size, 2), complex)
        self.columns[:, 0] = table
        np.multiply(table, s, out=self.columns[:, 1])
        self.size = float(np.abs(table).sum())

    def read(self, eps: float) -> Reading:
        """The trapezoid rule on the contour; `_NOTHING` where its sum is not positive."""
        t, c = self.total, self.total.c
        value, moment = (np.exp((t.mean - eps) * self.z) @ self.columns).real.tolist()
        if not (value > 0.0 and moment > 0.0):
            return _NOTHING
        height = t.log_moment - c * eps - math.log(c * (1.0 + c))
        copies = self.tolerance * _alias(t, eps)
        error = (self.error + copies + 5e-15 * self.size) / value
        return height + math.log(value), -moment / value, error + _rounding(t, eps)


def even_line(
    saddle: Saddle, total: Totals[float], eps: float, most: int = 1 << 14
) -> ContourLine | None:
    """The vertical with the step of the aliasing bound; None if it would take more than `most` nodes."""
    c = total.c
    unit = math.sqrt(2.0 * math.pi * total.curvature)
    if not _planned(saddle, c, eps):
        about, step = aliasing(saddle, c, total.curvature, eps)
        saddle.plan = VerticalSum(eps, step, reach(saddle, about, step))
    _, step, count = saddle.plan
    for _ in range(5):
        if count > most:
            return None
        z = 1j * step * np.arange(count)
        value = np.zeros(count, complex)
        for moments, n in saddle.moments:
            value += n * moments.even(c, step, count)
        table = np.exp(value)
        table /= (1.0 + z / c) * (1.0 + z / (1.0 + c))
        last = float(np.abs(table[-max(1, count // 16) :]).max())
        tail = last * max(step * count, c) / math.pi
        if tail * unit >= saddle.tolerance:
            count *= 2
            continue
        if _seen_to_fall(saddle, total, table, step):
            return EvenLine(total, step, table, tail, saddle.tolerance)
        size, past = _comes_back(saddle, total, step * count)
        if size < _COMES_BACK:
            return EvenLine(total, step, table, tail + size / unit, saddle.tolerance)
        count = math.ceil(past / step)
    return None


def _planned(saddle: Saddle, c: float, eps: float) -> bool:
    """Return whether the plan of the vertical through c, which the saddle settled on, is for about this."""
    return abs(eps - saddle.plan.eps) <= 0.1 / c


def rough_line(saddle: Saddle, c: float, curvature: float, eps: float) -> ContourLine | None:
    """The vertical by coarse rules, as far as one bump of a loss goes; None where that takes many nodes."""
    total, step = aliasing(saddle, c, curvature, eps)
    variance = curvature - 1.0 / (c * c) - 1.0 / (1.0 + c) ** 2
    width, unit = math.sqrt(max(variance, 0.0)) * step, math.sqrt(2.0 * math.pi * curvature)
    for widths in _WIDTHS:
        if not width * _MOST_ROUGH > widths:
            return None
        count = math.ceil(widths / width)
        z = 1j * step * np.arange(count)
        table = np.exp(saddle.coarsely(c, step, count))
        table /= (1.0 + z / c) * (1.0 + z / (1.0 + c))
        left = float(np.abs(table[-2:]).max()) * max(step * count, c) / math.pi
        if left * unit < _FALLEN:
            break
    return EvenLine(total, step, table, left, saddle.tolerance)


def _seen_to_fall(saddle: Saddle, total: Totals[float], table: Complexes, step: float) -> bool:
    """Return whether a line shows every return: one law without atoms, in 1.5 periods of its jumps."""
    parts = saddle.parts
    if all(law.gaussian is not None for law, _ in parts):
        return True
    if len(parts) > 1 or parts[0][0].losses.size:
        return False
    periods = step * table.size * abs(total.third) / (2.0 * math.pi * total.variance)
    sizes = np.abs(table)
    return periods > 1.5 and bool(np.logical_and.reduce(sizes[1:] <= sizes[:-1] + 1e-18))


def _comes_back(
    saddle: Saddle, total: Totals[float], beyond: float, gap: float = 0.0, path: Path | None = None
) -> tuple[float, float]:
    """Return the size of the integrand's largest return, beside its peak, and a frequency past that.

    It is as wide as the peak, and there is as much again on the next few returns. `gap`: of the mean and
    epsilon, which a path that leans weighs.
    """
    height, where = revival(saddle, total, beyond, path)
    z = 1j * where if path is None else complex(path(np.array([where]))[0])
    poles = abs((1.0 + z / total.c) * (1.0 + z / (1.0 + total.c)))
    return 10.0 * math.exp(min(0.0, height + gap * z.real)) / poles, 1.25 * where


def revival(
    saddle: Saddle, total: Totals[float], beyond: float, path: Path | None = None
) -> tuple[float, float]:
    """Return the largest log |M(c + it)|/M(c) beyond a frequency, and the frequency of it.

    Losses that stay near two values, a distance g apart, are in step again at every multiple of 2 pi/g:
    |M| falls to nothing between, and a line that ends there has seen no more than the first valley. g is
    the mean jump, E|X|^3/E X^2 about the mean. Many broad jumps of one bump are not. On a path that leans,
    the same of the integrand over M(c).
    """
    c = total.c
    laws = [(moments, n, *moments.jump(c)) for moments, n in saddle.moments]
    if len(laws) == 1:
        _, _, jump, breadth = laws[0]
        if many_broad_jumps(saddle.parts[0][0], jump, breadth, total.variance):
            return -math.inf, beyond
    jumping = sorted(((m, n, jump) for m, n, jump, _ in laws if jump > 0.0), key=lambda law: law[2])
    smooth = [(m, n, jump) for m, n, jump, _ in laws if not jump > 0.0]

    def rough(counted: Sequence[Jumping], t: Floats) -> Floats:
        return np.asarray(sum(n * moments.turned(c, t).real for moments, n, _ in counted))

    def fine(counted: Sequence[Jumping], t: Floats) -> Floats:
        z = 1j * t if path is None else path(t)
        return np.asarray(sum(n * moments.log_ratio(c, z).real for moments, n, _ in counted))

    level = rough if path is None else fine
    return _highest(jumping, smooth, level, fine, beyond) if jumping else (-math.inf, beyond)


def many_broad_jumps(law: Summand, jump: float, breadth: float, variance: float) -> bool:
    """Return whether a loss of this `Moments.jump` has one bump, and a sum of such variance many of them."""
    of_one_bump = len(law.branches) == 1 and not law.losses.size and breadth > _BROAD
    return of_one_bump and variance > _MANY_JUMPS * jump * jump


def _highest(
    laws: Sequence[Jumping], smooth: Sequence[Jumping], level: Level, fine: Level, beyond: float
) -> tuple[float, float]:
    """Return the largest return of several laws, by rising jumps, beside smooth ones.

    Where the last one's are too many to be followed through the periods of the first one's, its own largest
    value stands for it.
    """
    reach, largest = _PERIODS * 2.0 * math.pi / laws[0][2], laws[-1][2]
    if reach * largest > _MOST_LOOKED_AT * 2.0 * math.pi / _IN_A_PERIOD:
        apart, where = _highest(laws[-1:], smooth, level, fine, beyond)
        if apart < _NIL:
            return apart, where
        apart, _ = _highest(laws[-1:], (), level, fine, beyond)
        rest, where = _highest(laws[:-1], smooth, level, fine, beyond)
        return rest + apart, where
    counted = (*laws, *smooth)
    spacing = 2.0 * math.pi / (largest * _IN_A_PERIOD)
    t = beyond + spacing * np.arange(math.ceil(reach / spacing) + 1)
    height = level(counted, t)
    middle = height[1:-1]
    # the vertex of a parabola through three places is as much too low as a cosine is above it
    bend = np.minimum(height[:-2] - 2.0 * middle + height[2:], -1e-300)
    vertex = middle - 0.125 * np.square(height[2:] - height[:-2]) / bend
    high = vertex > _NIL + _OFF_A_COSINE * float(height.min())
    tops = np.flatnonzero((middle >= height[:-2]) & (middle >= height[2:]) & high) + 1
    candidates = [(float(height[0]), beyond)]
    for k in tops[np.argsort(height[tops])[::-1][:_CLOSER]]:
        about, span = float(t[k]), spacing
        for _ in range(2):
            near = about + span * np.linspace(-1.0, 1.0, _PLACES)
            closer = level(counted, near)
            about, span = float(near[int(closer.argmax())]), span * 2.0 / (_PLACES - 1)
        candidates.append((float(closer.max()), about))
    if max(candidates)[0] > _NIL:
        # at high frequencies a coarse rule is in step where the law is not
        with suppress(TooFine):
            places = np.array([at for _, at in candidates])
            candidates = [*zip(fine(counted, places).tolist(), places.tolist(), strict=True)]
    return max(candidates)


def sinh_line(saddle: Saddle, total: Totals[float], eps: float, lean: float) -> ContourLine | None:
    """s = c + i tau + lean (sqrt(tau^2 + b^2) - b), tau = a sinh y; None where nothing decays within reach.

    The trapezoid rule in y, halved until every other node tells the same.
    """
    c, gap = total.c, total.mean - eps
    width = 1.0 / math.sqrt(total.curvature)
    scale, bow = 8.0 * width, max(0.5 * c, 4.0 * width)

    def path(tau: Floats) -> Complexes:
        return np.asarray(lean * (np.sqrt(tau * tau + bow * bow) - bow) + 1j * tau)

    def table(y: Floats) -> tuple[Complexes, Complexes, Complexes]:
        tau = scale * np.sinh(y)
        z = path(tau)
        weight = (
            (lean * tau / np.sqrt(tau * tau + bow * bow) + 1j)
            * (scale * np.cosh(y))
            / (1j * math.pi)
        )
        value = -np.log((1.0 + z / c) * (1.0 + z / (1.0 + c)))
        for moments, n in saddle.moments:
            value = value + n * moments.log_ratio(c, z)
        return z, weight, np.exp(value)

    # the step of the aliasing bound where the contour is vertical
    planned = _planned(saddle, c, eps)
    even = saddle.plan.step if planned else aliasing(saddle, c, total.curvature, eps)[1]
    step = min(even / scale, 0.06)
    block, tables = min(max(24, math.ceil(0.8 / step)), 800), []
    unit = math.sqrt(2.0 * math.pi * total.curvature)
    returns = 0.0  # a frequency at which it comes back
    for first in range(0, min(30 * block, _MOST_FIRST), block):
        part = table(step * np.arange(first, first + block))
        tables.append(part)
        size = np.abs(part[1] * part[2] * np.exp(gap * part[0]))
        if not np.isfinite(size).all():
            return None
        if float(size[-3:].max()) * unit < 1e-15 and float(part[0][-1].imag) > returns:
            left, returns = _comes_back(saddle, total, float(part[0][-1].imag), gap, path)
            if left < _COMES_BACK:
                break
    else:
        return None
    z, weight, value = (np.concatenate(p) for p in zip(*tables, strict=True))
    weight[0] *= 0.5
    last = math.inf
    while True:
        terms = (weight * value * np.exp(gap * z)).real
        now, previous = step * float(terms.sum()), 2.0 * step * float(terms[::2].sum())
        change = abs(now - previous) / abs(now) if now else math.inf
        # a small change is not the square root of the next: it is taken for the error itself
        stalled = 0.3 * last < change < 1e-9  # rounding, of which it is a sample
        if change < 1e-12 or stalled:
            error = 10.0 * max(change, min(last, 1e-9)) if stalled else change
            error += _noise(saddle, c, z, np.abs(weight * value) * step) / abs(now)
            return ContourLine(total, z, weight * step, value, error=error * abs(now), halved=True)
        if z.size > _MOST:
            return None
        last = change
        middle = table(step * (np.arange(z.size) + 0.5))
        z, weight, value = (
            np.stack((a, b), axis=1).ravel()
            for a, b in zip((z, weight, value), middle, strict=True)
        )
        step *= 0.5


def _noise(saddle: Saddle, c: float, z: Complexes, size: Floats) -> float:
    """Bound the joint rounding error of terms of this size, from the errors of their logs."""
    some = slice(0, None, max(1, z.size // _SEEN))
    noise = np.zeros(z[some].shape)
    for moments, n in saddle.moments:
        noise += n * moments.noise(c, z[some])
    return float(size.sum() * (noise @ size[some]) / size[some].sum())


# -- atoms -----------------------------------------------------------------------------------------


def atomic_mass(saddle: Saddle, total: Totals[float]) -> float:
    """log of the part of M(c) that is sums of atoms alone: what does not decay."""
    log_mass = 0.0
    for (law, n), (moments, _) in zip(saddle.parts, saddle.moments, strict=True):
        if not law.losses.size:
            return -math.inf
        log_mass += n * atomic_share(law, moments, total.c)
    return log_mass


class _Own:
    """One law's part of the remainder: its atoms and its density separately, on the line."""

    def __init__(self, law: Summand, n: float, moments: Moments, c: float) -> None:
        self.n, self.moments, self.c, self.dense = n, moments, c, bool(law.branches)
        of = moments.cumulants(c)
        self.mass = np.exp(law.log_q + (1.0 + c) * law.losses - of.log_moment)
        self.mean, self.spread = of.mean, law.losses - of.mean

    def parts(self, step: float, first: int, count: int) -> tuple[Complexes, Complexes]:
        """log M, and the atoms' part of M, over M(c), at i first step, .., i (count - 1) step."""
        z = 1j * step * np.arange(first, count)
        atoms: Complexes = np.exp(np.multiply.outer(z, self.spread)) @ self.mass
        ratio = self.moments.upward(self.c, step, count)[first:]
        # each rule has a mean of its own, and what it is off by is multiplied by steps and frequencies
        ratio += z * (self.moments.cumulants(self.c).mean - self.mean)
        return ratio, atoms


def atomic_line(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    """prod M_i^{T_i} = A + sum T_i (A/A_i) C_i + R, A of atoms, C_i of densities.

    A and the next term are in closed form, R = O(t^-2) on the vertical. Raises `TooFine`.
    """
    c, parts = total.c, saddle.parts
    powers = [power((law.losses, law.log_p), int(n), c) for law, n in parts]
    product = powers[0]
    for atoms in powers[1:]:
        product = convolved(product, atoms, c)
    terms: list[tuple[Atoms, Summand | None]] = [(product, None)]
    for i, (law, n) in enumerate(parts):
        if law.branches:
            rest = power((law.losses, law.log_p), int(n) - 1, c)
            for j, atoms in enumerate(powers):
                if j != i:
                    rest = convolved(rest, atoms, c)
            terms.append(((rest[0], rest[1] + math.log(n)), law))

    def closed(at: float, height: float) -> tuple[float, float]:
        value = slope = 0.0
        for (losses, logs), law in terms:
            gap = at - losses
            scale = np.exp(np.minimum(logs - height, 700.0))
            if law is None:
                live = gap < 0.0
                value += float(scale[live] @ -np.expm1(gap[live]))
                slope -= float(scale[live] @ np.exp(gap[live]))
                continue
            live = gap < law.range[1]
            if live.any():
                v, s = law.profile(gap[live], atoms=False)
                value += float(scale[live] @ v)
                slope -= float(scale[live] @ s)
        return value, slope

    # logs of masses are off by 1e-16, and powers by as much for each step
    rounding = 3e-16 * sum(n for _, n in parts)
    if not any(law.branches for law, _ in parts):
        none = np.empty(0, complex)
        return ContourLine(total, none, none, none, closed, relative=rounding)
    shares = [
        _Own(law, n, moments, c)
        for (law, n), (moments, _) in zip(parts, saddle.moments, strict=True)
    ]

    def remainder(step: float, first: int, count: int) -> Complexes:
        z = 1j * step * np.arange(first, count)
        both = [share.parts(step, first, count) for share in shares]
        sums = np.sum(
            [share.n * ratio for share, (ratio, _) in zip(shares, both, strict=True)], axis=0
        )
        result: Complexes = np.exp(sums)
        result -= np.prod([a**share.n for share, (_, a) in zip(shares, both, strict=True)], axis=0)
        for i, share in enumerate(shares):
            if share.dense:
                ratio, atoms = both[i]
                term = share.n * (np.exp(ratio) - atoms) * atoms ** (share.n - 1.0)
                for j, other in enumerate(shares):
                    term = term if j == i else term * both[j][1] ** other.n
                result -= term
        result /= (1.0 + z / c) * (1.0 + z / (1.0 + c))
        return result

    # the vertical, uniform step: what is left swings with the ends of the branches
    step = aliasing(saddle, c, total.curvature, eps)[1]
    unit = math.sqrt(2.0 * math.pi * total.curvature)
    blocks, first = [], 0
    for count in _BLOCKS:
        block = remainder(step, first, count)
        blocks.append(block)
        tail = float(np.abs(block[-1024:]).max()) * max(step * (count - 1), c) / math.pi / 3.0
        first = count
        if tail * unit < 1e-11:
            break
    if tail * unit > 1e-4:
        return None
    weights = np.full(first, step / math.pi, complex)
    weights[0] *= 0.5
    z = 1j * step * np.arange(first)
    return ContourLine(total, z, weights, np.concatenate(blocks), closed, 0.3 * tail, rounding)


# -- lattices ----------------------------------------------------------------------------------------


def lattice_point(losses: Floats, count: float) -> tuple[float, float]:
    """A sum of so many of these losses that is near 0, and what it may be off by, as they are rounded.

    The count times any of them would be: 1e7 losses of 1 leave 1e-9. Equal losses of either sign cancel.
    """
    least, largest = float(losses.min()), float(losses.max())
    if (losses == 0.0).any():
        return 0.0, 0.0
    if least > 0.0 or largest < 0.0:
        nearest = least if least > 0.0 else largest
        return count * nearest, ULPS * count * abs(nearest)
    up = float(round(count * (least / (least - largest))))
    down = count - up
    if least == -largest:
        return (up - down) * largest, ULPS * abs(up - down) * largest
    point = Fraction(up) * Fraction(largest) + Fraction(down) * Fraction(least)
    return float(point), ULPS * (up * largest - down * least)


class PeriodicLine(ContourLine):
    """Losses on a lattice of step d: one period of the integrand, at any number of steps.

    Summed over all copies of a period, 1/(s (s+1)) becomes two geometric series in e^{-sd} and e^{-(s+1)d}.
    """

    def __init__(self, saddle: Saddle, total: Totals[float], d: float, most: int = 1 << 16) -> None:
        c, self.d = total.c, d
        points = [lattice_point(law.losses, n) for law, n in saddle.parts]
        self.first: Floats = np.array([sum(point for point, _ in points)])
        self.slip = sum(off for _, off in points)
        self.log_weights: Floats = np.zeros(1)
        self.means: Floats = np.array([total.mean])
        nodes, far = self._nodes(total, total.variance, d, most)
        tilted = [(law.log_p + c * law.losses, law.losses, n) for law, n in saddle.parts]
        if not quiet_period(tilted, math.sqrt(total.variance), far, d):
            nodes, far = self._nodes(total, total.variance, d, most, whole=True)
        z: Complexes = 1j * (np.arange(nodes) + 0.5) * (far / nodes)
        value = np.zeros(nodes, complex)
        for moments, n in saddle.moments:
            value += n * moments.log_ratio(c, z)
        weights = np.full(nodes, d * far / nodes / math.pi, complex)
        super().__init__(total, z, weights, np.exp(value)[None, :])

    @staticmethod
    def _nodes(
        total: Totals[float],
        variance: float,
        d: float,
        most: int,
        whole: bool = False,
        apart: float = 0.0,
    ) -> tuple[int, float]:
        """Return the number of nodes and their end: the whole period, unless nothing comes back before it.

        What lies `apart` from epsilon is not folded onto it: copies are 2 pi over the nodes' distance away.
        """
        spread, period = math.sqrt(max(variance, 1e-300)), 2.0 * math.pi / d
        far = 0.5 * period if whole else min(0.5 * period, 9.5 / spread)
        wanted = max(6.0 * spread, 60.0 / period, (36.0 / total.c + apart) / (2.0 * math.pi))
        if not far * wanted < most:
            raise TooFine
        return math.ceil(far * wanted), far

    def read(self, eps: float) -> Reading:
        """The sum over one period of the lattice of losses."""
        total, d = self.total, self.d
        s = total.c + self.z
        start = self.first + (np.floor((eps - self.first) / d) + 1.0) * d  # the next losses above
        gap = start - eps
        phases = np.exp(
            np.multiply.outer(self.means - start, self.z)
            + (self.log_weights - total.c * gap)[:, None]
        )
        common = self.weights * phases * self.table
        ahead, behind = -np.expm1(-s * d), -np.expm1(-(s + 1.0) * d)
        # 1 / ahead - e^-gap / behind, of which next to a loss little is left
        between = np.multiply.outer(np.exp(-d) * np.expm1(d - gap), np.exp(-s * d))
        terms = common * (between - np.expm1(-gap)[:, None]) / (ahead * behind)
        value = float(terms.real.sum())
        moment = float((common * np.exp(-gap)[:, None] / behind).real.sum())
        if not (value > 0.0 and moment > 0.0):
            return _NOTHING
        error = 3e-15 * float(np.abs(terms).sum()) / value + _rounding(total, eps)
        error += (self.slip + _PLACED * abs(eps)) * moment / value
        return total.log_moment - total.c * eps + math.log(value), -moment / value, error


class OddLine(PeriodicLine):
    """The line of one law that has all its atoms but the lightest, under the tilt, on a lattice.

    With M = B + m e^{sy}, M^T = sum_j C(T,j) m^j e^{sjy} B^{T-j}, and each term has a lattice of its own.
    """

    def __init__(self, law: Summand, count: float, total: Totals[float]) -> None:
        tilted = law.log_p + total.c * law.losses
        order = np.argsort(tilted)[::-1]
        losses, weights = law.losses[order], np.exp(tilted[order] - tilted.max())
        d = spacing(losses[:-1])
        if d is None:
            raise TooFine
        weights /= weights.sum()
        share, odd = float(weights[-1]), float(losses[-1])
        j, self.log_weights = self._often(count, share)
        rest = weights[:-1] / weights[:-1].sum()
        mean = float(rest @ losses[:-1])
        variance = float(rest @ np.square(losses[:-1] - mean))
        points = [lattice_point(losses[:-1], others) for others in (count - j).tolist()]
        self.d, self.first = d, np.array([point for point, _ in points]) + j * odd
        self.slip = max(off for _, off in points) + ULPS * float(j.max()) * abs(odd)
        self.means = (count - j) * mean + j * odd

        def log_ratio(t: Floats) -> Complexes:
            u = np.multiply.outer(t, losses[:-1] - mean)
            half = np.sin(0.5 * u)
            return log1p((-2.0 * half * half) @ rest + 1j * (sin_linear(u) @ rest))

        fewest, apart = float(count - j.max()), float(np.ptp(self.means))
        nodes, far = self._nodes(total, fewest * variance, d, _MOST_ODD_NODES, apart=apart)
        tilted_rest = [(np.log(rest), losses[:-1], fewest)]
        if not quiet_period(tilted_rest, math.sqrt(fewest * variance), far, d):
            nodes, far = self._nodes(
                total, fewest * variance, d, _MOST_ODD_NODES, whole=True, apart=apart
            )
        t = (np.arange(nodes) + 0.5) * (far / nodes)
        line = np.full(nodes, d * far / nodes / math.pi, complex)
        table = np.exp(np.multiply.outer(count - j, log_ratio(t)))
        ContourLine.__init__(self, total, 1j * t, line, table)

    @staticmethod
    def _often(count: float, share: float) -> tuple[Floats, Floats]:
        """Return the possible counts of the odd atom and their binomial log weights. Raises `TooFine`."""
        mean = count * share
        most = min(count - 1.0, math.ceil(mean + 10.0 * math.sqrt(mean) + 30.0))
        if not 1.0 <= most < 20.0 * _MOST_ODD:
            raise TooFine
        j = np.arange(most + 1.0)
        log_choose = np.append(0.0, np.cumsum(np.log((count - j[:-1]) / (j[:-1] + 1.0))))
        weights = log_choose + j * math.log(share) + (count - j) * math.log1p(-share)
        kept = weights > float(weights.max()) - 45.0
        if kept.sum() > _MOST_ODD:
            raise TooFine
        return j[kept], weights[kept]


# -- which one -----------------------------------------------------------------------------------------


def line_for(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    """The contour that resolves this question; None where none does."""
    parts, c = saddle.parts, total.c
    if any(law.stacked is not None for law, _ in parts):
        return _through_stacks(saddle, total, eps)
    if not any(law.losses.size for law, _ in parts):
        line = even_line(saddle, total, eps, FEW)
        if line is not None:
            return line
    if not any(law.branches for law, _ in parts):
        return _of_atoms(saddle, total, eps)
    leans = [moments.lean(c) for moments, _ in saddle.moments]
    same = all(leans) and len({math.copysign(1.0, lean) for lean in leans}) == 1
    all_atoms = all(law.losses.size for law, _ in parts)
    top = sum(n * float(law.losses.max()) if law.losses.size else 0.0 for law, n in parts)
    harmless = all_atoms and same and leans[0] > 0.0 and top < eps
    felt = all_atoms and atomic_mass(saddle, total) > -_NIL_MASS
    if felt and not harmless:
        return _beside_atoms(saddle, total, eps)
    if not same:
        return even_line(saddle, total, eps, _MOST_BESIDE)
    if all_atoms and not felt:
        line = even_line(saddle, total, eps, FEW)
        if line is not None:
            return line
    if total.third > 8.0 * total.variance**1.5:  # one rare jump is the tilted law
        return None
    line = sinh_line(saddle, total, eps, math.copysign(min(abs(v) for v in leans), leans[0]))
    # next to the atoms they decay too slowly
    return _beside_atoms(saddle, total, eps) if line is None and felt else line


def _beside_atoms(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    try:
        return atomic_line(saddle, total, eps)
    except TooFine:
        return None


def _through_stacks(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    """The vertical, where |M| is nil far out at all frequencies: many atoms are as good as a density."""
    c, t = total.c, 12.0 / math.sqrt(total.variance) * np.geomspace(1.0, 1e4, _FREQUENCIES)
    log_size = np.zeros(t.size)
    for (law, n), (moments, _) in zip(saddle.parts, saddle.moments, strict=True):
        if law.stacked is None:
            log_size += n * moments.turned(c, t).real
    # every law makes |M| less: the widest ones alone often settle it
    for law, n in saddle.parts:
        for moments in law.stacked.portions(c) if law.stacked is not None else ():
            left = log_size >= _NIL
            t, log_size = t[left], log_size[left]
            if t.size:
                log_size += n * moments.turned(c, t).real
    if (log_size >= _NIL).any():
        return None
    line = even_line(saddle, total, eps, 2 * FEW)
    if line is not None:
        line.error += _LEFT_OUT
    return line


def _of_atoms(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    """A finite sum, one period, or the vertical and its returns; None where these are too many."""
    parts = saddle.parts
    with suppress(TooFine):
        if all(n <= 2000 and n * law.losses.size <= 4000 for law, n in parts):
            return atomic_line(saddle, total, eps)
    d = spacing(np.unique(np.concatenate([law.losses - law.losses.min() for law, _ in parts])))
    with suppress(TooFine):
        if d is not None:
            return PeriodicLine(saddle, total, d)
        if len(parts) == 1 and 2 < parts[0][0].losses.size <= _FEW_ATOMS:
            return OddLine(*parts[0], total)
    with suppress(TooFine):
        return _with_returns(saddle, total, eps)
    return None


def _with_returns(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine:
    """The vertical of atoms without a step in common, with each return of |M| that matters."""
    c = total.c
    step = aliasing(saddle, c, total.curvature, eps)[1]
    part = loud(saddle.parts, total, step)
    z: Complexes = 1j * step * part.nodes
    value = np.zeros(z.size, complex)
    for moments, n in saddle.moments:
        value += n * moments.log_ratio(c, z)
    table: Complexes = np.exp(value)
    table *= part.weights(step)
    error = part.error(c, step, np.abs(table))
    table /= (1.0 + z / c) * (1.0 + z / (1.0 + c))
    return EvenLine(total, step, table, error, saddle.tolerance, z)


def confirmed(saddle: Saddle, line: ContourLine, eps: float) -> bool:
    """Return whether a line through another place agrees."""
    t = line.total
    atomless = not any(law.losses.size for law, _ in saddle.parts)
    if isinstance(line, EvenLine) and t.third < 8.0 * t.variance**1.5 and atomless:
        return True  # its copies are bounded, by moments that one bump rules
    plan, total = saddle.plan, saddle.settled(0.93 * t.c)
    other, saddle.plan = line_for(saddle, total, eps), plan
    return other is not None and abs(other.read(eps)[0] - line.read(eps)[0]) < 1e-10
