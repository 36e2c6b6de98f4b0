"""A second check, which shares neither search nor rules with the first: two nested integrals by FLINT.

Beside it only the base pairs (`plan`, `law`) and balls have to be believed. Any c, tau and ends give a true
interval, a bad choice a wide one. With F(s) = M(s) e^{-s eps}/(s (s+1)), M = prod M_i^{T_i}:

1. delta(eps) = (1/pi) Re int_0^inf F(c + it) dt + 1 - kept, c > 0: the inverse Laplace transform of
   (1 - e^{-u})_+. M is of the finite losses, whose mass is `kept`.
2. |M_i(c + it)| <= A_i + V_i/t, A_i the point masses, V_i the density's total variation, both tilted by c;
   |s (s+1)| >= t^2. So |int_tau^inf| <= e^{-c eps} prod (A_i + V_i/tau)^{T_i} / tau.
3. Beyond a place the concave W falls by more than its chord before it, and log r's slope rises in [0, 1]:
   an integral leaves out at most its integrand there over the sum of the slopes. Bells have closed forms.
4. delta(eps) <= M(c) e^{-c eps} c^c/(1+c)^{1+c} + 1 - kept; above all finite losses delta = 1 - kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import acb, arb

from .balls import ball, disc, precision, spread
from .law import Law, ProofBranch, Weight
from .plan import Laws

_FARTHEST, _MOST, _DEVIATIONS = 1e5, 6000, 12
_TOLERANCES = 1e-7, 1e-11, 1e-14  # tried in turn, until a statement is decided
MOST_POINTS = len(_TOLERANCES) * _MOST
Part = tuple[ProofBranch, arb, arb]
Parts = list[tuple[Law, int, list[Part]]]
_NOTHING = acb(arb.nan(), arb.nan())


def _cut(branch: ProofBranch, c: arb) -> Part:
    """A branch with two finite ends, beyond which little is left at this tilt."""
    weight, low, high = branch.weight, branch.start, branch.end
    if isinstance(weight, Weight) and (low is None or high is None):
        reach = _DEVIATIONS / (2 * weight.square).sqrt()
        mean, hill = (x / (2 * weight.square) for x in (weight.linear, c + 1))
        low = (mean - reach).mid() if low is None else low
        high = (mean + hill + reach).mid() if high is None else high
    assert low is not None and high is not None
    return branch, low, high


def _integral(part: Part, s: acb, fine: float) -> acb:
    """int e^W r^kappa dz between the ends, and theorem 3 beyond them."""
    branch, low, high = part
    weight, power = branch.weight, s + 1 if branch.favoured else -s
    if branch.start is branch.end is branch.rate is None and isinstance(weight, Weight):
        return acb(weight.bell(power))

    def at(z: acb, analytic: bool) -> Any:
        r = branch.share * (z.exp() - 1) + 1
        if branch.rate is None:
            return (weight(z) + power * z).exp()
        if analytic and not (r.real > 0 or r.imag > 0 or r.imag < 0):
            return _NOTHING  # it may cross the cut of the logarithm
        return (weight(z) + power * r.log()).exp()

    total: acb = acb.integral(at, low, high, rel_tol=fine, abs_tol=fine, eval_limit=_MOST)
    k = power.real
    for place, side, infinite in ((low, -1, branch.start is None), (high, 1, branch.end is None)):
        if infinite:
            rise = weight(place) - weight(place - side)
            rise += (k * side).max(arb(0)) * (branch.slope(place) if side < 0 else 1)
            if not rise < 0:
                return _NOTHING
            total += spread((weight(place) + k * branch.log_r(place)).exp() / -rise)
    return total


def _beyond(part: Part, c: arb, tau: arb) -> arb:
    """V/tau, V of e^{W - z} r^k/q, k = c + 2 or 1 - c, by its slope on cells; a bell's size at tau."""
    cells = 400
    (branch, low, high), k, weight = part, c + 2 if part[0].favoured else 1 - c, part[0].weight
    assert isinstance(weight, Weight)
    if branch.start is branch.end is branch.rate is None:
        return abs(_integral(part, acb(c, tau), 0.0)).upper()

    def size(z: arb) -> Any:
        return (weight(z) - z + k * branch.log_r(z)).exp() / branch.share

    def linear(z: arb) -> Any:
        return weight.linear - 2 * weight.square * z - 1

    step, total = (high - low) / cells, size(low) + size(high)
    for a, b in ((low + j * step, low + (j + 1) * step) for j in range(cells)):
        steep = linear(a.union(b)) + k * branch.slope(a).union(branch.slope(b))
        most = abs(steep) * step
        if steep > 0 or steep < 0:  # monotone
            total += abs(size(b) - size(a))
        else:
            total += (size((a + b) / 2) * most.exp() * most).upper()
    # beyond the ends it must fall for good: W' is linear, the slope of log r in [0, 1]
    falls = branch.start is not None or linear(low) + k.min(arb(0)) > 0
    falls &= branch.end is not None or bool(linear(high) + k.max(arb(0)) < 0)
    return total.upper() / tau if falls else arb.pos_inf()


def _moment(laws: Parts, s: acb, tolerance: float) -> acb:
    """prod M_i(s)^{T_i}."""
    total = acb(1)
    for law, count, parts in laws:
        moment = sum((mass * (s * loss).exp() for loss, mass in law.atoms), acb(0))
        moment += sum((_integral(part, s, tolerance / count * 1e-6) for part in parts), acb(0))
        if moment.real > 0 or moment.imag > 0 or moment.imag < 0:
            total *= (count * moment.log()).exp()
        else:  # a power of a box around 0, or around the cut of the logarithm: by its size
            total *= spread(abs(moment).upper() ** count)
    return total


def _delta(laws: Parts, c: arb, epsilon: arb, tolerance: float, tell: Callable[[], None]) -> arb:
    """Theorems 1 to 3: delta of the finite losses."""
    factor, tau, tail = (-c * epsilon).exp(), arb(4), arb.pos_inf()
    goal = tolerance * 1e-2 * factor * _moment(laws, acb(c), tolerance).real / (c * (c + 1))
    while not tail < goal and (tau := 2 * tau) < _FARTHEST:
        tail = factor / tau / arb.pi()
        for law, count, parts in laws:
            size = sum((mass * (c * loss).exp() for loss, mass in law.atoms), arb(0))
            tail *= sum((_beyond(part, c, tau) for part in parts), size) ** count

    def line(t: acb, analytic: bool) -> acb:
        tell()
        s = acb(c) + acb(0, 1) * t
        # the kernel has poles: not there, nor in wide boxes
        kernel = (-s * epsilon).exp() / (s * (s + 1))
        return _moment(laws, s, tolerance) * kernel if s.real > c / 4 else _NOTHING

    kept = acb.integral(line, acb(0), acb(tau), rel_tol=tolerance, abs_tol=goal, eval_limit=_MOST)
    return disc(tail) + kept.real / arb.pi()


def within(
    laws: Laws,
    epsilon: Fraction,
    bound: Fraction,
    c: float,
    tell: Callable[[], None] = lambda: None,
) -> bool | None:
    """Return whether delta(epsilon) <= bound (True) or > bound (False) is proved; None where neither is.

    `tell` is called at each point of the outer integral, of which there are at most MOST_POINTS.
    """
    with precision(128):
        e, target = ball(epsilon), ball(bound)
        y, stated = arb(c), [(step.law(), count) for step, count in laws]
        kept = math.prod(((1 - law.infinite) ** count for law, count in stated), start=arb(1))
        target = target - (1 - kept)
        if sum((count * law.ceiling() for law, count in stated), arb(0)) <= e:
            return True if target >= 0 else False if target < 0 else None
        parts = [(law, n, [_cut(branch, y) for branch in law.branches]) for law, n in stated]
        peak = (y * y.log() - (1 + y) * (1 + y).log() - y * e).exp()
        if _moment(parts, acb(y), _TOLERANCES[0]).real * peak <= target:
            return True
        for tolerance in _TOLERANCES:
            value = _delta(parts, y, e, tolerance, tell)
            if value <= target or value > target:
                return bool(value <= target)
    return None
