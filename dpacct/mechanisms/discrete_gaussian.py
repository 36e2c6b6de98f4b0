"""The discrete Gaussian mechanism: a whole number, plus normal noise on the whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.domain import Integer, Number, Real
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.discrete_laplace import SHIFT
from dpacct.mechanisms.mechanism import Mechanism, literal
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.curves.discrete_gaussian import DiscreteGaussianPair


@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussian(Mechanism, kind="discrete-gaussian"):
    """Whole-number noise, x with probability proportional to e^{-x^2 / (2 scale^2)}.

    `scale` in (0, 2000] and the whole number `sensitivity` (1 to 10,000) are both in units of the
    released number, which is whole; scale / sensitivity is at least 0.05. For noise beyond 2000 the
    continuous Gaussian of the same scale is close. Below a scale of about 1, delta may rise with the
    scale: what `calibrate` finds meets the target, and a smaller one may too. Raises `InvalidArgument`.

    >>> DiscreteGaussian(scale=10)
    DiscreteGaussian(scale=10, sensitivity=1)
    """

    scale: Fraction
    sensitivity: Fraction

    domains: ClassVar[Mapping[str, Real | Integer]] = {
        "scale": Real("0.05", 2000, "both", typical=(0.2, 50)),
        "sensitivity": SHIFT,
    }
    references = (
        "Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020",
    )

    def __init__(self, *, scale: Number, sensitivity: Number = 1) -> None:
        self._keep(scale=scale, sensitivity=sensitivity)
        if self.scale < Fraction("0.05") * self.sensitivity:
            told = "scale / sensitivity must be at least 0.05, got "
            ratio = literal(self.scale / self.sensitivity)
            raise InvalidArgument(f"{told}{ratio}", argument="scale")

    def base(self, adjacency: Adjacency) -> DiscreteGaussianPair:
        """The noise against itself moved by the sensitivity."""
        from dpacct.curves.discrete_gaussian import DiscreteGaussianPair

        return DiscreteGaussianPair(float(self.scale), int(self.sensitivity))

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        told = f"one whole number is released, of sensitivity {self.sensitivity} under {adjacency}"
        return (Assumption(told),)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.integer[Any]]:
        """Noise, from exact coins; `rng` is a seed, random.Random, numpy Generator, or None.

        None takes the system's entropy: the choice for a release. Raises `InvalidArgument`.

        >>> DiscreteGaussian(scale=2).sample(4, rng=1).dtype
        dtype('int64')
        """
        from dpacct.mechanisms.exact_draw import discrete_gaussian, many

        return many(lambda uniform: discrete_gaussian(self.scale**2, uniform), size, rng)
