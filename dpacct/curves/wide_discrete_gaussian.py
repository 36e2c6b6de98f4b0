"""Discrete Gaussian noise of large scale, between continuous noise of slightly less and more variance.

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
from dataclasses import dataclass, replace

from dpacct.errors import OutsideDomain
from dpacct.vocabulary import Adjacency

from .gaussian import gaussian_pair
from .pairs import Pairs
from .stated import StatedPair

_VARIANCE = 4.0  # v above
_OUTWARDS = 2e-15
_BASIS = (
    "discrete Gaussian noise of scale s: a post-processing of continuous Gaussian noise of variance s^2 - 4, "
    "of which that of variance s^2 + 4 is one (Poisson summation)"
)


@dataclass(frozen=True)
class WideDiscreteGaussianPair:
    """The noise against itself moved by `shift`, up to 5 scales. Raises `OutsideDomain` for other scales."""

    scale: float
    shift: int

    def __post_init__(self) -> None:
        if not (130.0 <= self.scale <= 1e9 * self.shift and self.shift <= 5.0 * self.scale):
            told = f"scale must be in [130, 1e9] and sensitivity / 5 or more, got {self.scale:g}"
            raise OutsideDomain(told, argument="scale")

    def _above(self) -> StatedPair:
        """Continuous noise that loses no less."""
        root = math.sqrt(self.scale * self.scale - _VARIANCE)
        return gaussian_pair(root / self.shift * (1.0 - _OUTWARDS))

    def _below(self, shift: int) -> StatedPair:
        """Continuous noise that loses no more, of a number that moves by `shift`."""
        root = math.sqrt(self.scale * self.scale + _VARIANCE)
        return gaussian_pair(root / shift * (1.0 + _OUTWARDS))

    def plain(self) -> Pairs:
        return _between(self._above().plain(), self._below(self.shift).plain())

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        if adjacency is Adjacency.REPLACE_ONE:
            # below: a unit that is absent or present, at half the distance rounded down to a whole number
            near = self._below(max(1, self.shift // 2)).poisson(rate, Adjacency.ADD_REMOVE)
        else:
            near = self._below(self.shift).poisson(rate, adjacency)
        return _between(self._above().poisson(rate, adjacency), near)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        near = self._below(self.shift).without_replacement(rate, adjacency)
        return _between(self._above().without_replacement(rate, adjacency), near)


def _between(above: Pairs, below: Pairs) -> Pairs:
    """What the step surely loses at most, and at least; in no closed form, whose ends would meet."""
    lower = below.upper if below.lower is None else below.lower
    return replace(above, basis=(_BASIS, *above.basis), lower=lower, gaussian_mu=None)
