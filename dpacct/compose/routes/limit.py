"""The Gaussian limit: what a composition tends to, an estimate with no side."""

from __future__ import annotations

from dpacct.compose.composition import Composition
from dpacct.errors import Unsupported
from dpacct.pld import contour
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_BASIS = "central limit: mu-GDP with the limit's mu (Dong, Roth, Su 2022; Bu, Dong, Long, Su 2020)"


class CentralLimit(Route):
    """mu-GDP in the limit of many small steps; asymptotic, so it may lie below the truth."""

    name = "clt"

    def _law(self, plan: Composition) -> LossDistribution:
        if not plan.clt_mu > 1e-100:
            raise Unsupported("clt does not apply: the limit's mu is zero", argument="method")
        return gaussian(plan.clt_mu)

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        value = contour.epsilon([(self._law(plan), 1.0)], log_delta).value
        return Finding(value, None, None, Side.NONE, Strength.ESTIMATE, (_BASIS,))

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        value = contour.log_delta([(self._law(plan), 1.0)], epsilon).value
        return Finding(value, None, None, Side.NONE, Strength.ESTIMATE, (_BASIS,))
