"""Progress of long commands on stderr: nothing for two seconds, then one line that is written over."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

FIRST, EVERY, LINES = 2.0, 0.5, 10.0
"""Seconds until the first word, between updates on a terminal, and between lines elsewhere."""


def span(seconds: float) -> str:
    """A duration in words.

    >>> span(0.31), span(42.2), span(600), span(9000)
    ('0.3 s', '42 s', '10 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Progress:
    """Shows the time that has passed and what was told last.

    A terminal sees it after two seconds, whatever the command does. Elsewhere only a command that
    tells something is heard, a line every ten seconds.
    """

    def __init__(self, what: str) -> None:
        self._what, self._text = what, ""
        self._started = self._last = time.monotonic()
        self._done = threading.Event()
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._on_terminal:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._on_terminal:
            self._thread.join()

    def tell(self, text: str) -> None:
        """Say what is done now."""
        self._text = text
        now = time.monotonic()
        wait = FIRST if self._last == self._started else LINES
        if not self._on_terminal and now - self._last >= wait:
            self._last = now
            print(self._line(), file=sys.stderr, flush=True)

    def _line(self) -> str:
        return f"{self._what}: {span(time.monotonic() - self._started)}  {self._text}".rstrip()

    def _watch(self) -> None:
        shown = self._done.wait(FIRST)
        if shown:
            return
        while not self._done.is_set():
            sys.stderr.write(f"\r{self._line()[:100]}\x1b[K")
            sys.stderr.flush()
            self._done.wait(EVERY)
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
