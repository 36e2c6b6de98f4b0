"""Other people's libraries, imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dpacct import MissingExtra


def required(module: str, extra: str) -> ModuleType:
    """The module, or `MissingExtra` with the command that installs it.

    >>> required("no_such_library", "opacus")
    Traceback (most recent call last):
        ...
    dpacct.errors.MissingExtra: no_such_library is not installed: pip install '.[opacus]' in dpacct's checkout
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise absent(module, extra) from error


def absent(module: str, extra: str) -> MissingExtra:
    """The error for a library that is not there."""
    library = module.partition(".")[0]
    message = f"{library} is not installed: pip install '.[{extra}]' in dpacct's checkout"
    return MissingExtra(message, argument=extra)
