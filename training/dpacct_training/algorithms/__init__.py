"""Algorithms by name: each class here that has one, and nothing else lists them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from dpacct_training.accept import one_of
from dpacct_training.algorithm import Algorithm


def found_in(folders: Iterable[str]) -> dict[str, type[Algorithm]]:
    """The algorithms of these folders' modules that have a `name` of their own."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(folders)]
    kinds = [k for m in modules for k in vars(m).values() if isinstance(k, type)]
    return {k.name: k for k in kinds if issubclass(k, Algorithm) and "name" in vars(k)}


_algorithms = found_in(__path__)


def names() -> list[str]:
    """All algorithms.

    >>> names()[:3]
    ['adaptive_clip', 'blur', 'dp_fed']
    """
    return sorted(_algorithms)


def by_name(name: str) -> type[Algorithm]:
    """The algorithm of this name; raises `InvalidArgument`."""
    return _algorithms[one_of("algorithm", name, names())]
