"""The Laplace mechanism in balls, plain and sampled: atoms at both ends, a branch between them.

With lam = 1/b, the plain loss l has Q-density e^{-(l+lam)/2}/4 on [-lam, lam], and Q-atoms
e^{-lam}/2 at lam and 1/2 at -lam; P = e^l Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from flint import arb, ctx, fmpz, fmpz_poly

from .balls import ball
from .branches import Branch, PanelRule, Parts, PreparedBranches
from .effort import spend, sum_cost

MOST_RESIDUES = 1500
PLAIN, REMOVE, ADD, SYMMETRIC = "plain", "remove", "add", "symmetric"


def profile(lam: arb, epsilon: arb) -> arb:
    """delta of one plain step: 1 - e^{(eps - lam)/2} between the ends, at any real epsilon."""
    if epsilon >= lam:
        return arb(0)
    if epsilon <= -lam:
        return -epsilon.expm1()
    if epsilon < lam and epsilon > -lam:
        return -((epsilon - lam) / 2).expm1()
    # at an end the two formulas meet
    inside = -((epsilon - lam) / 2).expm1()
    other = arb(0) if epsilon > -lam else -epsilon.expm1()
    return inside.union(other)


@dataclass(frozen=True)
class LaplaceStep:
    """One step, plain (rate 1) or sampled."""

    b: Fraction
    rate: Fraction
    kind: str

    def _lam(self) -> arb:
        return 1 / ball(self.b)

    def one_step(self, epsilon: arb) -> arb:
        """Delta of one step, eq. (9); the symmetric pair is mirrored below 0."""
        q, lam = ball(self.rate), self._lam()
        if self.kind == PLAIN:
            return profile(lam, epsilon)
        if self.kind == ADD:
            weight = 1 - (1 - q) * epsilon.exp()
            if weight <= 0:
                return arb(0)
            return weight * profile(lam, epsilon + (q / weight).log())
        if epsilon < 0:
            if self.kind == SYMMETRIC:
                return -epsilon.expm1() + epsilon.exp() * self.one_step(-epsilon)
            if epsilon.expm1() / q <= -1:
                return -epsilon.expm1()
        return q * profile(lam, (epsilon.expm1() / q).log1p())

    def repeated(self, count: int, epsilon: arb) -> arb | None:
        """Delta of few plain steps as a finite sum of residues, eq. (11); None for others.

        M^T = sum_j binom(T, j) e^{-lam j} e^{lam (T-2j) s} (s+1)^{T-j} s^j/(2s+1)^T: where
        y = lam (T-2j) - eps > 0 the line is closed to the left, around s = -1/2 (and 0, if j = 0).
        """
        if self.kind != PLAIN or count > MOST_RESIDUES:
            return None
        spend(sum_cost(count * count / 2, ctx.prec))
        lam = self._lam()
        rising, falling = fmpz_poly([1, 1]), fmpz_poly([-1, 1])
        total = arb(0)
        for j in range(count):
            y = lam * (count - 2 * j) - epsilon
            if y <= 0:
                break
            if j:
                powers = (rising ** (count - j - 1) * falling ** (j - 1)).coeffs()
            else:  # 1/(u - 1) = -(1 + u + u^2 + ...)
                sums = list(accumulate(int(a) for a in (rising ** (count - 1)).coeffs()))
                powers = [fmpz(-a) for a in sums]
            series, term = arb(0), arb(1)
            # coefficient of u^{T-1} in e^{yu/2} (1+u)^{T-j-1} (u-1)^{j-1}
            for m in range(count):
                k = count - 1 - m
                if k < len(powers):
                    series += term * powers[k]
                term = term * y / (2 * (m + 1))
            value = series * (-y / 2).exp() * arb(2) ** (1 - count) + (0 if j else 1)
            if not y > 0:  # eps at a lattice point: the term is 0 there, and grows from it
                value = value.union(arb(0))
            total += arb(count).bin(j) * (-lam * j).exp() * value
        return total

    def ceiling(self) -> arb:
        """The largest loss: the atom's, at one end."""
        if self.kind == ADD:
            return -self._log_r(-self._lam())
        return self._log_r(self._lam())

    def top(self) -> arb:
        """The atom's P-mass at that end."""
        if self.kind == ADD:
            return arb(1) / 2
        lam = self._lam()
        return (-lam).exp() / 2 * self._log_r(lam).exp()

    def _log_r(self, loss: arb) -> arb:
        return (ball(self.rate) * loss.expm1()).log1p()

    def parts(self) -> Parts:
        """Atoms and branches of the loss, with masses under P."""
        q, lam = ball(self.rate), self._lam()
        base = -lam / 2 - arb(4).log()
        top, bottom = (-lam).exp() / 2, arb(1) / 2  # Q-masses
        high, low = self._log_r(lam), self._log_r(-lam)

        def branch(start: arb, favoured: bool) -> Branch:
            return Branch(start, lam, base, -arb(1) / 2, 0, arb(1), arb(0), q, favoured)

        if self.kind == ADD:
            return Parts(((-high, top), (-low, bottom)), (branch(-lam, False),))
        if self.kind != SYMMETRIC:
            atoms = ((high, top * high.exp()), (low, bottom * low.exp()))
            return Parts(atoms, (branch(-lam, True),))
        # both halves, and no evidence for (1 - q) (1 - e^{-lam/2}) of the mass
        rest = (1 - q) * -(-lam / 2).expm1()
        three = ((high, top * high.exp()), (-high, top), (arb(0), rest))
        return Parts(three, (branch(arb(0), True), branch(arb(0), False)))

    def rule_from_json(self, fields: dict[str, Any]) -> PanelRule:
        """A rule as a certificate holds it."""
        return PanelRule.from_json(fields)

    def prepare(self, c: arb, rule: PanelRule) -> PreparedBranches:
        """The law ready for the line Re s = c."""
        return PreparedBranches(self.parts(), c, rule)
