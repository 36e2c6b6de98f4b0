"""Work, counted: what a test may say of speed, whatever the machine does meanwhile."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
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
