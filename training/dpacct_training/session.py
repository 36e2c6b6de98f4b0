"""Session: one experiment from its first round to its result, with measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import dpacct as dp
from dpacct_training.accounts import RUN, largest
from dpacct_training.algorithm import Array
from dpacct_training.engine import Engine
from dpacct_training.folder import Row, State
from dpacct_training.keys import Keys
from dpacct_training.prepare import Prepared
from dpacct_training.run import Run

Watch = Callable[[Row, int], None]
"""Told each measurement, and how many rounds there are."""
_NOISE = "the noise was at least the accounted one"


@dataclass(frozen=True)
class Result:
    """A run that is over.

    `spent_by`: epsilon of each account, by whom it protects, and `charged`: in how many rounds;
    `account`: the one that has spent most.
    `planned` and `executed`: what was counted, by name. `checks`: what the ledger compared.
    `personal`: mean accuracy of the clients' own models. `local`: whether the clients' hosts were on
    this machine; of others, what they measured is their word.
    """

    weights: Array
    test_loss: float
    test_accuracy: float
    personal: float | None
    state: State
    planned: dict[str, int]
    executed: dict[str, int]
    rows: list[Row]
    key_source: str
    local: bool
    spent_by: dict[str, dp.Answer]
    charged: dict[str, int]
    checks: tuple[dp.Assumption, ...]
    seconds: float

    @property
    def account(self) -> str | None:
        """The account that has spent most; None where nothing is guaranteed."""
        return largest(self.spent_by)

    @property
    def spent(self) -> dp.Answer | None:
        """The epsilon that this account has spent."""
        return None if self.account is None else self.spent_by[self.account]


class Session:
    """Runs an experiment; `folder` None keeps it in memory, without ledger and checkpoints.

    `engine`: one that was started already, which is closed at the end; by default the experiment's.
    """

    def __init__(
        self,
        prepared: Prepared,
        folder: Path | None = None,
        keys: Keys | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.prepared, self._engine = prepared, engine
        self.run = Run(
            prepared.algorithm,
            prepared.plan,
            prepared.setting,
            prepared.keys() if keys is None else keys,
            folder,
            "" if folder is None else prepared.fingerprint(),
        )
        self.rows: list[Row] = []

    def finish(
        self, watch: Watch | None = None, enough: Callable[[], bool] | None = None
    ) -> Result:
        """All rounds that are left, or those until there are `enough`.

        Raises `BudgetExceeded`, `AssumptionViolated`.
        """
        start = time.monotonic()
        run, prepared, folder = self.run, self.prepared, self.run.folder
        with ExitStack() as stack:
            if folder is not None:
                stack.enter_context(folder.held())
                run.state = folder.load() or run.state  # another process may have gone on meanwhile
                folder.rewind(run.state.round)
                self.rows = folder.rows()
            stack.enter_context(run.accounts)
            if run.state.round and self._due(run.state.round) and not self._measured():
                self._measure(run.state, start, watch)  # saved, and killed before it was told
            path = None if folder is None else folder.path
            engine = self._engine or prepared.engine.start(prepared, path)
            stack.enter_context(closing(engine))

            def after(state: State) -> bool:
                if self._due(state.round):
                    self._measure(state, start, watch)
                return enough is not None and enough()

            run.finish(engine, after)
            personal = run.personal(engine)
            return self._over(engine.local, personal, time.monotonic() - start)

    def _due(self, round: int) -> bool:
        return (
            round % self.prepared.running.evaluate_every == 0
            or round == self.prepared.cohort.rounds
        )

    def _measured(self) -> bool:
        return bool(self.rows) and self.rows[-1]["round"] == self.run.state.round

    def _measure(self, state: State, start: float, watch: Watch | None) -> None:
        """One measurement: kept, then told."""
        setting = self.prepared.setting
        federation = setting.federation
        data = federation.validation if len(federation.validation) else federation.test
        loss, accuracy = setting.evaluate(self.weights, data)
        row: Row = {
            "round": state.round,
            "loss": loss,
            "accuracy": accuracy,
            "seconds": time.monotonic() - start,
            "clients": state.sizes[-1],
        }
        if state.missing:
            row["missing"] = sum(state.missing.values())
        epsilon = self.epsilon_so_far(state.round) if self.run.folder is not None else None
        if epsilon is not None:
            row["epsilon"] = epsilon
        self.rows.append(row)
        if self.run.folder is not None:
            self.run.folder.measured(row)
        if watch is not None:
            watch(row, self.prepared.cohort.rounds)

    @property
    def weights(self) -> Array:
        """The model that is evaluated, as it stands."""
        return self.prepared.algorithm.judged(self.run.state.server)

    def epsilon_so_far(self, round: int) -> float | None:
        """An upper bound on epsilon after some rounds, exact at about ten of them and at the end.

        More rounds cost more, so the value at a later round bounds an earlier one.
        """
        accounts = self.prepared.plan.accounts
        if RUN not in accounts:
            spent = self.run.spent()
            return max((float(answer) for answer in spent.values()), default=None)
        account, rounds = accounts[RUN], self.prepared.cohort.rounds
        every = max(1, rounds // 10)
        asked = min(-(-round // every) * every, rounds)
        # Far fewer rounds can have a looser bound than more of them. A proof of each would take longer
        # than the rounds: only the end's is looked for.
        so_far = account.spent(asked, "auto" if asked == rounds else "exact")
        return min(float(so_far), float(account.spent(rounds)))

    def _over(self, local: bool, personal: float | None, seconds: float) -> Result:
        run, prepared = self.run, self.prepared
        spent = run.spent()
        checks: tuple[dp.Assumption, ...] = ()
        ledger = run.accounts.ledger
        if ledger is not None:
            checks = self._compared(ledger.observe(self._execution()))
            spent[RUN] = ledger.spent()
        run.state = self._without_totals(run.state)
        weights = self.weights
        loss, accuracy = prepared.setting.evaluate(weights, prepared.setting.federation.test)
        if run.folder is not None:
            run.folder.save(run.state)
            run.folder.forget_key()
        return Result(
            weights=weights,
            test_loss=loss,
            test_accuracy=accuracy,
            personal=personal,
            state=run.state,
            planned=run.planned(),
            executed=run.state.counts(run.plan),
            rows=self.rows,
            key_source=run.keys.source,
            local=local,
            spent_by=spent,
            charged={name: run.accounts.charged(name) for name in spent},
            checks=checks,
            seconds=seconds,
        )

    def _execution(self) -> dp.Execution:
        """What the ledger compares; the noise was measured where it was drawn (`_compared`)."""
        state, cohort = self.run.state, self.prepared.cohort
        return dp.Execution(
            steps=state.round,
            population=cohort.clients,
            batch_sizes=state.sizes,
            weights=[1.0],
            noise_draws=state.round,
        )

    def _compared(self, checks: tuple[dp.Assumption, ...]) -> tuple[dp.Assumption, ...]:
        """The ledger's checks, with the measured variance for the one that it cannot make."""
        held = dp.Assumption(_NOISE).status.parse("held")
        meters = self.run.state.meters
        message = ", ".join(
            f"{name} {meter.ratio:.6g} over {meter.numbers} numbers"
            for name, meter in meters.items()
            if meter.numbers
        )
        measured = dp.Assumption(
            _NOISE, f"checked: measured over accounted variance: {message}", held
        )
        return tuple(measured if check.text == _NOISE else check for check in checks)

    def _without_totals(self, state: State) -> State:
        """Costs that depend on the votes, and the totals forgotten: they must go with the key."""
        costs = dict(state.costs)
        delta = self.prepared.cohort.delta
        for name, totals in state.private.items():
            noise = self.prepared.plan.noise[name]
            assert delta is not None
            seed = int(self.run.keys.stream(f"published cost {name}").words(1)[0])
            costs |= noise.costs(np.concatenate(totals), delta, seed)
        return replace(state, private={}, costs=costs)
