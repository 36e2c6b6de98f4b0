"""Other people's libraries, imported only when they are needed; and counts that callers give."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dpacct import InvalidArgument, MissingExtra


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


def count(name: str, value: object) -> int:
    """A whole number of at least 1; raises `InvalidArgument`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f"{name} must be a whole number of at least 1, got {value!r:.40}"
        raise InvalidArgument(message, argument=name)
    return value
