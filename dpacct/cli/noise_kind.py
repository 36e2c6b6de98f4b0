"""The kinds of noise on the command line, and in plan files: which numbers give each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpacct.tree import Node


@dataclass(frozen=True)
class NoiseKind:
    """A mechanism: its public name, what must be given, what may be, and where a search looks."""

    name: str
    needs: tuple[str, ...]
    meaning: str
    may: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None

    @property
    def make(self) -> Callable[..., Node]:
        """The constructor."""
        import dpacct as dp

        made: Callable[..., Node] = getattr(dp, self.name)
        return made


_EPS0 = ("eps0",)
_RANGE = (1e-6, 500.0)
KINDS: dict[str, NoiseKind] = {
    "gaussian": NoiseKind("Gaussian", ("sigma",), "standard deviation / sensitivity"),
    "laplace": NoiseKind("Laplace", ("b",), "scale / sensitivity"),
    "staircase": NoiseKind("Staircase", _EPS0, "epsilon of one release", ("nu",), _RANGE),
    "discrete-laplace": NoiseKind(
        "DiscreteLaplace", ("scale",), "scale, in whole units", ("sensitivity",), (2e-3, 1e6)
    ),
    "discrete-gaussian": NoiseKind(
        "DiscreteGaussian", ("scale",), "sigma, in whole units", ("sensitivity",), (0.05, 1e9)
    ),
    "randomized-response": NoiseKind(
        "RandomizedResponse", _EPS0, "epsilon of one answer", ("k",), _RANGE
    ),
    "local-randomizer": NoiseKind("LocalRandomizer", _EPS0, "epsilon of one report", bounds=_RANGE),
    "exponential": NoiseKind(
        "ExponentialMechanism", _EPS0, "range of one choice's losses", bounds=_RANGE
    ),
}
"""By their names on the command line."""
EXTRA = ("eps0", "nu", "k", "scale", "sensitivity")
"""Options of all kinds but the Gaussian's and Laplace's."""
