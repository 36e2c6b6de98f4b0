"""Progress of long commands on stderr: a bar on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

_FIRST, _EVERY = 3.0, 10.0  # seconds until the first line, and between lines


def _span(seconds: float) -> str:
    """A duration in words.

    >>> _span(0.31), _span(42.2), _span(600), _span(9000)
    ('0.3 s', '42 s', '10 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Progress:
    """Counts parts as they are done.

    Args:
        total: of parts.
        kept: of them, done in an earlier run.
        silent: whether to say nothing.
        parts: what they are, in the plural.
    """

    def __init__(self, total: int, kept: int = 0, *, silent: bool, parts: str = "rows") -> None:
        self._total, self._done, self._kept = total, kept, kept
        self._silent, self._parts = silent, parts
        self._begun = self._last_line = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if not self._silent and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                MofNCompleteColumn(),
                BarColumn(),
                TextColumn("left:"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, completed=self._done)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def done(self) -> int:
        """The number of parts done."""
        return self._done

    @property
    def seconds(self) -> str:
        """The elapsed time in words."""
        return _span(time.monotonic() - self._begun)

    def add(self, parts: int) -> None:
        """Count this many more parts as done."""
        self._done += parts
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            return
        now = time.monotonic()
        wait = _FIRST if self._last_line == self._begun else _EVERY
        if self._silent or now - self._last_line < wait or self._done >= self._total:
            return
        self._last_line = now
        left = (now - self._begun) / (self._done - self._kept) * (self._total - self._done)
        share = 100 * self._done / self._total
        click.echo(
            f"{self._done} of {self._total} {self._parts}, {share:.0f} %; about {_span(left)} left",
            err=True,
        )
