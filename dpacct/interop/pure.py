"""Epsilon at delta = 0: finite where every release is pure, a plain sum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpacct import Node

_EPSILONS = {
    "laplace": lambda node: 1 / Fraction(node["b"]),
    "discrete-laplace": lambda node: Fraction(node["sensitivity"]) / Fraction(node["scale"]),
    "randomized-response": lambda node: Fraction(node["eps0"]),
    "staircase": lambda node: Fraction(node["eps0"]),
    "pure-dp": lambda node: Fraction(node["epsilon"]),
}


def pure_epsilon(plan: Node) -> float:
    """The sum over all releases of each one's pure epsilon, rounded up; infinite if one has none.

    >>> import dpacct as dp
    >>> pure_epsilon(dp.Laplace(b=2) * 3), pure_epsilon(dp.Laplace(b=2) + dp.Gaussian(sigma=9))
    (1.5, inf)
    """
    total, exact = 0.0, Fraction(0)
    for leaf, count in plan.releases():
        epsilon = _of(leaf.to_dict())
        if isinstance(epsilon, Fraction):
            exact += count * epsilon
        else:
            total += count * epsilon
    if total == 0.0:
        value = float(exact)
        return value if Fraction(value) >= exact else math.nextafter(value, math.inf)
    return (total + float(exact)) * (1.0 + 1e-14)


def _of(node: dict[str, Any]) -> Fraction | float:
    """One release's epsilon: log(1 + q (e^eps - 1)) on a sample of rate q."""
    kind = node["node"]
    if kind in ("poisson", "without-replacement"):
        inner = float(_of(node["of"]))
        if inner > 700.0:
            return inner
        return math.log1p(float(Fraction(node["rate"])) * math.expm1(inner))
    return _EPSILONS[kind](node) if kind in _EPSILONS else math.inf
