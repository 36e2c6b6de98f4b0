"""Ledger: a budget kept in a file, where a release is counted before its noise is drawn."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from dpacct.answer import Answer
from dpacct.declare.number import shown
from dpacct.errors import BudgetExceeded, DpacctError, InvalidArgument, LedgerDamaged
from dpacct.ledger import rules
from dpacct.ledger.budget import Budget
from dpacct.ledger.execution import Execution
from dpacct.ledger.remaining import Remaining
from dpacct.ledger.rule import Rule, epsilon
from dpacct.ledger.store import Record, Store
from dpacct.ledger.wish import VERSION, Wish, now
from dpacct.tree import Node, from_dict
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus, Unit

P = ParamSpec("P")
T = TypeVar("T")
_READING = Assumption(
    "the plan recorded so far is read as if it had been fixed in advance; "
    "what holds whatever was chosen on the way is the budget",
    source="ledger",
)


@dataclass(frozen=True)
class Receipt:
    """Proof that an intent is on the disk: its line in the ledger, and what it covers."""

    number: int
    plan: Node


class Ledger:
    """A privacy budget in a file, shared by every process that opens it.

    A release is counted, durably, *before* its noise is drawn: after a crash each intent counts as
    spent. `budget` is (epsilon, delta), needed where the file is new. The rule is one of three. By
    default parameters may depend on earlier outputs, and a privacy filter decides; it is tighter for
    runs like `expecting`. With `plan` they are drawn from a plan declared now, and its exact
    composition has to fit. With `adaptive=False` you declare that nothing is chosen after looking at
    an output. Raises `LedgerDamaged` for a file
    that was changed, cut short, reordered or is no ledger; `BudgetExceeded` where a plan is too
    much; `InvalidArgument` if the file was made with another budget or rule.

    >>> import tempfile, dpacct as dp
    >>> step = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with dp.Ledger(folder + "/run.ledger", budget=(1.6, 1e-5), plan=step * 1000) as ledger:
    ...         with ledger.release(step * 10):
    ...             noisy = "what the ten steps release"
    ...         ledger.would_exceed(step * 990), ledger.would_exceed(step * 991)
    (False, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: tuple[Any, Any] | dict[str, Any] | None = None,
        plan: Node | None = None,
        adaptive: bool | None = None,
        expecting: Node | None = None,
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
        timeout: float = 60.0,
        read_only: bool = False,
    ) -> None:
        wish = Wish(budget, plan, adaptive, expecting, adjacency, unit)
        if not read_only and not os.path.exists(path):
            wish.first_line(path)  # what cannot become a ledger leaves no file behind
        self._store = Store(path, writable=not read_only, timeout=timeout)
        self._ended: dict[int, str] = {}
        self._rule: Rule | None = None
        self._seen = self._repaired = 0
        self._recovered: list[int] = []
        self._checks: dict[str, Assumption] = {}
        self.intents: list[Record] = []
        """The line of every intent, in order."""
        self.events: list[Record] = []
        """Other lines: what was repaired, observed, closed."""
        self.outcomes: dict[int, str] = {}
        """How intents ended, by line number: "released" or "failed"; absent where nobody said."""
        try:
            with self._store.session():
                if not self._store.records:
                    self._store.append(wish.first_line(path))
                self._replay()
            wish.agrees(self._known)
        except BaseException:
            self._store.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, or what another process unpickles, is the same file opened once more.
        store = self._store
        opened = functools.partial(Ledger, timeout=store.timeout, read_only=not store.writable)
        return opened, (self.path,)

    # --- making and reading the file

    def _replay(self) -> None:
        """Count the lines that were appended since, by whichever process."""
        for record in self._store.records[self._seen :]:
            try:
                self._count(record)
            except LedgerDamaged:
                raise
            except (DpacctError, KeyError, TypeError, ValueError, AttributeError) as error:
                told = f"the ledger {str(self.path)!r} is damaged: line {record['n']} is none that"
                told += f" dpacct writes, although its checksum holds ({shown(str(error))})"
                raise LedgerDamaged(told, argument="path") from None
            self._seen += 1
        news = self._store.repaired[self._repaired :]
        self._repaired += len(news)
        if self._store.writable:
            for number in news:
                self._append(event="recovered", line=number)

    def _count(self, record: Record) -> None:
        if record["n"] == 0:
            if record.get("version") != VERSION:
                version = shown(record.get("version"))
                told = f"the ledger {str(self.path)!r} has the version {version}"
                raise LedgerDamaged(f"{told}, and this dpacct reads {VERSION}", argument="path")
            _ = record["id"], record["made"], record["by"]
            budget = Budget.from_dict(record["budget"])
            self._rule = rules.read(budget, record)
            return
        for number, outcome in record.get("ended", {}).items():
            self.outcomes[int(number)] = outcome
        if "intent" in record:
            self._known.record(self.budget.check(from_dict(record["intent"])))
            self.intents.append(record)
            return
        if record["event"] == "recovered":
            self._recovered.append(int(record["line"]))
        for text, source, status in record.get("checks", ()):
            # the last result of each check, but a violation is never undone
            known = self._checks.get(text)
            if known is None or known.status is not AssumptionStatus.VIOLATED:
                self._checks[text] = Assumption(text, source, AssumptionStatus.parse(status))
        self.events.append(record)

    @property
    def _known(self) -> Rule:
        if self._rule is None:
            raise RuntimeError("the ledger's first line, which states its rule, was not read")
        return self._rule

    def _append(self, **fields: Any) -> Record:
        ended = {str(number): outcome for number, outcome in self._ended.items()}
        more = {"ended": ended} if ended else {}
        record = self._store.append({"at": now(), "pid": os.getpid(), **fields, **more})
        self._ended.clear()
        self._count(record)
        self._seen += 1
        return record

    # --- asking

    @property
    def path(self) -> Path:
        """Where the file is; its head is beside it."""
        return self._store.path

    @property
    def header(self) -> Record:
        """The first line: who made the ledger, when, and its budget."""
        return self._store.records[0]

    @property
    def mark(self) -> str:
        """The last line's checksum: noted elsewhere, it tells whether a file was rolled back."""
        return self._store.mark

    def has_mark(self, mark: str) -> bool:
        """Whether a line of this ledger has that checksum: whether it still holds that state."""
        return mark in self._store.marks

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return len(self._store.records)

    @property
    def budget(self) -> Budget:
        """What must not be exceeded."""
        return self._known.budget

    @property
    def rule(self) -> str:
        """Which rule decides: "adaptive", "planned" or "fixed"."""
        return self._known.name

    @property
    def recovered(self) -> tuple[int, ...]:
        """Lines that a crash had left unfinished; each of them is counted."""
        return tuple(dict.fromkeys([*self._recovered, *self._store.repaired]))

    @property
    def plan(self) -> Node | None:
        """All that was counted, composed; None where nothing was."""
        return self._known.plan

    def refresh(self) -> Self:
        """Read what other processes have appended."""
        with self._store.session():
            self._replay()
        return self

    def would_exceed(self, plan: Node) -> bool:
        """Whether releasing `plan` now would exceed the budget; records nothing."""
        plan = self.budget.check(plan)
        self.refresh()
        return not self._known.fits(plan)

    def spent(self) -> Answer:
        """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance."""
        answer = epsilon(self.refresh().plan, self.budget)
        if self.plan is None:
            return answer
        return replace(answer, assumptions=(*answer.assumptions, _READING))

    def reading(self) -> Answer:
        """What an odometer reads now: a bound on the loss so far, valid at all times at once.

        Unlike `spent`, it holds also where releases, and the moment of asking, were chosen after
        looking at outputs; with probability 1 - the budget's delta.
        """
        from dpacct.compose.odometer import Odometer

        budget = self.budget
        odometer = Odometer(delta=budget.delta, adjacency=budget.adjacency, unit=budget.unit)
        plan = self.refresh().plan
        if plan is not None:
            odometer.spend(plan)
        return odometer.spent()

    def guarantee(self) -> Answer:
        """The statement that holds whenever the releases stop: the budget, and on what it rests."""
        self.refresh()
        found = self._known.guarantee()
        checks = self.checks()
        return replace(found, assumptions=(*found.assumptions, *checks))

    @property
    def remaining(self) -> Remaining:
        """What is left, in epsilon, share, steps and noise."""
        return Remaining(self._known, self.refresh)

    # --- spending

    def spend(self, plan: Node, *, label: str = "") -> Receipt:
        """Count `plan`, durably; draw its noise only after this returned.

        Raises `BudgetExceeded`, and records nothing, where it does not fit.
        """
        plan = self.budget.check(plan)
        if not isinstance(label, str):
            raise InvalidArgument(f"label must be a text, got {shown(label)}", argument="label")
        with self._store.session():
            self._replay()
            if not self._known.fits(plan):
                told = f"{shown(plan)} does not fit into what is left of {self.budget}"
                raise BudgetExceeded(told, argument="plan")
            record = self._append(intent=plan.to_dict(), **({"label": label} if label else {}))
        return Receipt(record["n"], plan)

    def end(self, receipt: Receipt, outcome: str = "released") -> None:
        """Note how an intent ended, with the next line or at closing; it stays spent either way."""
        self._ended[receipt.number] = outcome

    @contextmanager
    def release(self, plan: Node, *, label: str = "") -> Iterator[Receipt]:
        """Count `plan`, then run the block that draws its noise; an error does not give it back."""
        receipt = self.spend(plan, label=label)
        try:
            yield receipt
        except BaseException:
            self.end(receipt, "failed")
            raise
        self.end(receipt)

    def charged(self, plan: Node, *, label: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Decorate a function that releases noise: each call counts `plan` first."""

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            @functools.wraps(function)
            def counted(*args: P.args, **kwargs: P.kwargs) -> T:
                with self.release(plan, label=label or function.__name__):
                    return function(*args, **kwargs)

            return counted

        return decorate

    # --- what ran

    def observe(self, ran: Execution) -> tuple[Assumption, ...]:
        """Compare what ran with what was counted, and keep the result in the ledger."""
        with self._store.session():
            self._replay()
            checks = ran.compare(self.plan, self.budget.adjacency)
            found = [[c.text, c.source, str(c.status)] for c in checks]
            self._append(event="observed", checks=found)
        return checks

    def checks(self) -> tuple[Assumption, ...]:
        """What `observe` found: the last result of each check, but a violation is never undone."""
        return tuple(self._checks.values())

    def close(self) -> None:
        """Write what is known of outcomes, and mark the file as finished with, for now."""
        if self._store.writable and self._store.is_open:
            with self._store.session():
                self._replay()
                if self._ended:
                    self._append(event="closed")
                self._store.settle()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
