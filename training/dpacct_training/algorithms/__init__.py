"""Algorithms by name: each class here that has one, and nothing else lists them.

A package outside brings a module of its own through the entry-point group "dpacct_training.algorithms".
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from dpacct_training.accept import one_of
from dpacct_training.algorithm import Algorithm


def _of(modules: Iterable[ModuleType]) -> dict[str, type[Algorithm]]:
    """The algorithms of these modules that have a `name` of their own."""
    kinds = [k for m in modules for k in vars(m).values() if isinstance(k, type)]
    return {k.name: k for k in kinds if issubclass(k, Algorithm) and "name" in vars(k)}


_algorithms = _of(import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))


def load_plugins() -> None:
    """Add what other installed packages offer under the entry-point group."""
    from importlib import metadata  # 10 ms that few need

    points = metadata.entry_points(group=__name__)
    _algorithms.update(_of(point.load() for point in points))


def names() -> list[str]:
    """All algorithms."""
    return sorted(_algorithms)


def by_name(name: str) -> type[Algorithm]:
    """The algorithm of this name; raises `InvalidArgument`."""
    if name not in _algorithms:
        load_plugins()
    return _algorithms[one_of("algorithm", name, names())]
