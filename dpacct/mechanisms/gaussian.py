"""The Gaussian mechanism: a value of bounded l2 sensitivity, plus normal noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import POSITIVE, Real
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.plan.node import Leaf
    from dpacct.pld.pair import Pair, Stated


class Normal(Mechanism):
    """Normal noise whose precision (1/sigma^2) is a + b * clip_factor^2, a and b exact."""

    @abstractmethod
    def precision(self) -> tuple[Fraction, Fraction]:
        """(a, b): of the noise given per sensitivity, and of the noise given per clip."""

    def sigma_squared(self, adjacency: Adjacency) -> Fraction:
        """(Standard deviation / sensitivity)^2 under this adjacency, exactly."""
        per_sensitivity, per_clip = self.precision()
        return 1 / (per_sensitivity + per_clip * adjacency.clip_factor**2)

    def stated(self, adjacency: Adjacency) -> Stated:
        """State the pair by (sensitivity / sigma)^2, which adds up under composition."""
        from dpacct.pld.loss import normal
        from dpacct.pld.pair import Facing, Stated

        mu_squared = 1 / self.sigma_squared(adjacency)
        return Stated(
            normal,
            (mu_squared,),
            near=Stated(normal, (mu_squared / 4,), facing=Facing(-1, mu_squared / 4)),
        )

    def pair(self, adjacency: Adjacency) -> Pair:
        """N(0, sigma^2) against N(1, sigma^2)."""
        return normal_pair(self.sigma_under(adjacency))

    def sigma_under(self, adjacency: Adjacency) -> float:
        """Standard deviation / sensitivity under this adjacency."""
        return square_root(self.sigma_squared(adjacency))

    def grouped(self, size: int) -> Leaf:
        """The distance is `size` times as large (Dong, Roth, Su 2022, Theorem 2.14), and attained."""
        per_sensitivity, per_clip = (size**2 * part for part in self.precision())
        return GaussianStatistic(per_sensitivity=per_sensitivity, per_clip=per_clip)

    def weighted(self, factor: int) -> Leaf:
        """A unit that moves the mean by `factor` times the sensitivity."""
        heavier = self.grouped(factor)
        return heavier.fused(((heavier, 1),)) or heavier

    def fused(self, releases: tuple[tuple[Leaf, int], ...]) -> Leaf | None:
        """Gaussian releases of one sample are one: the weighted mean is a sufficient statistic.

        Its precision is the sum of theirs.
        """
        normals = [
            (leaf, count) for leaf, count in releases if isinstance(leaf, Normal) and leaf.amplified
        ]
        if len(normals) < len(releases):
            return None
        per_sensitivity = sum((n * leaf.precision()[0] for leaf, n in normals), Fraction(0))
        per_clip = sum((n * leaf.precision()[1] for leaf, n in normals), Fraction(0))
        if not per_clip and (root := exact_root(1 / per_sensitivity)) is not None:
            return Gaussian(sigma=root)
        clips = {leaf.clip if isinstance(leaf, Gaussian) else None for leaf, _ in normals}
        if not per_sensitivity and len(clips) == 1 and (root := exact_root(1 / per_clip)):
            return Gaussian(noise_multiplier=root, clip=clips.pop())
        return GaussianStatistic(per_sensitivity=short(per_sensitivity), per_clip=short(per_clip))


class Gaussian(Normal, kind="gaussian"):
    """The Gaussian mechanism, in exactly one of two forms.

    `sigma` = standard deviation / sensitivity: the sensitivity under whatever adjacency is asked.
    `noise_multiplier` = standard deviation / `clip`, where what is released is a sum of vectors
    clipped to l2 norm `clip`: its sensitivity is `clip` under add-remove and zero-out, 2 * `clip`
    under replace-one. Only the ratio counts for privacy, so `clip` may be left out. All are positive
    numbers. Raises `InvalidArgument`.

    >>> Gaussian(1.1), Gaussian(noise_multiplier=2).sigma_under(Adjacency.REPLACE_ONE)
    (Gaussian(sigma=1.1), 1.0)
    """

    label = "Gaussian noise"
    sigma: Parameter[Fraction | None] = Parameter(
        POSITIVE,
        "standard deviation / sensitivity",
        "S",
        default=None,
        kw_only=False,
    )
    noise_multiplier: Parameter[Fraction | None] = Parameter(
        POSITIVE, "standard deviation / clip", "Z", default=None
    )
    clip: Parameter[Fraction | None] = Parameter(
        POSITIVE,
        "l2 norm to which each contribution is clipped",
        "C",
        default=None,
    )
    ways = (("sigma",), ("noise_multiplier", "clip"))
    sought = "sigma"
    trust = "each {unit}'s contribution is clipped ({how})"
    references = (
        "dwork2014algorithmic, Appendix A",
        "balle2018improving",
        "dong2022gaussian, Corollary 3.3",
    )

    def precision(self) -> tuple[Fraction, Fraction]:
        """(a, b) of 1/sigma^2 = a + b * clip_factor^2."""
        if self.sigma is not None:
            return self.sigma**-2, Fraction(0)
        assert self.noise_multiplier is not None
        return Fraction(0), self.noise_multiplier**-2

    def sigma_under(self, adjacency: Adjacency) -> float:
        """Standard deviation / sensitivity under this adjacency."""
        return float(self.sigma) if self.sigma is not None else super().sigma_under(adjacency)

    def noise_std(self, adjacency: Adjacency) -> float | None:
        """Standard deviation of the noise in the units of `clip`; None where `clip` is not known.

        It is noise_multiplier * clip, the same under every adjacency (its sensitivity differs).
        """
        if self.noise_multiplier is None or self.clip is None:
            return None
        return float(self.noise_multiplier * self.clip)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: object = None
    ) -> NDArray[np.floating[Any]]:
        """Noise: in units of the sensitivity for `sigma`, in those of `clip` for the other form.

        Without a clip the noise multiplier is for a clip of 1.

        `rng` is a numpy Generator, a seed, or None. In floating point, which an attacker who sees
        every bit can exploit (Mironov 2012). Raises `InvalidArgument`.

        >>> Gaussian(noise_multiplier=2, clip=0.5).sample(3, rng=1).shape
        (3,)
        """
        from dpacct.mechanisms.laws.draw import normal

        noise = self.noise_std(Adjacency.ADD_REMOVE)
        std = self.sigma_under(Adjacency.ADD_REMOVE) if noise is None else noise
        return normal(std, size, rng)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        if self.sigma is not None:
            text = f"sigma is in units of the l2 sensitivity under {adjacency}"
        else:
            times = "" if adjacency.clip_factor == 1 else f"{adjacency.clip_factor} * "
            text = f"the l2 sensitivity under {adjacency} is {times}clip: each unit is clipped once"
        return (Assumption(text, id="sensitivity"),)


_PRECISION = Real(0, math.inf, "left", typical=(1e-4, 1e4), as_float=False)


class GaussianStatistic(Normal, kind="gaussian-statistic"):
    """The sufficient statistic of several Gaussian releases on one sample; made by plans, not by users.

    1/sigma^2 = per_sensitivity + per_clip * clip_factor^2: it keeps sigma^2 exact where sigma is
    irrational, and both forms of `Gaussian` apart until the adjacency is known.
    """

    per_sensitivity: Parameter[Fraction] = Parameter(
        _PRECISION, "1/sigma^2 of the noise given per sensitivity", default=Fraction(0)
    )
    per_clip: Parameter[Fraction] = Parameter(
        _PRECISION, "1/sigma^2 of the noise given per clip", default=Fraction(0)
    )
    references = Gaussian.references
    in_files = False

    def _complaint(self) -> InvalidArgument | None:
        if self.per_sensitivity + self.per_clip:
            return None
        text = "per_sensitivity + per_clip must be positive, got 0"
        return InvalidArgument(text, argument="per_sensitivity")

    def precision(self) -> tuple[Fraction, Fraction]:
        """(a, b) of 1/sigma^2 = a + b * clip_factor^2."""
        return self.per_sensitivity, self.per_clip

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The sensitivity, which the accountant cannot see."""
        return (
            Assumption(
                f"each noise is in units of its l2 sensitivity under {adjacency}", id="sensitivity"
            ),
        )


def normal_pair(sigma: float) -> Pair:
    """N(1, sigma^2) against N(0, sigma^2), `sigma` = standard deviation / sensitivity.

    Raises `OutsideDomain` where 1/sigma^2 leaves the range of floats.
    """
    from dpacct.citations import GAUSSIAN
    from dpacct.pld.loss import gaussian
    from dpacct.pld.pair import Facing, Pair
    from dpacct.pld.pieces import Cut

    if not 1e-100 <= sigma <= 1e100:
        message = f"sigma must be in [1e-100, 1e100], got {sigma:g}"
        raise OutsideDomain(message, argument="sigma")

    def near() -> Pair:
        """A record against none, at half the distance; log density ratio -l - mu^2 of the other record."""
        return replace(normal_pair(2.0 * sigma), facing=Facing(-1, 0.25 / (sigma * sigma)))

    return Pair((Cut(gaussian(1.0 / sigma)),), (GAUSSIAN,), near=near)


def short(value: Fraction) -> Fraction:
    """A precision, rounded up (the safe side) to 1000 bits if it is longer."""
    excess = value.denominator.bit_length() - 1000
    if excess <= 0:
        return value
    shift = max(0, value.denominator.bit_length() - value.numerator.bit_length() + 1000)
    return Fraction(-((-value.numerator << shift) // value.denominator), 1 << shift)


def exact_root(value: Fraction) -> Fraction | None:
    """The square root of a fraction, where it is one."""
    over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
    root = Fraction(over, under)
    return root if root * root == value else None


def square_root(value: Fraction) -> float:
    """The square root of a positive fraction as the nearest double, whatever its size.

    >>> square_root(Fraction(1, 4 * 10**600))
    5e-301
    """
    # Scaled so that the integer root has 64 bits or more, whose truncation the float does not see.
    shift = max(0, 140 - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    root = math.isqrt((value.numerator << shift) // value.denominator)
    return float(Fraction(root, 1 << (shift // 2)))
