"""Ledger: budgets kept in one SQLite file, where a release is counted before its noise is drawn.

Each call is one transaction: read what other processes committed, ask the rule, append one entry, commit
it to the disk. `dpacct.ledger.store` keeps the file, `dpacct.ledger.rules` decides.
"""

from __future__ import annotations

import functools
import json
import os
import uuid
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Self

from dpacct.answer import Answer
from dpacct.declare.number import shown
from dpacct.display import Facts
from dpacct.errors import BudgetExceeded, DpacctError, InvalidArgument, LedgerDamaged
from dpacct.ledger.accounts import RUN, Account, LedgerQuestions, State, facts_of, spent
from dpacct.ledger.execution import Execution
from dpacct.ledger.rules import NOTHING, BudgetRule, Charges, Terms, read
from dpacct.ledger.store import Entry, JournalMode, Store, plan_id
from dpacct.plan.node import Node, from_dict
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus, Unit


class _Unsaid:
    """An existing ledger's budget is read from its file; a new ledger needs one, if only None."""

    def __repr__(self) -> str:
        return "as the ledger was made"


_UNSAID: Final = _Unsaid()


@dataclass(frozen=True)
class Receipt:
    """Proof that an intent is on the disk: its number in the ledger, and what it covers."""

    number: int
    plan: Node | Mapping[str, Node]


class Ledger(LedgerQuestions):
    """Privacy budgets in a file, shared by every process that opens it.

    A release is counted, durably, *before* its noise is drawn: after a crash each intent counts as
    spent. `budget` is (epsilon, delta), needed where the file is new; (None, delta), or None, limits
    nothing. By default parameters may depend on earlier outputs, and a privacy filter decides. With `plan`
    the releases are drawn from a plan declared now, and its exact composition has to fit.

    One file may hold many accounts, each protecting somebody else: `open` gives them budgets, `release`
    charges all that it names with one entry. The file is SQLite, mode 0600; `journal_mode="DELETE"` is for
    network file systems. Raises `LedgerDamaged` for a file that was changed, cut short, reordered or is no
    ledger; `BudgetExceeded` where a plan is too much; `InvalidArgument` if it was made with another budget
    or rule; `LedgerBusy` after `timeout` seconds behind another process; `LedgerNotWritten` for a full disk.

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
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
        timeout: float = 60.0,
        read_only: bool = False,
        journal_mode: JournalMode = "WAL",
    ) -> None:
        said = budget is not _UNSAID
        terms = Terms(budget if said else None, plan, adjacency, unit)

        def first() -> Entry:
            by = f"dpacct {metadata.version('dpacct')}"
            return {"id": uuid.uuid4().hex, "by": by, **_opening(terms.rule(), [RUN])}

        make = first if said else None
        self._store = Store(
            path, make=make, read_only=read_only, timeout=timeout, journal_mode=journal_mode
        )
        self._forget()
        self._ended: dict[int, str] = {}
        self._warned: set[str] = set()
        self._state = lambda: self._of(RUN)
        try:
            terms.agrees(self._state().rule, asked=said)
        except BaseException:
            self._store.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, or what another process unpickles, is the same file opened once more.
        store = self._store
        opened = functools.partial(
            Ledger,
            timeout=store.timeout,
            read_only=store.read_only,
            journal_mode=store.journal_mode,
        )
        return opened, (self.path,)

    # --- reading the file

    def _forget(self) -> None:
        """Hold nothing of the file: the next call reads it from the first entry."""
        self._store.forget()
        self._nodes: dict[str, Node] = {}
        self._rules: dict[str, BudgetRule] = {}  # by their texts
        self._opened: dict[str, BudgetRule] = {}  # by account
        self._counts: dict[str, dict[str, int]] = {}  # by account and plan, in order of appearance
        self._labels: dict[str, list[int]] = {}  # the intents that charged named accounts
        self._outcomes: dict[int, str] = {}
        self._checks: dict[str, Assumption] = {}
        self._states: dict[str, State] = {}
        self._equal: dict[object, State] = {}

    @contextmanager
    def _session(self, *, write: bool = False) -> Iterator[None]:
        """One transaction, in which everything that was committed so far has been read."""
        with self._store.session(write=write):
            for entries in self._store.news():
                try:
                    self._learn(entries)
                except BaseException as error:
                    self._forget()
                    raise self._unreadable(error) from None
            yield

    def _unreadable(self, error: BaseException) -> BaseException:
        if isinstance(error, LedgerDamaged) or not isinstance(
            error, DpacctError | KeyError | TypeError | ValueError | AttributeError
        ):
            return error
        message = f"the ledger {str(self.path)!r} is damaged: an entry was not written by dpacct,"
        message += f" though its hash holds ({shown(str(error))})"
        return LedgerDamaged(message, argument="path")

    def _learn(self, entries: list[Entry]) -> None:
        """Take over what entries say that this object has not read yet."""
        after: dict[tuple[State, str], State] = {}
        for n, entry in enumerate(entries, self._store.n + 1):
            if entry["n"] != n:
                raise ValueError(f"entry {n} says that it is {shown(entry['n'])}")
            for id, text in entry.get("plans", {}).items():
                if plan_id(text) != id:
                    raise ValueError(f"plan {shown(id)} is another one")
                self._nodes[id] = from_dict(json.loads(text))
            for text, names in entry.get("accounts", ()):
                rule = self._rules[text] = self._rules.get(text) or self._rule(text)
                if twice := self._opened.keys() & {*names}:
                    raise ValueError(f"account {shown(min(twice))} is opened twice")
                self._opened |= dict.fromkeys(names, rule)
                for name in names:
                    self._states.pop(name, None)
            self._outcomes |= dict(entry.get("ended", ()))
            if entry["event"] == "intent" and entry["named"]:
                self._labels.setdefault(entry["label"], []).append(n)
            for plan, names in entry.get("spend", ()):
                node = self._nodes[plan]
                for name in names:
                    counts = self._counts.setdefault(name, {})
                    counts[plan] = counts.get(plan, 0) + 1
                    state = self._states.get(name)
                    if state is None:
                        continue
                    if (state, plan) not in after:
                        after[state, plan] = State(state.rule, state.charges.after(node))
                    self._states[name] = after[state, plan]
            for text, source, status, id in entry.get("checks", ()):
                # the last result of each check, but a violation is never undone
                earlier = self._checks.get(text)
                if earlier is None or earlier.status is not AssumptionStatus.VIOLATED:
                    found = AssumptionStatus.parse(status)
                    self._checks[text] = Assumption(text, source, found, id)

    def _rule(self, text: str) -> BudgetRule:
        fields = json.loads(text)
        if "plan" in fields:
            fields["plan"] = self._nodes[fields["plan"]].to_dict()
        return read(fields)

    def _of(self, name: str) -> State:
        """An account's rule and charges; an account that was never opened has the rule of `run`."""
        with self._session():
            if name not in self._states:
                rule = self._opened.get(name) or self._opened[RUN]
                charges = NOTHING
                for plan, times in self._counts.get(name, {}).items():
                    node = rule.budget.check(self._nodes[plan])
                    charges = charges.after(node if times == 1 else node * times)
                self._states[name] = self._shared(rule, charges)
            return self._states[name]

    def _shared(self, rule: BudgetRule, charges: Charges) -> State:
        if len(self._equal) > 4096:
            self._equal.clear()
        return self._equal.setdefault((rule, charges.key), State(rule, charges))

    # --- asking

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._store.path

    def heading_shown(self) -> str:
        """The file."""
        return f"Ledger {str(self.path)!r}"

    def facts_shown(self) -> Facts:
        """Budget, rule, use, and the number of further accounts."""
        others = len(self.accounts) - 1
        return facts_of(self._of(RUN)) | ({"further accounts": others} if others else {})

    @property
    def entries(self) -> list[Entry]:
        """Every entry, in order: what was made, opened, counted, observed, closed."""
        with self._session():
            return self._store.entries()

    @property
    def header(self) -> Entry:
        """The first entry: the ledger's id, when and by which version it was made."""
        with self._session():
            return self._store.entry(0)

    @property
    def intents(self) -> list[Entry]:
        """Every entry that counts a release, in order."""
        return [entry for entry in self.entries if entry["event"] == "intent"]

    @property
    def outcomes(self) -> dict[int, str]:
        """Outcome of each intent by its number: "released" or "failed"; absent where none was recorded."""
        with self._session():
            return dict(self._outcomes)

    @property
    def head(self) -> str:
        """The last entry's hash: a copy kept elsewhere shows whether the file was put back or cut short."""
        with self._session():
            return self._store.head

    def has(self, head: str) -> bool:
        """Return whether an entry has that hash, so that the file still holds that state.

        Raises `LedgerDamaged` for a file that is not as it was written.
        """
        with self._session():
            return self._store.has(head)

    def __len__(self) -> int:
        """The number of entries."""
        with self._session():
            return self._store.n + 1

    @property
    def accounts(self) -> tuple[str, ...]:
        """The names of all accounts that were opened or charged; "run" is the ledger's own."""
        with self._session():
            return tuple(dict.fromkeys([*self._opened, *self._counts]))

    def account(self, name: str) -> Account:
        """The account of this name."""
        return Account(name, lambda: self._of(name))

    def spent(self) -> Answer:
        """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance.

        Raises as the plan's own questions do.
        """
        return spent(self._of(RUN))

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
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
    ) -> None:
        """Accounts with one budget and rule, in one entry; those that exist must have been opened so.

        A name that is charged without having been opened has the ledger's own. Raises
        `InvalidArgument` where one was opened otherwise, and `BudgetExceeded` for a plan that does
        not fit.
        """
        if isinstance(names, str) or not all(map(_is_name, names)):
            message = f"names must be a list of texts, got {shown(names)}"
            raise InvalidArgument(message, argument="names")
        terms = Terms(budget, plan, adjacency, unit)
        with self._session(write=True):
            exist = set(self.accounts)
            fresh = [name for name in dict.fromkeys(names) if name not in exist]
            for rule in {self._of(name).rule for name in exist.intersection(names)}:
                terms.agrees(rule)
            if fresh:
                self._store.append("opened", **_opening(terms.rule(), fresh))

    def spend(
        self, plan: Node | Mapping[str, Node], *, label: str = "", replay: bool = False
    ) -> Receipt:
        """Count `plan`, durably; draw its noise only after this returned.

        A mapping from names to plans charges all of these accounts, or none, under a label. The same label
        charges an account nothing more while its first intent has no recorded outcome, as after a crash in
        the middle; with `replay` never, which is true only of a round that is repeated with the same noise.
        Raises `BudgetExceeded`, and records nothing, where it does not fit.
        """
        if label != "" and not _is_name(label):
            raise InvalidArgument(f"label must be a text, got {shown(label)}", argument="label")
        named = isinstance(plan, Mapping)
        charges: dict[str, Node] = dict(plan) if isinstance(plan, Mapping) else {RUN: plan}
        if named and not (label and charges and all(map(_is_name, charges))):
            message = (
                "charges of named accounts must be a mapping from names to plans, with a label"
            )
            raise InvalidArgument(f"{message}, got {shown(plan)}", argument="plan")
        with self._session(write=True):
            first = self._repeated(charges, label, replay) if named else None
            if not charges:
                assert first is not None
                return Receipt(first, plan)
            alike: dict[tuple[State, Node], list[str]] = {}
            for name, node in charges.items():
                alike.setdefault((self._of(name), node), []).append(name)
            for (state, node), names in alike.items():
                if not state.fits(state.rule.budget.check(node)):
                    whose = f" (account {shown(names[0])})" if named else ""
                    reason = state.rule.refusal(state.charges, node)
                    raise BudgetExceeded(reason + whose, argument="plan")
            texts = {node: node.to_json() for _, node in alike}
            ids = {node: plan_id(text) for node, text in texts.items()}
            fresh = {
                ids[node]: text for node, text in texts.items() if ids[node] not in self._nodes
            }
            spend = [(ids[node], names) for (_, node), names in alike.items()]
            n = self._append("intent", plans=fresh, label=label, named=named, spend=spend)
        if not named:
            self._warn()
        return Receipt(n, plan)

    def _repeated(self, charges: dict[str, Node], label: str, replay: bool) -> int | None:
        """Take out of `charges` what this label has charged already; the number of its first intent."""
        numbers = self._labels.get(label, [])
        last: dict[str, tuple[int, Node]] = {}
        for n in numbers:
            charged = self._charges_of(self._store.entry(n))
            last |= {name: (n, charged[name]) for name in charges.keys() & charged.keys()}
        for name, (n, plan) in last.items():
            if (n in self._outcomes or n in self._ended) and not replay:
                continue  # it was released: this is another release
            if charges[name] != plan:
                message = f"label {shown(label)} was used to charge account {shown(name)}"
                raise InvalidArgument(f"{message} {shown(plan)}", argument="label")
            del charges[name]
        return numbers[0] if numbers else None

    def _append(self, event: str, **fields: Any) -> int:
        """Append an entry, with the outcomes that are known by now."""
        ended = [(n, how) for n, how in self._ended.items() if n not in self._outcomes]
        more = {"ended": ended} if ended else {}
        n: int = self._store.append(event, **fields, **more)["n"]
        self._ended.clear()
        return n

    def charges(self, label: str) -> dict[str, Node]:
        """Return the plans charged to named accounts under this label."""
        found: dict[str, Node] = {}
        with self._session():
            for n in self._labels.get(label, ()):
                found |= self._charges_of(self._store.entry(n))
        return found

    def _charges_of(self, entry: Entry) -> dict[str, Node]:
        return {name: self._nodes[plan] for plan, names in entry["spend"] for name in names}

    def charged_at(self) -> dict[int, dict[str, Node]]:
        """Return, for each intent by its number, the plans that it charged by account."""
        return {entry["n"]: self._charges_of(entry) for entry in self.intents}

    def _warn(self) -> None:
        """Warn, once each, of checks that were violated."""
        for check in self.checks():
            if check.status is AssumptionStatus.VIOLATED and check.text not in self._warned:
                self._warned.add(check.text)
                message = f"this ledger continues to count, but {check.text!r} was found violated: what it"
                warnings.warn(f"{message} counts does not bound what is released", stacklevel=3)

    def end(self, receipt: Receipt, outcome: str = "released") -> None:
        """Note how an intent ended, with the next entry or at closing; it stays spent either way."""
        self._ended[receipt.number] = outcome

    @contextmanager
    def release(
        self, plan: Node | Mapping[str, Node], *, label: str = "", replay: bool = False
    ) -> Iterator[Receipt]:
        """Count as `spend` does, then run the block that draws the noise; an error gives nothing back.

        >>> import tempfile, dpacct as dp
        >>> step = dp.Gaussian(sigma=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with dp.Ledger(folder + "/run.ledger", budget=(2, 1e-5), plan=step * 20) as ledger:
        ...         for again in (False, True):  # a round repeated with the same noise
        ...             with ledger.release({"client 3": step}, label="round 7", replay=again):
        ...                 noisy = "what the client sends"
        ...         ledger.account("client 3").plan
        Gaussian(sigma=10)
        """
        receipt = self.spend(plan, label=label, replay=replay)
        try:
            yield receipt
        except BaseException:
            self.end(receipt, "failed")
            raise
        self.end(receipt)

    # --- what ran

    def observe(self, ran: Execution) -> tuple[Assumption, ...]:
        """Compare what ran with what was counted, and keep the result in the ledger.

        Raises what `Execution.compare` raises.
        """
        with self._session(write=True):
            checks = ran.compare(self.plan, self.budget.adjacency)
            self._append(
                "observed", checks=[[c.text, c.source, str(c.status), c.id] for c in checks]
            )
        return checks

    def checks(self) -> tuple[Assumption, ...]:
        """The last result of each check by `observe`; a violation is never undone."""
        with self._session():
            return tuple(self._checks.values())

    def close(self) -> None:
        """Write what is known of outcomes, and close the file."""
        if self._ended and self._store.is_open:
            with self._session(write=True):
                self._append("closed")
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_name(value: object) -> bool:
    """Return whether a value is a text that a database can hold: not empty, and without lone surrogates."""
    if not isinstance(value, str):
        return False
    try:
        return bool(value.encode())
    except UnicodeEncodeError:
        return False


def _opening(rule: BudgetRule, names: list[str]) -> Entry:
    """The fields of an entry that opens accounts: their rule and names, and the plan that it names."""
    fields, plans = {"budget": rule.budget.to_dict(), **rule.to_dict()}, dict[str, str]()
    if rule.whole is not None:
        text = rule.whole.to_json()
        fields["plan"] = plan_id(text)
        plans = {plan_id(text): text}
    return {"accounts": [(json.dumps(fields, separators=(",", ":")), names)], "plans": plans}
