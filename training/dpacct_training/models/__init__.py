"""Models by name."""

from __future__ import annotations

from dpacct_training.accept import one_of
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.models.networks import CNN, LSTM, MLP, ResNet

_models: dict[str, type[Model]] = {kind.name: kind for kind in (CNN, Linear, LSTM, MLP, ResNet)}


def names() -> list[str]:
    """All models.

    >>> names()
    ['cnn', 'linear', 'lstm', 'mlp', 'resnet']
    """
    return list(_models)


def by_name(name: str) -> type[Model]:
    """The model of this name; raises `InvalidArgument`."""
    return _models[one_of("model", name, names())]
