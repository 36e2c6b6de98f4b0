"""One step of a plan in exact numbers: what is stated, how it is sampled, and its moments at a precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from .balls import ball
from .choices import demand
from .law import Law, exchange, plain, remove
from .moments import Moments, NormalMoments
from .rule import Rule
from .stated import gaussian, laplace


@dataclass(frozen=True)
class Step:
    """A base pair, and how it is sampled. Equal steps hash alike, so that a plan adds their counts."""

    stated: Callable[..., Law]
    numbers: tuple[Fraction, ...]
    sampled: Callable[[Law, arb], Law] = plain
    rate: Fraction = Fraction(1)

    def law(self) -> Law:
        """The step in balls, at the working precision."""
        return _law(self, ctx.prec)

    @property
    def normal(self) -> bool:
        """Whether it is an unsampled Gaussian step, whose moments are closed."""
        return self.stated is gaussian and self.rate == 1

    @property
    def spaced(self) -> bool:
        """Whether it is a Laplace step: atoms at both ends, or at 0, and a density between them."""
        return self.stated is laplace

    @property
    def splittable(self) -> bool:
        """Whether it has near and far draws: Gaussian noise, in the direction that favours P."""
        return self.stated is gaussian and self.sampled in (remove, exchange) and self.rate < 1

    @property
    def symmetric(self) -> bool:
        """Whether it is a pair of a sample of fixed size, and its own mirror image."""
        return self.sampled is exchange

    @property
    def mu_squared(self) -> Fraction:
        """Of Gaussian noise: (sensitivity / standard deviation)^2."""
        demand(self.stated is gaussian, "a step without Gaussian noise")
        return self.numbers[0]

    def one_step(self, epsilon: arb) -> arb:
        """Delta of a single step in closed form, any real epsilon."""
        return self.law().one_step(epsilon)

    def ceiling(self) -> arb:
        """The largest loss; none where an outcome is impossible under Q."""
        law = self.law()
        return law.ceiling() if law.infinite.is_zero() else arb.pos_inf()

    def top(self) -> arb:
        """P-mass of the largest loss; a lower bound of it is enough."""
        return self.law().top()

    def prepare(self, c: arb, rule: Rule | None) -> Moments | NormalMoments:
        """The step ready for the line Re s = c."""
        if rule is None:
            demand(self.normal, "a law without nodes")
            return NormalMoments(ball(self.mu_squared), c)
        return Moments(self.law(), c, rule)


@lru_cache(maxsize=256)
def _law(step: Step, bits: int) -> Law:
    return step.sampled(step.stated(*step.numbers), ball(step.rate))
