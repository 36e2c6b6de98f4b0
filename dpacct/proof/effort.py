"""The cost of a proof: seconds estimated from the sizes of its sums, never from a clock.

So whether an answer is certified depends on the question alone, not on how busy the machine is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from flint import ctx

from dpacct.errors import NotCertified

FORCED = 60.0
"""Seconds allowed where a proof was asked for by name."""
CLOSED = 1e-4
"""Seconds of one closed form."""
PIECE = 3e-5
"""Seconds of one piece of a hill that is bounded far out."""
SEARCH = 3e-3
"""Seconds of one search in floats for a saddle and a step."""
CHECKED = 300.0
"""Seconds allowed for the check of a whole certificate, whoever wrote it."""


@dataclass
class _Allowance:
    """The remaining seconds of an allowance."""

    allowed: float
    left: float
    kept: set[Hashable] = field(default_factory=set)
    """The work that is charged once for all that uses it."""


_ACCOUNT: ContextVar[_Allowance | None] = ContextVar("proof_effort", default=None)


class TooCostly(NotCertified):
    """The search for a proof was stopped because it would take longer than allowed."""


@contextmanager
def allowance(seconds: float, *, alone: bool = False) -> Iterator[None]:
    """Limit the estimated seconds of proofs within the block; the tighter of nested limits holds.

    `alone`: whatever surrounds the block: what is decided there must not depend on who asks.
    """
    outer = None if alone else _ACCOUNT.get()
    inner = _Allowance(seconds, seconds, set() if outer is None else outer.kept)
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
        raise TooCostly(f"a proof would take more than about {account.allowed:.2g} s")
    account.left = left


def spend_once(key: Hashable, charge: Callable[[], None]) -> None:
    """Charge cached work once per question, whether or not it is cached already.

    Else an answer would be proved because another question had been asked, and withheld when asked first.
    """
    account = _ACCOUNT.get()
    if account is None or key not in account.kept:
        charge()
        if account is not None:
            account.kept.add(key)


@dataclass(frozen=True)
class TermWork:
    """Seconds of one term at 128 bits, and how many numbers are held for it."""

    seconds: float
    held: float = 0.0


# measured on one core at 3 GHz: 40 sampled Gaussians of 150 steps take .27 s, and are charged .29
RULE = TermWork(8.7e-6, 4.0)
"""A node or a cell of an inner rule, set up, and moments taken from it."""
PERIOD = TermWork(12e-6, 8.0)
"""A node of a lattice's period."""
READ = TermWork(3e-6)
"""A frequency of a line that is read at one epsilon."""
OUTCOME = TermWork(3e-6, 2.0)
"""A term of a finite sum."""


def spend_on(work: TermWork, count: float) -> None:
    """Charge work at the working precision; raises `NotCertified` if time or memory is exceeded."""
    _hold(work.held * count)
    spend(count * work.seconds * _size())


def spend_on_line(nodes: int, count: int, laws: int) -> None:
    """Charge a table of laws with so many inner nodes, all together, on a line of count + 1."""
    side = 2.0 * math.sqrt(count) + 2.0
    _hold(side * nodes)
    # powers held at once, about 1 GB
    if side * nodes > 2e6:
        raise NotCertified(f"the proof needs {count} frequencies of {nodes} terms")
    entries = nodes * (side * 3e-7 + count * 6e-8)
    spend((entries + count * laws * 5e-6) * _size())


def spend_on_series(terms: int) -> None:
    """Charge a few dozen products of power series with so many terms."""
    _hold(10.0 * terms)
    spend(1e-3 + 1e-7 * terms * ctx.prec)


def _hold(numbers: float) -> None:
    # bits of all numbers held at once, half a gigabyte
    if numbers * ctx.prec > 4e9:
        message = f"the proof holds {numbers:.0f} numbers of {ctx.prec} bits: it is withheld"
        raise NotCertified(message)


def _size() -> float:
    """The relative cost of a product at the working precision."""
    return math.pow(max(1.0, ctx.prec / 128.0), 0.7)
