"""What can be named in an experiment: one file each, found by being there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def named(package: str, path: Iterable[str], attribute: str) -> dict[str, Any]:
    """What each module of a package defines as `attribute`, by its `name`; others are passed over."""
    modules = (import_module(f"{package}.{module.name}") for module in iter_modules(path))
    defined = (getattr(module, attribute, None) for module in modules)
    return {one.name: one for one in defined if one is not None}
