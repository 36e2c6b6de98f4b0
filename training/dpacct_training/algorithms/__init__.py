"""Algorithms by name: each module here that defines `ALGORITHM` is one; nothing else lists them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dpacct_training.accept import one_of
from dpacct_training.algorithms.algorithm import Algorithm


def names() -> list[str]:
    """All algorithms.

    >>> names()
    ['dp_fed', 'dp_fed_ls', 'dp_fedavg', 'dp_fedavg_clients', 'fedavg']
    """
    return sorted(found)


def by_name(name: str) -> type[Algorithm]:
    """The algorithm of this name; raises `InvalidArgument`."""
    return found[one_of("algorithm", name, names())]


found: dict[str, type[Algorithm]] = {}
for _module in iter_modules(__path__):
    _defined = getattr(import_module(f"{__name__}.{_module.name}"), "ALGORITHM", None)
    if _defined is not None:
        found[_defined.name] = _defined
