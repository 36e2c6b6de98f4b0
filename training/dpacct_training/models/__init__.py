"""Models by name: each module here that defines `MODEL` is one."""

from __future__ import annotations

from dpacct_training.accept import one_of
from dpacct_training.models.model import Model
from dpacct_training.registry import named


def names() -> list[str]:
    """All models.

    >>> names()
    ['cnn', 'linear', 'lstm', 'mlp']
    """
    return sorted(found)


def by_name(name: str) -> type[Model]:
    """The model of this name; raises `InvalidArgument`."""
    return found[one_of("model", name, names())]


found: dict[str, type[Model]] = named(__name__, __path__, "MODEL")
