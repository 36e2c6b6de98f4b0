"""Discrete Gaussian noise against itself moved by a whole number.

Under Q the noise is x with weight e^{-x^2 / (2 s^2)}, and the loss l = shift (2x - shift) / (2 s^2): a
lattice without end, summed up to where no delta that a question may name has anything left. Of large
scale, it lies between continuous noise of slightly less and more variance.

Write N(m, w) for the normal distribution, phi_w for its density, N_Z(m, s^2) for the discrete one on the
whole numbers, of weights phi_{s^2}(k - m). Let v = 4. By Poisson summation the sum of phi_w(k - y) over all
whole k is 1 + 2 sum_{j >= 1} e^{-2 pi^2 w j^2} cos(2 pi j y), for w >= 3.999 within 1.2e-34 of 1.

Above. From y ~ N(m, s^2 - v), draw k with probability proportional to phi_v(k - y). As the normal densities
of variances s^2 - v and v convolve to phi_{s^2}, the mass of k is phi_{s^2}(k - m) times a factor within
1.3e-34 of 1, for m = 0 and for m = shift: but for that factor, the discrete noise is a post-processing of
the continuous one, and less is lost than with sigma = sqrt(s^2 - v).

Below. To k ~ N_Z(m, s^2), add N(0, v). As phi_{s^2}(k - m) phi_v(y - k) = phi_{s^2 + v}(y - m) phi_w(k - y'),
with w = s^2 v / (s^2 + v) >= 3.999 for s >= 130 and y' the mean of k at y, the density of the sum is that of
N(m, s^2 + v) times such a factor: no less is lost than with sigma = sqrt(s^2 + v).

The factors. All masses are within e^{+-kappa} of those of the pair in their place, kappa = 3e-34, normalising
included. Let d(eps, mu) = Phi(a) - e^eps Phi(a - mu), a = mu/2 - eps/mu, be the delta of N(mu, 1) against
N(0, 1). Masses that are off by such factors have at most the delta e^kappa d(eps - 2 kappa, mu). That is
at most d(eps, mu + x) for eps >= 0 and x = 80 kappa: along e^{kappa t} d(eps - 2 kappa t, mu + (1 - t) x), t
from 0 to 1, the derivative is at most e^{kappa t} phi(a) (74 kappa + 2.6 kappa - x) < 0, since d(d)/dmu =
phi(a), -d(d)/deps = e^eps Phi(a - mu) <= 1.3 phi(a), and d <= Phi(a) <= 74 phi(a) for a <= 2.6, which mu <= 5
ensures. Both pairs are their own mirror images, so eps < 0 follows. x = 2.4e-32 is below 1e-15 of any
mu >= 1e-9: sigma is moved outwards by 2e-15 of itself, for that and for the rounding of its square root.

One pair dominates another with or without sampling and in any composition, as post-processing passes
through both: whatever is asked of a plan is between its answers for the two continuous Gaussians.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dpacct.citations import DISCRETE_GAUSSIAN, WIDE_DISCRETE_GAUSSIAN
from dpacct.errors import OutsideDomain
from dpacct.mechanisms.gaussian import normal_pair
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pair import Facing, Pair

# scales up to which noise is summed: e^{-5000}, below any delta that a question may name
WIDEST = 2000.0
"""The largest scale whose atoms are summed; above it, continuous noise bounds them."""


@lru_cache(maxsize=16)
def _law(scale: float, shift: int) -> LossDistribution:
    # scales up to which noise is summed: e^{-5000}, below any delta that a question may name
    reach = math.ceil(100.0 * scale)
    x = np.arange(-reach, shift + reach + 1.0)
    log_q = -0.5 * np.square(x / scale)
    log_q -= math.log(math.fsum(np.exp(log_q).tolist()))
    return LossDistribution((0.5 * shift / (scale * scale)) * (2.0 * x - shift), log_q)


def summed(scale: float, shift: int) -> Pair:
    """The noise against itself moved by `shift`. Raises `OutsideDomain` for too fine or wide a scale."""
    if not scale / shift >= 0.02 or scale > WIDEST:
        message = f"scale must be in [0.05 sensitivity, 2000], got {scale:g}"
        raise OutsideDomain(message, argument="scale")

    def near() -> Pair:
        """A record against none; another faces it where both may move the number by half of the shift."""
        half = max(1, shift // 2)
        facing = Facing(-1, (half / scale) ** 2) if 2 * half == shift else None
        return replace(summed(scale, half), facing=facing)

    return replace(
        Pair.of(_law(scale, shift), DISCRETE_GAUSSIAN),
        near=near,
        limit=(shift / scale) ** 2,
    )


def wide(scale: float, shift: int) -> Pair:
    """Return the law of a scale of 130 or more and a shift of up to 5 scales. Raises `OutsideDomain` else."""
    outwards = 2e-15
    # v above
    variance = 4.0
    if not (130.0 <= scale <= 1e9 * shift and shift <= 5.0 * scale):
        message = f"scale must be in [130, 1e9] and sensitivity / 5 or more, got {scale:g}"
        raise OutsideDomain(message, argument="scale")

    def below(moved: int) -> Pair:
        """Continuous noise that loses no more, of a number that moves by so much."""
        root = math.sqrt(scale * scale + variance)
        return normal_pair(root / moved * (1.0 + outwards))

    # continuous noise that loses no less
    above = normal_pair(math.sqrt(scale * scale - variance) / shift * (1.0 - outwards))
    return replace(
        above,
        basis=(WIDE_DISCRETE_GAUSSIAN, *above.basis),
        below=below(shift).at,
        # a unit that is absent or present, at half the distance rounded down to a whole number
        near=lambda: below(max(1, shift // 2)),
    )
