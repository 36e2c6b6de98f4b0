"""The Laplace mechanism: a value of bounded l1 sensitivity, plus Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.domain import POSITIVE, Number, Real
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.curves.laplace import LaplacePair


@dataclass(frozen=True, init=False, repr=False)
class Laplace(Mechanism, kind="laplace"):
    """Noise of density exp(-|x| / scale) / (2 scale); `b` = scale / l1 sensitivity, positive.

    One release is (1/b)-DP. The sensitivity is the one under whatever adjacency is asked. Raises
    `InvalidArgument`.

    >>> Laplace(b="0.5")
    Laplace(b=0.5)
    """

    b: Fraction

    domains: ClassVar[Mapping[str, Real]] = {"b": POSITIVE}
    references = (
        "Dwork, McSherry, Nissim, Smith. Calibrating Noise to Sensitivity in Private Data "
        "Analysis. TCC 2006",
    )

    def __init__(self, *, b: Number) -> None:
        self._keep(b=b)

    def base(self, adjacency: Adjacency) -> LaplacePair:
        """Laplace(0, b) against Laplace(1, b)."""
        from dpacct.curves.laplace import LaplacePair

        return LaplacePair(float(self.b))

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.floating[Any]]:
        """Noise in units of the sensitivity; `rng` is a numpy Generator, a seed, or None.

        In floating point, which an attacker who sees every bit can exploit (Mironov 2012). Raises
        `InvalidArgument`.

        >>> Laplace(b=2).sample(3, rng=1).shape
        (3,)
        """
        from dpacct.mechanisms.draw import laplace

        return laplace(float(self.b), size, rng)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        return (Assumption(f"b is in units of the l1 sensitivity under {adjacency}"),)
