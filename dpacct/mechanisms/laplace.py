"""The Laplace mechanism: a value of bounded l1 sensitivity, plus Laplace noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import POSITIVE
from dpacct.declare.record import Parameter
from dpacct.errors import OutsideDomain
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair, Stated


class Laplace(Mechanism, kind="laplace"):
    """Noise of density exp(-|x| / scale) / (2 scale), in exactly one of two forms.

    `b` = scale / l1 sensitivity, the sensitivity under whatever adjacency is asked: one release is
    (1/b)-DP. `noise_multiplier` = scale / `clip`, where what is released is a sum of vectors clipped to
    l1 norm `clip`: its sensitivity is `clip` under add-remove and zero-out, 2 * `clip` under
    replace-one. Only the ratio counts for privacy, so `clip` may be left out. All are positive numbers.
    Raises `InvalidArgument`.

    >>> Laplace("0.5"), Laplace(noise_multiplier=2, clip=1).b_under(Adjacency.REPLACE_ONE)
    (Laplace(b=0.5), Fraction(1, 1))
    """

    label = "Laplace noise"
    b: Parameter[Fraction | None] = Parameter(
        POSITIVE, "scale / sensitivity", "B", default=None, kw_only=False
    )
    noise_multiplier: Parameter[Fraction | None] = Parameter(
        POSITIVE, "scale / clip", "Z", default=None
    )
    clip: Parameter[Fraction | None] = Parameter(
        POSITIVE, "l1 norm to which each contribution is clipped", "C", default=None
    )
    ways = (("b",), ("noise_multiplier", "clip"))
    sought = "b"
    trust = "each {unit}'s contribution moves the value by at most the l1 sensitivity"
    references = ("dwork2006calibrating",)

    def b_under(self, adjacency: Adjacency) -> Fraction:
        """Scale / sensitivity under this adjacency, exactly."""
        if self.b is not None:
            return self.b
        assert self.noise_multiplier is not None
        return self.noise_multiplier / adjacency.clip_factor

    def weighted(self, factor: int) -> Laplace:
        """The scale is that many times less of the sensitivity."""
        if self.b is not None:
            return Laplace(b=self.b / factor)
        return Laplace(noise_multiplier=(self.noise_multiplier or 0) / factor, clip=self.clip)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """Sensitivity / scale."""
        return 1 / self.b_under(adjacency)

    def stated(self, adjacency: Adjacency) -> Stated:
        """Laplace(0, b) against Laplace(1, b), b = scale / sensitivity."""
        from dpacct.pld.loss import laplace
        from dpacct.pld.pair import Facing, Stated

        reach = 1 / self.b_under(adjacency)
        return Stated(
            laplace, (reach,), near=Stated(laplace, (reach / 2,), facing=Facing(0, reach / 2))
        )

    def pair(self, adjacency: Adjacency) -> Pair:
        """The dominating pair in floats."""
        return _pair(float(self.b_under(adjacency)))

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.floating[Any]]:
        """Noise: in units of the sensitivity for `b`, in those of `clip` for the other form.

        Without a clip the noise multiplier is for a clip of 1. `rng` is a numpy Generator, a seed, or None.

        In floating point, which an attacker who sees every bit can exploit (Mironov 2012). Raises
        `InvalidArgument`.

        >>> Laplace(b=2).sample(3, rng=1).shape
        (3,)
        """
        from dpacct.mechanisms.laws.draw import laplace

        scale = self.b_under(Adjacency.ADD_REMOVE) * (self.clip or 1)
        return laplace(float(scale), size, rng)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        if self.b is not None:
            return (
                Assumption(
                    f"b is in units of the l1 sensitivity under {adjacency}", id="sensitivity"
                ),
            )
        times = "" if adjacency.clip_factor == 1 else f"{adjacency.clip_factor} * "
        text = f"the l1 sensitivity under {adjacency} is {times}clip: each unit is clipped once"
        return (Assumption(text, id="sensitivity"),)


def _pair(b: float) -> Pair:
    """Laplace(1, b) against Laplace(0, b). Raises `OutsideDomain` for an absurd b."""
    from dpacct.citations import LAPLACE
    from dpacct.pld.loss import laplace
    from dpacct.pld.pair import Facing, Pair
    from dpacct.pld.pieces import Cut

    if not 1e-100 <= b <= 1e100:
        raise OutsideDomain(f"b must be in [1e-100, 1e100], got {b:g}", argument="b")

    def near() -> Pair:
        """A record against none, at half the distance; beyond none the other record has its least loss."""
        return replace(_pair(2.0 * b), facing=Facing(0, 0.5 / b))

    return Pair((Cut(laplace(1.0 / b)),), (LAPLACE,), near=near)
