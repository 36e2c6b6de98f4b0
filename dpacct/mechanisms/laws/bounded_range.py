"""The pair that dominates every mechanism of bounded range, such as the exponential mechanism.

All losses of such a mechanism lie in some [t - eta, t], 0 <= t <= eta (Durfee, Rogers 2019), and the
worst for given t has only those two (Dong, Durfee, Rogers 2020). Its profile, for t - eta <= eps <= t, is
(e^-t - e^-eta)(e^t - e^eps) / (1 - e^-eta), largest at t = (eps + eta)/2, so that over all t

    delta(eps) = (1 - e^{(eps - eta)/2})^2 / (1 - e^-eta),       -eta <= eps <= eta.

This is the profile of one pair, with Q-density e^{-l/2} / (4 sinh(eta/2)) of the loss l on [-eta, eta]:
the continuous part of the Laplace pair at 1/b = eta, without its atoms. It dominates every t at once, so
also a sequence of steps that chooses t adaptively.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpacct.citations import BOUNDED_RANGE
from dpacct.pld.loss import LossDistribution, between
from dpacct.pld.pair import Pair, Ways, guarantee
from dpacct.pld.pieces import Cut
from dpacct.pld.scalar import expm1, log
from dpacct.pld.stable import Floats

# log(sinh(x)/x) = x^2/6 - x^4/180 + ...
_SINHC = (
    *(1 / 6, -1 / 180, 1 / 2835, -1 / 37800, 1 / 467775),
    *(-691 / 3831077250, 2 / 127702575, -3617 / 2605132530000),
)


def two_points(eta: float, t: float) -> LossDistribution:
    """Losses t and t - eta, 0 < t < eta."""
    # P(t) = e^t Q(t), Q(t) = (e^-t - e^-eta) / (1 - e^-eta)
    high = math.expm1(t - eta) / math.expm1(-eta)
    low = math.expm1(-t) / math.expm1(-eta) * math.exp(t - eta)
    return LossDistribution.of_outcomes([t, t - eta], [high, low])


def log_worst_moment(eta: float, tilts: Floats) -> Floats:
    """log of the largest E_P[e^{sL}], s > 0, over all steps of range eta.

    At `worst_place` it is (1 + s) S((1+s) eta/2) - s S(s eta/2) - S(eta/2), S(x) = log(sinh(x)/x); for
    small eta that is s (1 + s) eta^2/8, the bound of Cesar and Rogers (2021).
    """
    wide = (1.0 + tilts) * eta > 0.5
    s = np.where(wide, tilts, 1.0)
    far = s * eta - np.log1p(s) - s * np.log1p(1.0 / s) - math.log(-math.expm1(-eta))
    far += (s + 1.0) * np.log1p(-np.exp(-(1.0 + s) * eta)) - s * np.log(-np.expm1(-s * eta))
    s = np.where(wide, 0.0, tilts)
    # the three terms nearly cancel: by the series of S, (s + 1)^m - s^m - 1 as a sum of what is left
    near = np.zeros(s.shape)
    for k, coefficient in enumerate(_SINHC, 1):
        left = sum(math.comb(2 * k + 1, j) * s**j for j in range(1, 2 * k + 1))
        near += coefficient * (0.5 * eta) ** (2 * k) * left
    return np.where(wide, far, near)


def worst_place(eta: float, tilt: float) -> float:
    """The t of the two-point pair with the largest E_P[e^{sL}], s > 0.

    With u = e^t the moment is u^s (1 - e^{-(1+s) eta}) - u^{1+s} e^-eta (1 - e^{-s eta}), up to a factor.
    """
    rise = math.log(-math.expm1(-(1.0 + tilt) * eta)) - math.log(-math.expm1(-tilt * eta))
    return eta + rise + math.log(tilt / (1.0 + tilt))


def bounded_range_loss(eta: Any) -> LossDistribution:
    """Q-density e^{-l/2} / (4 sinh(eta/2)) of the loss l on [-eta, eta]."""
    level = 0.5 * eta + log(-2.0 * expm1(-eta))
    return LossDistribution(branches=(between(-eta, eta, -level),))


def bounded_range_pair(eta: float) -> Pair:
    """Any mechanism of range `eta` > 0."""

    def below(rate: float) -> Ways:
        if rate < 1.0:  # the two-point pair in the middle
            return Pair.of(guarantee(0.5 * eta)).at(rate)
        # places of the two-point pair tried for the lower end, as shares of eta; half is best for many steps
        return tuple(
            Cut(two_points(eta, share * eta))
            for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.995, 0.9995)
        )

    return Pair((Cut(bounded_range_loss(eta)),), (BOUNDED_RANGE,), below=below)
