"""Models by name: each module here that defines `MODEL` is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dpacct_training.accept import one_of
from dpacct_training.models.model import Model


def names() -> list[str]:
    """All models.

    >>> names()
    ['cnn', 'linear', 'lstm', 'mlp']
    """
    return sorted(found)


def by_name(name: str) -> type[Model]:
    """The model of this name; raises `InvalidArgument`."""
    return found[one_of("model", name, names())]


found: dict[str, type[Model]] = {}
for _module in iter_modules(__path__):
    _defined = getattr(import_module(f"{__name__}.{_module.name}"), "MODEL", None)
    if _defined is not None:
        found[_defined.name] = _defined
