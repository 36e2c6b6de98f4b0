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

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpacct.engine.law import Bend, Cumulants, Law
from dpacct.engine.stable import Complexes, Floats, log1p_complex
from dpacct.pld.loss import LossDistribution, between
from dpacct.vocabulary import Adjacency

from .atomic import AtomicLaw, AtomicPair
from .pairs import FIXED_SIZE, POISSON
from .stated import StatedLaw, StatedPair

_BASIS = (
    "Dong, Durfee, Rogers 2020: losses of a bounded-range step; the two-point pairs' largest "
    "profile is one pair (upper), a two-point pair repeated (lower)"
)
# places of the two-point pair tried for the lower end, as shares of eta; half is best for many steps
_PLACES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.995, 0.9995)


# log(sinh(x)/x) = x^2/6 - x^4/180 + ...
_SINHC = (
    *(1 / 6, -1 / 180, 1 / 2835, -1 / 37800, 1 / 467775),
    *(-691 / 3831077250, 2 / 127702575, -3617 / 2605132530000),
)
_SERIES = np.polynomial.Polynomial(
    [0.0, 0.0, _SINHC[0], 0.0, _SINHC[1], 0.0, _SINHC[2], 0.0, _SINHC[3]]
)
_SMALL = 0.06


def _log_sinhc(x: Any) -> Any:
    """log(sinh(x)/x), Re x >= 0 and x not small."""
    return x + np.log1p(-np.exp(-2.0 * x)) - np.log(2.0 * x)


def _size(x: Floats) -> Floats:
    """log(sinh(x)/x) for any x >= 0."""
    return np.where(x < 0.5 * _SMALL, _SERIES(x), _log_sinhc(np.maximum(x, 0.5 * _SMALL)))


@dataclass(frozen=True)
class SinhFamily:
    """M(s) = sinhc((s + 1/2) eta) / sinhc(eta/2), sinhc(x) = sinh(x)/x, at any tilt."""

    eta: float

    def cumulants(self, c: float) -> Cumulants:
        x, eta = abs(c + 0.5) * self.eta, self.eta
        sign = 1.0 if c >= -0.5 else -1.0
        if x < _SMALL:
            mean, variance = float(_SERIES.deriv(1)(x)), float(_SERIES.deriv(2)(x))
        else:
            mean = 1.0 / math.tanh(x) - 1.0 / x
            variance = 1.0 / (x * x) - (1.0 / math.sinh(x) ** 2 if x < 300.0 else 0.0)
        log_moment = float(self.log_moments(np.array([c]))[0])
        return Cumulants(log_moment, sign * eta * mean, eta * eta * variance)

    def log_moments(self, cs: Floats) -> Floats:
        x, y = np.abs(cs + 0.5) * self.eta, 0.5 * self.eta
        largest = np.maximum(x, y)
        # tiny: the series of x^2 - y^2, formed without cancellation, times what follows it
        square = cs * (cs + 1.0) * self.eta * self.eta
        u, v = np.minimum(x, _SMALL) ** 2, min(y, _SMALL) ** 2
        series = 1.0 / 6.0 - (u + v) / 180.0 + (u * u + u * v + v * v) / 2835.0
        series -= (u + v) * (u * u + v * v) / 37800.0
        # near s = 0: M = (1 + 2 sinh^2(s eta/2) + coth(eta/2) sinh(s eta)) / (1 + 2s)
        close = np.abs(cs) < 0.25
        near = np.where(close, cs, 0.0)
        step = np.clip(near * self.eta, -600.0, 600.0)
        rise = 2.0 * np.sinh(0.5 * step) ** 2 + np.sinh(step) / math.tanh(max(y, 1e-3))
        beside = np.log1p(rise) - np.log1p(2.0 * near)
        far = _size(x) - float(_size(np.array(y)))
        close &= np.abs(cs * self.eta) < 600.0
        return np.where(largest < _SMALL, square * series, np.where(close, beside, far))

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        x, step = (c + 0.5) * self.eta, z * self.eta
        mean = self.cumulants(c).mean / self.eta
        tiny = np.abs(step) + abs(x) < _SMALL
        small = np.where(tiny, step, 0.0)
        series = np.zeros_like(small)
        for k in range(8, 1, -1):
            series = series * small + _SERIES.deriv(k)(x) / math.factorial(k)
        close = np.abs(step) < min(1.0, 0.5 * x)
        near = np.where(close, step, 0.0)
        rise = 2.0 * np.sinh(0.5 * near) ** 2 + np.sinh(near) / math.tanh(x)
        beside = log1p_complex(rise.real, rise.imag)
        shrink = near / x
        beside -= log1p_complex(shrink.real, shrink.imag) + near * mean
        further = np.where(close | tiny, 1.0, step)
        far = _log_sinhc(x + further) - float(_size(np.array(x))) - further * mean
        return np.where(tiny, series * small * small, np.where(close, beside, far))

    def bend(self, c: float) -> Bend | None:
        return None

    def cut_weight(self, c: float) -> float:
        return 0.0


@dataclass(frozen=True)
class WorstMoments(StatedLaw):
    """The same with the largest moments of any one step, which are less than those of the one pair.

    Moments multiply whoever chooses the steps, so these too hold for a sequence.
    """

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> Any:
        return _WorstFamily(self.loss.range[1])


def worst_moments(eta: float) -> WorstMoments:
    """The law of the largest moments of a step of range `eta`."""
    return WorstMoments(bounded_range_loss(eta))


class _WorstFamily(SinhFamily):
    """Largest moments, at tilts above 0."""

    def cumulants(self, c: float) -> Cumulants:
        log_moment = float(log_worst_moment(self.eta, np.array([c]))[0])
        return dataclasses.replace(super().cumulants(c), log_moment=log_moment)


def two_points(eta: float, t: float) -> AtomicLaw:
    """Losses t and t - eta, 0 < t < eta."""
    # P(t) = e^t Q(t), Q(t) = (e^-t - e^-eta) / (1 - e^-eta)
    high = math.expm1(t - eta) / math.expm1(-eta)
    low = math.expm1(-t) / math.expm1(-eta) * math.exp(t - eta)
    return AtomicLaw.of([t, t - eta], [high, low])


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


def bounded_range_loss(eta: float) -> LossDistribution:
    """Q-density e^{-l/2} / (4 sinh(eta/2)) of the loss l on [-eta, eta]."""
    level = 0.5 * eta + math.log(2.0) + math.log(-math.expm1(-eta))
    return LossDistribution(branches=(between(-eta, eta, -level),))


def bounded_range_pair(eta: float) -> StatedPair:
    """Any mechanism of range `eta` > 0."""

    def below(rate: float) -> tuple[Law, ...]:
        if rate < 1.0:  # the two-point pair in the middle
            return AtomicPair.pure(0.5 * eta).poisson(rate, Adjacency.ADD_REMOVE).upper
        return tuple(two_points(eta, share * eta) for share in _PLACES)

    return StatedPair(
        bounded_range_loss(eta),
        (_BASIS,),
        (_BASIS, POISSON),
        (_BASIS, FIXED_SIZE),
        below=below,
    )
