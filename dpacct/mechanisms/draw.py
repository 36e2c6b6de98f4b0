"""Noise samplers in floating point: for simulation and training, not for a release under attack.

A double has gaps, and which doubles a sampler can return depends on what the noise is added to:
Mironov (On Significance of the Least Significant Bits for Differential Privacy, CCS 2012) reads the
secret from them. Where that matters, round to integers and use the discrete mechanisms, whose samplers
(`dpacct.mechanisms.exact_draw`) toss exact coins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Shape = int | tuple[int, ...] | None
"""How many numbers to draw: a count, a shape, or None for a single one."""


def generator(rng: object) -> np.random.Generator:
    """A NumPy generator, made from a seed, or from the system's entropy for None."""
    import numpy as np

    if rng is None or (isinstance(rng, int) and not isinstance(rng, bool) and rng >= 0):
        return np.random.default_rng(rng)
    if isinstance(rng, np.random.Generator):
        return rng
    message = f"rng must be a numpy Generator, a seed >= 0, or None, got {shown(rng)}"
    raise InvalidArgument(message, argument="rng")


def shape(size: object) -> Shape:
    """A count or a shape; raises `InvalidArgument`."""
    parts = size if isinstance(size, tuple) else (size,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in parts)
    if size is None or whole:
        return cast("Shape", size)
    message = f"size must be a whole number >= 0, a tuple of them, or None, got {shown(size)}"
    raise InvalidArgument(message, argument="size")


def normal(scale: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Normal noise of this standard deviation."""
    import numpy as np

    return np.asarray(generator(rng).normal(0.0, scale, shape(size)))


def laplace(scale: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Laplace noise of this scale."""
    import numpy as np

    return np.asarray(generator(rng).laplace(0.0, scale, shape(size)))


def staircase(lam: float, nu: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Staircase noise for a sensitivity of 1 (Geng, Viswanath, Algorithm 1).

    A sign, a geometric number of steps, the part of the step before or after its edge at nu, and a
    uniform place in that part.
    """
    import numpy as np

    source, many = generator(rng), shape(size)
    sign = np.where(source.random(many) < 0.5, -1.0, 1.0)
    steps = source.geometric(-np.expm1(-lam), many) - 1
    place = source.random(many)
    fall = np.exp(-lam)
    before = source.random(many) < nu / (nu + fall * (1.0 - nu))
    inside = np.where(before, nu * place, nu + (1.0 - nu) * place)
    return np.asarray(sign * (steps + inside))
