"""The plain Gaussian in balls: closed forms for any number of steps, and for one sampled step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import acb, arb, ctx

from dpacct.engine.stable import Floats

from .balls import ball

_FAR_OUT = 200.0


def normal_tail(x: arb) -> arb:
    """P(N(0, 1) > x).

    >>> bool(abs(normal_tail(arb(2)) - 0.0227501319481792) < 1e-15)
    True
    """
    if x > _FAR_OUT:  # where the library's erfc gives up in the end
        return mills_ratio(x) * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
    return (x / arb(2).sqrt()).erfc() / 2


def mills_ratio(x: arb) -> arb:
    """e^{x^2/2} int_x^inf e^{-u^2/2} du, x > 0: 1/x - 1/x^3 + 3/x^5 - ... (DLMF 7.12.1).

    The series alternates around the value, so what is left out is between 0 and its next term.
    """
    total, term, k, falling = arb(0), 1 / x, 0, True
    while falling and k < ctx.prec and abs(term) > abs(total) * arb(2) ** -ctx.prec:
        total += term
        k += 1
        following = -term * (2 * k - 1) / (x * x)
        falling = bool(abs(following) < abs(term))
        term = following
    return total + term.union(arb(0))


def profile(mu_squared: arb, epsilon: arb) -> arb:
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), any real eps (Balle, Wang 2018)."""
    mu = mu_squared.sqrt()
    return normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)


def sampled_profile(mu_squared: arb, rate: arb, remove: bool, epsilon: arb) -> arb:
    """One sampled step: q D(eps') with e^eps' = 1 + (e^eps - 1)/q, or w D(eps''), eq. (9)."""
    if remove:
        if epsilon < 0 and epsilon.expm1() / rate <= -1:
            return -epsilon.expm1()
        return rate * profile(mu_squared, (epsilon.expm1() / rate).log1p())
    weight = 1 - (1 - rate) * epsilon.exp()
    if weight <= 0:
        return arb(0)
    return weight * profile(mu_squared, epsilon + (rate / weight).log())


@dataclass(frozen=True)
class PlainGaussian:
    """L ~ N(mu^2/2, mu^2); `mu_squared` is exact, and adds up under composition."""

    mu_squared: Fraction

    def one_step(self, epsilon: arb) -> arb:
        """delta, closed form."""
        return profile(ball(self.mu_squared), epsilon)

    def ceiling(self) -> arb:
        """There is no largest loss."""
        return arb.pos_inf()

    def top(self) -> arb:
        """No point mass."""
        return arb(0)

    def rule_from_json(self, fields: dict[str, Any]) -> None:
        """There is nothing to choose."""
        return None

    def prepare(self, c: arb, rule: None) -> PreparedPlain:
        """The law ready for the line Re s = c."""
        return PreparedPlain(self, c)


class PreparedPlain:
    """log M(s) = mu^2 s (s + 1)/2, so |M(c + it)/M(c)| = e^{-mu^2 t^2/2}."""

    def __init__(self, law: PlainGaussian, c: arb) -> None:
        self.c = c
        self._square = ball(law.mu_squared)
        self.at_c = self.moment(c)

    def moment(self, y: arb) -> arb:
        """M(y), real y > 0."""
        return (self._square * y * (y + 1) / 2).exp()

    def row(self, step: arb, count: int) -> list[acb]:
        """M(c + i k step), k = 0 .. count."""
        found = []
        for k in range(count + 1):
            s = acb(self.c, k * step)
            found.append((self._square * s * (s + 1) / 2).exp())
        return found

    def deficit(self, t: arb) -> arb:
        """-log |M(c + it')/M(c)| for t' >= t."""
        return (self._square * t * t / 2).lower()

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, for the search."""
        return 0.5 * float(self._square) * t * t
