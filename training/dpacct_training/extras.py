"""Libraries of the extras `training` and `flower`, imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dpacct import MissingExtra


def required(module: str) -> Any:
    """The module, or `MissingExtra` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        extra = "training,flower" if library == "flwr" else "training"
        message = f"{library} is not installed: pip install '.[{extra}]' in dpacct's checkout"
        raise MissingExtra(message, argument="training") from error


def library(module: str, package: str) -> Any:
    """A library that no extra brings, or `MissingExtra` with the command that installs its package."""
    try:
        return import_module(module)
    except ImportError as error:
        message = f"{package} is not installed: pip install {package}"
        raise MissingExtra(message, argument=package) from error


def torch(threads: int = 1) -> Any:
    """PyTorch, held to `threads` threads.

    More than one loses on tensors this small: measured, one thread is up to 50 times quicker on a
    busy machine. Processes are what scales.
    """
    module = required("torch")
    if module.get_num_threads() != threads:
        module.set_num_threads(threads)
    return module
