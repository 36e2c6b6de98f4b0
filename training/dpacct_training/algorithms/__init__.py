"""Algorithms by name: each module here defines `ALGORITHM`, and nothing else lists them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dpacct_training.accept import one_of
from dpacct_training.algorithm import Algorithm

_modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_algorithms: dict[str, type[Algorithm]] = {m.ALGORITHM.name: m.ALGORITHM for m in _modules}


def names() -> list[str]:
    """All algorithms.

    >>> names()[:3]
    ['adaptive_clip', 'blur', 'dp_fed']
    """
    return sorted(_algorithms)


def by_name(name: str) -> type[Algorithm]:
    """The algorithm of this name; raises `InvalidArgument`."""
    return _algorithms[one_of("algorithm", name, names())]
