"""The closed form of the plain Gaussian mechanism."""

from __future__ import annotations

import math

from dpacct.compose.composition import Composition
from dpacct.errors import Unsupported
from dpacct.pld.conversions import gaussian_log_delta
from dpacct.pld.roots import decreasing
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_BASIS = ("Balle, Wang 2018, Theorem 8",)


class BalleWang(Route):
    """delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""

    name = "balle_wang.theorem8"

    def _mu(self, plan: Composition) -> float:
        mu = plan.gaussian_mu
        if mu is None:
            message = f"method {self.name!r} applies to plans of plain Gaussian releases only"
            raise Unsupported(message, argument="method")
        return mu

    def _grade(self, error: float) -> Strength:
        return Strength.CONVERGED if error <= 1e-9 else Strength.BOUND

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        mu = self._mu(plan)

        def read(e: float) -> tuple[float, float]:
            value, error = gaussian_log_delta(mu, e)
            if not error < 0.1:
                message = f"method {self.name!r} cancels to nothing at mu = {mu:.3g} and this delta"
                raise Unsupported(message, argument="method")
            return value, error

        if read(0.0)[0] <= log_delta:
            return Finding(0.0, 0.0, 0.0, Side.TWO_SIDED, Strength.CONVERGED, _BASIS)
        value = decreasing(lambda e: (read(e)[0], math.nan), log_delta, 0.0)
        shift = max(1e-6 * value, 1e-12)
        (at, error), (beyond, _) = read(value), read(value + shift)
        margin = error * shift / (at - beyond) + 1e-14 * value
        return Finding(
            value,
            value - margin,
            value + margin,
            Side.TWO_SIDED,
            self._grade(margin / value),
            _BASIS,
        )

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        value, error = gaussian_log_delta(self._mu(plan), epsilon)
        if not error < 0.1:
            message = f"method {self.name!r} cancels to nothing at epsilon = {epsilon:.6g}"
            raise Unsupported(message, argument="method")
        ends = value + math.log1p(-error), value + math.log1p(error)
        return Finding(value, *ends, Side.TWO_SIDED, self._grade(error), _BASIS)
