"""Accounts: whom a run protects, the cost of a round, and the charges so far."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

import dpacct as dp

LEDGER = "run.ledger"
"""The ledger's name in the folder of a run."""
RUN = "run"
"""The account that protects every client of a run; "client 3" protects each record of client 3."""


@lru_cache(maxsize=4096)
def epsilon(node: dp.Node, times: int, delta: Fraction, method: str = "auto") -> dp.Answer:
    """Epsilon of `times` releases; cached, since a run may have thousands of equal accounts."""
    return (node * times).epsilon(delta=delta, method=method)


@lru_cache(maxsize=4096)
def rounds_within(node: dp.Node, budget: float, delta: Fraction, most: int) -> int:
    """The largest number of rounds, at most `most`, whose epsilon is within the budget."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        fits = float(epsilon(node, middle, delta)) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


@dataclass(frozen=True, kw_only=True)
class RoundAccount:
    """`step`: what one round costs; `times`: in how many rounds it may be charged.

    `epsilon`: what must not be exceeded; None: whatever `times` rounds cost.
    """

    step: dp.Node
    times: int
    epsilon: float | None
    delta: Fraction

    def spent(self, times: int, method: str = "auto") -> dp.Answer:
        """Epsilon after `times` rounds, at least 1."""
        return epsilon(self.step, times, self.delta, method)

    @property
    def plan(self) -> dp.Node:
        """The plan of everything that the account may be charged."""
        return self.step * self.times


class Accounts:
    """The charges of all accounts: a context manager, in a `dpacct.Ledger` in `folder` or in memory.

    Every charge has a label, and the same label again charges nothing more. Raises `BudgetExceeded`,
    `LedgerDamaged`.
    """

    def __init__(self, accounts: Mapping[str, RoundAccount], folder: Path | None = None) -> None:
        self.accounts = accounts
        self.folder = folder
        self._ledger: dp.Ledger | None = None
        self._names: dict[str, frozenset[str]] = {}  # whom each label charged
        self._rounds: dict[str, int] = {}  # how often each account was charged
        self._open = folder is None

    @property
    def ledger(self) -> dp.Ledger | None:
        """The open ledger of a run that has an account of its own."""
        return self._ledger if RUN in self.accounts else None

    def __enter__(self) -> Self:
        if self.folder is None or not self.accounts:
            self._open = True
            return self
        self._names, self._rounds = {}, {}
        of_run = self.accounts.get(RUN)
        plan = None if of_run is None else of_run.plan
        budget = None if of_run is None else (of_run.epsilon, of_run.delta)
        ledger = dp.Ledger(self.folder / LEDGER, budget=budget, plan=plan)
        try:
            equal: dict[RoundAccount, list[str]] = {}
            for name, account in self.accounts.items():
                if name != RUN:
                    equal.setdefault(account, []).append(name)
            for account, names in equal.items():
                ledger.open(names, budget=(account.epsilon, account.delta), plan=account.plan)
            for record in ledger.intents:
                self._note(record["label"], ledger.charges(record["label"]))
        except BaseException:
            ledger.close()
            raise
        self._ledger, self._open = ledger, True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = self.folder is None
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def charged(self, name: str) -> int:
        """The number of rounds in which an account was charged."""
        return self._rounds.get(name, 0)

    def may(self, name: str, label: str) -> bool:
        """Return whether an account may be charged under this label: charged already, or a round is left."""
        return self._noted(name, label) or self.charged(name) < self.accounts[name].times

    def _noted(self, name: str, label: str) -> bool:
        return name in self._names.get(label, ())

    def _note(self, label: str, names: Collection[str]) -> None:
        """Charge each of `names` once under this label."""
        before = self._names.get(label, frozenset())
        for name in names:
            if name not in before:
                self._rounds[name] = self._rounds.get(name, 0) + 1
        self._names[label] = before.union(names) if before else frozenset(names)

    def spent(self, name: str, method: str = "auto") -> dp.Answer | None:
        """Epsilon of an account's charges; None without any."""
        times = self.charged(name)
        return self.accounts[name].spent(times, method) if times else None

    @contextmanager
    def release(self, charges: Mapping[str, dp.Node], *, label: str) -> Iterator[None]:
        """Charge all of `charges`, durably; the block then draws their noise.

        After a crash each charge counts as spent, and its round is repeated with the same noise.
        """
        if not self._open:
            message = f"the accounts in {str(self.folder)!r} must be open to be charged"
            raise dp.InvalidArgument(message, argument="out")
        for name, step in charges.items():
            if step != self.accounts[name].step:
                message = f"account {name!r} must be charged its declared step, got {step}"
                raise dp.AssumptionViolated(message, argument="plan")
            if not self.may(name, label):
                message = f"account {name!r} may be charged in {self.accounts[name].times} rounds"
                raise dp.BudgetExceeded(
                    f"{message}, and {label} would be one more", argument="plan"
                )
        with ExitStack() as stack:
            if self._ledger is not None and charges:
                # a round that is repeated has the same noise, keyed by its label
                stack.enter_context(self._ledger.release(charges, label=label, replay=True))
            self._note(label, charges)
            yield


def largest(answers: Mapping[str, dp.Answer]) -> str | None:
    """The name of the account that has spent most; None where none has spent anything."""
    return max(answers, key=lambda name: float(answers[name]), default=None)
