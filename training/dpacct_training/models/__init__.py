"""Models by name: each module here but `model` defines `MODEL`, and nothing else lists them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dpacct_training.accept import one_of
from dpacct_training.models.model import Model

_modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)]
_models: dict[str, type[Model]] = {
    module.MODEL.name: module.MODEL for module in _modules if "MODEL" in vars(module)
}


def names() -> list[str]:
    """All models.

    >>> names()
    ['cnn', 'linear', 'lstm', 'mlp', 'resnet']
    """
    return sorted(_models)


def by_name(name: str) -> type[Model]:
    """The model of this name; raises `InvalidArgument`."""
    return _models[one_of("model", name, names())]
