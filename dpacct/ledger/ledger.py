"""Ledger: budgets kept in a file, where a release is counted before its noise is drawn."""

from __future__ import annotations

import functools
import os
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final, ParamSpec, Self, TypeVar

from dpacct.answer import Answer
from dpacct.declare.number import shown
from dpacct.declare.record import Facts
from dpacct.errors import BudgetExceeded, DpacctError, InvalidArgument, LedgerDamaged
from dpacct.ledger.accounts import RUN, Account, Book, LedgerQuestions, State, facts_of, spent
from dpacct.ledger.execution import Execution
from dpacct.ledger.rules import Budget, Terms
from dpacct.ledger.store import Record, Store
from dpacct.plan.node import Node
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus, Unit

P = ParamSpec("P")
T = TypeVar("T")
VERSION = 2
"""Version of the file's form; those of version 1 are read, and continued."""
_LOOP = 3  # equal releases in a row that look like a loop


class _Unsaid:
    """An existing ledger's budget is read from its file; a new ledger needs one, if only None."""

    def __repr__(self) -> str:
        return "as the ledger was made"


_UNSAID: Final = _Unsaid()


@dataclass(frozen=True)
class Receipt:
    """Proof that an intent is on the disk: its line in the ledger, and what it covers."""

    number: int
    plan: Node | Mapping[str, Node]


class Ledger(LedgerQuestions):
    """Privacy budgets in a file, shared by every process that opens it.

    A release is counted, durably, *before* its noise is drawn: after a crash each intent counts as
    spent. `budget` is (epsilon, delta), needed where the file is new; (None, delta), or None, limits
    nothing. The rule is one of three. By default parameters may depend on earlier outputs, and a privacy
    filter decides; it is tighter for runs like `expecting`. With `plan` they are drawn from a plan
    declared now, and its exact composition has to fit. With `adaptive=False` you declare that nothing is
    chosen after looking at an output.

    One file may hold many accounts, each protecting somebody else: `open` gives them budgets, `release`
    charges all that it names with one line. Raises `LedgerDamaged` for a file that was changed, cut
    short, reordered or is no ledger; `BudgetExceeded` where a plan is too much; `InvalidArgument` if it
    was made with another budget or rule.

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
        budget: object = _UNSAID,
        plan: Node | None = None,
        adaptive: bool | None = None,
        expecting: Node | None = None,
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
        timeout: float = 60.0,
        read_only: bool = False,
    ) -> None:
        said = budget is not _UNSAID
        terms = Terms(budget if said else None, plan, adaptive, expecting, adjacency, unit)

        def first_line() -> Record:
            if not said:
                message = f"budget must be given for the new ledger {shown(str(path))}, got none"
                raise InvalidArgument(message, argument="budget")
            rule = terms.rule()
            fields = {
                "ledger": "dpacct",
                "version": VERSION,
                "id": uuid.uuid4().hex,
                "made": _now(),
            }
            by = f"dpacct {metadata.version('dpacct')}"
            return {**fields, "by": by, "budget": rule.budget.to_dict(), **rule.to_dict()}

        if not read_only and not os.path.exists(path):
            first_line()  # what cannot become a ledger leaves no file behind
        self._store = Store(path, writable=not read_only, timeout=timeout)
        self._ended: dict[int, str] = {}
        self._book = Book()
        self._labels: dict[str, list[int]] = {}
        self._seen = self._noted = 0
        self._warned = self._warned_of_checks = False
        self._recovered: list[int] = []
        self._dropped: list[int] = []
        self._checks: dict[str, Assumption] = {}
        self.intents: list[Record] = []
        """The line of every intent, in order."""
        self.events: list[Record] = []
        """Other lines: what was opened, repaired, observed, closed."""
        self.outcomes: dict[int, str] = {}
        """Outcome of each intent by line number: "released" or "failed"; absent where none was recorded."""
        self._state = lambda: self.refresh()._book.state(RUN)
        try:
            with self._store.session():
                if not self._store.records:
                    self._store.append(first_line())
                self._replay()
            terms.agrees(self._book.state(RUN).rule, asked=said)
        except BaseException:
            self._store.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, or what another process unpickles, is the same file opened once more.
        store = self._store
        opened = functools.partial(Ledger, timeout=store.timeout, read_only=not store.writable)
        return opened, (self.path,)

    # --- reading the file

    def _replay(self) -> None:
        """Count the lines that were appended since, by whichever process."""
        for record in self._store.records[self._seen :]:
            try:
                self._count(record)
            except LedgerDamaged:
                raise
            except (DpacctError, KeyError, TypeError, ValueError, AttributeError) as error:
                message = f"the ledger {str(self.path)!r} is damaged: line {record['n']} was not"
                message += f" written by dpacct, though its checksum holds ({shown(str(error))})"
                raise LedgerDamaged(message, argument="path") from None
            self._seen += 1
        news = [("recovered", n) for n in self._store.recovered]
        news += [("dropped", n) for n in self._store.dropped]
        fresh, self._noted = news[self._noted :], len(news)
        if self._store.writable:
            for event, number in fresh:
                self._append(event=event, line=number)

    def _count(self, record: Record) -> None:
        if record["n"] == 0 or "version" in record:
            if record.get("version") not in range(1, VERSION + 1):
                version = shown(record.get("version"))
                message = f"the ledger {str(self.path)!r} has the version {version}"
                raise LedgerDamaged(f"{message}, and this dpacct reads {VERSION}", argument="path")
            if record["n"] == 0:
                _ = record["id"], record["made"], record["by"]
                self._book.start(record)
            return
        for number, outcome in record.get("ended", {}).items():
            self.outcomes[int(number)] = outcome
        self._book.define(record.get("plans", {}))
        if "intent" in record:
            self._book.charge(self._book.plan(record["intent"]), (RUN,))
        elif "spend" in record:
            for plan, names in record["spend"]:
                self._book.charge(self._book.plan(plan), names)
            self._labels.setdefault(record["label"], []).append(record["n"])
        else:
            self._note(record)
            return
        self.intents.append(record)

    def _note(self, record: Record) -> None:
        event = record["event"]
        if event == "opened":
            self._book.open(record)
        elif event in ("recovered", "dropped"):
            (self._recovered if event == "recovered" else self._dropped).append(int(record["line"]))
        for text, source, status in record.get("checks", ()):
            # the last result of each check, but a violation is never undone
            earlier = self._checks.get(text)
            if earlier is None or earlier.status is not AssumptionStatus.VIOLATED:
                self._checks[text] = Assumption(text, source, AssumptionStatus.parse(status))
        self.events.append(record)

    def _append(self, **fields: Any) -> Record:
        about = {"at": _now(), "pid": os.getpid()}
        if self._store.outdated:  # a dpacct that knows only version 1 must not go on
            self._store.append({**about, "version": VERSION})
            self._seen += 1
        ended = {str(number): outcome for number, outcome in self._ended.items()}
        more = {"ended": ended} if ended else {}
        record = self._store.append({**about, **fields, **more})
        self._ended.clear()
        self._count(record)
        self._seen += 1
        return record

    # --- asking

    @property
    def path(self) -> Path:
        """The path of the file; its head lies beside it."""
        return self._store.path

    def heading_shown(self) -> str:
        """The file."""
        return f"Ledger {str(self.path)!r}"

    def facts_shown(self) -> Facts:
        """Facts as of the last read; the file is not read again."""
        others = len(self.accounts) - 1
        facts = facts_of(self._book.state(RUN))
        return facts | ({"further accounts": others} if others else {})

    @property
    def header(self) -> Record:
        """The first line: who made the ledger, when, and its budget."""
        return self._store.records[0]

    @property
    def mark(self) -> str:
        """The last line's checksum: a copy kept elsewhere shows whether the file was rolled back."""
        return self._store.mark

    def has_mark(self, mark: str) -> bool:
        """Return whether a line of this ledger has that checksum, so that it still holds that state."""
        return mark in self._store.marks[1:]

    @property
    def lines(self) -> int:
        """The number of lines in the file."""
        return len(self._store.records)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The names of all accounts that were opened or charged; "run" is the ledger's own."""
        return self._book.names

    def account(self, name: str) -> Account:
        """The account of this name."""
        return Account(name, lambda: self.refresh()._book.state(name))

    @property
    def budget(self) -> Budget:
        """The budget."""
        return self._book.state(RUN).rule.budget

    @property
    def rule(self) -> str:
        """The name of the rule that decides: "adaptive", "planned", "fixed" or "none"."""
        return self._book.state(RUN).rule.name

    @property
    def recovered(self) -> tuple[int, ...]:
        """Lines of version 1 that a crash had left unfinished; each of them is counted."""
        return tuple(dict.fromkeys([*self._recovered, *self._store.recovered]))

    @property
    def dropped(self) -> tuple[int, ...]:
        """Lines that a crash left unfinished before anything was released for them; they are gone."""
        return tuple(dict.fromkeys([*self._dropped, *self._store.dropped]))

    @property
    def plan(self) -> Node | None:
        """The composition of everything counted; None if nothing was."""
        return self._book.state(RUN).charges.plan

    @property
    def planned(self) -> Node | None:
        """The plan declared when the ledger was made; None where none was."""
        return self._book.state(RUN).rule.whole

    def refresh(self) -> Self:
        """Read what other processes have appended."""
        with self._store.session():
            self._replay()
        return self

    def spent(self) -> Answer:
        """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance.

        Raises as the plan's own questions do.
        """
        return spent(self._state())

    def guarantee(self) -> Answer:
        """The guarantee whenever the releases stop: the budget or, with a declared plan, its cost."""
        answer = super().guarantee()
        return replace(answer, assumptions=(*answer.assumptions, *self.checks()))

    # --- spending

    def open(
        self,
        names: Collection[str],
        *,
        budget: object,
        plan: Node | None = None,
        adaptive: bool | None = None,
        expecting: Node | None = None,
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
    ) -> None:
        """Accounts with one budget and rule, in one line; those that exist must have been opened so.

        A name that is charged without having been opened has the ledger's own. Raises
        `InvalidArgument` where one was opened otherwise, and `BudgetExceeded` for a plan that does
        not fit.
        """
        if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
            message = f"names must be a list of texts, got {shown(names)}"
            raise InvalidArgument(message, argument="names")
        terms = Terms(budget, plan, adaptive, expecting, adjacency, unit)
        with self._store.session():
            self._replay()
            fresh = [name for name in dict.fromkeys(names) if name not in self._book]
            for rule in {self._book.state(name).rule for name in set(names).difference(fresh)}:
                terms.agrees(rule)
            if fresh:
                rule = terms.rule()
                about = {"budget": rule.budget.to_dict(), **rule.to_dict()}
                self._append(event="opened", names=fresh, **about)

    def spend(self, plan: Node | Mapping[str, Node], *, label: str = "") -> Receipt:
        """Count `plan`, durably; draw its noise only after this returned.

        A mapping from names to plans charges all of these accounts, or none; the same label again charges
        nothing more. Raises `BudgetExceeded`, and records nothing, where it does not fit.
        """
        if not isinstance(label, str):
            raise InvalidArgument(f"label must be a text, got {shown(label)}", argument="label")
        if isinstance(plan, Mapping):
            return self._spend_all(plan, label)
        more = {"label": label} if label else {}
        with self._store.session():
            self._replay()
            state = self._book.state(RUN)
            self._granted(RUN, state, plan)
            names, fresh = self._book.written([plan])
            plans = {"plans": fresh} if fresh else {}
            record = self._append(intent=names[plan], **plans, **more)
        self._warn(plan)
        return Receipt(record["n"], plan)

    def _granted(self, name: str, state: State, plan: Node) -> None:
        plan = state.rule.budget.check(plan)
        if not state.fits(plan):
            reason = state.rule.refusal(state.charges, plan)
            whose = "" if name == RUN else f" (account {shown(name)})"
            raise BudgetExceeded(reason + whose, argument="plan")

    def _spend_all(self, charges: Mapping[str, Node], label: str) -> Receipt:
        if not label or not charges or not all(isinstance(name, str) and name for name in charges):
            message = (
                "charges of named accounts must be a mapping from names to plans, with a label"
            )
            raise InvalidArgument(f"{message}, got {shown(charges)}", argument="plan")
        with self._store.session():
            self._replay()
            charged = self.charges(label)
            for name in charges.keys() & charged.keys():
                if charges[name] != charged[name]:
                    message = f"label {shown(label)} was used to charge account {shown(name)}"
                    message += f" {shown(charged[name])}, got {shown(charges[name])}"
                    raise InvalidArgument(message, argument="label")
            fresh = {name: plan for name, plan in charges.items() if name not in charged}
            if not fresh:
                return Receipt(self._labels[label][0], charges)
            asked: dict[tuple[State, int], str] = {}
            for name, plan in fresh.items():
                asked.setdefault((self._book.state(name), id(plan)), name)
            for (state, _), name in asked.items():
                self._granted(name, state, fresh[name])
            written, plans = self._book.written(list({id(p): p for p in fresh.values()}.values()))
            by_plan = {id(plan): written[plan] for plan in fresh.values()}
            spend: dict[str, list[str]] = {}
            for name, plan in fresh.items():
                spend.setdefault(by_plan[id(plan)], []).append(name)
            more = {"plans": plans} if plans else {}
            record = self._append(spend=list(spend.items()), **more, label=label)
        return Receipt(record["n"], charges)

    def charges(self, label: str) -> dict[str, Node]:
        """Return the plans charged to named accounts under this label, as far as they were read."""
        lines = (self._store.records[n]["spend"] for n in self._labels.get(label, ()))
        return {name: self._book.plan(p) for line in lines for p, names in line for name in names}

    def _warn(self, plan: Node) -> None:
        """Once each: that a check was violated; that a loop ends far below what a declared plan allows."""
        state = self._book.state(RUN)
        wrong = [check.text for check in self.checks() if check.status is AssumptionStatus.VIOLATED]
        if wrong and not self._warned_of_checks:
            self._warned_of_checks = True
            message = f"this ledger continues to count, but {wrong[0]!r} was found violated: what it counts"
            warnings.warn(f"{message} does not bound what is released", stacklevel=3)
        if not self._warned and state.charges.streak >= _LOOP:
            self._warned = True
            warning = state.rule.stops_early(state.charges, plan)
            if warning:
                warnings.warn(warning, stacklevel=3)

    def end(self, receipt: Receipt, outcome: str = "released") -> None:
        """Note how an intent ended, with the next line or at closing; it stays spent either way."""
        self._ended[receipt.number] = outcome

    @contextmanager
    def release(self, plan: Node | Mapping[str, Node], *, label: str = "") -> Iterator[Receipt]:
        """Count as `spend` does, then run the block that draws the noise; an error gives nothing back.

        >>> import tempfile, dpacct as dp
        >>> step = dp.Gaussian(sigma=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with dp.Ledger(folder + "/run.ledger", budget=(2, 1e-5), plan=step * 20) as ledger:
        ...         for _ in range(2):  # a round that is repeated after a crash
        ...             with ledger.release({"client 3": step, "client 4": step}, label="round 7"):
        ...                 noisy = "what the clients send"
        ...         ledger.account("client 3").plan
        Gaussian(sigma=10)
        """
        receipt = self.spend(plan, label=label)
        try:
            yield receipt
        except BaseException:
            self.end(receipt, "failed")
            raise
        self.end(receipt)

    def charged(self, plan: Node, *, label: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Decorate a function that releases noise: each call counts `plan` first.

        Its calls raise what `spend` raises.
        """

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            @functools.wraps(function)
            def counted(*args: P.args, **kwargs: P.kwargs) -> T:
                with self.release(plan, label=label or function.__name__):
                    return function(*args, **kwargs)

            return counted

        return decorate

    # --- what ran

    def observe(self, ran: Execution) -> tuple[Assumption, ...]:
        """Compare what ran with what was counted, and keep the result in the ledger.

        Raises what `Execution.compare` raises.
        """
        with self._store.session():
            self._replay()
            checks = ran.compare(self.plan, self.budget.adjacency)
            results = [[c.text, c.source, str(c.status)] for c in checks]
            self._append(event="observed", checks=results)
        return checks

    def checks(self) -> tuple[Assumption, ...]:
        """The last result of each check by `observe`; a violation is never undone."""
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


def _now() -> str:
    """The time, for people who read the file."""
    return datetime.now(UTC).isoformat(timespec="seconds")
