"""Work, counted and limited: what a test may say of speed, whatever the machine does meanwhile."""

import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def calls(run: Callable[[], object]) -> int:
    """How many functions `run` enters, those of C included.

    >>> calls(lambda: [abs(x) for x in range(100)]) >= 100
    True
    """
    count = 0

    def enter(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def memory(run: Callable[[], object]) -> int:
    """The most bytes that `run` holds at once, beyond what was held before."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@contextmanager
def limited(seconds: float, stopped: BaseException) -> Iterator[None]:
    """Raise `stopped` after so many seconds of processor time (a busy machine doesn't count).

    While the alarm is set, Linux counts the process's time in ticks; `time.thread_time` stays fine.
    """

    def stop(*_: object) -> None:
        raise stopped

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
