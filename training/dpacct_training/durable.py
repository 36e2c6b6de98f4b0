"""Atomic writes: a file is complete or absent."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def keep(path: Path, write: Callable[[Path], object], *, first: bool = False) -> None:
    """Write a file atomically: `write` makes it beside `path`, then it is renamed.

    `first`: what is there already stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        if first:
            with suppress(FileExistsError):
                os.link(draft, path)
        else:
            draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def write_text(path: Path, text: str) -> None:
    """`text` as the whole of a file."""
    keep(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def secret(path: Path, content: bytes) -> bytes:
    """A file that only its owner can read: written with `content` unless it exists; returns its content.

    Of two processes that begin at once the first one's content is both's.
    """

    def write(draft: Path) -> None:
        opened = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(content)

    keep(path, write, first=True)
    return path.read_bytes()
