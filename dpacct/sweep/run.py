"""Computing the rows of a grid, in this process or in several; and a file of those that are done."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import SweepRow


class Killed(RuntimeError):
    """A process that computed rows has died."""


Task = Callable[[tuple[str, ...]], SweepRow]
"""Answers one point; must be picklable, and never raise for a point that has no answer."""
Numbered = list[tuple[int, SweepRow]]

_ALONE = 0.7  # seconds that this process works alone before it is worth starting others
_WORTH = 2.0  # seconds of remaining work for which others are started
_CHUNK = 0.25  # seconds of work that is handed out, and written, at a time


def processors() -> int:
    """Return the number of processes that can run at the same time on this machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    task: Task, points: Iterable[tuple[int, tuple[str, ...]]], count: int, jobs: int
) -> Iterator[Numbered]:
    """Rows as they are done, a chunk at a time and in no certain order.

    Args:
        task: answers one point.
        points: the rows that are wanted, by number.
        count: how many they are.
        jobs: how many processes.

    Raises `Killed` where one of the processes was.
    """
    waiting = iter(points)
    done, begun = 0, time.monotonic()
    while time.monotonic() - begun < _ALONE or jobs == 1 or _left(begun, done, count) < _WORTH:
        chunk = _alone(task, waiting)
        if not chunk:
            return
        done += len(chunk)
        yield chunk
    seconds = max(1e-6, (time.monotonic() - begun) / max(1, done))
    yield from _side_by_side(task, waiting, jobs, size=max(1, min(2000, int(_CHUNK / seconds))))


def _left(begun: float, done: int, count: int) -> float:
    return (time.monotonic() - begun) / done * (count - done) if done else 0.0


def _alone(task: Task, waiting: Iterator[tuple[int, tuple[str, ...]]]) -> Numbered:
    """Compute as many rows as fit into a fraction of a second."""
    until = time.monotonic() + _CHUNK
    chunk: Numbered = []
    for number, point in waiting:
        chunk.append((number, task(point)))
        if time.monotonic() > until:
            break
    return chunk


def _side_by_side(
    task: Task, waiting: Iterator[tuple[int, tuple[str, ...]]], jobs: int, size: int
) -> Iterator[Numbered]:
    # A forked process would inherit locks of threads that it does not have.
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_prepare) as pool:
        running: set[Future[Numbered]] = set()
        try:
            while True:
                while len(running) < 2 * jobs:
                    chunk = [point for _, point in zip(range(size), waiting, strict=False)]
                    if not chunk:
                        break
                    running.add(pool.submit(_chunk, task, chunk))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except BrokenProcessPool:
            raise Killed("a process of the sweep was killed") from None
        finally:
            for future in running:
                future.cancel()


def _chunk(task: Task, points: list[tuple[int, tuple[str, ...]]]) -> Numbered:
    return [(number, task(point)) for number, point in points]


def _prepare() -> None:
    """Prepare a worker process: NumPy's warnings are errors, and Ctrl-C is left to the main process."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with_the_first, daemon=True).start()


def _leave_with_the_first() -> None:
    """End this worker when the main process dies; its pool would wait for work forever."""
    first = parent_process()
    if first is not None:
        first.join()
        os._exit(1)


# --- rows that are done

_FORMAT = "dpacct-sweep-1"


class Journal:
    """An open journal; one process at a time.

    Raises `InvalidArgument` where another sweep's journal is there, or another process writes it, and
    `OSError` where the file cannot be opened, or not be locked.
    """

    def __init__(self, path: Path, fingerprint: str, *, restart: bool = False) -> None:
        self.path = path
        self._head = f"{_FORMAT} {fingerprint}\n".encode()
        from filelock import lock_descriptor

        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        if sys.platform == "win32":
            flags |= os.O_BINARY
        self._file = os.open(path, flags, 0o644)
        try:
            if not lock_descriptor(self._file, blocking=False):  # let go when the file is closed
                message = f"another sweep is writing {path.name} at this moment"
                raise InvalidArgument(message, argument="output")
            if restart:
                os.ftruncate(self._file, 0)
            self.rows = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def add(self, rows: Iterable[tuple[int, SweepRow]]) -> None:
        """Append rows; they are in the file when this returns."""
        lines = [_line(number, row) for number, row in rows]
        self._write(b"".join(lines))

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._file, line) :]

    def _read(self) -> dict[int, SweepRow]:
        content = b""
        while block := os.read(self._file, 1 << 20):
            content += block
        if not content.startswith(self._head):
            if content and not self._head.startswith(content):
                message = (
                    f"{self.path.name} belongs to another sweep, or to another version of dpacct;"
                    " --restart discards it"
                )
                raise InvalidArgument(message, argument="output")
            os.ftruncate(self._file, 0)
            self._write(self._head)
            return {}
        if not content.endswith(b"\n"):
            self._write(b"\n")  # so that the next row does not grow onto a line that was cut off
        rows = {}
        for line in content[len(self._head) :].splitlines():
            result = _row(line)
            if result is not None:
                rows[result[0]] = result[1]
        return rows


def _line(number: int, row: SweepRow) -> bytes:
    result = json.dumps([number, row.to_list()], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(result), result)


def _row(line: bytes) -> tuple[int, SweepRow] | None:
    """The row in a line; None for a line that does not pass its checksum."""
    checksum, _, value = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(value):
        return None
    try:
        number, row = json.loads(value)
        return int(number), SweepRow.from_list(row)
    except (ValueError, TypeError):
        return None
