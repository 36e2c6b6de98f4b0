"""The staircase mechanism: a number of bounded sensitivity, plus noise of a stepped density."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.domain import Integer, Number, Real
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.curves.outcomes import OutcomePair

EPS0 = Real(0, 500, "right", typical=(1e-2, 10))
"""The epsilon of one release, of noise or of one person's answer; beyond 500 nothing is private."""
_SHARE = Real(0, 1, "both")


@dataclass(frozen=True, init=False, repr=False)
class Staircase(Mechanism, kind="staircase"):
    """Noise whose density falls by the factor e^-eps0 at nu, 1 + nu, 2 + nu, ... sensitivities.

    One release is eps0-DP, eps0 in (0, 500]. `nu` in [0, 1] is the place of the first step; None is
    the nu that minimises E|noise|, 1 / (1 + e^{eps0/2}). Noise and sensitivity are those of ONE
    number; a vector needs its own argument (docs/mechanisms.md). Raises `InvalidArgument`.

    >>> Staircase(eps0=1), round(Staircase(eps0=1).mean_size, 6)
    (Staircase(eps0=1), 0.959517)
    """

    eps0: Fraction
    nu: Fraction | None = None

    domains: ClassVar[Mapping[str, Real | Integer]] = {"eps0": EPS0, "nu": _SHARE}
    references = (
        "Geng, Viswanath. The Optimal Mechanism in Differential Privacy. ISIT 2014; Geng, Kairouz, "
        "Oh, Viswanath. The Staircase Mechanism in Differential Privacy. IEEE JSTSP 2015",
    )

    def __init__(self, *, eps0: Number, nu: Number | None = None) -> None:
        self._keep(eps0=eps0)
        if nu is not None:
            self._keep(nu=nu)

    @property
    def step_at(self) -> float:
        """The nu in use."""
        from dpacct.curves.staircase import best_nu

        return best_nu(float(self.eps0)) if self.nu is None else float(self.nu)

    @property
    def mean_size(self) -> float:
        """E|noise| in units of the sensitivity."""
        from dpacct.curves.staircase import mean_size

        return mean_size(float(self.eps0), self.step_at)

    @property
    def std(self) -> float:
        """Standard deviation of the noise in units of the sensitivity."""
        from dpacct.curves.staircase import mean_square

        return math.sqrt(mean_square(float(self.eps0), self.step_at))

    def base(self, adjacency: Adjacency) -> OutcomePair:
        """The noise against itself moved by one sensitivity: losses eps0, 0 and -eps0."""
        from dpacct.curves.staircase import staircase_pair

        return staircase_pair(float(self.eps0), self.step_at)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, and that a single number is released."""
        told = (
            f"noise of a step width of one sensitivity (under {adjacency}) is added to one number"
        )
        return (Assumption(told),)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.floating[Any]]:
        """Noise in units of the sensitivity; `rng` is a numpy Generator, a seed, or None.

        In floating point, which an attacker who sees every bit can exploit (Mironov 2012). Raises
        `InvalidArgument`.

        >>> Staircase(eps0=1).sample(3, rng=1).shape
        (3,)
        """
        from dpacct.mechanisms.draw import staircase

        return staircase(float(self.eps0), self.step_at, size, rng)
