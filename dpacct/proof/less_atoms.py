"""Repeated steps whose point masses matter: what does not decay is taken out in closed form.

With M = A + C (point masses, branches), the line integral is taken of
R = M^T - A^T - T A^{T-1} C = sum_{k>=2} binom(T,k) A^{T-k} C^k, and the rest added back exactly:
eq. (14) to (16) of docs/theory/certificate.md.
"""

from __future__ import annotations

from flint import acb, arb

from .choices import Unsound
from .line import Line, Terms
from .moments import Moments
from .outcomes import folded, stick


class LessAtoms(Line):
    """The line of one repeated law, its atoms summed apart (16)."""

    def _fill(self) -> list[acb]:
        moments, count = self._only()
        h, n = self._step, self.contour.count
        table = []
        for whole, atoms in zip(moments.row(h, n), moments.atom_row(h, n), strict=True):
            fewer = atoms ** (count - 1)
            table.append(whole**count - fewer * (atoms + count * (whole - atoms)))
        return table

    def _only(self) -> tuple[Moments, int]:
        moments, count = self.steps[0]
        if len(self.steps) > 1 or not isinstance(moments, Moments):
            raise Unsound("point masses are taken out of one repeated law only")
        return moments, count

    def _tail_factor(self) -> arb:
        """Eq. (15): (1/pi) binom(T, 2) (A + V/tau)^{T-2} V^2/(3 tau^3)."""
        moments, count = self._only()
        tau = self.contour.count * self._step
        v = moments.variation()
        pairs = arb(count) * (count - 1) / 2
        base = moments.atoms_at_c() + v / tau
        return (pairs * base ** (count - 2) * v * v / (3 * tau**3 * arb.pi())).upper()

    def closed(self, epsilon: arb) -> arb:
        """delta of A^T and of T A^{T-1} C, eq. (16)."""
        moments, count = self._only()
        law, atoms = moments.law, moments.law.atoms
        total = sum((mass * stick(epsilon - loss) for loss, mass in folded(atoms, count)), arb(0))
        for loss, mass in folded(atoms, count - 1):
            e = epsilon - loss
            between = sum((branch.one_step(e) for branch in law.branches), arb(0))
            total += count * mass * between
        return total

    def delta(self, epsilon: arb, terms: Terms | None = None) -> arb:
        """An enclosure of the value at one epsilon."""
        return super().delta(epsilon, terms) + self.closed(epsilon)
