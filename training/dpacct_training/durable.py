"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def keep(path: Path, write: Callable[[Path], object], *, first: bool = False) -> None:
    """Let `write` make a file beside `path`, then put it there in one step: whole or not at all.

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
