"""The discrete Gaussian mechanism: a whole number, plus normal noise on the whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import Real
from dpacct.declare.number import literal
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.discrete_laplace import SHIFT
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair


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

    label = "discrete Gaussian noise"
    sought, between = "scale", (0.05, 1e9)
    trust = "each {unit} moves the released whole number by at most the sensitivity"
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
        text = f"one whole number is released, of sensitivity {self.sensitivity} under {adjacency}"
        return (Assumption(text, id="sensitivity"),)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.integer[Any]]:
        """Noise, from exact coins; `rng` is a seed, random.Random, numpy Generator, or None.

        None takes the system's entropy: the choice for a release. Raises `InvalidArgument`.

        >>> DiscreteGaussian(scale=2).sample(4, rng=1).dtype
        dtype('int64')
        """
        from dpacct.mechanisms.draw import discrete_gaussian, many

        return many(lambda uniform: discrete_gaussian(self.scale**2, uniform), size, rng)
