"""Models by name: each class here that has one, and nothing else lists them."""

from __future__ import annotations

from dpacct_training.accept import one_of
from dpacct_training.models.model import Model
from dpacct_training.registry import named

_models: dict[str, type[Model]] = named(__name__, __path__, Model)


def names() -> list[str]:
    """All models.

    >>> names()
    ['cnn', 'linear', 'lstm', 'mlp', 'resnet']
    """
    return sorted(_models)


def by_name(name: str) -> type[Model]:
    """The model of this name; raises `InvalidArgument`."""
    return _models[one_of("model", name, names())]
