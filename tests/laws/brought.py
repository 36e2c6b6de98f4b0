"""`Custom` in each of its forms, as mechanisms with parameters that the laws can draw."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import dpacct as dp
from dpacct.declare.domain import Real


@dataclass(frozen=True, eq=False)
class Brought:
    """A Custom of this form, made from parameters; the same values give the same object."""

    form: str
    domains: Mapping[str, Real]
    build: Callable[..., Any]
    has_pairs: bool = True

    @property
    def kind(self) -> str:
        return f"custom-{self.form}"

    def __call__(self, **values: Any) -> dp.Custom:
        checked = {name: self.domains[name].check(name, value) for name, value in values.items()}
        return _made(self, tuple(checked.values()))

    def custom(self, *values: float) -> dp.Custom:
        """With these values, in the order of the domains."""
        return dp.Custom(**{self.form: self.build(*values)})


@functools.cache
def _made(brought: Brought, values: tuple[Fraction, ...]) -> dp.Custom:
    return brought.custom(*map(float, values))


class _Lines(Brought):
    """Densities 1 + t(2x - 1) and 1 - t(2x - 1) on [0, 1], each other's mirror image."""

    def custom(self, *values: float) -> dp.Custom:
        (t,) = values
        both = (lambda x: 1.0 + t * (2.0 * x - 1.0), lambda x: 1.0 - t * (2.0 * x - 1.0))
        return dp.Custom(densities=both, breaks=[0, 1], symmetric=True)


def tables(t: float) -> Any:
    """Three outcomes, not symmetric."""
    return [0.5 + t / 4, 0.25, 0.25 - t / 4], [0.5 - t / 4, 0.25 + t / 8, 0.25 + t / 8]


def profile(eps0: float) -> Callable[[float], float]:
    """Of a choice of bounded range, (1 - e^{(e - eps0)/2})^2 / (1 - e^-eps0)."""
    return lambda e: math.expm1(min(0.0, (e - eps0) / 2)) ** 2 / -math.expm1(-eps0)


def tradeoff(k: float) -> Callable[[float], float]:
    """(1 - a^k)^{1/k}, its own inverse, with losses without end."""
    return lambda a: (1 - a**k) ** (1 / k)


_SHARE = Real("0.01", "0.9", "both", typical=(0.05, 0.8))
FORMS = (
    Brought("tables", {"share": _SHARE}, tables),
    Brought("profile", {"eps0": Real("0.01", 20, "both", typical=(0.1, 5))}, profile),
    Brought("tradeoff", {"k": Real("0.4", "0.99", "both", typical=(0.5, 0.95))}, tradeoff),
    Brought("rdp", {"rho": Real("1e-6", 100, "both")}, lambda r: lambda a: r * a, has_pairs=False),
    Brought(
        "moment",
        {"rho": Real("1e-6", 100, "both")},
        lambda r: lambda s: math.exp(r * s * (s + 1)),
        has_pairs=False,
    ),
    _Lines("densities", {"share": _SHARE}, tables),
)
