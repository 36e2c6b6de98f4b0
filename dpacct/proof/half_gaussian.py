"""C_q of the Gaussian mechanism's trade-off function (Dong, Roth, Su 2022, Theorem 4.2), in balls.

With x ~ N(0, 1) and mu = 1/sigma: losses log r on x > mu/2 with P-density phi r, their mirror
images -log r with P-density phi, and no evidence for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from .balls import ball
from .branches import Branch, PanelRule, Parts, PreparedBranches
from .gaussian import normal_tail, sampled_profile
from .window import Cut


@dataclass(frozen=True)
class SymmetricGaussian:
    """One step of C_rate(G_{1/sigma}), 0 < rate < 1."""

    sigma_squared: Fraction
    rate: Fraction

    def one_step(self, epsilon: arb) -> arb:
        """Delta of one step: that of the Poisson-sampled pair, mirrored below 0, eq. (9)."""
        if epsilon < 0:
            return -epsilon.expm1() + epsilon.exp() * self.one_step(-epsilon)
        return sampled_profile(ball(1 / self.sigma_squared), ball(self.rate), True, epsilon)

    def ceiling(self) -> arb:
        """There is no largest loss."""
        return arb.pos_inf()

    def parts(self, cut: Cut | None = None) -> Parts:
        """An atom at 0 and two half-lines; of the favoured one only near draws, if there is a cut."""
        q, square = ball(self.rate), ball(1 / self.sigma_squared)
        mu = square.sqrt()
        base = -(2 * arb.pi()).log() / 2
        rest = (1 - q) * (1 - 2 * normal_tail(mu / 2))
        both = [
            Branch(
                mu / 2,
                None,
                base,
                arb(0),
                1,
                mu,
                square / 2,
                q,
                favoured,
                cut if favoured else None,
            )
            for favoured in (True, False)
        ]
        return Parts(((arb(0), rest),), tuple(both))

    def top(self) -> arb:
        """No point mass."""
        return arb(0)

    def rule_from_json(self, fields: dict[str, Any]) -> PanelRule:
        """A rule as a certificate holds it."""
        return PanelRule.from_json(fields)

    def prepare(self, c: arb, rule: PanelRule) -> PreparedBranches:
        """The law ready for the line Re s = c."""
        return PreparedBranches(self.parts(), c, rule)
