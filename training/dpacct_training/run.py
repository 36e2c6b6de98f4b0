"""A run: rounds one after the other, each counted in the ledger before its noise is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpacct as dp
from dpacct_training.aggregate import Release, Turn, Vector
from dpacct_training.engines.in_process import InProcess
from dpacct_training.executed import Executed
from dpacct_training.folder import Folder, Row, State
from dpacct_training.keys import Keys
from dpacct_training.prepare import Prepared

Watch = Callable[[Row, int], None]
"""Told each measurement, and how many rounds there are."""


@dataclass(frozen=True)
class Result:
    """A run that is over."""

    weights: Vector
    test_loss: float
    test_accuracy: float
    executed: Executed
    rows: list[Row]
    key_source: str
    spent: dp.Answer | None
    checks: tuple[dp.Assumption, ...]
    seconds: float


class Run:
    """One run of an experiment; `folder` None keeps it in memory, without ledger and checkpoints.

    In a folder it continues where it was killed, to the same bits: random numbers are keyed by round
    and client, and a round that the ledger counts already is repeated with the same noise, not
    counted twice.
    """

    def __init__(self, prepared: Prepared, folder: Path | None = None) -> None:
        self.prepared = prepared
        self.plan = prepared.plan
        self.folder = None if folder is None else Folder(folder)
        self.fingerprint = prepared.fingerprint() if folder else ""
        fresh = prepared.keys()
        state = None if self.folder is None else self.folder.load(self.fingerprint)
        self.keys = fresh if self.folder is None else self._keys(self.folder, fresh, state)
        if state is None:
            state = State(0, prepared.model.initial(self.keys), Executed())
            if self.folder is not None:
                self.folder.save(state, self.fingerprint)
        self.state = state

    def _keys(self, folder: Folder, fresh: Keys, state: State | None) -> Keys:
        """Never a new key for a run that has begun: its noise would be drawn twice."""
        if state is None and folder.ledger.exists():
            told = f"the folder {str(folder.path)!r} holds a ledger and no checkpoint: take another"
            raise dp.InvalidArgument(told, argument="out")
        begun = state is not None and 0 < state.round < self.plan.rounds
        if begun and not folder.key.exists():
            told = f"the key of the run in {str(folder.path)!r} is gone: it cannot be continued"
            raise dp.InvalidArgument(told, argument="out")
        if state is not None and state.round == self.plan.rounds and not folder.key.exists():
            return fresh  # over: no noise will be drawn
        return folder.keys(fresh)

    # --- one round

    def turn(self, round: int) -> Turn:
        """The sample and the keys of a round."""
        return Turn(round, self.plan.sample(round, self.keys), self.keys)

    def step(self, engine: InProcess, turn: Turn) -> Release:
        """Train the round's clients, aggregate, move the model."""
        algorithm, plan, state = self.prepared.algorithm, self.plan, self.state
        updates = algorithm.client_step(engine.train, state.weights, turn, plan)
        release = algorithm.aggregate(updates, turn, plan)
        weights = algorithm.server_step(state.weights, release)
        executed = Executed.from_dict(
            {**state.executed.to_dict(), "sizes": [*state.executed.sizes]}
        )
        executed.add(turn.sample, release)
        self.state = State(turn.round, weights, executed)
        return release

    # --- the whole

    def finish(self, watch: Watch | None = None) -> Result:
        """All rounds that are left. Raises `BudgetExceeded`, `AssumptionViolated`."""
        start = time.monotonic()
        rows: list[Row] = []
        with ExitStack() as stack:
            if self.folder is not None:
                stack.enter_context(self.folder.held())
                # another process may have gone on meanwhile
                self.state = self.folder.load(self.fingerprint) or self.state
                self.folder.rewind(self.state.round)
                rows = self.folder.rows()
            engine = stack.enter_context(self.prepared.engine())
            ledger = self._ledger()
            if ledger is not None:
                stack.enter_context(ledger)
            done = _counted(ledger)
            for round in range(self.state.round + 1, self.plan.rounds + 1):
                self._one(engine, ledger, round, done)
                if self._due(round):
                    rows.append(self._measure(engine, round, time.monotonic() - start))
                    if self.folder is not None:
                        self.folder.measured(rows[-1])
                    if watch is not None:
                        watch(rows[-1], self.plan.rounds)
                # Last: what a checkpoint covers is all there, and what it does not is repeated.
                if self.folder is not None and self._saved(round):
                    self.folder.save(self.state, self.fingerprint)
            return self._over(engine, ledger, rows, time.monotonic() - start)

    def _one(self, engine: InProcess, ledger: dp.Ledger | None, round: int, done: set[int]) -> None:
        turn = self.turn(round)
        if ledger is None or self.plan.step is None or round in done:
            self.step(engine, turn)
        else:
            # Durable before the noise is drawn: after a crash the round counts as spent.
            with ledger.release(self.plan.step, label=_label(round)):
                self.step(engine, turn)

    def _saved(self, round: int) -> bool:
        return round % self.prepared.running.checkpoint_every == 0 or round == self.plan.rounds

    def _due(self, round: int) -> bool:
        return round % self.prepared.running.evaluate_every == 0 or round == self.plan.rounds

    def _ledger(self) -> dp.Ledger | None:
        prepared = self.prepared
        if self.folder is None or self.plan.tree is None:
            return None
        budget = (prepared.epsilon, prepared.delta)
        return dp.Ledger(self.folder.ledger, budget=budget, plan=self.plan.tree)

    def _measure(self, engine: InProcess, round: int, seconds: float) -> Row:
        federation = self.prepared.federation
        data = federation.validation if len(federation.validation) else federation.test
        loss, accuracy = engine.evaluate(self.state.weights, data)
        row: Row = {"round": round, "loss": loss, "accuracy": accuracy, "seconds": seconds}
        row["clients"] = self.state.executed.sizes[-1]
        epsilon = self.epsilon_so_far(round) if self.folder is not None else None
        return row if epsilon is None else {**row, "epsilon": epsilon}

    def epsilon_so_far(self, round: int) -> float | None:
        """An upper bound on epsilon after some rounds, exact at about ten of them and at the end.

        More rounds cost more, so the value at a later round bounds an earlier one.
        """
        delta = self.prepared.delta
        if not self.plan.private or delta is None:
            return None
        every = max(1, self.plan.rounds // 10)
        asked = min(-(-round // every) * every, self.plan.rounds)
        marks = sorted({*range(asked, self.plan.rounds, every), self.plan.rounds})
        # Far fewer rounds can have a looser bound than more of them; only the end is always known.
        found = [self.plan.epsilon(delta, mark) for mark in {marks[0], marks[-1]}]
        return min(float(answer) for answer in found if answer is not None)

    def _over(
        self, engine: InProcess, ledger: dp.Ledger | None, rows: list[Row], seconds: float
    ) -> Result:
        plan, executed = self.plan, self.state.executed
        executed.check(plan, self.prepared.model.dimension)
        delta = self.prepared.delta
        checks: tuple[dp.Assumption, ...] = ()
        spent: dp.Answer | None = None
        if ledger is not None:
            checks = ledger.observe(executed.execution(plan))
            spent = ledger.spent()
        elif delta is not None:
            spent = plan.epsilon(delta)
        loss, accuracy = engine.evaluate(self.state.weights, self.prepared.federation.test)
        if self.folder is not None:
            self.folder.forget_key()
        return Result(
            weights=self.state.weights,
            test_loss=loss,
            test_accuracy=accuracy,
            executed=executed,
            rows=rows,
            key_source=self.keys.source,
            spent=spent,
            checks=checks,
            seconds=seconds,
        )


def _label(round: int) -> str:
    return f"round {round}"


def _counted(ledger: dp.Ledger | None) -> set[int]:
    """Rounds that the ledger counts, whether their release was finished or not."""
    if ledger is None:
        return set()
    labels: list[Any] = [record.get("label", "") for record in ledger.intents]
    return {int(text.removeprefix("round ")) for text in labels if text.startswith("round ")}
