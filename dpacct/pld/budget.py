"""Limits on the memory and work of one question.

A plan that would need more gets the bracket that was reached, and `Interval.resolved` says so; where there is
none, one sentence. Work is counted in cells and places, so the same question always gets the same answer.
`metered` counts all that is done within a block, tables of contours too, for whoever has to decide by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dpacct.errors import NotCertified

SECONDS = 5.0
"""Seconds of CPU that any answer may cost but one that was asked for as a proof."""
WORK = 0.6 * SECONDS
"""The same, as estimated, at which loops that refine end: some estimates are two thirds of what is spent."""
MOST_WORK = SECONDS
"""The same, as estimated, beyond which an answer is withheld."""
MEMORY = 2 << 30
"""Bytes that an answer may hold."""

# seconds: a law that is prepared for its moments; an entry of a table of frequencies and nodes; a function
# such as exp at a place
_ENTRY_SECONDS, _FUNCTION_SECONDS = 2.5e-8, 1.2e-8


class Overspent(Exception):
    """The work of a block exceeds its limit. Unlike the refusal of a method, it is not caught on the way."""


@dataclass
class Meter:
    """The estimated seconds of work in a block, at most `most`."""

    most: float = math.inf
    spent: float = 0.0


_METER: ContextVar[Meter | None] = ContextVar("metered_work", default=None)


class metered:
    """Count the work of the block, independently of machine and load.

    Within the block `Overspent` is raised where it is more than `most`.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most = most

    def __enter__(self) -> Meter:
        meter = self._meter = Meter(min(self.most, remaining()))
        self._token = _METER.set(meter)
        return meter

    def __exit__(self, *error: object) -> None:
        _METER.reset(self._token)
        _charge(self._meter.spent)  # a block around this one did it too


OVER_BUDGET = (
    f"this question would take more than {SECONDS:g} s of CPU and {MEMORY >> 30} GB, and the answer is "
    "withheld; method='rdp' has an upper bound at any size, and method='bracket@1e-2' or fewer kinds of "
    "releases need less"
)
"""The message when a question needs more work than its limit."""


@contextmanager
def one_question() -> Iterator[None]:
    """Limit the work of the block; raises `NotCertified` where it is more than `MOST_WORK`.

    Within a block that has a limit of its own `Overspent` is raised instead, for whoever set that.
    """
    try:
        with metered(MOST_WORK):
            yield
    except Overspent as error:
        if remaining() < math.inf:
            raise
        raise NotCertified(OVER_BUDGET) from error


def spent() -> float:
    """The work of the innermost metered block so far; 0 outside of any block."""
    meter = _METER.get()
    return 0.0 if meter is None else meter.spent


def remaining() -> float:
    """Return what is left in the enclosing metered blocks; infinite outside of any limit."""
    meter = _METER.get()
    return math.inf if meter is None else meter.most - meter.spent


def prepared() -> None:
    """Count the preparation of a law's moments."""
    _charge(3e-4)


def tabulated(entries: int) -> None:
    """Count a table of `entries`, one per frequency and node."""
    _charge(_ENTRY_SECONDS * entries)


def rounded(points: int) -> None:
    """Charge a law of so many points that is put on a lattice, up and down."""
    _charge(1.5e-6 * points)


def transformed(laws: int, places: int) -> None:
    """Charge a window of so many places that is transformed for so many laws, and read."""
    _charge(6e-8 * laws * places)


def evaluated(functions: int) -> None:
    """Charge so many values of functions such as exp."""
    _charge(_FUNCTION_SECONDS * functions)


def _charge(seconds: float) -> None:
    meter = _METER.get()
    if meter is not None:
        if meter.spent + seconds > meter.most:  # announced, and not done
            raise Overspent
        meter.spent += seconds
