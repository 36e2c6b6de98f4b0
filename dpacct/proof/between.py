"""Repeated Laplace steps sorted by how many losses lie between the atoms, eq. (26) to (28).

Few do where the scale is large. Between two atoms the loss has a smooth density; weighed as sqrt(P Q), which
is even-handed between P and Q, it is a constant where nothing is sampled, and near a polynomial elsewhere.
Then the transform of one step is a polynomial in 1/u times powers of one exponential, and so is every
composition: finite sums, with no contour that would have to outlast the atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, arb_mat, arb_poly, arb_series, ctx

from .balls import ball
from .effort import OUTCOME, spend, spend_on, spend_on_series, spend_once
from .line import payoff_peak
from .plan import Step

MOST_BETWEEN = {True: 20.0, False: 12.0}
"""Losses between the atoms that are expected at most, where this form is used: of plain steps, of sampled."""
MOST_TERMS = 8000
"""Plain steps whose residues, eq. (11), are summed, at most."""
_MOST_DEGREE = 120
_PARTS = 1, 2, 4, 8  # tried in turn, until polynomials are near
_CLOSE = 0.875  # how far a disc reaches towards where r = 1 - q; a binary number
_ENTRY = 2e-9  # seconds of a product, for each bit


@dataclass(frozen=True)
class Smooth:
    """Losses between two atoms: +-y with sqrt-density e^{-lam/2}/(4q) e^{3 (y - x)/2}, y = log r(x)."""

    low: arb  # of y
    high: arb
    mirrored: bool  # the loss is -y


@dataclass(frozen=True)
class Spaced:
    """One step; its atoms are among top - n gap, n = 0, 1, ..., what lies between in parts one gap wide."""

    lam: arb
    rate: arb
    top: arb
    gap: arb
    atoms: tuple[arb, ...]  # sqrt of P-mass times Q-mass
    between: arb  # their mass, the same under P and Q
    smooth: tuple[Smooth, ...]
    plain: bool  # nothing is sampled

    @classmethod
    def of(cls, step: Step, parts: int = 1) -> Spaced:
        """A Laplace step: its atoms at even distances, and what lies between two of them in so many parts."""
        law, q = step.law(), ball(step.rate)
        lam = ball(step.numbers[0])
        points = sorted(law.atoms, key=lambda point: -float(point[0].mid()))
        atoms, top = [arb(0)] * (parts * (len(points) - 1) + 1), points[0][0]
        atoms[::parts] = [mass * (-loss / 2).exp() for loss, mass in points]
        smooth = []
        for branch in law.branches:  # what is favoured has the larger losses
            assert branch.start is not None and branch.end is not None
            low, high = branch.log_r(branch.start), branch.log_r(branch.end)
            edges = [low + (high - low) * k / parts for k in range(parts + 1)]
            cut = [Smooth(a, b, not branch.favoured) for a, b in pairwise(edges)]
            smooth += cut[::-1] if branch.favoured else cut
        gap, between = high - low, -(-lam).expm1() / 2
        if step.symmetric:
            gap, between = top, ((2 - q) * (-lam / 2).exp() + q) * -(-lam / 2).expm1() / 2
        return cls(lam, q, top, gap / parts, tuple(atoms), between, tuple(smooth), step.rate == 1)


def _fitted(step: Spaced, piece: Smooth, bits: int) -> tuple[arb_poly, arb, arb] | None:
    """(polynomial around the middle, half width, relative error), eq. (28); None: too far from one."""
    middle, half = (piece.low + piece.high) / 2, (piece.high - piece.low) / 2
    scale = (-step.lam / 2).exp() / (4 * step.rate)
    if step.plain:
        return arb_poly([scale]), half, arb(0)
    grown = (middle.expm1() + step.rate) / step.rate  # e^x there
    reach = (_CLOSE * step.rate * grown * (-middle).exp()).log1p()
    ratio = half / reach
    if not ratio < 0.8:
        return None
    degree = math.ceil(bits * math.log(2.0) / -math.log(float(ratio.upper()))) + 2
    if degree > _MOST_DEGREE:
        return None
    before, ctx.cap = ctx.cap, degree + 1
    try:
        y = arb_series([middle, 1], prec=degree + 1)
        base = ((y.exp() - 1) / step.rate + 1).log()
        series = scale * (3 * (y - base) / 2).exp()
        polynomial = arb_poly([series[m] for m in range(degree + 1)])
    finally:
        ctx.cap = before
    size = ((middle + reach).exp() / ((1 - _CLOSE) * grown)) ** (arb(3) / 2)
    least = (3 * (piece.low - step.lam) / 2).exp()
    error = size * ratio ** (degree + 1) / (1 - ratio) / least
    return (polynomial, half, error.upper()) if error < 1 else None


def _ends(step: Spaced, bits: int) -> tuple[list[arb_poly], arb] | None:
    """The transform between the atoms is the sum over n of e^{u (top - n gap)} beta_n(1/u)/u."""
    ends_by_place = [arb_poly([]) for _ in step.atoms]
    worst = arb(0)
    for n, piece in enumerate(step.smooth):
        fit = _fitted(step, piece, bits)
        if fit is None:
            return None
        shape, half, error = fit
        worst = error if error > worst else worst
        above, below = [], []
        sign = 1
        while shape.degree() >= 0:
            ends = shape(half), shape(-half)
            upper, lower = (ends[1], ends[0]) if piece.mirrored else ends
            above.append(sign * upper)
            below.append(-sign * lower)
            shape = shape.derivative()
            sign = 1 if piece.mirrored else -sign
        ends_by_place[n] += arb_poly(above)
        ends_by_place[n + 1] += arb_poly(below)
    return ends_by_place, worst


def _powers(ends: Sequence[arb_poly]) -> Iterator[list[arb_poly]]:
    """The k-th power of sum_n x^n beta_n, k = 0, 1, ..., as polynomials beta for each power of x."""
    polynomials = [arb_poly([1])]
    while True:
        yield polynomials
        more = [arb_poly([]) for _ in range(len(polynomials) + len(ends) - 1)]
        for i, a in enumerate(polynomials):
            for j, b in enumerate(ends):
                more[i + j] += a * b
        polynomials = more


def _sticks(d: arb, first: int, end: int) -> list[arb]:
    """Inverse transforms at d of 1/(u^p (u^2 - 1/4)), first <= p < end: sum of d^{p+1+2i}/(p+1+2i)!/4^i.

    From the last two downwards, as each is d^{p+1}/(p+1)! more than a quarter of the second next.

    >>> bool(abs(_sticks(arb(1), 0, 3)[0] - 2 * arb(0.5).sinh()) < 1e-12)
    True
    """
    if d <= 0:
        return [arb(0)] * (end - first)
    if not d > 0:  # no less than 0, and no more than at the upper end
        return [arb(0).union(value) for value in _sticks(d.upper(), first, end)]
    values = [_stick(d, p) for p in range(end - 1, max(first, end - 2) - 1, -1)]
    term = d ** (end - 1) / arb(end - 1).fac()
    for p in range(end - 3, first - 1, -1):
        term = term * (p + 2) / d
        values.append(term + values[-2] / 4)
    return values[::-1]


def _stick(d: arb, p: int) -> arb:
    """The last of `_sticks`, summed; from d < p + 2 on the rest is one to two times its first term."""
    term, total = d ** (p + 1) / arb(p + 1).fac(), arb(0)
    while not (d < p + 2 and term < total * arb(2) ** -ctx.prec):
        total += term
        p += 2
        term = term * d * d / (4 * p * (p + 1))
    return total + term.union(2 * term)


def _lattice(atoms: Sequence[arb], count: int, last: int) -> list[arb]:
    """Coefficients of (sum_n atoms_n x^n)^count up to x^last."""
    masses, ratios = [atoms[0] ** count], [atom / atoms[0] for atom in atoms]
    for j in range(1, min(last, count * (len(atoms) - 1)) + 1):
        total = arb(0)
        for i in range(1, min(j, len(atoms) - 1) + 1):
            total += (i * count - j + i) * ratios[i] * masses[j - i]
        masses.append(total / j)
    return masses


def tilt(step: Spaced, count: int, epsilon: float) -> tuple[float, float]:
    """About the c > 0 with the least moment bound, and how many losses lie between the atoms there."""
    gap, top = float(step.gap), float(step.top)
    drop = np.array([n * gap for n in range(len(step.atoms))])
    mass = np.array([float(m) for m in step.atoms])
    spread = (np.arange(400) + 0.5) / 400 * drop[-1]
    cs = np.geomspace(1e-6, 300.0, 240) / gap
    us = cs + 0.5
    atoms = np.exp(-np.multiply.outer(us, drop)) @ mass
    between = np.exp(-np.multiply.outer(us, spread)).mean(axis=1) * float(step.between)
    heights = count * np.log(atoms + between) + us * (count * top - epsilon)
    k = int(np.argmin(heights))
    return float(cs[k]), float(count * between[k] / (atoms[k] + between[k]))


def by_draws(law: Step, count: int, epsilon: arb) -> arb | None:
    """Delta of so many steps: number by number, until the rest is negligible; None: not few between."""
    step = Spaced.of(law)
    depth = count * step.top - epsilon
    if depth <= 0:
        return arb(0)
    chosen, expected = tilt(step, count, float(epsilon.mid()))
    if not expected < MOST_BETWEEN[step.plain]:
        return None
    bits = max(48 if step.plain else 60, ctx.prec // 3)
    for parts in _PARTS:
        step = Spaced.of(law, parts)
        fit = _ends(step, bits)
        if fit is not None:
            break
    else:
        return None
    ends, error = fit
    c, u = arb(chosen), arb(chosen) + arb(0.5)
    sizes = [(-n * u * step.gap).exp() for n in range(len(ends))]  # e^{u top} is left out
    fitted = sum((size * end(1 / u) for size, end in zip(sizes, ends, strict=True)), arb(0)) / u
    inside = (fitted / (1 - error)).upper()
    whole = inside + sum((m * size for m, size in zip(step.atoms, sizes, strict=True)), arb(0))
    factor = (u * depth).exp() * payoff_peak(c)
    last = int(float((depth / step.gap).upper())) + 1
    total, loose = arb(0), arb(1)
    for k, power in zip(range(count + 1), _powers(ends), strict=False):
        most = max(poly.degree() for poly in power) + 1
        spend_on(OUTCOME, last * len(ends) + 2 * len(power) * most)
        spend(_ENTRY * len(power) ** 2 * most * ctx.prec)
        total += arb(count).bin(k) * _number(step, power, (k, count, last, most), depth)
        # a polynomial in the place of each density, within a factor of 1 +- error
        loose = (1 - error) ** k
        rest = arb(count).bin(k + 1) * inside ** (k + 1) * whole ** (count - k - 1) * factor
        if rest < total * arb(2) ** -bits or rest < total.rad():
            total += arb(0).union(rest)
            break
    return (epsilon / 2).exp() * (total / loose).union(total * loose)


def _number(
    step: Spaced, power: Sequence[arb_poly], sizes: tuple[int, int, int, int], depth: arb
) -> arb:
    """Return the contribution of exactly k losses between the atoms, without binom(T, k) and e^{eps/2}."""
    k, count, last, most = sizes
    masses = _lattice(step.atoms, count - k, last)
    full, span = step.between**k, k * (len(step.atoms) - 1) * step.gap
    # e^{+-(x - eps)/2} at the highest sum x of the atoms, and how these go on
    rise, fall = ((sign * (depth - k * step.top) / 2).exp() for sign in (1, -1))
    up, down = ((sign * step.gap / 2).exp() for sign in (1, -1))
    # with the first of these sums every loss is above epsilon, wherever the k lie
    sure = min(max(int(float(((depth - span) / step.gap).lower())) - 1, 0), len(masses))
    surely = arb_poly(masses[:sure])
    total, partial = full * (rise * surely(down) - fall * surely(up)), []
    rise, fall = rise * down**sure, fall * up**sure
    for j, mass in enumerate(masses[sure:], sure):
        left = depth - j * step.gap  # of the largest loss with these atoms above epsilon
        if left <= 0:
            break
        if not left >= span:
            partial.append((j, mass))
        else:
            value = rise - fall
            total += mass * full * (value.max(arb(0)) if k == 0 else value)
        rise, fall = rise * down, fall * up
    if not partial:
        return total
    first, ends = partial[0][0], len(power)
    across = partial[-1][0] - first + ends
    sticks = [_sticks(depth - (first + n) * step.gap, k, k + most) for n in range(across)]
    shapes = [[poly[m] for m in range(most)] for poly in power]
    product = arb_mat(shapes) * arb_mat(sticks).transpose()
    for j, mass in partial:
        total += mass * sum((product[i, i + j - first] for i in range(ends)), arb(0))
    return total


# --- plain steps, as one power series


@lru_cache(maxsize=4)
def _summed(count: int, last: int, b: Fraction, bits: int) -> list[arb]:
    """Coefficients of (1+u)^{T-1} S(u)/(u-1) below u^T, S = sum_{j <= J} binom(T, j) q(u)^j."""
    size, rate = count + 1, 1 / ball(b)
    before, ctx.cap = ctx.cap, size
    try:
        u = arb_series([0, 1], prec=size)
        below, above = (1 - u).log(), (1 + u).log()
        log_q = below - above - rate * u  # of -q
        # 1 + q = u a(u)
        a = arb_series((1 - log_q.exp()).coeffs()[1:], prec=size)
        log_a = a.log()
        sign = -1 if last % 2 == 0 else 1  # of q^{J+1}
        slope = -2 / (1 - u * u) - rate
        w = sign * ((last + 1) * log_q - (count + 1) * log_a).exp() * slope
        ways = -(count - last) * arb(count).bin(last)
        risen = [ways * w[n] / (n - count) for n in range(count)]
        whole = (count * log_a + (count - 1) * above).exp() / (u - 1)
        series = whole * arb_series(risen, prec=size)
        return [series[n] for n in range(count)]
    finally:
        ctx.cap = before


def residues(count: int, b: Fraction, epsilon: arb) -> arb:
    """Delta of so many plain steps of scale b.

    >>> bool(abs(residues(1, Fraction(1), arb(0.5)) - (1 - arb(-0.25).exp())) < 1e-12)
    True
    """
    lam = 1 / ball(b)
    highest = lam * count - epsilon
    if highest <= 0:
        return arb(0)
    # y_j = lam (T - 2j) - eps > 0 up to j = last; where eps is at a lattice point, both neighbours
    edge = (count - epsilon / lam) / 2
    first, last = (int(end.ceil().fmpz()) - 1 for end in (edge.lower(), edge.upper()))
    value: arb | None = None
    for j in range(max(first, 0), max(min(last, count - 1), 0) + 1):
        reading = _reading(count, j, b, highest)
        value = reading if value is None else value.union(reading)
    assert value is not None
    return value if highest > 0 else value.union(arb(0))


def _reading(count: int, last: int, b: Fraction, highest: arb) -> arb:
    spend_once((count, last, b, ctx.prec), lambda: spend_on_series(count))
    coefficients = _summed(count, last, b, ctx.prec)
    total, term = arb(0), arb(1)
    for m in range(count):
        total += term * coefficients[count - 1 - m]
        term = term * highest / (2 * (m + 1))
    return 1 + total * (-highest / 2).exp() * arb(2) ** (1 - count)
