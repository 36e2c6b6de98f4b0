"""Sampled Laplace steps, repeated, sorted by how many losses lie between the atoms, eq. (27) and (28).

Few do where the scale is large. Between two atoms the loss has a smooth density; with a polynomial for it
the transform of one step is a polynomial in 1/s times powers of one exponential, and so is every
composition: finite sums, with no contour that would have to outlast the atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, arb_poly, arb_series, ctx

from .balls import ball
from .effort import spend, sum_cost
from .line import payoff_peak
from .step import Step

MOST_BETWEEN = 12.0
"""Losses between the atoms that are expected at most, where this form is used."""
_MOST_DEGREE = 120
_CLOSE = 0.875  # how far a disc reaches towards where r = 1 - q; a binary number
_ENTRY = 2e-9  # seconds of a product, for each bit


@dataclass(frozen=True)
class Smooth:
    """Losses between two atoms: +-y with density e^{-lam/2}/(4q) e^{power y} e^{-3x/2}, y = log r(x)."""

    low: arb  # of y
    high: arb
    power: int  # 2 under P, 1 under Q
    mirrored: bool  # the loss is -y


@dataclass(frozen=True)
class Spaced:
    """One sampled step; its atoms are at top - n gap, n = 0, 1, ..., and losses lie between them."""

    lam: arb
    rate: arb
    top: arb
    gap: arb
    atoms: tuple[arb, ...]
    between: arb  # their mass, the same under P and Q
    smooth: tuple[Smooth, ...]

    @classmethod
    def of(cls, step: Step) -> Spaced:
        """A sampled Laplace step: its atoms at even distances, and what lies between them."""
        law, q = step.law(), ball(step.rate)
        lam = ball(1 / step.numbers[0])
        points = sorted(law.atoms, key=lambda point: -float(point[0].mid()))
        atoms, top = tuple(mass for _, mass in points), points[0][0]
        smooth = []
        for branch in law.branches:
            assert branch.start is not None and branch.end is not None
            low, high = branch.log_r(branch.start), branch.log_r(branch.end)
            smooth.append(Smooth(low, high, 2 if branch.favoured else 1, not branch.favoured))
        if step.symmetric:
            between = ((2 - q) * (-lam / 2).exp() + q) * -(-lam / 2).expm1() / 2
            return cls(lam, q, top, top, atoms, between, tuple(smooth))
        gap = smooth[0].high - smooth[0].low
        return cls(lam, q, top, gap, atoms, -(-lam).expm1() / 2, tuple(smooth))


def _fitted(step: Spaced, piece: Smooth, bits: int) -> tuple[arb_poly, arb, arb] | None:
    """(polynomial around the middle, half width, relative error), eq. (28); None: too far from one."""
    middle, half = (piece.low + piece.high) / 2, (piece.high - piece.low) / 2
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
        scale = (-step.lam / 2).exp() / (4 * step.rate)
        series = scale * (piece.power * y - 3 * base / 2).exp()
        polynomial = arb_poly([series[m] for m in range(degree + 1)])
    finally:
        ctx.cap = before
    size = (piece.power * (middle + reach)).exp() * ((1 - _CLOSE) * grown) ** (-arb(3) / 2)
    least = (piece.power * piece.low - 3 * step.lam / 2).exp()
    error = size * ratio ** (degree + 1) / (1 - ratio) / least
    return (polynomial, half, error.upper()) if error < 1 else None


def _ends(step: Spaced, bits: int) -> tuple[list[arb_poly], arb] | None:
    """The transform between the atoms is the sum over n of e^{s (top - n gap)} beta_n(1/s)/s."""
    ends_by_place = [arb_poly([]) for _ in step.atoms]
    worst = arb(0)
    pieces = sorted(step.smooth, key=lambda piece: piece.mirrored)
    for n, piece in enumerate(pieces):
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
    one = [arb_poly([1])]
    while True:
        yield one
        more = [arb_poly([]) for _ in range(len(one) + len(ends) - 1)]
        for i, a in enumerate(one):
            for j, b in enumerate(ends):
                more[i + j] += a * b
        one = more


def _sticks(d: arb, count: int) -> list[arb]:
    """Inverse transforms g_p(d) of 1/(s^{p+1} (s+1)), p < count; from the last, as they fall.

    >>> bool(abs(_sticks(arb(1), 3)[0] - (1 - arb(-1).exp())) < 1e-12)
    True
    """
    if d <= 0:
        return [arb(0)] * count
    if not d > 0:  # no less than 0, and no more than at the upper end
        return [arb(0).union(value) for value in _sticks(d.upper(), count)]
    powers = [arb(1)]
    for p in range(1, count + 1):
        powers.append(powers[-1] * d / p)
    values = [powers[count] * (-d).hypgeom_1f1(arb(1), arb(count + 1))]
    for p in range(count - 1, 0, -1):
        values.append(powers[p] - values[-1])
    return values[::-1]


def _lattice(atoms: Sequence[arb], count: int, last: int) -> list[arb]:
    """Coefficients of (sum_n atoms_n x^n)^count up to x^last."""
    masses = [atoms[0] ** count]
    for j in range(1, min(last, count * (len(atoms) - 1)) + 1):
        total = arb(0)
        for i in range(1, min(j, len(atoms) - 1) + 1):
            total += (i * count - j + i) * atoms[i] * masses[j - i]
        masses.append(total / (j * atoms[0]))
    return masses


def tilt(step: Spaced, count: int, epsilon: float) -> tuple[float, float]:
    """About the c > 0 with the least moment bound, and how many losses lie between the atoms there."""
    gap, top = float(step.gap), float(step.top)
    drop = np.array([n * gap for n in range(len(step.atoms))])
    mass = np.array([float(m) for m in step.atoms])
    spread = (np.arange(400) + 0.5) / 400 * drop[-1]
    cs = np.geomspace(1e-6, 300.0, 240) / gap
    atoms = np.exp(-np.multiply.outer(cs, drop)) @ mass
    between = np.exp(-np.multiply.outer(cs, spread)).mean(axis=1) * float(step.between)
    heights = count * np.log(atoms + between) + cs * (count * top - epsilon)
    k = int(np.argmin(heights))
    return float(cs[k]), float(count * between[k] / (atoms[k] + between[k]))


def by_draws(step: Spaced, count: int, epsilon: arb) -> arb | None:
    """Delta of so many steps: number by number, until the rest is negligible; None: not few between."""
    depth = count * step.top - epsilon
    if depth <= 0:
        return arb(0)
    chosen, expected = tilt(step, count, float(epsilon.mid()))
    fine = arb(2) ** -max(60, ctx.prec // 3)
    fit = _ends(step, max(60, ctx.prec // 3)) if expected < MOST_BETWEEN else None
    if fit is None:
        return None
    ends, error = fit
    c = arb(chosen)
    sizes = [(-n * c * step.gap).exp() for n in range(len(ends))]  # e^{c top} is left out
    fitted = sum((size * end(1 / c) for size, end in zip(sizes, ends, strict=True)), arb(0)) / c
    inside = (fitted / (1 - error)).upper()
    whole = inside + sum((m * size for m, size in zip(step.atoms, sizes, strict=True)), arb(0))
    factor = (c * depth).exp() * payoff_peak(c)
    last = int(float((depth / step.gap).upper())) + 1
    total, loose = arb(0), arb(1)
    for k, power in zip(range(count + 1), _powers(ends), strict=False):
        most = max(poly.degree() for poly in power) + 1
        spend(sum_cost(last * len(ends) + 2 * len(power) * most, ctx.prec))
        spend(_ENTRY * len(power) ** 2 * most * ctx.prec)
        total += arb(count).bin(k) * _number(step, power, (k, count, last, most), depth)
        # a polynomial in the place of each density, within a factor of 1 +- error
        loose = (1 - error) ** k
        rest = arb(count).bin(k + 1) * inside ** (k + 1) * whole ** (count - k - 1) * factor
        if rest < total * fine or rest < total.rad():
            total += arb(0).union(rest)
            break
    return (total / loose).union(total * loose)


def _number(
    step: Spaced, power: Sequence[arb_poly], sizes: tuple[int, int, int, int], depth: arb
) -> arb:
    """What exactly k losses between the atoms contribute, binom(T, k) left out."""
    k, count, last, most = sizes
    masses = _lattice(step.atoms, count - k, last)
    full, span = step.between**k, k * (len(step.atoms) - 1) * step.gap
    growth, rise = (k * step.top - depth).exp(), step.gap.exp()  # e^a at the highest atoms
    total, partial = arb(0), []
    for j, mass in enumerate(masses):
        left = depth - j * step.gap  # of the largest loss with these atoms above epsilon
        if left <= 0:
            break
        if not left >= span:
            partial.append((j, mass))
        elif k == 0:
            total += mass * (1 - growth).max(arb(0))
        else:
            total += mass * full * (1 - growth)
        growth = growth * rise
    if not partial:
        return total
    first, ends = partial[0][0], len(power)
    across = partial[-1][0] - first + ends
    sticks = [_sticks(depth - (first + n) * step.gap, k + most)[k:] for n in range(across)]
    shapes = [[poly[m] for m in range(most)] for poly in power]
    product = arb_mat(shapes) * arb_mat(sticks).transpose()
    for j, mass in partial:
        total += mass * sum((product[i, i + j - first] for i in range(ends)), arb(0))
    return total
