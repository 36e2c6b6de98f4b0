"""Laws with point masses: what does not decay on the line is taken out, and added back in closed form.

With M_i = A_i + C_i, A_i the atoms and C_i the rest, and A = prod A_i^{T_i},

    prod M_i^{T_i} = A + sum_i T_i (A/A_i) C_i + R(s),        R = O(|C|^2) decays like t^-2.

A is a finite sum of e^{sx}: its share of delta is a sum of (1 - e^{eps-x})_+. The next term is a sum of
one-step profiles of the C_i. Only R needs the line integral.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .contour import Families, Line, Reading, Totals, last_revival, step_size
from .law import Atoms, Law
from .periodic import periodic_line
from .stable import Complexes, Floats, log_sum_exp

Laws = Sequence[tuple[Law, float]]

# lattice points kept hold more than e^{-45} of the largest tilted mass
_WINDOW = 45.0
MOST_POINTS = 3_000_000
# the remainder falls slowly, as t^-4: twelve digits of it are enough
_TAIL = 1e-12
# the same for one revival of the atoms, which is about this many steps wide; those further on add up to a few
_REVIVAL, _WIDE = 1e-11, 64.0
# with so much missing the line is no answer
_WORST_TAIL = 1e-4
# nodes at most for the remainder: each needs an inner rule of its own
_MOST_NODES = 1 << 11
# so few points are kept whole
_FEW = 2000
# steps up to which a law of so many atoms is better summed point by point
_FEW_BY_ATOMS = {1: math.inf, 2: _FEW, 3: 40}
# points at most of a sum over three and more masses
_MANY = 60_000
_ORIGIN = Atoms(np.zeros(1), np.zeros(1))


def _power(atoms: Atoms, count: int, c: float) -> Atoms | None:
    """The atoms of a count-fold sum (tilt c decides which are negligible); None if there are too many."""
    from scipy.special import gammaln

    losses, masses = atoms.losses, atoms.log_masses
    if count == 0:
        return _ORIGIN
    if losses.size == 0:
        return atoms
    if losses.size == 1:
        return Atoms(count * losses, count * masses)
    if losses.size > 2:
        if math.comb(count + losses.size - 1, losses.size - 1) > _MANY:
            return None
        half = _power(atoms, count // 2, c)
        whole = _sum(half, half, c) if half is not None else None
        return _sum(whole, atoms, c) if whole is not None and count % 2 else whole
    tilted = masses + c * losses
    share = 1.0 / (1.0 + math.exp(min(float(tilted[1] - tilted[0]), 700.0)))  # of atom 0
    centre = count * share
    reach = math.sqrt(2.0 * _WINDOW * count * share * (1.0 - share)) + 2.0 * _WINDOW
    low, high = max(0, int(centre - reach)), min(count, int(centre + reach) + 1)
    if count <= _FEW:
        low, high = 0, count
    if high - low > MOST_POINTS:
        return None
    k = np.arange(low, high + 1, dtype=np.float64)
    log_choose = gammaln(count + 1.0) - gammaln(k + 1.0) - gammaln(count - k + 1.0)
    return Atoms(
        k * losses[0] + (count - k) * losses[1],
        log_choose + k * masses[0] + (count - k) * masses[1],
    )


def _sum(one: Atoms, other: Atoms, c: float) -> Atoms | None:
    """The atoms of a sum of two independent losses, coinciding points merged."""
    if one.losses.size * other.losses.size > MOST_POINTS:
        return None
    if not one.losses.size * other.losses.size:
        return Atoms(np.empty(0), np.empty(0))
    losses = np.add.outer(one.losses, other.losses).ravel()
    masses = np.add.outer(one.log_masses, other.log_masses).ravel()
    tilted = masses + c * losses
    kept = tilted >= float(tilted.max()) - _WINDOW
    if not kept.any():  # the tilt itself is out of reach
        return None
    losses, masses = losses[kept], masses[kept]
    scale = float(np.abs(losses).max()) or 1.0
    keys = np.round(losses / (scale * 1e-13))
    unique, inverse = np.unique(keys, return_inverse=True)
    if unique.size == losses.size:
        return Atoms(losses, masses)
    peak = float(masses.max())
    merged = np.bincount(inverse, np.exp(masses - peak))
    weighted = np.bincount(inverse, np.exp(masses - peak) * losses)
    safe = np.maximum(merged, 1e-300)
    return Atoms(weighted / safe, np.log(safe) + peak)


@dataclass(frozen=True)
class Term:
    """Point masses, each followed by the continuous part of one step of `law` (None: by nothing)."""

    atoms: Atoms
    law: Law | None


def atomic_mass(laws: Laws, families: Families, total: Totals) -> float:
    """log of the tilted mass of prod A_i^{T_i} on the line at c: what does not decay."""
    log_mass = 0.0
    for (law, count), (family, _) in zip(laws, families, strict=True):
        atoms = law.atoms
        if not atoms.losses.size:
            return -math.inf
        tilted = atoms.log_masses + total.c * atoms.losses
        log_mass += count * min(0.0, log_sum_exp(tilted) - family.cumulants(total.c).log_moment)
    return log_mass


def epsilon_near_top(laws: Laws, log_target: float) -> tuple[float, float]:
    """Ends of epsilon from the largest loss x alone, of mass p: delta(eps) >= p (1 - e^{eps - x}).

    So x + log(1 - delta/p) <= epsilon <= x, which for a tiny delta is all there is to know.
    """
    largest = log_mass = scale = 0.0
    for law, count in laws:
        atoms = law.atoms
        if not atoms.losses.size or float(atoms.losses.max()) < law.largest_loss:
            return -math.inf, math.inf
        top = int(atoms.losses.argmax())
        largest += count * float(atoms.losses[top])
        log_mass += count * float(atoms.log_masses[top])
        scale += count * abs(float(atoms.losses[top]))
    rounding = 4e-16 * scale
    # the mass itself is known to rounding only
    log_part = log_target - log_mass + 4e-15 * (1.0 - log_mass)
    if log_part >= -1e-12:
        return -math.inf, largest + rounding
    return largest + math.log1p(-math.exp(log_part)) - rounding, largest + rounding


def _terms(laws: Laws, c: float) -> list[Term] | None:
    """A and the first-order terms; None if they have too many points."""
    powers = [_power(law.atoms, int(count), c) for law, count in laws]
    terms = []
    total: Atoms | None = _ORIGIN
    for power in powers:
        total = _sum(total, power, c) if total is not None and power is not None else None
    if total is None:
        return None
    terms.append(Term(total, None))
    for i, (law, count) in enumerate(laws):
        if not law.has_density:
            continue
        rest = _power(law.atoms, int(count) - 1, c)
        for j, power in enumerate(powers):
            if j != i:
                rest = _sum(rest, power, c) if rest is not None and power is not None else None
        if rest is None:
            return None
        terms.append(Term(Atoms(rest.losses, rest.log_masses + math.log(count)), law))
    return terms


# relative error granted where the remainder swung through a thousand nodes: what was seen of its tail says
# little of the rest (the referee's case 1237 was off by 8e-8)
_SWINGING = 5e-7


class LatticeLine(Line):
    """A line for the remainder R, with the closed form of the rest added to each reading."""

    def __init__(self, terms: list[Term], steps: float, *line: Any) -> None:
        super().__init__(*line)
        self._terms = terms
        # binomial coefficients come from log-gamma, whose size is about T log T
        self._floor += 1e-15 * steps * math.log(steps + 1.0)
        if self.node_count >= 1000:
            self._floor += _SWINGING

    def _closed_form(self, epsilon: float, height: float) -> tuple[float, float]:
        """delta and its epsilon-derivative from the terms, over e^{height}."""
        value = slope = 0.0
        for term in self._terms:
            gap = epsilon - term.atoms.losses
            if term.law is None:
                kept = gap < 0.0
                gap = gap[kept]
                scale = np.exp(term.atoms.log_masses[kept] - height)
                value += float(scale @ -np.expm1(gap))
                slope -= float(scale @ np.exp(gap))
            else:
                profile, derivative = term.law.density_profile(gap)
                scale = np.exp(np.minimum(term.atoms.log_masses - height, 700.0))
                value += float(scale @ profile)
                slope += float(scale @ derivative)
        return value, slope

    def read(self, epsilons: Floats) -> Reading:
        rest = self._raw(epsilons)
        value, moment = rest.value.copy(), rest.moment.copy()
        for i, epsilon in enumerate(epsilons.tolist()):
            closed, slope = self._closed_form(epsilon, float(rest.heights[i]))
            value[i] += closed
            moment[i] -= slope
        return self._reading(epsilons, rest.heights, value, moment, rest.size + np.abs(value))


def _left_out(rise: Callable[[Floats], float], done: float, periods: Sequence[float]) -> float:
    """What revivals beyond `done` come to, from the first few of each: they fall at least as k^-2."""
    total = 0.0
    for period in set(periods):
        first = math.ceil(done / period)
        near = np.linspace(-0.02, 0.02, 9) * period
        # the sum over k >= first of k^-2 is about first
        total += (first + 1) * max(
            math.exp(rise(k * period + near)) for k in range(first, first + 6)
        )
    return total


def lattice_line(
    laws: Laws,
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    most: int,
    periods: Sequence[float] = (),
) -> Line | None:
    """Closed form of the atoms, and the trapezoid rule for the rest, on Re s = c.

    `periods`: as for `straight_line`; the rest rises again where the atoms are in step.
    """
    c = total.c
    law, count = laws[0]
    if (
        len(laws) == 1
        and not law.has_density
        and count > _FEW_BY_ATOMS.get(law.atoms.losses.size, 0)
    ):
        line = periodic_line(law.atoms, count, total)
        if line is not None or law.atoms.losses.size == 2:
            return line
    terms = _terms(laws, c)
    if terms is None:
        return None
    steps = max(count for _, count in laws)
    none = np.empty(0, dtype=np.complex128)
    if not any(law.has_density for law, _ in laws):
        return LatticeLine(terms, steps, total, none, none, none, 0.0)
    step = step_size(families, total, epsilons)
    pieces = [
        (law, count, family.cumulants(c))
        for (law, count), (family, _) in zip(laws, families, strict=True)
    ]

    def remainder(z: Complexes) -> Complexes:
        log_total = np.zeros(z.shape, dtype=np.complex128)
        atomic, dense = [], []
        for (law, count, own), (family, _) in zip(pieces, families, strict=True):
            log_ratio = family.centred_log_ratio(c, z)
            log_total += count * log_ratio
            masses = np.exp(law.atoms.log_masses + c * law.atoms.losses - own.log_moment)
            a = np.exp(np.multiply.outer(z, law.atoms.losses - own.mean)) @ masses
            atomic.append(a)
            dense.append(np.exp(log_ratio) - a if law.has_density else np.zeros_like(a))
        result = np.exp(log_total)
        product = np.ones_like(result)
        for a, (_, count, _) in zip(atomic, pieces, strict=True):
            product = product * a**count
        result = result - product
        for i, (law, count, _) in enumerate(pieces):
            if law.has_density:
                others = count * dense[i] * atomic[i] ** (count - 1.0)
                for j, (_, other_count, _) in enumerate(pieces):
                    if j != i:
                        others = others * atomic[j] ** other_count
                result = result - others
        payoff = (1.0 + z / c) * (1.0 + z / (1.0 + c))
        return np.asarray(result / payoff, dtype=np.complex128)

    blocks = [remainder(np.zeros(1, dtype=np.complex128))]
    first, size = 1, 64
    unit = math.sqrt(2.0 * math.pi * total.curvature)
    while True:
        t = step * np.arange(first, first + size)
        value = remainder(1j * t)
        blocks.append(value)
        first += size
        # the envelope: point masses make the size of R swing, so look at a long stretch of it
        tail = float(np.abs(value).max()) * max(float(t[-1]), c) / math.pi
        if tail * unit < _TAIL:
            break
        if first > min(most, _MOST_NODES):
            if tail * unit > _WORST_TAIL:
                return None
            break
        size = min(2 * size, 4096)

    def rise(t: Floats) -> float:
        """log of what the rest around these places may add, in units of its sum."""
        peak = float(np.abs(remainder(1j * t)).max())
        return math.log(max(peak, 1e-300) * min(float(t[-1]), _WIDE * step) * unit / math.pi)

    until = last_revival(rise, step, first * step, periods, math.log(_REVIVAL))
    limit = min(most, _MOST_NODES) * step
    if until > limit:
        missing = _left_out(rise, max(limit, first * step), periods)
        if missing > _WORST_TAIL:
            return None
        until, tail = limit, tail + missing / unit
    while until > first * step:
        end = min(first + 4096, math.ceil(until / step))
        blocks.append(remainder(1j * step * np.arange(first, end)))
        first = end
    tail += 20.0 * _REVIVAL / unit if periods else 0.0
    table = np.concatenate(blocks)
    with np.errstate(divide="ignore"):
        log_table = np.where(table == 0.0, -800.0, np.log(table))
    weights = np.full(first, step / math.pi, dtype=np.complex128)
    weights[0] *= 0.5
    return LatticeLine(terms, steps, total, 1j * step * np.arange(first), weights, log_table, tail)
