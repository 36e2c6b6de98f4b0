"""Worlds: runs of one plan with different participants, by the engine of ordinary runs.

A unit that is not there contributes nothing and changes nothing else: denominators are public, and the
places of absent records are drawn all the same. So two worlds are neighbours as the plan accounts them. In
a `Rigged` model the attacker has chosen the start, and the gradients of canaries.
"""

from __future__ import annotations

import math
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
from dpacct_training.engines import CHUNK, Engine, WrappedEngine
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys, Stream
from dpacct_training.models.model import Model
from dpacct_training.noise import Meters, NoiseMeter, Vector
from dpacct_training.plan import EACH, Plan, Records
from dpacct_training.run import Run
from dpacct_training.site import Host, Reply, Task

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


_MOST = 8_000_000
"""Numbers of a batch of all worlds that are stacked: larger ones are slower, not quicker."""
CLIENTS, RECORDS = "clients", "records"
UPDATE = "update"
"""The field of the messages in which clients are loud."""
Presence = NDArray[np.bool_]
"""(worlds, units): who is there."""
Watch = Callable[[int, int], None]
"""Told how much is over, and of how much."""
Heard = Callable[[int, Run, Arrays, Arrays], None]
"""Told what each round of a world started from and released: (world, run, state, release)."""


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
        if self.unit == RECORDS:
            runs = over_records(self, present, keys, watch, heard)
        else:
            runs = over_clients(self, present, keys, watch, heard, loud or {})
        return np.stack([self.prepared.algorithm.judged(run.state.server) for run in runs])


def coins(worlds: int, count: int, keys: Keys) -> Presence:
    """A fair coin for each unit of each world."""
    words = keys.stream("who is there").words(worlds * count) >> np.uint64(63)
    return words.astype(bool).reshape(worlds, count)


# --- clients: one run after the other, each with some clients told what to answer


@dataclass
class Instead(WrappedEngine):
    """`inner`, where `told` says what some clients answer as their update; None: they are not there.

    They bound it and add their part of the noise like everyone. Where every message is seen, a client
    that is not there is one that answers zero (zero-out adjacency).
    """

    plan: Plan
    keys: Keys
    updates: Mapping[int, Vector | None]

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


def over_clients(
    target: AttackedUnits,
    present: Presence,
    keys: Keys,
    watch: Watch | None,
    heard: Heard | None,
    loud: Mapping[int, Vector],
) -> Iterator[Run]:
    """A run for each world, over; what clients keep for good is made once."""
    prepared = target.prepared
    kept = _kept_for_good(prepared, keys)
    for world, there in enumerate(present):
        secret = keys.derived(f"world {world}")
        run = Run(prepared.algorithm, prepared.plan, prepared.setting, secret)
        run.state = replace(run.state, memory={**run.state.memory, **kept})
        result: dict[int, Vector | None] = dict(loud)
        result |= dict.fromkeys(np.flatnonzero(~there).tolist())
        inner = prepared.engine.start(prepared)
        with closing(Instead(inner, prepared.plan, secret, result)) as engine:
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


# --- records: all worlds at once, a row each


@dataclass(frozen=True, kw_only=True)
class Partial(Records):
    """The mechanism of the run, by its own coins, where only some places hold a record."""

    present: NDArray[np.bool_] = field(compare=False, repr=False)

    def batch(self, held: int, stream: Stream) -> NDArray[np.int64]:
        """Absent records are drawn, and contribute nothing."""
        drawn = super().batch(held, stream)
        return drawn[self.present[drawn]]


class Answered(Engine):
    """An engine whose replies are there before it is asked; the other clients do not answer."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies: Sequence[Reply] = replies

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The stored replies."""
        return iter(self.replies)

    def close(self) -> None:
        """Forget the stored replies."""
        self.replies = ()


def over_records(
    target: AttackedUnits,
    present: Presence,
    keys: Keys,
    watch: Watch | None,
    heard: Heard | None,
) -> Iterator[Run]:
    """A run for each world in which the target alone answers; a step of all worlds is one program.

    Each world has coins, noise, server and accounts of its own, and is checked like any run.
    """
    client, prepared = target.client, target.prepared
    host = Host(prepared.algorithm, prepared.plan, prepared.setting)
    record = prepared.plan.records[client]
    settings = {each.name: vars(record)[each.name] for each in fields(record)}
    records = {w: Partial(**settings, present=there) for w, there in enumerate(present)}
    plan = replace(prepared.plan, records=records)  # the places of this plan's clients are worlds
    runs = [
        Run(
            prepared.algorithm,
            replace(prepared.plan, records={client: records[world]}),
            prepared.setting,
            keys.derived(f"world {world}"),
        )
        for world in records
    ]
    samples = record.rate * len(prepared.setting.federation.clients[client])
    numbers = max(1, int(samples * math.prod(prepared.setting.model.inputs)))
    at_once = min(CHUNK, max(1, _MOST // numbers))
    rounds = prepared.cohort.rounds
    for round in range(1, rounds + 1):
        asked = [
            world
            for world, run in enumerate(runs)
            if client in run.asked(run.plan.sample(round, run.keys), round)
        ]
        replies: dict[int, Reply] = {}
        for first in range(0, len(asked), at_once):
            some = asked[first : first + at_once]
            replies |= _stacked(target, host, plan, {world: runs[world] for world in some}, round)
        for world, run in enumerate(runs):
            before = run.state.server
            released = run.step(Answered([replies[world]] if world in replies else []), round)
            if heard is not None:
                heard(world, run, before, released)
        if watch is not None:
            watch(round * len(runs) // rounds, len(runs))
    for run in runs:
        run.check()
    return iter(runs)


def _stacked(
    target: AttackedUnits, host: Host, plan: Plan, runs: Mapping[int, Run], round: int
) -> dict[int, Reply]:
    """Return the target's reply in each of these worlds."""
    client, setting = target.client, target.prepared.setting
    first = next(iter(runs.values()))
    (task,) = first.tasks(Answered([]), round, [client])
    site = replace(
        host.site(replace(task, mark=plan.mark)),
        clients=tuple(runs),
        rows=[setting.federation.clients[client]] * len(runs),
        plan=plan,
        keys={world: run.keys.child(round, client) for world, run in runs.items()},
        memory={world: dict(run.state.memory.get(client, {})) for world, run in runs.items()},
    )
    results = [target.prepared.algorithm.sent(run.state.server) for run in runs.values()]
    sent = {name: np.stack([each[name] for each in results]) for name in results[0]}
    rows = target.prepared.algorithm.client(sent, site)
    meters = {name: _share(meter, len(runs)) for name, meter in site.meters.items()}
    return {
        world: Reply(
            (client,),
            {name: row[i : i + 1] for name, row in rows.items()},
            {client: site.memory[world]} if site.memory.get(world) else {},
            Meters({name: replace(meter) for name, meter in meters.items()}),
        )
        for i, world in enumerate(runs)
    }


def _share(meter: NoiseMeter, worlds: int) -> NoiseMeter:
    """Return one world's share of a meter: all of them drew equally much."""
    return NoiseMeter(
        meter.bounded // worlds,
        meter.vectors // worlds,
        meter.numbers // worlds,
        meter.squares / worlds,
    )
