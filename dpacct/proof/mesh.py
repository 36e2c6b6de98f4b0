"""Any law on a grid of losses, rounded up or down, in whole numbers: nested plans, theorem 16.

Under Q a loss L is the variable X = e^L, and delta(eps) = P(L = inf) + E_Q (X - e^eps)_+. Let one measure be
below another if it gives no non-negative, increasing, convex function of X a larger integral. Products of
independent X keep that order, and so does a sample, which takes X to 1 - q + qX, or (read from P) to
X/((1-q)X + q), whose own measure integrates such functions of it to such functions of X. So laws rounded up,
at every level of a plan, bound its delta from above, and laws rounded down bound it from below.

    up:    a piece of a law goes to two grid points around it, both masses kept; what lies above is infinite
    down:  pieces whose mean of X, taken together, is at least that of a grid point go there (Jensen)

Masses are whole multiples of 2^-bits, rounded to the same side, and products of them are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq, fmpz_poly

from dpacct.pld.loss import Tabled

from .balls import ball, demand, positive, precision, whole
from .effort import CELL, PRODUCT, spend, spend_on, spend_once
from .law import Law, ProofBranch, exchange
from .plan import Laws, NestedPlan, Step, nothing_stated

MOST_CELLS = 1 << 18
_SPARE = 64  # bits of the balls that are rounded, beyond those of a mass
_NEAR = 8  # pieces of a cell in which atoms are taken for one
_LENT = 1e-3
_ON = 1e-6  # of a cell: a loss so near to a grid point is taken to be meant to lie there
_LESS = (
    1 / 32
)  # of a cell, by which a piece's middle lies above a grid point: so that little fits it


@dataclass(frozen=True)
class Cells:
    """The cells into which a law is cut; `inner` is the grid of a nested law's plan."""

    low: int
    high: int
    inner: Mesh | None = None

    def __post_init__(self) -> None:
        """Refuse cells that are none; raises `Unsound`."""
        demand(whole(self.low, -MOST_CELLS), "this first cell")
        demand(whole(self.high, self.low + 1, self.low + MOST_CELLS), "this number of cells")


@dataclass(frozen=True)
class Mesh:
    """Every free choice: grid points are whole multiples of the unit, of a composition from low to high."""

    up: bool
    unit: float
    bits: int
    low: int
    high: int
    cells: tuple[Cells, ...]

    def __post_init__(self) -> None:
        """Refuse what theorem 16 does not cover; raises `Unsound`."""
        demand(isinstance(self.up, bool) and positive(self.unit), "this grid")
        demand(whole(self.bits, 16, 4096), "this precision of a mass")
        demand(whole(self.low, -MOST_CELLS, 0), "a window that begins above 0")
        demand(whole(self.high, 1, MOST_CELLS), "a window that ends below 0")

    def to_json(self) -> dict[str, Any]:
        """The grid as JSON values."""
        rows = [[c.low, c.high, c.inner and c.inner.to_json()] for c in self.cells]
        return dict(vars(self)) | {"cells": rows}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Mesh:
        """Read what `to_json` wrote; raises where that is no grid."""
        rows = fields["cells"]
        cells = tuple(Cells(a, b, None if c is None else cls.from_json(c)) for a, b, c in rows)
        return cls(**fields | {"cells": cells})

    def of(self, laws: Laws) -> Laws:
        """A plan's laws on this grid."""
        rows = zip(laws, self.cells, strict=True)
        return tuple((Rounded.on(self, step, cells), count) for (step, count), cells in rows)

    def composed(self, laws: Laws) -> Masses:
        """The law of their sum, on this grid."""
        total: Masses | None = None
        for (step, _), (_, count) in zip(self.of(laws), laws, strict=True):
            assert isinstance(step, Rounded)
            several = self._power(step.masses(), count)
            total = several if total is None else self._product(total, several)
        assert total is not None
        return total

    def _power(self, masses: Masses, count: int) -> Masses:
        """Masses of the sum of so many, by squares."""
        result: Masses | None = None
        while True:
            if count % 2:
                result = masses if result is None else self._product(result, masses)
            count //= 2
            if not count:
                assert result is not None
                return result
            masses = self._product(masses, masses)

    def _product(self, a: Masses, b: Masses) -> Masses:
        """Masses of a sum, rounded, and brought into the window."""
        exact = (fmpz_poly(list(a.masses)) * fmpz_poly(list(b.masses))).coeffs()
        first = a.first + b.first
        masses = [self._shifted(int(m)) for m in exact]
        finite = sum(b.masses)
        infinite = self._shifted(a.infinite * (finite + b.infinite) + sum(a.masses) * b.infinite)
        below, above = max(0, self.low - first), max(0, self.high + 1 - first)
        if self.up:
            infinite += sum(masses[above:])
            if below:  # X rises: its Q-mass stays
                masses += [0] * (below + 1 - len(masses))
                growth = _whole(arb(self.unit).exp(), self.bits, up=True)
                lifted = 0
                for m in masses[:below]:
                    lifted = self._shifted((lifted + m) * growth)
                masses[below] += lifted
        return Masses(first + below, tuple(masses[below:above]), infinite)

    def _shifted(self, mass: int) -> int:
        """A product of two masses, as a mass."""
        return -(-mass >> self.bits) if self.up else mass >> self.bits


@dataclass(frozen=True)
class Masses:
    """P-masses of the grid's points from `first` on, and of an infinite loss, in units of 2^-bits."""

    first: int
    masses: tuple[int, ...]
    infinite: int

    def law(self, mesh: Mesh) -> Law:
        """Return the law in balls. All Q-mass left over is where P has none, as both orders allow."""
        unit, scale = arb(mesh.unit), 1 << mesh.bits
        rows = enumerate(self.masses, self.first)
        atoms = tuple((unit * j, arb(fmpq(m, scale))) for j, m in rows if m)
        left = 1 - sum((m * (-x).exp() for x, m in atoms), arb(0))
        return Law(atoms, (), arb(fmpq(self.infinite, scale)), left.max(arb(0)))


@dataclass(frozen=True)
class Rounded(Step):
    """A law on a grid, which bounds another one."""

    of_step: Step | None = None
    mesh: Mesh | None = None
    cells: Cells | None = None

    @classmethod
    def on(cls, mesh: Mesh, step: Step, cells: Cells) -> Rounded:
        """One law of a plan."""
        unit = Fraction(mesh.unit)
        return cls(nothing_stated, (), unit=unit, of_step=step, mesh=mesh, cells=cells)

    def law(self) -> Law:
        """The atoms, at the working precision."""
        return _law(self, ctx.prec)

    def masses(self) -> Masses:
        """Return the masses as whole numbers, whatever the working precision."""
        assert self.mesh is not None
        with precision(self.mesh.bits + _SPARE):
            spend_once(self, self._charge)
        return _masses(self)

    def _charge(self) -> None:
        """Charge what it takes, by the sizes of its grids."""
        assert self.cells is not None and self.of_step is not None
        inner = self.cells.inner
        spend_on(CELL, self.cells.high - self.cells.low)
        if inner is None and self.of_step.tabled:
            spend(table_seconds(self.of_step, self.cells.high - self.cells.low))
        if inner is None or not isinstance(self.of_step, NestedPlan):
            return
        window = inner.high - inner.low
        spend_on(CELL, window)
        for part, (_, count) in zip(inner.of(self.of_step.parts), self.of_step.parts, strict=True):
            assert isinstance(part[0], Rounded)
            spend_once(part[0], part[0]._charge)
            spend_on(PRODUCT, 2 * window * (2 * count.bit_length() - 1))


def table_seconds(step: Step, levels: float) -> float:
    """About what it costs to know a law at so many levels, beyond the levels themselves."""
    with precision(_SPARE):
        parts = [part for part in step.law().branches if isinstance(part, Tabled)]
    return sum(part.seconds(math.ceil(levels)) for part in parts)


@lru_cache(maxsize=64)
def _law(step: Rounded, bits: int) -> Law:
    assert step.mesh is not None
    return step.masses().law(step.mesh)


@lru_cache(maxsize=64)
def _masses(step: Rounded) -> Masses:
    mesh, cells, of_step = step.mesh, step.cells, step.of_step
    assert mesh is not None and cells is not None and of_step is not None
    inner = cells.inner
    demand(inner is None or inner.up == mesh.up, "a law rounded up within one that is rounded down")
    with precision(mesh.bits + _SPARE):
        law = of_step.law() if inner is None else unrounded(inner, of_step)
        return Rounding(mesh, cells).of(law)


def unrounded(inner: Mesh, step: Step) -> Law:
    """The law of a nested plan: its composition on a grid of its own, sampled."""
    demand(isinstance(step, NestedPlan), "a grid inside of a single release")
    assert isinstance(step, NestedPlan)
    base = inner.composed(step.parts).law(inner)
    if step.sampled is exchange:
        base = _completed(base)
    return step.sampled(base, ball(step.rate))


def _completed(base: Law) -> Law:
    """Losses above 0, which are all that C_q reads, with what their own mirror image leaves at 0."""
    above = [(x, m) for x, m in base.atoms if x > 0]
    left = 1 - base.infinite - sum((m * (1 + (-x).exp()) for x, m in above), arb(0))
    return Law((*above, (arb(0), left.max(arb(0)))), (), base.infinite, base.infinite)


def _whole(mass: arb, bits: int, *, up: bool) -> int:
    """A mass as a whole number, rounded to one side; none is negative."""
    scaled = mass * arb(2) ** bits
    end = scaled.upper().ceil() if up else scaled.lower().floor()
    return max(0, int(end.fmpz()))


class Rounding:
    """Rounds a law to masses of the grid's points within its cells."""

    def __init__(self, mesh: Mesh, cells: Cells) -> None:
        self._up, self._unit, self._bits = mesh.up, arb(mesh.unit), mesh.bits
        self._low, self._high = cells.low, cells.high
        self._sums = [0] * (cells.high - cells.low + 1)

    def of(self, law: Law) -> Masses:
        """The law, rounded."""
        infinite = law.infinite
        if self._up:
            for branch in law.branches:
                for piece in self._cut(branch, 0.0):
                    infinite += self._split(*piece)
            for x, m in law.atoms:
                infinite += self._split(*self._around(x), m, m * (-x).exp())
        else:
            self._gather(self._together(law))
        return Masses(self._low, tuple(self._sums), _whole(infinite, self._bits, up=self._up))

    def _give(self, place: int, mass: arb) -> None:
        self._sums[place - self._low] += _whole(mass, self._bits, up=self._up)

    # --- up

    def _around(self, loss: arb) -> tuple[int | None, int | None]:
        """Grid points surely not above and surely not below a loss; None: beyond the cells."""
        at = loss / self._unit
        a, b = int(at.lower().floor().fmpz()), int(at.upper().ceil().fmpz())
        b = max(b, self._low)
        return (None if a < self._low else a), (None if b > self._high else b)

    def _split(self, a: int | None, b: int | None, p: arb, q: arb) -> arb:
        """Both masses of losses between two grid points, at these; above all points all is infinite."""
        if b is None:
            return p
        if a is None or a == b:  # between X = 0 and the first point, or on a point
            self._give(b, p)
            return arb(0)
        upper = (p - q * (self._unit * a).exp()) / -(self._unit * (a - b)).expm1()
        self._give(b, upper)
        self._give(a, p - upper)
        return arb(0)

    def _cut(
        self, branch: ProofBranch | Tabled, shift: float
    ) -> Iterator[tuple[int | None, int | None, arb, arb]]:
        """The branch by the grid's cells: (point below, point above, P-mass, Q-mass), losses rising.

        All points are moved up by so much of a cell.
        """
        if isinstance(branch, Tabled):
            yield from self._steps(branch, shift)
            return
        favoured = branch.favoured
        before, last = (branch.start, branch.end) if favoured else (branch.end, branch.start)
        below: int | None = None
        for j in range(self._low, self._high + 1):
            level = self._unit * (j + shift)
            done = bool(branch.largest() <= level)
            edge = last if done else branch.place(level)
            if edge is None and not done:  # no loss is as small
                continue
            ends = (before, edge) if favoured else (edge, before)
            yield below, j, *branch.masses(*ends)
            if done:
                return
            below, before = j, edge
        yield below, None, *branch.masses(*((before, last) if favoured else (last, before)))

    def _steps(
        self, tabled: Tabled, shift: float
    ) -> Iterator[tuple[int | None, int | None, arb, arb]]:
        """`_cut` of losses that are known by their masses beyond each point."""
        places = range(self._low, self._high + 1)
        levels = [self._unit * (j + shift) for j in places]
        lowest = -2 * tabled.largest() - levels[-1] - self._unit  # which every loss exceeds
        rows = tabled.beyond([lowest.min(levels[0] - self._unit), *levels])
        for j, (p, q), (less_p, less_q) in zip(places, rows, rows[1:], strict=False):
            yield (None if j == self._low else j - 1), j, p - less_p, q - less_q
        yield self._high, None, *rows[-1]

    # --- down

    def _together(self, law: Law) -> list[Heap]:
        """Branches by cells whose middles are just above grid points, and atoms near each other as one."""
        heaps: dict[int, Heap] = {}
        alone = []
        for x, m in law.atoms:
            at, atom = float((x / self._unit).mid()), Heap(m, m * (-x).exp())
            near, place = math.floor(at * _NEAR), round(at)
            on_point = abs(at - place) < _ON and self._low <= place <= self._high
            if on_point and x >= self._unit * place:
                self._give(place, atom.q * (self._unit * place).exp())
            elif on_point:
                alone.append(atom)
            elif near in heaps:
                heaps[near].take(atom, arb(1))
            else:
                heaps[near] = atom
        for branch in law.branches:
            alone += [Heap(p, q) for _, _, p, q in self._cut(branch, _LESS - 0.5)]
        return [*heaps.values(), *alone]

    def _gather(self, heaps: Sequence[Heap]) -> None:
        """Heaps by falling means, some together at each grid point; a heap may be part of two."""
        rows = [(heap.place(self._unit), heap) for heap in heaps if heap.p > 0 and heap.q > 0]
        rows.sort(key=lambda row: -row[0])
        rest = []
        for at, heap in reversed(rows):
            place = round(at)
            if abs(at - place) < _ON and self._low <= place <= self._high:
                level = (
                    self._unit * place
                ).exp()  # what rounding takes off is lent by the largest losses
                if heap.excess(level) >= 0 or heap.lifted(level, rows[0][1]):
                    self._give(place, heap.q * level)
                    continue
            rest.append((at, heap))
        place, level, group = 0, arb(1), Heap(arb(0), arb(0))
        for at, heap in reversed(rest):
            while True:
                if group.q.is_zero():
                    place = min(math.floor(at - _ON), self._high)
                    level = (self._unit * place).exp()
                share = group.room(level, heap)
                if place < self._low or (group.q.is_zero() and not share > 0):
                    break  # what lies below all points is left out
                if share >= 1:
                    group.take(heap, arb(1))
                    break
                group.take(heap, share)
                self._give(place, group.q * level)
                heap, group = Heap(heap.p * (1 - share), heap.q * (1 - share)), Heap(arb(0), arb(0))
        if not group.q.is_zero():
            self._give(place, group.q * level)


@dataclass
class Heap:
    """Some losses together: their P-mass and their Q-mass, whose ratio is the mean of X."""

    p: arb
    q: arb

    def place(self, unit: arb) -> float:
        """The loss of the mean, in units."""
        return float(((self.p / self.q).log() / unit).mid())

    def excess(self, level: arb) -> arb:
        """Return the P-mass in excess of the Q-mass at this X."""
        return self.p - self.q * level

    def take(self, other: Heap, share: arb) -> None:
        """A share of other losses too."""
        self.p, self.q = self.p + share * other.p, self.q + share * other.q

    def room(self, level: arb, other: Heap) -> arb:
        """The share of other losses with which the mean is still at least this X, or a little less."""
        spare, more = self.excess(level), other.excess(level)
        if more >= 0 or spare + more >= 0:
            return arb(1)
        return (spare / -more).lower().max(arb(0)).min(arb(1)) if more < 0 else arb(0)

    def lifted(self, level: arb, lender: Heap) -> bool:
        """Bring the mean to this X by a little of a lender's losses; False where these are no larger."""
        excess = lender.excess(level)
        share = (-self.excess(level) / excess).upper() if excess > 0 else arb(1)
        if lender is self or not share < _LENT:
            return False
        self.take(lender, share)
        lender.p, lender.q = lender.p * (1 - share), lender.q * (1 - share)
        return True
