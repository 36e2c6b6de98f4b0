"""A mechanism given by two densities on a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpacct.citations import DENSITIES
from dpacct.declare.number import Number, exact, shown
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.custom import Custom, failure, listed
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair

Density = Callable[[Any], Any]
# what the numerical integral of a smooth piece is off by, and more; what lies beyond the breaks is not seen
_TOTAL = 1e-9


@dataclass(frozen=True)
class _Log:
    """The logarithm of a density that is checked where it is called."""

    density: Density
    name: str

    def __call__(self, x: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        import numpy as np

        try:
            raw = np.asarray(self.density(x))
            values = raw.astype(
                np.float64, casting="same_kind" if raw.dtype.kind == "c" else "unsafe"
            )
        except Exception as wrong:  # whatever a function of the user's may raise
            message = f"{self.name} of the densities must be a function of an array, and fails: "
            raise InvalidArgument(f"{message}{failure(wrong)}", argument="densities") from None
        if values.shape != x.shape:
            message = (
                f"{self.name} of the densities must give an array of the shape it is called with"
            )
            raise InvalidArgument(f"{message}, got {values.shape}", argument="densities")
        wrong_one = ~(np.isfinite(values) & (values >= 0.0))
        if wrong_one.any():
            at, got = float(x[wrong_one][0]), float(values[wrong_one][0])
            message = f"{self.name} of the densities must be finite and at least 0, got {got!r}"
            raise InvalidArgument(f"{message} at {at:g}", argument="densities")
        with np.errstate(divide="ignore"):
            return np.log(values)


@dataclass(frozen=True, init=False, repr=False)
class CustomDensities(Custom, kind="custom-densities"):
    """Densities with the unit and without it; see `Custom`.

    They are integrated numerically, so answers are converged at best and never proved.
    """

    p: Density
    q: Density
    breaks: tuple[float, ...]
    symmetric: bool

    what = "pair of densities"
    instead = "tables"

    def __init__(
        self,
        *,
        densities: tuple[Density, Density],
        breaks: Sequence[Number] = (),
        symmetric: bool = False,
    ) -> None:
        if not (
            isinstance(densities, Sequence)
            and len(densities) == 2
            and all(map(callable, densities))
        ):
            message = f"densities must be two functions of an array, (p, q), got {shown(densities)}"
            raise InvalidArgument(message, argument="densities")
        numbers = [exact(x) for x in listed(breaks) or []]
        ends = [float(x) for x in numbers if x is not None]
        if len(ends) < 2 or len(ends) < len(numbers) or any(b <= a for a, b in pairwise(ends)):
            message = (
                "breaks must be two or more increasing numbers, from where both densities begin "
            )
            raise InvalidArgument(
                f"{message}to where both end, got {shown(breaks)}", argument="breaks"
            )
        told_so: object = symmetric
        if not isinstance(told_so, bool):
            message = f"symmetric must be True or False, got {shown(symmetric)}"
            raise InvalidArgument(message, argument="symmetric")
        for name, value in (("p", densities[0]), ("q", densities[1])):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "breaks", tuple(ends))
        object.__setattr__(self, "symmetric", symmetric)
        self._check()

    def _check(self) -> None:
        """Both must integrate to 1, and agree with `symmetric` about both directions."""
        import numpy as np

        nodes, weights = np.polynomial.legendre.leggauss(20)
        totals = np.zeros(5)
        for low, high in zip(self.breaks, self.breaks[1:], strict=False):
            cuts = np.linspace(low, high, 401)
            half = 0.5 * np.diff(cuts)[:, None]
            x = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * nodes
            p = np.exp(_Log(self.p, "p")(x.ravel())).reshape(x.shape)
            q = np.exp(_Log(self.q, "q")(x.ravel())).reshape(x.shape)
            rests = np.maximum(p - 2.0 * q, 0), np.maximum(q - 2.0 * p, 0)
            for i, part in enumerate((p, q, *rests, np.minimum(p, q))):
                totals[i] += float((part * half) @ weights @ np.ones(half.size))
        for name, total in (("p", totals[0]), ("q", totals[1])):
            if not abs(total - 1.0) < _TOTAL:
                message = (
                    f"{name} of the densities must integrate to 1 within {_TOTAL:g} between the "
                )
                message += "breaks, which name every kink and leave nothing out"
                raise InvalidArgument(f"{message}, got {float(total)!r}", argument="densities")
        if totals[4] > 1.0 - 1e-12:
            message = "densities must differ, got two that are the same: nothing would be released"
            raise InvalidArgument(message, argument="densities")
        if totals[4] <= 0.0:
            message = (
                "densities must overlap, got none at all: every outcome would tell the two apart"
            )
            raise InvalidArgument(message, argument="densities")
        if self.symmetric and not math.isclose(totals[2], totals[3], rel_tol=1e-3, abs_tol=1e-4):
            message = (
                "symmetric must be False for densities whose two directions differ, and they do: "
            )
            message += (
                f"delta({math.log(2):.3f}) is {totals[2]:.6g} one way and {totals[3]:.6g} the other"
            )
            raise InvalidArgument(message, argument="symmetric")

    def pair(self, adjacency: Adjacency) -> Pair:
        """The densities, cut into pieces for grids."""
        from dpacct.pld.densities import Densities
        from dpacct.pld.derived import backwards
        from dpacct.pld.pair import Pair

        source = Densities(_Log(self.p, "p"), _Log(self.q, "q"), self.breaks)
        ways = (source,) if self.symmetric else (source, backwards(source))
        return Pair(ways, (DENSITIES,))
