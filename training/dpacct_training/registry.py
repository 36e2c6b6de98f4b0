"""Kinds by name: what the modules of a package define, so that nothing else has to list it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def named(package: str, folders: Iterable[str], kind: type[Any]) -> dict[str, type[Any]]:
    """The classes of a kind that have a `name` of their own, of each module in a package's folders."""
    modules = [import_module(f"{package}.{module.name}") for module in iter_modules(folders)]
    defined = [
        each for module in modules for each in vars(module).values() if isinstance(each, type)
    ]
    return {
        vars(each)["name"]: each
        for each in defined
        if issubclass(each, kind) and "name" in vars(each)
    }
