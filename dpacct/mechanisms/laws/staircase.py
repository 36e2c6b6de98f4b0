"""The law of staircase noise, and the pair of it with itself moved by the sensitivity.

Geng, Viswanath. The Optimal Mechanism in Differential Privacy. ISIT 2014; `lam` is the pure epsilon, and `nu`
the share of a step at which the density first falls. Units are those of the sensitivity.

At any shift its pair has three losses, and only the weight of one depends on it.
The density is a e^{-k lam} on level k: |x| < nu for k = 0, and k - 1 + nu <= |x| < k + nu. Moving it by
d <= 1 (the sensitivity) changes the level of any x by at most one, so the loss is lam, 0 or -lam.
Let P0 be the mass of the points that keep their level. P and Q both sum to 1 and P+ = e^lam Q+,
P- = e^-lam Q-, hence P+ = (1 - P0) / (1 + e^-lam): the pair is randomised response at lam, shown with
probability 1 - P0 and replaced by nothing otherwise. A pair of smaller P0 therefore dominates
(throw its outcome away now and then), and P0 falls with d, so the full shift is the worst one:

    P0(d) = a [(2 nu - d)_+  +  e^-lam (d - 2 nu)_+  +  2 (1 - d) e^-lam / (1 - e^-lam)],
    P0'(d) = -a - 2 a e^-lam / (1 - e^-lam)  or  a e^-lam - 2 a e^-lam / (1 - e^-lam),  both negative.

A clipped sum under replace-one moves by up to two steps. Moved by exactly two, the loss is lam times the
change of level, 2, 1, 0, -1 or -2, and with m = min(nu, 1 - nu) its P-masses are

    2 lam: 1/2 + a m,    lam: a (1 - 2 m) (times e^-lam where nu < 1/2),    0: 2 a m e^-lam,

and e^-2lam, e^-lam as much on the other side. Shorter moves d are dominated by it, as for any density p
that is even and falls in |x|: where e^eps p(x - d) < p(x), eps >= 0, x lies nearer to 0 than x - d does,
so that a longer move only lowers p(x - d), and the hockey-stick divergence never falls in d.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpacct.pld.scalar import exp, expm1

if TYPE_CHECKING:
    from dpacct.pld.loss import LossDistribution


def best_nu(lam: Any) -> Any:
    """The share of a step at which the density first falls that minimises E|noise| (Geng-Viswanath).

    >>> best_nu(0.0), round(best_nu(2.0), 9)
    (0.5, 0.268941421)
    """
    return 1.0 / (1.0 + exp(0.5 * lam))


def height(lam: Any, nu: Any) -> Any:
    """The density at 0, for a sensitivity of 1: a = (1 - b) / (2 (nu + b (1 - nu))), b = e^-lam."""
    fall = exp(-lam)
    return -expm1(-lam) / (2.0 * (nu + fall * (1.0 - nu)))


def unmoved(lam: Any, nu: Any, shift: float = 1.0) -> Any:
    """P0: the mass of the points whose level a shift in [0, 1] leaves as it was.

    >>> unmoved(1.0, 0.5), unmoved(1.0, 0.5, 0.0)
    (0.0, 1.0)
    """
    if shift == 0.0:
        return 1.0
    fall, over = exp(-lam), 2.0 * nu - shift
    near = 0.5 * (abs(over) + over) + 0.5 * fall * (abs(over) - over)
    far = 2.0 * (1.0 - shift) * fall / -expm1(-lam)
    return height(lam, nu) * (near + far)


def moved(lam: Any, nu: Any = None, shift: float = 1.0) -> LossDistribution:
    """The noise against itself moved by `shift` sensitivities, shift in (0, 1]; `nu`: the best one."""
    from dpacct.pld.pair import symmetric

    kept = unmoved(lam, best_nu(lam) if nu is None else nu, shift)
    fall = exp(-lam)
    return symmetric((lam, 0.0), ((1.0 - kept) * fall / (1.0 + fall), 0.5 * kept))


def moved_half(lam: Any, nu: Any = None) -> LossDistribution:
    """The noise against itself moved by half a step."""
    return moved(lam, nu, 0.5)


def moved_twice(lam: Any, nu: Any = None) -> LossDistribution:
    """The noise against itself moved by two steps."""
    from dpacct.pld.pair import symmetric

    nu = best_nu(lam) if nu is None else nu
    fall, a, edge = exp(-lam), height(lam, nu), nu if nu < 0.5 else 1.0 - nu
    once = a * (1.0 - 2.0 * edge) * (fall if nu < 0.5 else 1.0)
    masses = (fall * fall * (0.5 + a * edge), fall * once, a * edge * fall)  # under Q
    return symmetric((2.0 * lam, lam, 0.0), masses)


def mean_size(lam: float, nu: float) -> float:
    """E|noise| in units of the sensitivity.

    >>> round(mean_size(1.0, best_nu(1.0)), 12), round(0.5 / math.sinh(0.5), 12)
    (0.959517375667, 0.959517375667)
    """
    fall, lost = math.exp(-lam), -math.expm1(-lam)
    return float(height(lam, nu)) / lost * (nu * nu * lost + 2.0 * fall * (1.0 / lost + nu - 0.5))


def renyi(alpha: float, lam: float, nu: float) -> float:
    """Renyi divergence of order alpha of the noise from itself moved by the sensitivity.

    >>> round(renyi(2.0, 1.0, 0.3), 12)
    0.690920695312
    """
    # M - 1 = (1 - P0) ((e^{s lam} + e^{-alpha lam})/(1 + e^{-lam}) - 1): small lam keeps its digits
    kept, s = unmoved(lam, nu), alpha - 1.0
    weight = (1.0 - kept) / (1.0 + math.exp(-lam))
    if s * lam > 30.0:
        rest = math.exp(-alpha * lam) + kept / weight
        return lam + (math.log(weight) + math.log1p(rest * math.exp(-s * lam))) / s
    gain = math.expm1(s * lam) + math.exp(-lam) * math.expm1(-s * lam)
    return math.log1p(weight * gain) / s


def mean_square(lam: float, nu: float) -> float:
    """E noise^2 in units of the squared sensitivity."""
    fall, lost = math.exp(-lam), -math.expm1(-lam)
    m = nu - 0.5  # the middle of level k is k + m
    levels = (1.0 + fall) / lost**2 + 2.0 * m / lost + m * m + 1.0 / 12.0
    return 2.0 * float(height(lam, nu)) * (nu**3 / 3.0 + fall / lost * levels)
