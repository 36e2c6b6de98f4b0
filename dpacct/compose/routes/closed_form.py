"""The closed form of the plain Gaussian mechanism."""

from __future__ import annotations

import math

from dpacct.compose.composition import Composition
from dpacct.engine.invert import bracketed_root
from dpacct.errors import Unsupported
from dpacct.pld.conversions import gaussian_log_delta
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_BASIS = ("Balle, Wang 2018, Theorem 8",)


class BalleWang(Route):
    """delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""

    name = "balle_wang.theorem8"

    def _mu(self, plan: Composition) -> float:
        mu = plan.gaussian_mu
        if mu is None:
            told = f"method {self.name!r} applies to plans of plain Gaussian releases only"
            raise Unsupported(told, argument="method")
        return mu

    def _grade(self, error: float) -> Strength:
        return Strength.CONVERGED if error <= 1e-9 else Strength.BOUND

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        mu = self._mu(plan)

        def read(e: float) -> tuple[float, float]:
            value, error = gaussian_log_delta(mu, e)
            if not error < 0.1:
                told = f"method {self.name!r} cancels to nothing at mu = {mu:.3g} and this delta"
                raise Unsupported(told, argument="method")
            return value, error

        if read(0.0)[0] <= log_delta:
            return Finding(0.0, 0.0, 0.0, Side.TWO_SIDED, Strength.CONVERGED, _BASIS)
        found = bracketed_root(lambda e: read(e)[0] - log_delta, read)
        error = 0.5 * (found.upper - found.lower) / found.value
        return Finding(
            found.value, found.lower, found.upper, Side.TWO_SIDED, self._grade(error), _BASIS
        )

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        value, error = gaussian_log_delta(self._mu(plan), epsilon)
        if not error < 0.1:
            told = f"method {self.name!r} cancels to nothing at epsilon = {epsilon:.6g}"
            raise Unsupported(told, argument="method")
        ends = value + math.log1p(-error), value + math.log1p(error)
        return Finding(value, *ends, Side.TWO_SIDED, self._grade(error), _BASIS)
