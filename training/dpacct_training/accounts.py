"""Accounts: whom a run protects, what each round costs them, and what they were charged so far."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

import dpacct as dp

RUN = "run"
"""The account that protects every client of a run; "client 3" protects each record of client 3."""


@lru_cache(maxsize=4096)
def epsilon(node: dp.Node, times: int, delta: Fraction) -> dp.Answer:
    """Epsilon of `times` releases; asked once for equal accounts, of which a run may have thousands."""
    return (node * times).epsilon(delta=delta)


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
class Account:
    """`step`: what one round costs; `times`: in how many rounds it may be charged.

    `epsilon`: what must not be exceeded; None: whatever `times` rounds cost.
    """

    step: dp.Node
    times: int
    epsilon: float | None
    delta: Fraction

    def spent(self, times: int) -> dp.Answer:
        """Epsilon after so many rounds, at least 1."""
        return epsilon(self.step, times, self.delta)

    @property
    def budget(self) -> tuple[float, Fraction]:
        """(epsilon, delta) for a ledger: the target, or what the whole plan costs, rounded up."""
        if self.epsilon is not None:
            return self.epsilon, self.delta
        return float(self.spent(self.times)) * (1.0 + 1e-9), self.delta


class Accounts:
    """What was charged to whom; a context manager, with files in `folder`, else in memory.

    The run's account is a `dpacct.Ledger`. All others share `accounts.jsonl`: one line and one flush
    for a round, however many clients it charges. Every charge has a label, and the same label again
    charges nothing more. Raises `BudgetExceeded`, `LedgerDamaged`.
    """

    def __init__(self, accounts: Mapping[str, Account], folder: Path | None = None) -> None:
        self.accounts = accounts
        self.folder = folder
        self.ledger: dp.Ledger | None = None
        self._names: dict[str, frozenset[str]] = {}  # whom each label charged
        self._rounds: dict[str, int] = {}  # how often each account was charged
        self._open = folder is None

    @property
    def file(self) -> Path | None:
        """The lines of all accounts but the run's; None in memory."""
        return None if self.folder is None else self.folder / "accounts.jsonl"

    def __enter__(self) -> Self:
        if self.folder is None:
            return self
        self._names, self._rounds = {}, {}
        account = self.accounts.get(RUN)
        if account is not None:
            self.ledger = dp.Ledger(
                self.folder / "ledger.jsonl",
                budget=account.budget,
                plan=account.step * account.times,
            )
            for record in self.ledger.intents:
                self._note(str(record.get("label", "")), {RUN})
        self._read()
        self._open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = self.folder is None
        if self.ledger is not None:
            self.ledger.close()
            self.ledger = None

    def _read(self) -> None:
        """The lines so far; one that a crash cut short charged nobody, and is cut off."""
        if self.file is None or not self.file.exists():
            return
        data = self.file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            with self.file.open("r+b") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.splitlines()):
            try:
                record = json.loads(line)
                names = record["accounts"]
                self._note(record["label"], self._others if names == "all" else set(names))
            except (ValueError, KeyError, TypeError):
                message = f"the accounts in {str(self.file)!r} are damaged at line {number + 1}"
                raise dp.LedgerDamaged(message, argument="out") from None

    def charged(self, name: str) -> int:
        """In how many rounds an account was charged."""
        return self._rounds.get(name, 0)

    def may(self, name: str, label: str) -> bool:
        """Whether an account may be charged under this label: charged already, or a round is left."""
        return self._noted(name, label) or self.charged(name) < self.accounts[name].times

    def _noted(self, name: str, label: str) -> bool:
        return name in self._names.get(label, ())

    @property
    def _others(self) -> frozenset[str]:
        """All accounts but the run's."""
        return frozenset(name for name in self.accounts if name != RUN)

    def _note(self, label: str, names: Collection[str]) -> None:
        """Count each of `names` once under this label."""
        before = self._names.get(label, frozenset())
        for name in names:
            if name not in before:
                self._rounds[name] = self._rounds.get(name, 0) + 1
        self._names[label] = before.union(names) if before else frozenset(names)

    def spent(self, name: str) -> dp.Answer | None:
        """Epsilon of what was charged to an account; None where nothing was."""
        times = self.charged(name)
        return self.accounts[name].spent(times) if times else None

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
        fresh = [name for name in charges if not self._noted(name, label)]
        with ExitStack() as stack:
            if RUN in fresh and self.ledger is not None:
                stack.enter_context(self.ledger.release(charges[RUN], label=label))
            self._write([name for name in fresh if name != RUN], label)
            self._note(label, fresh)
            yield

    def _write(self, names: list[str], label: str) -> None:
        if self.file is None or not names:
            return
        with self.file.open("a", encoding="utf-8") as file:
            charged = "all" if len(names) == len(self._others) else names
            file.write(json.dumps({"label": label, "accounts": charged}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def largest(answers: Mapping[str, dp.Answer]) -> str | None:
    """The name of the account that has spent most; None where none has spent anything."""
    return max(answers, key=lambda name: float(answers[name]), default=None)
