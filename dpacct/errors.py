"""The errors dpacct raises: a handful of names, each with the exit code the command line uses.

A message is one sentence that names the argument, the value and the accepted range. Nothing here
maps a bad value to a number: outside its domain, a privacy parameter is an error.
"""

from __future__ import annotations

from typing import ClassVar, Self


class DpacctError(Exception):
    """Base of every error that dpacct raises on purpose.

    `argument` is the name of the offending argument where there is one; `kind` is a stable short
    name for programs (it is the `kind` of the JSON error); `exit_code` is what the command line
    exits with.

    >>> error = InvalidArgument("rate must be in (0, 1], got 2", argument="rate")
    >>> error.kind, error.exit_code, error.argument
    ('invalid-argument', 2, 'rate')
    """

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, argument: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.argument = argument

    def named(self, name: str) -> Self:
        """The same error where the argument goes by another name: sigma is --sigma on a command line."""
        message = self.message
        if self.argument and message.startswith(f"{self.argument} "):
            message = name + message[len(self.argument) :]
        return type(self)(message, argument=name or None)

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions pickle through their positional arguments; `argument` travels in the state.
        return (type(self), (self.message,), {"argument": self.argument})


class InvalidArgument(DpacctError, ValueError):
    """An argument has the wrong type, lies outside its range, or contradicts another one."""

    kind = "invalid-argument"
    exit_code = 2


class Unsupported(DpacctError):
    """A combination of plan, method and adjacency that is not offered (never silently replaced)."""

    kind = "unsupported"
    exit_code = 2


class OutsideDomain(DpacctError, ValueError):
    """The arguments are numbers, but a theorem's hypotheses do not hold for them."""

    kind = "outside-domain"
    exit_code = 3


class Unreachable(DpacctError):
    """No value of the free parameter meets the target."""

    kind = "unreachable"
    exit_code = 4


class AssumptionViolated(DpacctError):
    """An assumption that the answer needs is known to be false."""

    kind = "assumption-violated"
    exit_code = 6


class MissingExtra(DpacctError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    kind = "missing-extra"
    exit_code = 7


class NotCertified(DpacctError):
    """The value could not be computed to a trustworthy accuracy, and is withheld."""

    kind = "not-certified"
    exit_code = 8


class BudgetExceeded(Unreachable):
    """A release does not fit into what is left of a budget; nothing was recorded."""

    kind = "budget-exceeded"


class LedgerDamaged(DpacctError):
    """A ledger's file is not as it was written: changed, cut short, reordered, or another file."""

    kind = "ledger-damaged"
    exit_code = 9


class LedgerBusy(DpacctError):
    """Another process held a ledger for longer than one was willing to wait."""

    kind = "ledger-busy"
    exit_code = 2


class LedgerNotWritten(DpacctError):
    """A disk refused a ledger's entry (full, read-only, broken); nothing was counted."""

    kind = "ledger-not-written"
    exit_code = 2
