"""Algorithms by name: each module here that defines `ALGORITHM` is one; nothing else lists them."""

from __future__ import annotations

from dpacct_training.accept import one_of
from dpacct_training.algorithms.algorithm import Algorithm
from dpacct_training.registry import named


def names() -> list[str]:
    """All algorithms.

    >>> names()
    ['dp_fed', 'dp_fed_ls', 'dp_fedavg', 'dp_fedavg_clients', 'fedavg']
    """
    return sorted(found)


def by_name(name: str) -> type[Algorithm]:
    """The algorithm of this name; raises `InvalidArgument`."""
    return found[one_of("algorithm", name, names())]


found: dict[str, type[Algorithm]] = named(__name__, __path__, "ALGORITHM")
