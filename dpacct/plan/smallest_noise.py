"""The search over lambda that Theorems 1 and 2 leave to their reader.

With x = nu^2/(4 G^2), L = log(1/delta) and alpha = L/((1-lam) eps) + 1, the noise of Eq. (3) or (4) is
x = c tau^2 T alpha/(lam eps), with c = 3.5 from Lemma 2 or 2 from Lemma 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.errors import OutsideDomain
from dpacct.pld.roots import halved

# lambda is scanned on a logarithmic scale, then narrowed; below this share of its best value the
# noise is astronomical.
_SCAN = 60


@dataclass(frozen=True)
class Guarantee:
    """One of the two theorems: its constant c, and the least x that its lemma admits."""

    constant: float
    least: float

    def alpha(self, lam: float, epsilon: float, log_inverse: float) -> float:
        """The order at which Renyi DP is converted; `log_inverse` = log(1/delta)."""
        return log_inverse / ((1.0 - lam) * epsilon) + 1.0

    def squared(
        self, lam: float, epsilon: float, log_inverse: float, tau: float, steps: int
    ) -> float:
        """x = nu^2/(4 G^2) by Eq. (3) or (4)."""
        alpha = self.alpha(lam, epsilon, log_inverse)
        return self.constant * tau * tau * steps * alpha / (lam * epsilon)

    def slack(self, x: float, alpha: float, tau: float) -> float:
        """Right side minus left side of the condition on alpha: it must not be negative."""
        return -2.0 / 3.0 * x * (math.log(tau * alpha) + math.log1p(x)) - (alpha - 1.0)

    def admitted(
        self, lam: float, epsilon: float, log_inverse: float, tau: float, steps: int
    ) -> float:
        """x at this lambda; raises `OutsideDomain` where a side condition fails."""
        x = self.squared(lam, epsilon, log_inverse, tau, steps)
        if x < self.least:
            message = f"lam must make nu^2/(4 G^2) at least {self.least}, got {x:.6g} at {lam:.6g}"
            raise OutsideDomain(message, argument="lam")
        if self.slack(x, self.alpha(lam, epsilon, log_inverse), tau) < 0.0:
            message = f"lam must meet the condition on alpha, got {lam:.6g}"
            raise OutsideDomain(message, argument="lam")
        return x

    def best(self, epsilon: float, log_inverse: float, tau: float, steps: int) -> float:
        """x at the best lambda; raises `OutsideDomain`, with the smallest epsilon, where none fits."""
        solution = self.smallest(epsilon, log_inverse, tau, steps)
        if solution is None:
            least = self.least_epsilon(log_inverse, tau, steps)
            message = f"epsilon must be at least {least:.12g} for a lambda to exist"
            raise OutsideDomain(f"{message}, got {epsilon:.12g}", argument="epsilon")
        return solution[0]

    def smallest(
        self, epsilon: float, log_inverse: float, tau: float, steps: int
    ) -> tuple[float, float] | None:
        """(x, lambda) of the smallest noise that meets every condition; None where no lambda does.

        x falls as lambda grows up to `top`, so the largest lambda that is admitted is the best.
        """
        # below this share of its best value the noise is astronomical
        share = 1e-9
        ratio = log_inverse / epsilon
        top = 1.0 - ratio / (ratio + math.sqrt(ratio * ratio + ratio))  # where dx/dlambda = 0

        def noise(lam: float) -> float:
            return self.squared(lam, epsilon, log_inverse, tau, steps)

        def room(lam: float) -> float:
            return self.slack(noise(lam), self.alpha(lam, epsilon, log_inverse), tau)

        scan = [top * share ** (1.0 - k / _SCAN) for k in range(_SCAN + 1)]
        best = max(range(_SCAN + 1), key=lambda k: room(scan[k]))
        # room has one peak: where it no longer rises, by a central difference
        beside = scan[max(0, best - 1)], scan[min(_SCAN, best + 1)]
        inside = halved(lambda lam: room(lam * (1 + 1e-6)) > room(lam * (1 - 1e-6)), *beside)[0]
        if room(inside) < 0.0:
            return None
        lam = top if room(top) >= 0.0 else halved(lambda lam: room(lam) >= 0.0, inside, top)[0]
        if noise(lam) < self.least:
            lam = halved(lambda lam: noise(lam) >= self.least, share * top, lam)[0]
            if noise(lam) < self.least or room(lam) < 0.0:
                return None
        return noise(lam), lam

    def least_epsilon(self, log_inverse: float, tau: float, steps: int) -> float:
        """The smallest epsilon for which a lambda exists; raises `OutsideDomain` if there is none."""

        def feasible(epsilon: float) -> bool:
            return self.smallest(epsilon, log_inverse, tau, steps) is not None

        high = next((2.0**k for k in range(-40, 41) if feasible(2.0**k)), None)
        if high is None:
            message = f"tau must leave an order above 1 at some epsilon, got {tau:.6g}"
            raise OutsideDomain(message, argument="tau")
        return halved(feasible, high, 0.5 * high)[0]


UNIFORM = Guarantee(constant=3.5, least=0.67)
"""Theorem 1."""
POISSON = Guarantee(constant=2.0, least=0.53)
"""Theorem 2."""
