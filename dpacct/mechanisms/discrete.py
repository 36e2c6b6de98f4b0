"""The discrete mechanisms: a whole number, plus two-sided geometric or discrete Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.citations import DISCRETE_LAPLACE
from dpacct.declare.domain import Integer, Real
from dpacct.declare.number import literal
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.loss import LossDistribution
    from dpacct.pld.pair import Pair, Stated

SHIFT = Integer(1, 10_000)
"""The sensitivity of a whole number."""
_TRUST = "each {unit} moves the released whole number by at most the sensitivity"


def _one_number(sensitivity: int, adjacency: Adjacency) -> tuple[Assumption, ...]:
    text = f"one whole number is released, of sensitivity {sensitivity} under {adjacency}"
    return (Assumption(text, id="sensitivity"),)


class DiscreteLaplace(Mechanism, kind="discrete-laplace"):
    """Whole-number noise, x with probability proportional to e^{-|x| / scale}.

    `scale` > 0 and the whole number `sensitivity` (1 to 10,000) are both in units of the released
    number, which is whole; scale / sensitivity lies in [0.002, 10^6]. One release is
    (sensitivity / scale)-DP. Raises `InvalidArgument`.

    >>> DiscreteLaplace(scale=10)
    DiscreteLaplace(scale=10, sensitivity=1)
    """

    from_reals = False
    label = "discrete Laplace noise"
    sought, between = "scale", (2e-3, 1e6)
    trust = _TRUST
    scale: Parameter[Fraction] = Parameter(
        Real("0.002", 10**10, "both", typical=(1e-1, 1e2)),
        "scale, in whole units",
        "S",
        kw_only=False,
    )
    sensitivity: Parameter[int] = Parameter(SHIFT, "sensitivity, a whole number", "D", default=1)
    references = ("ghosh2009universally", "canonne2020discrete")

    def _complaint(self) -> InvalidArgument | None:
        ratio = self.scale / self.sensitivity
        if Fraction("0.002") <= ratio <= 10**6:
            return None
        text = "scale / sensitivity must be a number from 0.002 to 1e6, got "
        return InvalidArgument(f"{text}{literal(ratio)}", argument="scale")

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """Sensitivity / scale."""
        return self.sensitivity / self.scale

    def stated(self, adjacency: Adjacency) -> Stated:
        """The noise against itself moved by the sensitivity."""
        from dpacct.pld.pair import Facing, Stated

        unit, shift = 1 / self.scale, int(self.sensitivity)
        half = max(1, shift // 2)
        # two records face each other across none where both may move the number by half of the sensitivity
        facing = Facing(0, unit * half) if 2 * half == shift else None
        near = Stated(_moved, (unit, half), DISCRETE_LAPLACE, unit, facing=facing)
        return Stated(_moved, (unit, shift), DISCRETE_LAPLACE, unit, near)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        return _one_number(self.sensitivity, adjacency)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.integer[Any]]:
        """Noise, from exact coins; `rng` is a seed, random.Random, numpy Generator, or None.

        None takes the system's entropy: the choice for a release. Raises `InvalidArgument`.

        >>> DiscreteLaplace(scale=2).sample(4, rng=1).dtype
        dtype('int64')
        """
        from dpacct.mechanisms.laws.draw import discrete_laplace, many

        return many(lambda uniform: discrete_laplace(self.scale, uniform), size, rng)


def _moved(u: Any, shift: int) -> LossDistribution:
    """P(x) ~ e^{-u |x|} against the same moved by `shift`.

    x <= 0 has the loss u shift, x in (0, shift) the loss u (shift - 2x), and so on down.
    """
    import numpy as np

    from dpacct.pld.pair import symmetric

    x = np.arange(1, shift // 2 + 1)
    # P(0) = (1 - e^-u) / (1 + e^-u); what has no loss stands for both signs
    inside = np.tanh(0.5 * u) * np.exp(u * (x - shift))
    masses = np.where(2 * x == shift, 0.5, 1.0) * inside
    top = np.exp(-shift * u) / (1.0 + np.exp(-u))
    return symmetric([shift * u, *(u * (shift - 2 * x))], [top, *masses])


class DiscreteGaussian(Mechanism, kind="discrete-gaussian"):
    """Whole-number noise, x with probability proportional to e^{-x^2 / (2 scale^2)}.

    `scale` (0.05 to 1e9) and the whole number `sensitivity` (1 to 10,000) are both in units of the
    released number, which is whole; scale / sensitivity is at least 0.05. Above a scale of 2000 answers
    lie between those of continuous Gaussian noise of variances scale^2 - 4 and scale^2 + 4, which are
    proved to be its bounds. Below a scale of about 1, delta may rise with the scale: what `calibrate`
    finds meets the target, and a smaller one may too. Raises `InvalidArgument`.

    >>> DiscreteGaussian(scale=10)
    DiscreteGaussian(scale=10, sensitivity=1)
    """

    from_reals = False
    label = "discrete Gaussian noise"
    sought, between = "scale", (0.05, 1e9)
    trust = _TRUST
    scale: Parameter[Fraction] = Parameter(
        Real("0.05", 10**9, "both", typical=(0.2, 50)), "sigma, in whole units", "S", kw_only=False
    )
    sensitivity: Parameter[int] = Parameter(SHIFT, "sensitivity, a whole number", "D", default=1)
    references = ("canonne2020discrete",)

    def _complaint(self) -> InvalidArgument | None:
        ratio = self.scale / self.sensitivity
        if ratio >= Fraction("0.05"):
            return None
        text = "scale / sensitivity must be at least 0.05, got "
        return InvalidArgument(f"{text}{literal(ratio)}", argument="scale")

    def pair(self, adjacency: Adjacency) -> Pair:
        """The noise against itself moved by the sensitivity."""
        from dpacct.mechanisms.laws.discrete_gaussian import WIDEST, summed, wide

        scale = float(self.scale)
        return (summed if scale <= WIDEST else wide)(scale, int(self.sensitivity))

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        return _one_number(self.sensitivity, adjacency)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.integer[Any]]:
        """Noise, from exact coins; `rng` is a seed, random.Random, numpy Generator, or None.

        None takes the system's entropy: the choice for a release. Raises `InvalidArgument`.

        >>> DiscreteGaussian(scale=2).sample(4, rng=1).dtype
        dtype('int64')
        """
        from dpacct.mechanisms.laws.draw import discrete_gaussian, many

        return many(lambda uniform: discrete_gaussian(self.scale**2, uniform), size, rng)
