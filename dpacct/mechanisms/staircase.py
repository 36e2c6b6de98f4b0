"""The staircase mechanism: a number of bounded sensitivity, plus noise of a stepped density.

Its law, and why its pair is the worst, stand in laws/staircase.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.citations import STAIRCASE, STAIRCASE_TWICE
from dpacct.declare.domain import POSITIVE, SHARE, Real
from dpacct.declare.number import text
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.laws.staircase import (
    best_nu,
    mean_size,
    mean_square,
    moved,
    moved_half,
    moved_twice,
)
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Stated

EPS0 = Real(0, 500, "right", typical=(1e-2, 10))
"""The epsilon of one release, of noise or of one person's answer; beyond 500 nothing is private."""


class Staircase(Mechanism, kind="staircase"):
    """Noise whose density falls by the factor e^-eps0 at nu, 1 + nu, 2 + nu, ... step widths.

    A step is as wide as the sensitivity, and one release is eps0-DP, eps0 in (0, 500]. With `clip` it
    is as wide as the clip instead: what is released is a sum of numbers clipped to [-clip, clip], which
    moves by one clip under add-remove and zero-out and costs eps0, and by two under replace-one, where
    one release is (2 eps0)-DP (eps0 at most 250). `nu` in [0, 1] is the place of the first step; None
    is the nu that minimises E|noise|, 1 / (1 + e^{eps0/2}). Noise and sensitivity are those of ONE
    number; a vector needs its own argument (docs/mechanisms.md). Raises `InvalidArgument`.

    >>> Staircase(1), round(Staircase(eps0=1).mean_size, 6)
    (Staircase(eps0=1), 0.959517)
    >>> Staircase(eps0=1, clip=3).pure_epsilon(Adjacency.REPLACE_ONE)
    Fraction(2, 1)
    """

    label = "staircase noise"
    sought, between = "eps0", (1e-6, 500.0)
    trust = "each {unit} moves the released number by at most the sensitivity"
    eps0: Parameter[Fraction] = Parameter(EPS0, "epsilon of one release", "L", kw_only=False)
    nu: Parameter[Fraction | None] = Parameter(
        SHARE,
        "where the density first falls; by default where the mean noise is smallest",
        "V",
        default=None,
    )
    clip: Parameter[Fraction | None] = Parameter(
        POSITIVE, "size to which each number is clipped, and the width of a step", "C", default=None
    )
    references = ("geng2014optimal", "geng2015staircase")

    def _complaint(self) -> InvalidArgument | None:
        if self.clip is None or self.eps0 <= 250:  # a move may be two clips
            return None
        message = "eps0 must be a number above 0 and at most 250 where clip is given"
        return InvalidArgument(f"{message}, got {text(self.eps0)}", argument="eps0")

    def _steps(self, adjacency: Adjacency) -> int:
        """The sensitivity in step widths."""
        return 1 if self.clip is None else adjacency.clip_factor

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """The number of density steps in one sensitivity times eps0."""
        return self._steps(adjacency) * self.eps0

    @property
    def step_at(self) -> float:
        """Nu: the stated one, or the one of the least mean size of the noise."""
        return best_nu(float(self.eps0)) if self.nu is None else float(self.nu)

    @property
    def mean_size(self) -> float:
        """E|noise| in step widths: in units of `clip` where that is given, else of the sensitivity."""
        return mean_size(float(self.eps0), self.step_at)

    @property
    def std(self) -> float:
        """Standard deviation of the noise in the same units."""
        return math.sqrt(mean_square(float(self.eps0), self.step_at))

    def stated(self, adjacency: Adjacency) -> Stated:
        """The noise against itself moved by the sensitivity, one step width or two."""
        from dpacct.pld.pair import Stated

        numbers = (self.eps0,) if self.nu is None else (self.eps0, self.nu)
        if self._steps(adjacency) == 2:
            near = Stated(moved, numbers, STAIRCASE, self.eps0)
            return Stated(moved_twice, numbers, STAIRCASE_TWICE, self.eps0, near)
        near = Stated(moved_half, numbers, STAIRCASE, self.eps0)
        return Stated(moved, numbers, STAIRCASE, self.eps0, near)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, and that a single number is released."""
        message = (
            f"noise of a step width of one sensitivity (under {adjacency}) is added to one number"
        )
        if self.clip is not None:
            moves = "one clip" if adjacency.clip_factor == 1 else f"{adjacency.clip_factor} clips"
            message = (
                "noise of a step width of one clip is added to one number, which a unit moves "
            )
            message += f"by at most {moves} (under {adjacency})"
        return (Assumption(message, id="sensitivity"),)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.floating[Any]]:
        """Noise in units of the sensitivity; where `clip` is given, in those of `clip`.

        `rng` is a numpy Generator, a seed, or None.
        In floating point, which an attacker who sees every bit can exploit (Mironov 2012). Raises
        `InvalidArgument`.

        >>> Staircase(eps0=1).sample(3, rng=1).shape
        (3,)
        """
        from dpacct.mechanisms.laws.draw import staircase

        noise = staircase(float(self.eps0), self.step_at, size, rng)
        return noise if self.clip is None else noise * float(self.clip)
