"""The Renyi route: moments of real order, optimised continuously, and a published conversion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpacct.compose.composition import Composition, log_moments
from dpacct.pld import conversions
from dpacct.pld.pair import Moments
from dpacct.pld.roots import minimum
from dpacct.pld.stable import TooFine, quiet
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route


@dataclass(frozen=True)
class Renyi(Route):
    """Upper bounds from moments; `at_epsilon` and `at_delta` are the conversion, per order."""

    name: str
    basis: str
    at_delta: Callable[[float, float, float], float]  # (log moment, s, log delta) -> epsilon
    at_epsilon: Callable[[float, float, float], float]  # (log moment, s, epsilon) -> log delta

    def _best(
        self, plan: Composition, convert: Callable[[float, float, float], float], x: float
    ) -> float:
        def for_direction(way: list[tuple[Moments, int]]) -> float:
            def bound(log_s: float) -> float:
                s = math.exp(log_s)
                try:
                    with quiet():
                        moment = float(log_moments(way, np.array([s]))[0])
                except TooFine:  # an order far outside the useful range
                    return math.inf
                return convert(moment, s, x) if math.isfinite(moment) else math.inf

            return minimum(bound, math.log(1e-8), math.log(1e12))

        return max(for_direction(way) for way in plan.moments)

    def _finding(self, value: float) -> Finding:
        return Finding(value, None, value, Side.UPPER, Strength.BOUND, (self.basis,))

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        value = self._best(plan, self.at_delta, log_delta)
        return self._finding(max(0.0, value) * (1.0 + 1e-13))

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        return self._finding(min(0.0, self._best(plan, self.at_epsilon, epsilon) + 1e-13))


CANONNE = Renyi(
    "rdp",
    "Canonne, Kamath, Steinke 2020, Proposition 12",
    conversions.epsilon,
    conversions.log_delta,
)
MIRONOV = Renyi(
    "rdp-mironov",
    "Mironov 2017, Proposition 3",
    conversions.mironov_epsilon,
    conversions.mironov_log_delta,
)
