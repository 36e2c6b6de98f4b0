"""Progress of long commands: after two seconds one line on the terminal, which is written over."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST, EVERY = 2.0, 0.5
"""Seconds until the first word, and between updates."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show the time that has passed, and what the yielded function was told last, on a terminal's stderr."""
    said, started, done = [""], time.monotonic(), threading.Event()

    def tell(text: str) -> None:
        said[0] = text

    def watch() -> None:
        if done.wait(FIRST):
            return
        while not done.wait(EVERY):
            line = f"{what}: {time.monotonic() - started:.0f} s  {said[0]}".rstrip()
            print(f"\r{line[:100]}\x1b[K", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        done.set()
        thread.join()
