"""Algorithms by name: each class here that has one, and nothing else lists them."""

from __future__ import annotations

from collections.abc import Iterable

from dpacct_training.accept import one_of
from dpacct_training.algorithm import Algorithm
from dpacct_training.registry import named


def found_in(folders: Iterable[str]) -> dict[str, type[Algorithm]]:
    """The algorithms of these folders, by name."""
    return named(__name__, folders, Algorithm)


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
