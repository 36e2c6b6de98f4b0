"""The Laplace mechanism in balls, plain and sampled: atoms at both ends, a branch between them.

With lam = 1/b, the plain loss l has Q-density e^{-(l+lam)/2}/4 on [-lam, lam], and Q-atoms
e^{-lam}/2 at lam and 1/2 at -lam; P = e^l Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from . import sampled_draws
from .balls import ball
from .branches import Branch, PanelRule, Parts, PreparedBranches
from .laplace_draws import MOST_BETWEEN, by_draws, expected
from .repeated_laplace import MOST_TERMS, residues

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
        """Delta as a finite sum, eq. (11), (26) or (27); None where there are too many terms."""
        if self.kind != PLAIN:
            return sampled_draws.by_draws(self.sorted_by_draws(), count, epsilon)
        if expected(count, self.b, float(epsilon.mid())) < MOST_BETWEEN:
            return by_draws(count, self.b, epsilon)
        return residues(count, self.b, epsilon) if count <= MOST_TERMS else None

    def sorted_by_draws(self) -> sampled_draws.Step:
        """Atoms and what lies between them, as eq. (27) has them."""
        q, lam = ball(self.rate), self._lam()
        high, low = self._log_r(lam), self._log_r(-lam)
        atoms = tuple(mass for _, mass in self.parts().atoms)
        if self.kind == SYMMETRIC:
            between = ((2 - q) * (-lam / 2).exp() + q) * -(-lam / 2).expm1() / 2
            both = tuple(
                sampled_draws.Smooth(arb(0), high, 1 if mirrored else 2, mirrored)
                for mirrored in (False, True)
            )
            first, last, middle = atoms
            return sampled_draws.Step(lam, q, high, high, (first, middle, last), between, both)
        mirrored = self.kind == ADD
        one = sampled_draws.Smooth(low, high, 1 if mirrored else 2, mirrored)
        top, between = -low if mirrored else high, -(-lam).expm1() / 2
        if mirrored:
            atoms = atoms[::-1]
        return sampled_draws.Step(lam, q, top, high - low, atoms, between, (one,))

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
