"""Models by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpacct_training.accept import one_of
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.models.module import Module as Module
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


OWN = ("start", "loss", "device")
"""Settings of [model] that are dpacct's, where the other ones are a function's keywords."""


def settings_of(name: str, settings: Mapping[str, Any]) -> tuple[type[Model], dict[str, Any]]:
    """The model of this name, or `Module` for "package.module:function", and its fields."""
    if ":" not in name:
        return by_name(name), dict(settings)
    keywords = {key: value for key, value in settings.items() if key not in OWN}
    own = {key: value for key, value in settings.items() if key in OWN}
    return Module, {**own, "function": name, "keywords": keywords}
