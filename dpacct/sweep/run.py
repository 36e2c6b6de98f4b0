"""Computing the rows of a grid: in this process while that is quick, then in several."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from threading import Thread

from dpacct.sweep.grid import Row


class Killed(RuntimeError):
    """A process that computed rows has died."""


Task = Callable[[tuple[str, ...]], Row]
"""Answers one point; must be picklable, and never raise for a point that has no answer."""
Numbered = list[tuple[int, Row]]

_ALONE = 0.7  # seconds that this process works alone before it is worth starting others
_WORTH = 2.0  # seconds of remaining work for which others are started
_CHUNK = 0.25  # seconds of work that is handed out, and written, at a time


def processors() -> int:
    """How many processes can run at the same time here."""
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

    Raises:
        Killed: one of the processes was.
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
