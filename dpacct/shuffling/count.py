"""Shuffled binary randomised response: the number of ones, exactly, for named inputs and for the worst.

`Count` is its law where one client answers one and all others zero. `Inputs` has as many ones among the
other clients as tell most. Clients whose inputs are not known are left out: to show their messages is
post-processing backwards. So delta with fewer others bounds all numbers of ones of an interval, and
intervals are cut until the bound is as good as that of one number.

`TiltedCounts` is that count, tilted to where a test is decided: delta by one circle. Of N others h hold one.
Their ones, less h, are A = X - Y, X ~ Bin(N - h, l), Y ~ Bin(h, l), with l = 1/(e^eps0 + 1). The likelihood
ratio of the count with the differing client's answer grows with it, so

    delta_h(eps) = max over t of F_t,    F_t = g (Pr[A >= t-1] - kappa Pr[A >= t]),
    g = (1 - f e^eps)/(1 + f),    kappa = (e^eps - f)/(1 - f e^eps),    f = e^-eps0.

F grows while t is at most the mode of the law tilted by kappa^A, which lies less than 1 from its mean m
(Darroch 1964): the best t is floor(m) + 1 or floor(m) + 2. With chi the tilted and centred
characteristic function,

    F_t = g kappa^(2-t) E[kappa^A] (1/2 pi) Int chi e^(-i theta (t-m)) psi d theta,
    psi = e^(i theta) (e^(i theta) - 1) / (kappa e^(i theta) - 1),    |psi| <= 1.

The mean over M nodes, half a step from 0, is F_t + (e^eps - 1)/(kappa^M + 1) but for tails: these are
charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpacct.pld.binomial import log_pmf, reach
from dpacct.pld.roots import crossing
from dpacct.pld.stable import Floats

_FAR = 60.0  # minus the log of what a circle leaves out, in units of its scale
_LEAST = -700.0  # below this log of the scale, Chernoff's bound is all that is given
_NODES = 1 << 17  # that are looked at in one go
_LONG = float(np.finfo(np.longdouble).eps)


class TiltedCounts:
    """Laws of A for many (others, ones) at one eps0 and one epsilon in [0, eps0)."""

    def __init__(self, eps0: float, epsilon: float, others: Floats, ones: Floats) -> None:
        fall, growth = math.exp(-eps0), math.expm1(epsilon)
        lie, kept = fall / (1.0 + fall), -math.expm1(epsilon - eps0)
        more = growth * (1.0 + fall) / kept  # kappa - 1
        up, down = lie * more, -lie * more / (1.0 + more)  # E[kappa^B] - 1 and E[kappa^-B] - 1
        log_kappa, log_up, log_down = math.log1p(more), math.log1p(up), math.log1p(down)
        l1, l2 = lie * (1.0 + more) / (1.0 + up), lie / (1.0 + more) / (1.0 + down)
        self._x, self._y = others - ones, ones
        self._l1, self._l2, self._more, self._log_kappa = l1, l2, more, log_kappa
        self._log_growth = math.log(growth) if growth > 0.0 else -math.inf
        mean = self._x * np.longdouble(l1) - self._y * np.longdouble(l2)
        floor = np.floor(mean)
        self._gap = np.asarray(floor + 1.0 - mean, dtype=np.float64)  # t - m at the smaller t
        self._variance = self._x * l1 * (1.0 - l1) + self._y * l2 * (1.0 - l2)
        # log of g kappa^(2-m) E[kappa^A], an upper bound of log F: Chernoff's
        chernoff = self._x * (log_up - l1 * log_kappa) + self._y * (log_down + l2 * log_kappa)
        self.log_scale: Floats = chernoff + math.log(kept / (1.0 + fall)) + 2.0 * log_kappa
        paid = self._x * (log_up + l1 * log_kappa) + self._y * (l2 * log_kappa - log_down)
        sizes = self._x * l1 + self._y * l2
        self._rounding = 1e-13 + 6e-16 * (paid + log_kappa) + 4.0 * _LONG * sizes
        # nodes of the circle, and how many of them the law reaches
        deep = np.maximum(-self.log_scale, 0.0) + _FAR
        ahead = np.asarray(floor, dtype=np.float64) + 3.0 - (self._x - self._y) * lie
        wide = np.maximum(
            ahead + bernstein(deep, others * lie * (1.0 - lie)), bernstein(_FAR, self._variance)
        )
        self._nodes = 2.0 * np.ceil(0.5 * np.minimum(wide + 3.0, others + 4.0))
        bend = np.minimum(_FAR / np.maximum(self._variance, 1e-300), 2.0)
        reached = np.ceil(np.arccos(1.0 - bend) * self._nodes / (2.0 * math.pi)) + 1.0
        self._reached = np.minimum(reached, 0.5 * self._nodes).astype(np.int64)

    def ends(self) -> tuple[Floats, Floats]:
        """Logs of (lower, upper) bounds of delta for each law."""
        low, high = np.full(self._x.size, -np.inf), self.log_scale + self._rounding
        near = np.flatnonzero(self.log_scale > _LEAST)
        near = near[np.argsort(self._reached[near], kind="stable")]
        while near.size:
            fits = np.arange(1, near.size + 1) * self._reached[near] <= _NODES
            block = near[: max(1, int(fits.sum()))]
            low[block], high[block] = self._on_circles(block)
            near = near[block.size :]
        return low, high

    def _on_circles(self, block: NDArray[np.int64]) -> tuple[Floats, Floats]:
        nodes, x, y = self._nodes[block, None], self._x[block, None], self._y[block, None]
        k = np.arange(int(self._reached[block].max()))
        theta = (2.0 * k + 1.0) * (math.pi / nodes)
        inside = k < self._reached[block, None]
        real_x, turn_x = log_characteristic(self._l1, theta)
        real_y, turn_y = log_characteristic(self._l2, theta)
        step = 2.0 * np.sin(0.5 * theta)  # e^(i theta) - 1 = i step e^(i theta / 2)
        near = self._more * np.exp(0.5j * theta) + 1j * step
        with np.errstate(invalid="ignore"):
            size = np.where(inside, np.exp(x * real_x + y * real_y) * step, 0.0)
        turned = 1j * np.exp(1j * (theta + x * turn_x - y * turn_y)) / near
        weight = 2.0 / self._nodes[block]
        doubt = weight * 6e-15 * (size / np.abs(near)).sum(axis=1) + 8.0 * math.exp(-_FAR)
        best, least = np.full(block.size, -np.inf), np.full(block.size, -np.inf)
        beyond = self._log_growth - np.logaddexp(0.0, self._nodes[block] * self._log_kappa)
        for gap in (self._gap[block], self._gap[block] + 1.0):
            value = weight * (size * (turned * np.exp(-1j * theta * gap[:, None])).real).sum(axis=1)
            unit = self.log_scale[block] - gap * self._log_kappa
            value -= np.exp(np.minimum(beyond - unit, 700.0))
            with np.errstate(divide="ignore"):
                best = np.maximum(best, unit + np.log(np.maximum(value + doubt, 0.0)))
                least = np.maximum(least, unit + np.log(np.maximum(value - doubt, 0.0)))
        off = self._rounding[block]
        return least - off, np.minimum(best, self.log_scale[block]) + off


def bernstein(deep: float | Floats, variance: Floats) -> Floats:
    """Bernstein's bound for sums of centred variables in [-1, 1], exceeded with probability <= e^-deep."""
    third = deep / 3.0
    return np.asarray(third + np.sqrt(third * third + 2.0 * variance * deep))


def log_characteristic(chance: float, theta: Floats) -> tuple[Floats, Floats]:
    """(log of the size, angle) of E[e^(i theta (B - chance))], B one with this chance; 0 <= theta <= pi.

    Angles are of third order in theta, and are not what two angles of first order leave.

    >>> size, angle = log_characteristic(0.25, np.array([1e-4]))
    >>> abs(float(angle[0]) + 0.25 * 0.75 * 0.5 * 1e-12 / 6) < 1e-20
    True
    """
    half = np.square(np.sin(0.5 * theta))
    with np.errstate(divide="ignore"):
        size = 0.5 * np.log1p(np.maximum(-4.0 * chance * (1.0 - chance) * half, -1.0))
    sine, rest = chance * np.sin(theta), 1.0 - 2.0 * chance * half
    far = np.arctan2(sine, rest) - chance * theta
    near = (theta < 0.3) & (sine < 0.05 * rest)
    u = np.where(near, sine / np.where(near, rest, 1.0), 0.0)
    v, w = u * u, np.where(near, theta * theta, 0.0)
    # arctan u - u, u - chance sin, and chance (sin - theta)
    small = -u * v * (1.0 / 3.0 - v * (1.0 / 5.0 - v * (1.0 / 7.0 - v * (1.0 / 9.0 - v / 11.0))))
    small += 2.0 * chance * half * u
    small -= chance * theta * w / 6.0 * (1.0 - w / 20.0 * (1.0 - w / 42.0 * (1.0 - w / 72.0)))
    return size, np.where(near, small, far)


# --- the worst inputs

_FIRST, _PARTS = 32, 4
BUDGET = 40_000
"""Intervals that one question may take."""
_TIGHT = 1e-6  # relative distance of the ends of delta at which cutting stops
_LOOKS = 8


@dataclass(frozen=True)
class Inputs:
    """`clients` shuffled binary responses of `eps0`, everybody taking part."""

    clients: int
    eps0: float

    def log_delta(self, epsilon: float, budget: int = BUDGET) -> tuple[float, float]:
        """Logs of (lower, upper) of delta at the worst inputs, for epsilon >= 0; rounding included.

        >>> low, high = Inputs(2, 1.0).log_delta(0.0)
        >>> round(math.exp(low), 9), round(math.exp(high), 9)
        (0.337834712, 0.337834712)
        """
        lower, upper, _ = self._worst(epsilon, self._likely, budget)
        return lower, upper

    def epsilon(self, log_target: float) -> tuple[float, float]:
        """(lower, upper) of the epsilon at which delta meets the target."""
        low = 0.0
        ones: Floats = self._likely
        for _ in range(_LOOKS):
            low = self._first_below(log_target, ones, low)
            lower_log, upper_log, worst = self._worst(low, ones, BUDGET)
            if upper_log <= log_target:
                return low, low
            if lower_log <= log_target + 1e-9 or worst in ones:
                break
            ones = np.append(ones, worst)  # a number of ones that tells more than those tried
        upper = low
        for look in range(_LOOKS):
            ahead = upper + 1e-4 * (self.eps0 - upper)
            if ahead <= upper:  # eps0, to its last digits
                break
            fall = (self._at(upper, ones) - self._at(ahead, ones)) / (ahead - upper)
            step = 2.0**look * (upper_log - log_target) / fall if fall > 0.0 else ahead - upper
            upper = min(upper + max(1.001 * step, 1e-13 * self.eps0), self.eps0)
            _, upper_log, _ = self._worst(upper, ones, BUDGET)
            if upper_log <= log_target:
                return low, upper
        return low, self.eps0

    @property
    def _likely(self) -> Floats:
        """Candidates for the worst number of ones, up to the rounding of thresholds."""
        others = self.clients - 1
        return np.array([0.0, others // 2, others])

    def _worst(self, epsilon: float, ones: Floats, budget: int) -> tuple[float, float, float]:
        """(lower, upper, the ones among the others of the former); `ones` are tried in any case."""
        if epsilon >= self.eps0:
            return -math.inf, -math.inf, 0.0
        others = self.clients - 1
        edges = np.unique(np.floor(np.linspace(0.0, others + 1.0, _FIRST + 1)))
        first: Floats = edges[:-1]
        last: Floats = edges[1:] - 1.0
        tried = self._each(epsilon, ones)
        lower, worst = float(tried.max()), float(ones[int(np.argmax(tried))])
        closed, spent = -math.inf, 0
        while first.size:
            spent += first.size
            low, high = TiltedCounts(self.eps0, epsilon, others - (last - first), first).ends()
            single = first == last
            done = single | (high <= max(lower, float(low[single].max(initial=-math.inf))) + _TIGHT)
            at = int(np.argmax(high))
            ends = np.array([first[at], last[at]])
            tried = self._each(epsilon, ends)
            if float(tried.max()) > lower:
                lower, worst = float(tried.max()), float(ends[int(np.argmax(tried))])
            closed = max(closed, float(high[done].max(initial=-math.inf)))
            first, last, high = first[~done], last[~done], high[~done]
            if spent + _PARTS * first.size > budget:
                return lower, max(closed, float(high.max())), worst
            first, last = _cut(first, last)
        return lower, closed, worst

    def _each(self, epsilon: float, ones: Floats) -> Floats:
        """Logs of lower bounds of delta with these numbers of ones among the others."""
        if epsilon >= self.eps0:
            return np.full(ones.shape, -np.inf)
        others = np.full(ones.shape, self.clients - 1.0)
        return TiltedCounts(self.eps0, epsilon, others, ones).ends()[0]

    def _at(self, epsilon: float, ones: Floats) -> float:
        return float(self._each(epsilon, ones).max())

    def _first_below(self, log_target: float, ones: Floats, low: float) -> float:
        """Solve from below for the epsilon at which delta with the worst of these ones meets the target."""
        return crossing(lambda e: self._at(e, ones) - log_target, self.eps0, low)[0]


def _cut(first: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Each interval in `_PARTS` parts, or in as many as it has numbers."""
    size = last - first + 1.0
    marks = [first + np.floor(size * part / _PARTS) for part in range(_PARTS + 1)]
    starts, ends = np.concatenate(marks[:-1]), np.concatenate(marks[1:]) - 1.0
    kept = ends >= starts
    return starts[kept], ends[kept]


# --- named inputs


@dataclass(frozen=True)
class Count:
    """The number of ones if one client holds one and all others zero, against all zero.

    A client takes part with probability `rate`. `swapped` exchanges the two. The number of zeros, which a
    shuffle shows as well, is left out for rates below 1: what is computed is realised, and a lower bound of
    the shuffle's.
    """

    clients: int
    eps0: float
    rate: float = 1.0
    swapped: bool = False

    rounding = 3e-11

    @property
    def reverse(self) -> Count:
        """Return the count with the two data sets exchanged."""
        return replace(self, swapped=not self.swapped)

    @property
    def largest_loss(self) -> float:
        """The largest loss: no outcome reveals more than one unshuffled answer."""
        return self.eps0

    def outcomes(self) -> tuple[Floats, Floats, Floats]:
        """(losses, P-masses, Q-masses), in order of the losses."""
        n, fall = self.clients, math.exp(-self.eps0)
        lie = self.rate * fall / (1.0 + fall)  # a zero that is sent as a one
        share = Fraction(lie)
        first, last = reach(n, share)
        ones = np.arange(first, last + 1, dtype=np.float64)
        q = np.exp(log_pmf(ones, n, share))
        # P / Q is a mean over the messages: e^eps0 for a one, and this for anything else
        beside = (1.0 - self.rate + lie) / (1.0 - self.rate + self.rate / (1.0 + fall))
        ratio = (ones * math.exp(self.eps0) + (n - ones) * beside) / n
        losses, p = np.log(ratio), q * ratio
        if not self.swapped:
            return losses, p, q
        return -losses[::-1], q[::-1], p[::-1]

    def log_delta(self, epsilon: float) -> float:
        """log of a lower bound of delta(epsilon): the worse direction, rounding included."""
        growth, best = math.exp(epsilon), 0.0
        for losses, p, q in self._ways:
            beyond = losses > epsilon
            gained, paid = float(p[beyond].sum()), growth * float(q[beyond].sum())
            best = max(best, gained - paid - self.rounding * (gained + paid))
        return math.log(best) if best > 0.0 else -math.inf

    @cached_property
    def _ways(self) -> list[tuple[Floats, Floats, Floats]]:
        losses, p, q = self.outcomes()
        return [(losses, p, q), (-losses, q, p)]
