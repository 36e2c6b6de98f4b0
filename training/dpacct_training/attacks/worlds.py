"""Worlds: runs of one plan with different participants, by the engine of ordinary runs.

A unit that is not there contributes nothing and changes nothing else: denominators are public, and the
places of absent records are drawn all the same. So two worlds are neighbours as the plan accounts them. In
a `Rigged` model the attacker has chosen the start, and the gradients of canaries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accounts import RUN, RoundAccount
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.engines import Engine
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys, Stream
from dpacct_training.models.model import Model
from dpacct_training.noise import Meters, Vector
from dpacct_training.plan import EACH, Plan, Records
from dpacct_training.run import Run
from dpacct_training.site import Reply, Task

if TYPE_CHECKING:
    from dpacct_training.local import Local
    from dpacct_training.noise import Noise
    from dpacct_training.site import Site


_LOUD = 1000.0  # canaries shout: the clip has to do its work


@dataclass(frozen=True, kw_only=True)
class Rigged(Model):
    """`inner`, beginning where the attacker says, with records whose gradients are theirs to choose.

    A record of class `classes` + i has the gradient `directions[i]`, loudly; it is bounded like any.
    """

    inner: Model
    begin: Array | None = None
    directions: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.inner.name

    @classmethod
    def of(cls, inner: Model, **more: Any) -> Rigged:
        """Make a model with the shape of `inner`."""
        return cls(inner=inner, inputs=inner.inputs, classes=inner.classes, **more)

    def module(self) -> torch.nn.Module:
        """The inner model's layers."""
        return self.inner.module()

    def scores(self, flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Forward to the inner model."""
        return self.inner.scores(flat, x)

    def initial(self, generator: np.random.Generator) -> Array:
        """The attacker's start, or the inner model's."""
        return self.inner.initial(generator) if self.begin is None else self.begin

    def gradient(self, w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Forward to the inner model."""
        return self.inner.gradient(w, x, y)

    def fit_in_span(
        self, site: Site, start: Array, local: Local, within: float | None
    ) -> NDArray[np.float32] | None:
        """Forward to the inner model."""
        return self.inner.fit_in_span(site, start, local, within)

    def bounded_sum(
        self,
        w: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        taken: torch.Tensor,
        noises: Sequence[Noise],
    ) -> torch.Tensor:
        """The inner model's, and the canaries' gradients."""
        loud = (y >= self.classes) & (taken > 0)
        sums = self.inner.bounded_sum(w, x, y.clamp(max=self.classes - 1), taken * ~loud, noises)
        for row, noise in enumerate(noises if len(self.directions) else ()):
            who = (y[row][loud[row]] - self.classes).numpy()
            rows = noise.bound(self.directions[who] * (_LOUD * noise.clip))
            sums[row] += torch.from_numpy(rows.sum(axis=0).astype(np.float32))
        return sums


CLIENTS, RECORDS = "clients", "records"
UPDATE = "update"
"""The field of the messages in which clients are loud."""
Presence = NDArray[np.bool_]
"""(worlds, units): who is there."""
Watch = Callable[[int, int], None]
"""Told how much is over, and of how much."""
Heard = Callable[[int, Run, Arrays, Arrays], None]
"""Told what each round of a world started from and released: (world, run, state, release)."""
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Head and rows of a report's table."""


def percent(share: float) -> str:
    """Format a share as "12.3 %"; a hundred-thousandth at the least."""
    return f"{round(100 * share, 3):.4g} %"


class AttackResult(ABC):
    """The result of an attack, as a report and JSON show it."""

    @property
    def alarm(self) -> bool:
        """Return whether it exceeds a proven bound, so that something in the chain is wrong."""
        return False

    @abstractmethod
    def table(self) -> Table:
        """The table of a report."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """Return JSON values."""

    def pictures(self) -> tuple[tuple[str, str], ...]:
        """(picture, caption) of each."""
        return ()


@dataclass(frozen=True)
class AttackedUnits:
    """The units under attack: the clients of a run, or the records of one client.

    The unit is the one that the plan protects: an attack on another could not be compared with it.
    Raises `InvalidArgument`.
    """

    prepared: Prepared
    client: int = 0

    def __post_init__(self) -> None:
        clients = self.prepared.cohort.clients
        if not 0 <= self.client < clients:
            message = f"client must be a whole number from 0 to {clients - 1}, got {self.client}"
            raise dp.InvalidArgument(message, argument="client")
        if self.account is not None and not self.account.times:
            message = "client must be one whose budget allows a round"
            raise dp.InvalidArgument(f"{message}, got {self.client}", argument="client")

    @property
    def unit(self) -> str:
        """Records where noise is drawn inside clients, else clients with all that they hold."""
        return RECORDS if self.prepared.plan.records else CLIENTS

    @property
    def rows(self) -> list[NDArray[np.int64]]:
        """The training samples of each unit."""
        held = self.prepared.setting.federation.clients
        return list(held) if self.unit == CLIENTS else [row[None] for row in held[self.client]]

    @property
    def account(self) -> RoundAccount | None:
        """The account that protects the units; None without protection."""
        name = RUN if self.unit == CLIENTS else f"client {self.client}"
        return self.prepared.plan.accounts.get(name)

    @property
    def proven(self) -> str:
        """The proven bound."""
        if self.account is None:
            return f"{self.unit}: nothing"
        spent = self.account.spent(self.account.times)
        return f"{self.unit}: epsilon {float(spent):.4g} at {float(self.account.delta):.2g}"

    def sends_models(self) -> None:
        """Raise `InvalidArgument` where clients send neither models nor whole updates of them."""
        prepared = self.prepared
        update = prepared.plan.noise.get(UPDATE)
        whole = update is not None and update.size == prepared.setting.model.dimension
        if not whole and "model" not in prepared.algorithm.messages:
            message = "the algorithm must be one whose clients send models or whole updates"
            name = prepared.algorithm.name
            raise dp.InvalidArgument(f"{message}, got {name}", argument="algorithm")

    def worlds(
        self,
        present: Presence,
        keys: Keys,
        watch: Watch | None = None,
        heard: Heard | None = None,
        loud: Mapping[int, Vector] | None = None,
    ) -> Array:
        """(worlds, weights): the last model that each world releases.

        `loud`: what clients answer, where they are there, instead of training.
        """
        ended = runs(self, present, keys, watch, heard, loud or {})
        return np.stack([self.prepared.algorithm.judged(run.state.server) for run in ended])


def coins(worlds: int, count: int, keys: Keys) -> Presence:
    """A fair coin for each unit of each world."""
    words = keys.stream("who is there").words(worlds * count) >> np.uint64(63)
    return words.astype(bool).reshape(worlds, count)


@dataclass
class Instead(Engine):
    """`inner`, where `told` says what some clients answer as their update; None: they are not there.

    They bound it and add their part of the noise like everyone. Where every message is seen, a client
    that is not there is one that answers zero (zero-out adjacency).
    """

    inner: Engine
    plan: Plan
    keys: Keys
    updates: Mapping[int, Vector | None]

    def close(self) -> None:
        """End what the inner engine started."""
        self.inner.close()

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The inner engine's replies, and those of the clients that are told theirs."""
        honest = []
        for task in tasks:
            rest = tuple(client for client in task.clients if client not in self.updates)
            keys = {client: key for client, key in task.keys.items() if client in rest}
            memory = {client: kept for client, kept in task.memory.items() if client in rest}
            if rest:
                honest.append(replace(task, clients=rest, keys=keys, memory=memory))
            for client in task.clients:
                if client in self.updates:
                    yield from self._answer(client, self.updates[client], task.round)
        yield from self.inner.ask(honest)

    def _answer(self, client: int, update: Vector | None, round: int) -> Iterator[Reply]:
        if update is None and self.plan.by != EACH:
            return
        part, meters, rows = float(self.plan.part()), Meters(), {}
        for name, noise in self.plan.noise.items():
            row = update if update is not None and name == UPDATE else np.zeros(noise.size)
            if part:
                stream = self.keys.child(round, client).stream("noise share " + name)
                row = noise.add(noise.bound(row[None])[0], stream, meters[name], part)
                meters[name].bounded += 1
            rows[name] = row[None]
        yield Reply((client,), rows, {}, meters)


@dataclass(frozen=True, kw_only=True)
class Partial(Records):
    """The mechanism of the run, by its own coins, where only some places hold a record."""

    present: NDArray[np.bool_] = field(compare=False, repr=False)

    def batch(self, held: int, stream: Stream) -> NDArray[np.int64]:
        """Absent records are drawn, and contribute nothing."""
        drawn = super().batch(held, stream)
        return drawn[self.present[drawn]]


def _world(
    target: AttackedUnits, there: NDArray[np.bool_], loud: Mapping[int, Vector]
) -> tuple[Prepared, dict[int, Vector | None]]:
    """A run with these units, and what some clients answer: records are attacked in one client alone."""
    prepared = target.prepared
    if target.unit == CLIENTS:
        return prepared, {**loud, **dict.fromkeys(np.flatnonzero(~there).tolist())}
    record = prepared.plan.records[target.client]
    settings = {each.name: vars(record)[each.name] for each in fields(record)}
    records = {target.client: Partial(**settings, present=there)}
    others = set(range(prepared.cohort.clients)) - {target.client}
    return replace(prepared, plan=replace(prepared.plan, records=records)), dict.fromkeys(others)


def runs(
    target: AttackedUnits,
    present: Presence,
    keys: Keys,
    watch: Watch | None,
    heard: Heard | None,
    loud: Mapping[int, Vector],
) -> Iterator[Run]:
    """A run for each world, over and checked; what clients keep for good is made once."""
    kept = _kept_for_good(target.prepared, keys)
    for world, there in enumerate(present):
        secret = keys.derived(f"world {world}")
        prepared, told = _world(target, there, loud)
        run = Run(prepared.algorithm, prepared.plan, prepared.setting, secret)
        run.state = replace(run.state, memory={**run.state.memory, **kept})
        inner = prepared.engine.start(prepared)
        with closing(Instead(inner, prepared.plan, secret, told)) as engine:
            for round in range(1, prepared.cohort.rounds + 1):
                before = run.state.server
                released = run.step(engine, round)
                if heard is not None:
                    heard(world, run, before, released)
        run.check()
        if watch is not None:
            watch(world + 1, len(present))
        yield run


def _kept_for_good(prepared: Prepared, keys: Keys) -> dict[int, Arrays]:
    """Return what clients keep after a round of everyone, where no release or other client changes it."""
    if not prepared.algorithm.keeps_for_good:
        return {}
    run = Run(prepared.algorithm, prepared.plan, prepared.setting, keys.derived("agents"))
    with closing(prepared.engine.start(prepared)) as engine:
        run.step(engine, 1)
    return run.state.memory
