"""What a proof may cost: seconds estimated from the sizes of its sums, never from a clock.

So whether an answer is certified depends on the question alone, not on how busy the machine is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dpacct.errors import NotCertified

FORCED = 60.0
"""Seconds allowed where a proof was asked for by name."""
_BITS = 128.0
# measured at 128 bits, on one core at 3 GHz
_NODE, _ENTRY, _POWER, _FREQUENCY, _READ = 15e-6, 6e-8, 3e-7, 5e-6, 3e-6
_LATTICE = 12e-6
CLOSED = 1e-4
"""Seconds of one closed form."""
PIECE = 3e-5
"""Seconds of one piece of a hill that is bounded far out."""
SEARCH = 3e-3
"""Seconds of one search in floats for a saddle and a step."""
CHECKED = 300.0
"""Seconds allowed for the check of a whole certificate, whoever wrote it."""
_LARGEST_TABLE = 2e6  # powers held at once, about 1 GB
_LARGEST = 4e9  # bits of all numbers held at once, half a gigabyte


@dataclass
class _Account:
    """What is left of an allowance."""

    allowed: float
    left: float


_ACCOUNT: ContextVar[_Account | None] = ContextVar("proof_effort", default=None)


class TooCostly(NotCertified):
    """A proof was not looked for any further: it would take longer than is allowed."""


@contextmanager
def allowance(seconds: float) -> Iterator[None]:
    """Within the block a proof may take so many estimated seconds; the tighter of two holds."""
    outer = _ACCOUNT.get()
    inner = _Account(seconds, seconds)
    if outer is not None and outer.left <= seconds:
        yield
        return
    token = _ACCOUNT.set(inner)
    try:
        yield
    finally:
        _ACCOUNT.reset(token)
        if outer is not None:
            outer.left -= seconds - inner.left


def spend(seconds: float) -> None:
    """Charge the allowance before the work is done; raises `TooCostly`.

    >>> with allowance(1.0):
    ...     spend(0.5)
    """
    account = _ACCOUNT.get()
    if account is None:
        return
    left = account.left - seconds
    if not left >= 0.0:  # and nothing is charged, for nothing will be done
        raise TooCostly(
            f"a proof would take more than about {account.allowed:.2g} s: the value is withheld"
        )
    account.left = left


def hold(numbers: float, bits: int) -> None:
    """Refuse more numbers of so many bits than fit into memory; raises `NotCertified`."""
    if numbers * bits > _LARGEST:
        raise NotCertified(f"the proof holds {numbers:.0f} numbers of {bits} bits: it is withheld")


def rule_cost(nodes: int, bits: int) -> float:
    """Seconds to set up an inner rule and take moments from it."""
    hold(4.0 * nodes, bits)
    return nodes * _NODE * _size(bits)


def line_cost(nodes: int, count: int, laws: int, bits: int) -> float:
    """Seconds to tabulate laws with so many inner nodes, all together, on a line of count + 1.

    Raises `NotCertified` where the table does not fit into memory.
    """
    side = 2.0 * math.sqrt(count) + 2.0
    hold(side * nodes, bits)
    if side * nodes > _LARGEST_TABLE:
        raise NotCertified(
            f"the proof needs {count} frequencies of {nodes} terms: the value is withheld"
        )
    entries = nodes * (side * _POWER + count * _ENTRY)
    return (entries + count * laws * _FREQUENCY) * _size(bits) + read_cost(count, bits)


def read_cost(count: int, bits: int) -> float:
    """Seconds to read a line at one epsilon."""
    return count * _READ * _size(bits)


def lattice_cost(nodes: int, atoms: int, bits: int) -> float:
    """Seconds to tabulate a period of so many nodes."""
    hold(8.0 * nodes, bits)
    return (nodes * _LATTICE + atoms * _NODE) * _size(bits)


def sum_cost(points: float, bits: int) -> float:
    """Seconds of a finite sum over so many outcomes."""
    hold(2.0 * points, bits)
    return points * _READ * _size(bits)


def _size(bits: int) -> float:
    """Products of longer numbers take longer."""
    return math.pow(max(1.0, bits / _BITS), 0.7)


def series_cost(terms: int, bits: int) -> float:
    """Seconds of a few dozen products of power series with so many terms."""
    hold(10.0 * terms, bits)
    return 1e-3 + 1e-7 * terms * bits
