"""Compositions that are used as one step: their whole law, above and below, for the sampler around them.

    one step    free-node measures of each kind (laws.py), put on a lattice of one step for all kinds:
                above, each point is split between its two neighbours; below, points are merged into groups
                whose barycentre is a node (post-processing)
    the sum     tilted, one FFT a kind, its logarithm times the count, one FFT back, in a window of losses
                that Chernoff's bound gives; at several tilts, so that every mass keeps its digits
    as a pair   both distributions of each measure made to sum to one, so that operators apply

docs/theory/bracket.md, Plans on one sample, has each bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dpacct.pld.budget import evaluated, rounded, transformed
from dpacct.pld.loss import gaussian
from dpacct.pld.outcomes import Listed, may_be_listed
from dpacct.pld.pieces import Cut, Pieces, Source, Sources, ever, gathered
from dpacct.pld.stable import Floats, quiet

from .laws import UNIT, Measure, cut, first_top, law_above, law_below
from .line import SumOfMeasures, log1p

Places = npt.NDArray[np.int64]

# log P-mass at the ends of one step: floats end at -745
_ENDS = -700.0
# tilted log mass outside the window of one tilt, on each side: 3e-17, below what transforms round to
_OUTSIDE = -38.0
# places of a window at most, about: .1 s and 40 MB each way
_MOST = 1 << 19
# from one tilt to the next M((c+c')/2) >= e^{-49/8} sqrt(M(c) M(c')): seven deviations of a normal law. Where
# their tilted masses cross both are e^-12 of their peaks, and transforms round to e^-32
_APART = 49.0 / 8.0
# powers that ends of a composition are bounded with
_POWERS = np.geomspace(1e-2, 1e4, 25)
# what the sum of all masses may round to: numpy adds in blocks, 32 units at most
_SUM = 32.0 * UNIT


# -- one step on a lattice ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LatticeLaw(Measure):
    """A measure at offset + step * places, increasing; what is set apart are infinite losses."""

    offset: float
    step: float
    places: Places


def _lattice_law(
    law: Measure, offset: float, step: float, places: Places, masses: Floats, infinite: float
) -> LatticeLaw:
    """The same number of losses, of these masses at these places."""
    kept = masses > 0.0
    places, masses = places[kept], masses[kept]
    top, none = (infinite, 0.0, 0.0), np.zeros(places.size)
    at = offset + step * places
    return LatticeLaw(law.count, at, masses, none, top, math.inf, 0.0, 0.0, offset, step, places)


def split(law: Measure, offset: float, step: float) -> LatticeLaw:
    """The measure above on nodes: a point at l between the nodes a < b keeps p and q = p e^{-l}.

    Its upper share u solves p e^{-l} = p (1 - u) e^{-a} + p u e^{-b}: u = (1 - e^{a-l}) / (1 - e^{a-b}).
    """
    # points raised by 18 units of the largest: differences to nodes are then rounded up
    at = law.at + 2e-15 * (np.abs(law.at).max() + abs(offset) + step)
    below = np.floor((at - offset) / step)
    gap = np.clip(at - (offset + step * below), 0.0, step)
    share = np.expm1(-gap) / math.expm1(-step)
    first = int(below.min())
    place = (below - first).astype(np.int64)
    masses = np.bincount(place, law.mass * (1.0 - share), int(place.max()) + 2)
    masses += np.bincount(place + 1, law.mass * share, masses.size)
    places = first + np.arange(masses.size)
    # losses set apart and masses below all floats count as infinite losses
    infinite = law.top[0] + law.dropped
    return _lattice_law(law, offset, step, places, masses * (1.0 + 4.0 * UNIT), infinite)


def merged_to(law: Measure, offset: float, step: float) -> LatticeLaw:
    """The measure below on nodes: from the bottom up, points are merged until their barycentre is a node.

    A group of barycentre a has sum p_i (1 - e^{a - l_i}) = 0: what lies below the node is made up for by what
    lies above, of which the last point is cut in two. That is post-processing. Where too little lies near
    above, as at the top, it is rounded down. Of an even density in cells of one step this takes off d^2/12 to
    d^2/3 of variance.
    """
    order = np.argsort(law.at)
    losses, masses = law.at[order].tolist(), law.mass[order].tolist()
    if law.top[0] > 0.0 and math.isfinite(law.start):
        losses.append(law.start)
        masses.append(law.top[0])
    count, most = len(losses), float(np.abs(losses).max()) + abs(offset) + step
    near = 1e-12 * step + 2e-15 * most
    places: list[int] = []
    groups: list[float] = []
    i, rest = 0, masses[0]  # the next point, and what is left of it
    masses.append(0.0)
    while i < count:
        place = math.ceil((losses[i] - offset - near) / step)
        node = offset + step * place
        lack = below = above = 0.0
        while i < count and losses[i] < node - near:
            lack += rest * math.expm1(node - losses[i])
            below += rest
            i, rest = i + 1, masses[i + 1]
        while i < count and losses[i] <= node + near:
            above += rest
            i, rest = i + 1, masses[i + 1]
        start = i, rest, above
        # from a nat above, the variance lost is dearer than rounding down
        while i < count and lack > 0.0 and losses[i] < node + 1.0:
            excess = -rest * math.expm1(node - losses[i])
            if excess > lack:
                above += lack / excess * rest
                rest -= lack / excess * rest
                lack = 0.0
            else:
                lack -= excess
                above += rest
                i, rest = i + 1, masses[i + 1]
        if lack > 0.0:  # too little lies above: what lies there is left as it is
            i, rest, above = start
            places += [place - 1, place]
        else:
            places += [place, place]
        groups += [below, above]
    # each sum of terms of up to `step` nats is off by some units of it, each difference of losses by theirs
    offset -= 1e-15 * count * step + 2.0 * near
    found, place_of = np.unique(places, return_inverse=True)
    total = np.bincount(place_of, groups) * (1.0 - 4.0 * UNIT)
    return _lattice_law(law, offset, step, found, total, 0.0)


# -- where to put nodes ----------------------------------------------------------------------------


@lru_cache(maxsize=64)
def coarse(source: Source) -> tuple[Measure, Measure, Floats]:
    """A source on some 1,000 free nodes, above and below, and its two heaviest atoms."""
    edges = source.knots(1025, _ENDS)
    above = cut(source, edges, upper=True)
    below = cut(source, edges, upper=False) if source.bracketed else above
    points = above.where(above.low == above.high)
    atoms = points.loss[np.argsort(points.log_p)[::-1][:2]]
    top = first_top(above)
    return law_above(above, 1.0, top), law_below(below, 1.0, first_top(below)), atoms


def _common_step(kinds: Sources, asked: float) -> float:
    """A step of at most what is asked, of which the two heaviest atoms of a kind are a multiple apart."""
    for source, _ in kinds:
        atoms = coarse(source)[2]
        apart = abs(float(atoms[1] - atoms[0])) if atoms.size > 1 else 0.0
        if apart > 0.5 * asked:
            return apart / math.ceil(apart / asked * (1.0 - 1e-12))
    return asked


def _anchor(source: Source, step: float) -> float:
    """A loss that a node meets: the heaviest atom, or the barycentre of the heaviest points within a step."""
    _, law, atoms = coarse(source)
    if atoms.size:
        return float(atoms[0])
    middle = float(law.at[int(np.argmax(law.mass))])
    near = np.abs(law.at - middle) < 0.5 * step
    # log(p/q) of them together: where they are a spike, a group of `merged_to` is just these
    p = law.mass[near]
    return middle - math.log1p(float(p @ np.expm1(middle - law.at[near])) / float(p.sum()))


def _edges(source: Source, tilts: Floats, offset: float, step: float, top: float) -> Floats:
    """Nodes to cut a law at: at every step where it is dense at some tilt, further apart where it is thin.

    Of all widths with the same sum of mass * width^2 those like density^(-1/3) have the fewest cells. None
    lies above `top`: a loss above it is set apart.
    """
    law = coarse(source)[1]
    ends = np.concatenate((law.at[:1], 0.5 * (law.at[1:] + law.at[:-1]), law.at[-1:]))
    width = np.maximum(np.diff(ends), 1e-300)
    wanted = np.full(width.shape, math.inf)
    for c in tilts.tolist():
        third = np.cbrt(law.tilted(c).t / width + 1e-280)
        wanted = np.minimum(wanted, step / (third * math.sqrt(float((third * width).sum()))))
    wanted = np.clip(wanted, step, max(step, min(0.25, float(np.ptp(law.at)) / 64.0)))
    run = np.concatenate(([0.0], np.cumsum(width / wanted)))
    cells = min(math.ceil(run[-1]), 1 << 15)  # 30 ms at most
    at = np.interp(np.linspace(0.0, run[-1], cells + 1), run, ends)
    places = np.unique(np.rint((at[at < top] - offset) / step))
    places = np.concatenate(([places[0] - 1.0], places, [places[-1] + 1.0]))
    # a spike narrower than a step has knots of its own: groups end where they balance
    knots = source.knots(257, _ENDS)
    spike = knots[:-1][np.diff(knots) < step]
    return np.union1d(offset + step * places, spike[spike < top])


# -- the sum ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tilt:
    """A composition under the tilt c: log moment, mean, variance, and losses that hold almost all of it."""

    c: float
    log_moment: float
    mean: float
    variance: float
    low: float
    high: float


def tilt(laws: Sequence[LatticeLaw], c: float) -> Tilt:
    """Moments at c, and by Chernoff's bound a window with e^-38 of the tilted mass on either side of it."""
    total = SumOfMeasures(laws, 0.0)
    mean, variance = total.cumulants(c)
    # least where x = sqrt(2 * 38 / variance) if the law is normal; less far where it has a rare large loss
    x = math.sqrt(-2.0 * _OUTSIDE / max(variance, 1e-24)) * np.geomspace(2e-3, 2.0, 10)
    log_moment, *others = total.log_moments(c + np.concatenate(([0.0], -x, x)))
    ends = np.split((np.array(others) - log_moment - _OUTSIDE) / np.concatenate((x, x)), 2)
    least, most = (sum(law.count * float(law.at[k]) for law in laws) for k in (0, -1))
    low, high = max(-float(ends[0].min()), least), min(float(ends[1].min()), most)
    return Tilt(c, float(log_moment), mean, variance, low, high)


def tilts(laws: Sequence[LatticeLaw], low: float, high: float) -> list[Tilt]:
    """Tilts from Q's side to P's that read what lies between two losses with its digits.

    Masses beyond a loss l are rounded by e^-18 M(c) e^{-cl} (e^-32 at each place, of e^14 and fewer), and are
    at most inf M(c) e^{-cl}: no tilt is needed beyond the first by which both are alike at the end asked for.
    """
    total, step = SumOfMeasures(laws, 0.0), laws[0].step
    middle, room = tilt(laws, -0.5), 0.1 * (high - low)
    found = [middle]
    for sign, end in ((-1.0, low), (1.0, high)):
        at, cs = middle, sign * _POWERS
        least = float((total.log_moments(cs) - cs * end).min())
        while (
            low < at.mean < high
            and at.variance > step * step
            and at.log_moment - at.c * end - 18.0 > least
        ):
            change = sign * math.sqrt(8.0 * _APART / at.variance)
            for _ in range(30):
                between, far = total.log_moments(at.c + np.array([0.5, 1.0]) * change)
                near = between >= 0.5 * (at.log_moment + far) - _APART
                # beyond what is asked for windows grow with what is never read
                if near and low - room < total.cumulants(at.c + change)[0] < high + room:
                    break
                change *= 0.5
            other = tilt(laws, at.c + change)
            if abs(other.mean - at.mean) < 0.1 * step:
                break
            at = other
            found.append(at)
    return found


@dataclass(frozen=True, eq=False)
class Window:
    """Tilted masses of a composition at places from `first` on, and what each may be off by.

    `off`: absolute, as tilted masses sum to one; `relative`: of the masses themselves, untilted.
    """

    first: int
    masses: Floats
    off: float
    relative: float


def window(laws: Sequence[LatticeLaw], at: Tilt) -> Window:
    """The composition in the window of a tilt; places count from the sum of all offsets.

    They are taken modulo the length: 2e^-38 of mass lands anywhere. An error e_k of a transform z_k becomes
    n e_k Z_k / z_k in the product, summed over k by Cauchy and Schwarz. Of each law the heaviest point is at
    place 0, so that z = 1 + w and only w is rounded: rare losses beside a spike keep their digits.
    """
    step, offset = laws[0].step, sum(law.count * law.offset for law in laws)
    first = math.floor((at.low - offset) / step) - 1
    size = math.ceil((at.high - offset) / step) - first + 2
    # 2^k, or three quarters or five eighths of it: transforms of such lengths are fast
    power = 1 << max(size - 1, 15).bit_length()
    length = next(n for n in (power // 8 * 5, power // 4 * 3, power) if n >= size)
    transformed(len(laws), length)
    # l2 error of a transform: 7 units a doubling for radix 2 (Higham 2002, Theorem 24.2), more for others
    fft, parts, origin, relative = 15.0 * UNIT * math.log2(length), [], 0, 20.0 * UNIT
    log = np.zeros(length // 2 + 1, np.complex128)
    for law in laws:
        tilted = law.tilted(at.c)
        t, heaviest = tilted.t.copy(), int(np.argmax(tilted.t))
        t[heaviest] = 0.0
        others, origin = float(t.sum()), origin + round(law.count) * int(law.places[heaviest])
        turned = np.bincount((law.places - law.places[heaviest]) % length, t, length)
        part = log1p(np.fft.rfft(turned) - others)
        parts.append((law.count, part, others, float(np.linalg.norm(t))))
        log += law.count * part
        # an exponent c x is off by 3 units of itself, of at most 745 where the mass is any
        reach = min(abs(at.c) * float(np.ptp(law.at)), 745.0)
        relative += law.count * (tilted.each + UNIT * (6.0 + 3.0 * reach))
    values = np.exp(log)
    # each frequency stands for its mirror image too, but for the first
    double = np.full(values.size, 2.0 / length)
    double[0] = 1.0 / length
    sizes, off = np.abs(values), 2.0 * math.exp(_OUTSIDE)
    for n, part, others, norm in parts:
        rest = np.exp(np.minimum(log.real - part.real, 0.0))
        off += n * fft * norm * math.sqrt(float(double @ np.square(rest)))
        off += 8.0 * UNIT * n * float(double @ (others * rest + np.abs(part) * sizes))
    # the mean of all values is the mass at the origin: without it the transform back rounds less
    peak = float(double @ values.real)
    masses = np.fft.irfft(values - peak, n=length)
    masses[0] += peak
    off += fft * math.sqrt(float(double @ np.square(np.abs(values - peak)))) + 8.0 * UNIT
    return Window(first, np.roll(masses, (origin - first) % length)[:size], off, relative)


def summed(
    laws: Sequence[LatticeLaw], at: Sequence[Tilt], *, upper: bool
) -> tuple[Floats, Floats, float]:
    """Losses, log P-masses on one side of the truth, and the P-mass of infinite losses.

    Every tilt bounds all masses of its window, P = M(c) e^{-cl} times what is tilted; the nearest counts.
    """
    step, offset = laws[0].step, sum(law.count * law.offset for law in laws)
    windows = [(one, window(laws, one)) for one in at]
    # from the lowest tilt's first place to the highest one's last: others round by too much beyond
    order = sorted(windows, key=lambda one: one[0].c)
    first, last = order[0][1].first, order[-1][1].first + order[-1][1].masses.size
    losses = offset + step * (first + np.arange(last - first, dtype=np.float64))
    evaluated(4 * losses.size)
    result = np.full(losses.size, 0.0 if upper else -math.inf)
    for one, seen in windows:
        start, stop = max(seen.first, first), min(seen.first + seen.masses.size, last)
        part, own = (slice(start - zero, stop - zero) for zero in (first, seen.first))
        masses = seen.masses[own]
        scale = one.log_moment - one.c * losses[part]
        error = seen.relative + 8.0 * UNIT * (np.abs(one.c * losses[part]) + abs(one.log_moment))
        with np.errstate(divide="ignore"):
            if upper:
                level = np.log(np.maximum(masses, 0.0) + seen.off) + scale + error
                result[part] = np.minimum(result[part], level)
            else:
                level = np.log(np.maximum(masses - seen.off, 0.0)) + scale - error
                result[part] = np.maximum(result[part], level)
    if not upper:
        return losses, result, 0.0
    # what lies outside all windows: as good as infinite, or at the least loss
    result[0] = min(np.logaddexp(result[0], _log_beyond(laws, at, -1.0)), 0.0)
    return losses, result, min(math.exp(_log_beyond(laws, at, 1.0)) + _infinite(laws), 1.0)


def _log_beyond(laws: Sequence[LatticeLaw], at: Sequence[Tilt], sign: float) -> float:
    """log P-mass of sums above all windows, or below all, at most: Chernoff's bound for P or any tilt's."""
    last = max(at, key=lambda one: sign * one.c)
    end = last.high if sign > 0.0 else last.low
    if sign * sum(law.count * float(law.at[-1 if sign > 0.0 else 0]) for law in laws) <= sign * end:
        return -math.inf
    cs = sign * _POWERS
    bound = float((SumOfMeasures(laws, 0.0).log_moments(cs) - cs * end).min())
    if sign * last.c >= 0.0:
        bound = min(bound, _OUTSIDE + last.log_moment - last.c * end)
    return min(bound, 0.0)


def _infinite(laws: Sequence[LatticeLaw]) -> float:
    """P-mass of sums with an infinite loss: prod (F + I)^n - prod F^n, a small one with its digits."""
    whole = lost = 0.0
    for law in laws:
        mass = float(law.mass.sum()) + law.top[0]
        whole += law.count * math.log(mass)
        lost += law.count * math.log1p(-law.top[0] / mass)
    return math.exp(whole) * -math.expm1(lost) * (1.0 + 1e-12)


# -- as a pair -------------------------------------------------------------------------------------


def pair_above(losses: Floats, log_p: Floats, beyond: float, infinite: float) -> Pieces:
    """The measure above as a pair: P's excess over one is taken from the lowest losses.

    h(0) = 1 for any pair, and the profile of the measure is above 1 there: the chord from (0, 1) to where it
    meets the profile lies above the truth, which is convex. `beyond`: P-mass of which no more is known than
    that the loss is larger than all these.
    """
    masses = np.exp(log_p)
    excess = float(masses.sum()) + beyond + infinite - 1.0 - _SUM
    if excess > 0.0:
        total = np.cumsum(masses)
        last = min(int(np.searchsorted(total, excess)), masses.size - 1)
        masses[last] = max(0.0, float(total[last]) - excess)
        masses[:last] = 0.0
    else:
        masses[0] -= excess
    pair = _pair(losses, masses, infinite)
    if beyond == 0.0:
        return pair
    # Q has less of it than e^-end of P's: e^-600 of that, hardly any, is a bound
    level, end = np.array([math.log(beyond)]), losses[-1:]
    return Pieces.join(pair, Pieces(level, end + 600.0, end, np.array([math.inf])))


def pair_below(losses: Floats, log_p: Floats, infinite: float) -> Pieces:
    """The measure below as a pair: the lowest losses become the one point that makes both sums one.

    One point at log(p/q) has the profile (p - gamma q)_+: under it the whole is 1 - gamma, below any profile.
    """
    masses = np.exp(log_p)
    with quiet():
        q = np.exp(log_p - losses)
        # about the point that all losses below the k-th leave
        p_rest = np.maximum(1.0 - infinite - np.cumsum(masses[::-1])[::-1], 0.0)
        q_rest = 1.0 - np.cumsum(q[::-1])[::-1]
        place = np.where(q_rest > 0.0, np.log(p_rest / q_rest), math.inf)
    for k in np.flatnonzero(place <= losses).tolist():
        p_left = 1.0 - infinite - _SUM - float(masses[k:].sum())
        q_left = 1.0 + _SUM - float(q[k:].sum())
        # it must lie below all that stay, so that the profile under it is 1 - gamma
        if p_left > 0.0 and q_left > 0.0 and math.log(p_left / q_left) <= losses[k]:
            at = np.concatenate(([math.log(p_left / q_left)], losses[k:]))
            return _pair(at, np.concatenate(([p_left], masses[k:])), infinite)
    return _pair(np.zeros(1), np.array([max(1.0 - infinite, 1e-300)]), infinite)


def _pair(losses: Floats, masses: Floats, infinite: float) -> Pieces:
    """Points of positive mass; what is missing from Q's sum is where P has none."""
    kept = masses > 0.0
    points = Pieces.points(losses[kept], np.log(masses[kept]))
    rest = 1.0 - float(np.exp(points.log_q).sum())
    return replace(points, infinite=infinite, lost=max(rest, 0.0))


@lru_cache(maxsize=8)  # up to 40 MB each
def whole_pairs(
    parts: tuple[tuple[Source, float], ...], asked: float, reach: float
) -> tuple[Pieces, Pieces]:
    """(above, below) of a composition on a lattice of at most this step, for losses in +-reach."""
    rough = []
    for source, n in parts:
        law = replace(coarse(source)[0], count=n)
        rough.append(split(law, _anchor(source, asked), max(asked, 1e-3 * float(np.ptp(law.at)))))
    about = tilts(rough, -reach, reach)
    step = max(asked, max(one.high - one.low for one in about) / _MOST)
    step = _common_step(parts, step)
    # a loss above `top` puts the sum above all that is asked for, but for what the others hardly ever have
    top = reach + max(-about[0].low, 0.0)
    cs = np.array([one.c for one in about])
    uppers, lowers = [], []
    for source, n in parts:
        anchor = _anchor(source, step)
        edges = _edges(source, cs, anchor, step, top)
        rounded(edges.size)
        above = cut(source, edges, upper=True)
        below = cut(source, edges, upper=False) if source.bracketed else above
        raised = law_above(above, n, min(top, first_top(above)))
        lowered = law_below(below, n, min(top, first_top(below)))
        uppers.append(split(raised, anchor, step))
        lowers.append(merged_to(lowered, anchor, step))
    at = tilts(uppers, -reach, reach)
    widest = max(one.high - one.low for one in at)
    if widest > 2.0 * _MOST * step:
        return whole_pairs(parts, widest / _MOST, reach)
    infinite = ever((source.infinite, n) for source, n in parts)
    losses, log_p, more = summed(uppers, at, upper=True)
    over = pair_above(losses, log_p, more, min(1.0, infinite * (1.0 + 1e-12)))
    losses, log_p, _ = summed(lowers, [tilt(lowers, one.c) for one in at], upper=False)
    return over, pair_below(losses, log_p, infinite * (1.0 - 1e-12))


# -- as a source -----------------------------------------------------------------------------------


def together(sources: Sources) -> Sources:
    """Merge sources where that is exact: Gaussians become one, as squares of mu add."""
    rest: list[tuple[Source, float]] = []
    squares: list[float] = []
    count = 0.0
    for source, n in sources:
        law = source.distribution
        mu = None if law is None else law.gaussian
        if mu is None:
            rest.append((source, n))
        else:
            squares.append(n * mu * mu)
            count += n
    if count <= 1.0:
        return sources
    return [(Cut(gaussian(math.sqrt(math.fsum(squares)))), 1.0), *rest]


def merged(sources: Sources) -> Sources:
    """Merge sources as brackets take them: one Gaussian, few outcomes listed."""
    fewer = together(sources)
    if sum(n for _, n in fewer) > 1.0 and may_be_listed(fewer):
        return [(Listed(tuple((source, round(n)) for source, n in fewer)), 1.0)]
    return fewer


def nested(parts: Sequence[tuple[Source, int]]) -> Source:
    """A composition as one source."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    if may_be_listed([(source, float(n)) for source, n in parts]):
        return Listed(tuple(parts))
    return Nested(tuple(parts))


@dataclass(frozen=True)
class Nested(Source):
    """The composition of sources (each with its count), in one direction."""

    parts: tuple[tuple[Source, int], ...]

    @property
    def charged(self) -> bool:
        """Return whether every error of every part's masses is bounded."""
        return all(source.charged for source, _ in self.parts)

    @property
    def bracketed(self) -> bool:
        """A composition used as one step is only known between two pairs."""
        return True

    @property
    def infinite(self) -> float:
        """P-mass of an infinite loss."""
        return ever((source.infinite, n) for source, n in self.parts)

    @property
    def lost(self) -> float:
        """Q-mass that P does not have."""
        return ever((source.lost, n) for source, n in self.parts)

    @property
    def ceiling(self) -> float:
        """The sum of what no finite loss exceeds."""
        return sum(count * source.ceiling for source, count in self.parts)

    @cached_property
    def _fewer(self) -> tuple[tuple[Source, float], ...]:
        return tuple(together([(source, float(n)) for source, n in self.parts]))

    def log_moments(self, tilts: Floats) -> Floats:
        """Add up the log moments of independent losses."""
        return np.asarray(sum(count * source.log_moments(tilts) for source, count in self._fewer))

    def span(self, log_mass: float) -> tuple[float, float]:
        """Chernoff's bounds of where P lies, from coarse measures above."""
        up, down = (
            sum(n * coarse(source)[0].log_moments(s * _POWERS) for source, n in self._fewer)
            for s in (1.0, -1.0)
        )
        return -float(((down - log_mass) / _POWERS).min()), float(((up - log_mass) / _POWERS).min())

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Points of a pair on the asked side, gathered between edges."""
        finite = edges[np.isfinite(edges)]
        low, high = self.span(-60.0)
        reach = float(np.abs(finite[[0, -1]]).max()) if finite.size else max(-low, high)
        # a few steps and reaches serve all questions: steps are rounded down, reaches up
        asked = 2.0 ** (math.floor(3.0 * math.log2(self._step(finite))) / 3.0)
        reach = 2.0 ** (math.ceil(3.0 * math.log2(max(reach, 1e-300))) / 3.0)
        pair = whole_pairs(self._fewer, asked, reach)[0 if upper else 1]
        evaluated(10 * pair.loss.size)
        if edges.size >= pair.loss.size:
            return pair
        known = pair.low == pair.high
        points = gathered(pair.where(known), edges)
        return (
            points
            if known.all()
            else Pieces.join(points, replace(pair.where(~known), infinite=0.0, lost=0.0))
        )

    def _step(self, edges: Floats) -> float:
        """A step of the lattice with which K inner steps cost K d^2 as outer cells do D^2.

        D is the distance of edges, of all or where most of P lies, whichever are closer. What lies near a
        node is hardly moved by a lattice, and does not count among the K.
        """
        if edges.size < 2:
            return 0.01
        low, high = self.span(-1.0)
        gaps = np.diff(edges)
        bulk = (edges[1:] > low) & (edges[:-1] < high) & (gaps > 1e-3 * (high - low) / edges.size)
        gap = min(float(np.median(part)) for part in (gaps, gaps[bulk]) if part.size)
        moved = 0.0
        for source, n in self._fewer:
            law = coarse(source)[1]
            off = np.abs(law.at - _anchor(source, gap)) / gap
            moved += n * float(law.mass @ np.minimum(off, 1.0))
        # (1/6 + 1/3) K d^2 of the lattice beside (1/6 + 1/12) D^2 of cells: three times as much
        return 1.2 * gap / math.sqrt(max(moved, 1.0))
