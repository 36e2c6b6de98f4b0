"""The Laplace mechanism: a value of bounded l1 sensitivity, plus Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.domain import POSITIVE, Number, Real
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.curves.laplace import LaplacePair


@dataclass(frozen=True, init=False, repr=False)
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

    b: Fraction | None = None
    noise_multiplier: Fraction | None = None
    clip: Fraction | None = None

    domains: ClassVar[Mapping[str, Real]] = {
        "b": POSITIVE,
        "noise_multiplier": POSITIVE,
        "clip": POSITIVE,
    }
    references = (
        "Dwork, McSherry, Nissim, Smith. Calibrating Noise to Sensitivity in Private Data "
        "Analysis. TCC 2006",
    )

    def __init__(
        self,
        b: Number | None = None,
        *,
        noise_multiplier: Number | None = None,
        clip: Number | None = None,
    ) -> None:
        if noise_multiplier is None and clip is None:
            self._keep(b=b)
            return
        if b is not None:
            told = "Laplace takes either b or noise_multiplier (with clip), got both"
            raise InvalidArgument(told, argument="b")
        self._keep(noise_multiplier=noise_multiplier)
        if clip is not None:
            self._keep(clip=clip)

    def b_under(self, adjacency: Adjacency) -> Fraction:
        """Scale / sensitivity under this adjacency, exactly."""
        if self.b is not None:
            return self.b
        assert self.noise_multiplier is not None
        return self.noise_multiplier / adjacency.clip_factor

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """Sensitivity / scale."""
        return 1 / self.b_under(adjacency)

    def base(self, adjacency: Adjacency) -> LaplacePair:
        """Laplace(0, b) against Laplace(1, b), b = scale / sensitivity."""
        from dpacct.curves.laplace import LaplacePair

        return LaplacePair(float(self.b_under(adjacency)))

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
        from dpacct.mechanisms.draw import laplace

        scale = self.b_under(Adjacency.ADD_REMOVE) * (self.clip or 1)
        return laplace(float(scale), size, rng)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        if self.b is not None:
            return (Assumption(f"b is in units of the l1 sensitivity under {adjacency}"),)
        times = "" if adjacency.clip_factor == 1 else f"{adjacency.clip_factor} * "
        told = f"the l1 sensitivity under {adjacency} is {times}clip: each unit is clipped once"
        return (Assumption(told),)
