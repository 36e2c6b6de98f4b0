"""Proofs of a composition without a contour: lattices, closed forms, ceilings, moment bounds.

Losses on a lattice, any number of steps: let the summed loss take the values x_j = base + j d. With
h = 2 pi/(N d), u the first x_j above eps and

    K(s) = sum_{x_j > eps} (1 - e^{eps - x_j}) e^{-s x_j}
         = e^{-su} [1/(1 - e^{-sd}) - e^{eps-u}/(1 - e^{-(s+1)d})],

    delta(eps) = (1/N) sum_{k < N} M(c + ikh) K(c + ikh) - aliasing,     0 <= aliasing <= eq. (2) for this h.

The mean over a period of M(s) e^{-s x_j} is P(x_j) and its copies, sum_m e^{cmNd} P(x_j + mNd); summed with
K's weights that is sum_m e^{cmNd} delta(eps + mNd), the aliased sum of eq. (2). Nothing is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import acb, arb, ctx

from dpacct.errors import NotCertified
from dpacct.pld.loss import laplace

from .balls import ball, demand, positive, real, whole
from .laplace import residues
from .law import plain
from .line import Aliased, Terms, log_moment, payoff_peak, power, prepared, rotations
from .outcomes import MOST_POINTS, SumsOfOutcomes, count_outcomes, three_losses
from .plan import Laws, Step
from .rule import Rules

MOST_NODES = 1 << 19


@dataclass(frozen=True)
class Period:
    """Every free choice; floats stand for their exact binary values."""

    c: float
    nodes: int
    up: float  # a of eq. (2) for copies above eps
    down: float  # a of eq. (2) for copies below eps, less than c; 0: delta <= 1 instead

    def __post_init__(self) -> None:
        """Refuse what the theorem does not cover; raises `Unsound`."""
        demand(positive(self.c) and positive(self.up), "a tilt that is not positive")
        demand(real(self.down) and 0 <= self.down < self.c, "a shift down to 0 or beyond")
        demand(whole(self.nodes, 8, MOST_NODES), "this number of nodes")


@dataclass(frozen=True)
class Places:
    """The losses of a composition on a lattice: base + j unit, and each law's masses by j."""

    base: arb
    unit: arb
    laws: tuple[tuple[tuple[tuple[int, arb], ...], int], ...]


def places(steps: Sequence[tuple[Step, int]]) -> Places | None:
    """The lattice of a composition; None where its losses are on none that is known exactly."""
    laws = [(step.law().atoms, count) for step, count in steps]
    units = [step.unit if step.sampled is plain else None for step, _ in steps]
    if len(laws) == 1 and len(laws[0][0]) == 2:  # any two losses
        (low, high), count = sorted(laws[0][0], key=lambda point: float(point[0])), laws[0][1]
        return Places(count * low[0], high[0] - low[0], ((((0, low[1]), (1, high[1])), count),))
    if len(laws) == 1 and len(laws[0][0]) == 3 and steps[0][0].symmetric:  # x, -x and 0
        ((x, up), (_, down), (_, level)), count = laws[0]
        return Places(-count * x, x, ((((0, down), (1, level), (2, up)), count),))
    exact = [unit for unit in units if unit is not None]
    if len(exact) < len(units):
        return None
    common = Fraction(
        math.gcd(*(unit.numerator * _over(exact) // unit.denominator for unit in exact)),
        _over(exact),
    )
    rows = [[(_index(loss, ball(common)), mass) for loss, mass in atoms] for atoms, _ in laws]
    lows = [min(j for j, _ in row) for row in rows]
    stride = math.gcd(*(j - low for row, low in zip(rows, lows, strict=True) for j, _ in row))
    if stride == 0:  # each law has one loss
        return None
    base = sum(low * count for low, (_, count) in zip(lows, laws, strict=True))
    rows_by_place = tuple(
        (tuple(((j - low) // stride, mass) for j, mass in row), count)
        for row, low, (_, count) in zip(rows, lows, laws, strict=True)
    )
    return Places(ball(base * common), ball(stride * common), rows_by_place)


def _over(units: Sequence[Fraction]) -> int:
    return math.lcm(*(unit.denominator for unit in units))


def _index(loss: arb, unit: arb) -> int:
    """The whole number of units that a loss is: by its statement one, so the only one in the ball."""
    index = (loss / unit).unique_fmpz()
    if index is None:
        raise NotCertified("a loss is not told from its neighbours")
    return int(index)


class TabulatedPeriod(Aliased):
    """The tabulated period of a composition: good for every epsilon near the tilt's."""

    def __init__(self, steps: Sequence[tuple[Step, int]], period: Period) -> None:
        where = places(steps)
        demand(where is not None, "losses that are on no lattice")
        assert where is not None
        self._nodes, self._where, self._escaped = period.nodes, where, 1 - kept(steps)
        n, d, top, c = period.nodes, where.unit, period.nodes // 2, arb(period.c)
        table = [acb(1)] * (top + 1)
        for points, count in where.laws:
            bins = [acb(0)] * n
            for j, mass in points:
                bins[-j % n] += mass * (c * j * d).exp()
            row = acb.dft(bins)
            table = [a * power(b, count) for a, b in zip(table, row, strict=False)]
        self._turns = rotations(acb(0, -2 * arb.pi() / n).exp(), top)
        first, second = (-c * d).exp(), (-(c + 1) * d).exp()
        self._steep = [m / (1 - first * z) for m, z in zip(table, self._turns, strict=True)]
        self._flat = [m / (1 - second * z) for m, z in zip(table, self._turns, strict=True)]
        super().__init__(period.c, period.up, period.down, n * d)

    @property
    def node_count(self) -> int:
        """Nodes that a reading adds up."""
        return self._nodes // 2

    def _moment(self, y: arb) -> arb:
        where = self._where
        total = (y * where.base).exp()
        for points, count in where.laws:
            total *= sum((m * (y * j * where.unit).exp() for j, m in points), arb(0)) ** count
        return total

    def terms(self, epsilon: arb) -> Terms:
        """The sum, and an upper bound of each error, at this epsilon."""
        where, n, c = self._where, self._nodes, self.c
        first = math.ceil(float(((epsilon - where.base) / where.unit).mid()))
        u = where.base + first * where.unit
        if not u > epsilon:  # a loss that cannot be told from epsilon, or a float that is one off
            first, u = first + 1, u + where.unit
        before, tie = u - where.unit, arb(0)
        demand(u > epsilon and before < epsilon + where.unit / 2, "this epsilon")
        if not before <= epsilon:  # its share, P(x) (1 - e^{eps - x})_+, is charged
            most = (-(epsilon - before).expm1()).upper().max(arb(0))
            tie = most * self._moment(c) * (-c * before).exp()
        drop, total = (epsilon - u).exp(), arb(0)
        for k, (steep, flat) in enumerate(zip(self._steep, self._flat, strict=True)):
            i = first * k % n
            shift = self._turns[i] if 2 * i <= n else self._turns[n - i].conjugate()
            value = ((steep - drop * flat) * shift).real
            total += value if k == 0 or 2 * k == n else 2 * value
        return {
            "sum": total * (-c * (u - where.base)).exp() / n,
            **self.aliasing(epsilon),
            "tie": tie.upper(),
        }

    def delta(self, epsilon: arb, terms: Terms | None = None) -> arb:
        """An enclosure of the value at one epsilon."""
        terms = terms or self.terms(epsilon)
        low = terms["sum"] - (terms["aliasing above"] + terms["aliasing below"]).upper()
        return self._escaped + (terms["sum"] + terms["tie"]).union(low)


def kept(steps: Sequence[tuple[Step, int]]) -> arb:
    """P-mass of the finite losses of a composition."""
    mass = arb(1)
    for step, count in steps:
        mass *= (1 - step.law().infinite) ** count
    return mass


FEW_OUTCOMES = 4000
"""Points of a composition that are listed even where they lie on a lattice."""
Discrete = tuple[tuple[Step, int], ...]


def discrete(laws: Laws) -> Discrete:
    """The plan's steps where all have finitely many outcomes; else none."""
    return () if any(step.law().branches for step, _ in laws) else laws


def outcomes(laws: Discrete) -> int:
    """Return the number of points of their composition."""
    return count_outcomes([(len(step.law().atoms), count) for step, count in laws])


@lru_cache(maxsize=4)
def _composed(laws: Discrete, bits: int) -> SumsOfOutcomes:
    return SumsOfOutcomes([(step.law().atoms, count) for step, count in laws])


def finite_sum(laws: Discrete, epsilon: arb) -> arb:
    """1 - prod (1 - infinite)^T + sum of mass (1 - e^{eps - loss})_+, eq. (18)."""
    return 1 - kept(laws) + _composed(laws, ctx.prec).delta(epsilon)


def largest_loss(laws: Laws) -> arb:
    """Upper bound of the composed loss; delta is 0 from there on."""
    return sum((count * law.ceiling() for law, count in laws), arb(0))


def top_outcome(laws: Laws, epsilon: arb) -> arb:
    """Lower bound of delta: what the largest possible loss alone contributes, eq. (19)."""
    mass, ceiling = arb(1), largest_loss(laws)
    for law, count in laws:
        mass *= law.top() ** count
    if mass.is_zero() or not ceiling > epsilon:
        return arb(0)
    return -mass * (epsilon - ceiling).expm1()


def _of_laplace(laws: Laws) -> bool:
    """Return whether the plan is plain Laplace steps, of which the residues are few enough."""
    (step, count), *others = laws
    if others or step.stated is not laplace or step.rate != 1:
        return False
    between = -count * math.expm1(-step.numbers[0])
    # with fewer than 20 losses expected between the atoms no contour resolves these steps
    return count <= (800 if between < 20.0 else 300)


def has_closed_form(laws: Laws) -> bool:
    """Return whether one formula gives delta: of a single step, Laplace steps, or a sum of few outcomes."""
    if (len(laws) == 1 and laws[0][1] == 1) or _of_laplace(laws):
        return True
    steps = discrete(laws)
    if not steps:
        return False
    count = outcomes(steps)
    if count <= FEW_OUTCOMES:
        return True
    return (count <= MOST_POINTS or _of_three(steps)) and places(steps) is None


def _of_three(steps: Discrete) -> bool:
    """Return whether one law is repeated, with three losses."""
    return len(steps) == 1 and len(steps[0][0].law().atoms) == 3


def closed_form(laws: Laws, epsilon: arb) -> arb | None:
    """delta(eps) where one formula gives it; None elsewhere."""
    if not has_closed_form(laws):
        return None
    law, count = laws[0]
    if len(laws) == 1 and count == 1:
        return law.one_step(epsilon)
    if _of_laplace(laws):
        return residues(count, 1 / Fraction(law.numbers[0]), epsilon)
    steps = discrete(laws)
    if outcomes(steps) > FEW_OUTCOMES and _of_three(steps):
        return 1 - kept(steps) + three_losses(law.law().atoms, count, epsilon)
    return finite_sum(steps, epsilon)


def chernoff(laws: Laws, rules: Rules, tilt: float, epsilon: arb) -> arb:
    """delta(eps) <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, any c > 0, eq. (10)."""
    c, log = arb(tilt), log_moment(prepared(laws, rules, tilt))
    return ((log - c * epsilon).exp() * payoff_peak(c)).upper()
