"""Site: some clients as their own machine sees them. A client alone is a site of one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from dpacct_training.algorithm import Algorithm, Array, Arrays, Samples, Setting
from dpacct_training.keys import Child, Keys
from dpacct_training.local import Local
from dpacct_training.models.model import Model
from dpacct_training.noise import Meters
from dpacct_training.plan import Plan, Records


@dataclass(frozen=True)
class Task:
    """The message that leaves the server: arrays, numbers and the keys of the clients it is about.

    `mark`: of the plan. `keys`: none for clients who have their own. `memory`: of clients who live on the
    server's machine. `run`: a name that a resumed run keeps.
    """

    mark: str
    round: int
    clients: tuple[int, ...]
    sent: Arrays
    keys: dict[int, Child]
    memory: dict[int, Arrays] = field(default_factory=dict)
    run: str = ""

    @cached_property
    def digest(self) -> str:
        """A digest of the question, the same for every client that is asked."""
        words = f"{self.run}|{self.mark}|{self.round}"
        digest = hashlib.blake2b(words.encode(), digest_size=16)
        for name in sorted(self.sent):
            array = self.sent[name]
            digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode() + array.tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Reply:
    """The message that comes back: a row for each client, in the task's order.

    `refused`: why there is none, in a fixed word and never a text, which could tell of the data.
    """

    clients: tuple[int, ...]
    rows: Arrays
    memory: dict[int, Arrays] = field(default_factory=dict)
    meters: Meters = field(default_factory=Meters)
    refused: str = ""


@dataclass
class Site:
    """The data, memory, keys and mechanisms of these clients only, for `Algorithm.client`.

    `rows`: which samples of x and y are whose. `open` gives the public samples, or raises
    `InvalidArgument` where there are none. `grams`: products of samples, kept by the host.
    """

    round: int
    clients: tuple[int, ...]
    rows: list[NDArray[np.int64]]
    x: torch.Tensor
    y: torch.Tensor
    model: Model
    plan: Plan
    keys: dict[int, Child]
    memory: dict[int, Arrays]
    open: Callable[[], Samples]
    grams: dict[int, torch.Tensor] = field(default_factory=dict)
    meters: Meters = field(default_factory=Meters)

    # --- memory

    def recall(self, name: str, otherwise: Array) -> Array:
        """A row for each client: what it kept under this name, or `otherwise` (one, or a row each)."""
        fresh = np.broadcast_to(otherwise, (len(self.clients), otherwise.shape[-1]))
        rows = [
            self.memory.get(client, {}).get(name, row)
            for client, row in zip(self.clients, fresh, strict=True)
        ]
        # independent of which other clients have kept something
        return np.stack(rows).astype(otherwise.dtype)

    def remembers(self, name: str) -> bool:
        """Return whether every client here kept something under this name."""
        return all(name in self.memory.get(client, {}) for client in self.clients)

    def keep(self, name: str, rows: Array) -> None:
        """Store rows for the next time that these clients are asked."""
        for client, row in zip(self.clients, rows, strict=True):
            self.memory.setdefault(client, {})[name] = row

    # --- data

    @property
    def samples(self) -> int:
        """The number of samples of each client here: the clients of a task hold equally many."""
        return len(self.rows[0])

    def passes(self, local: Local) -> NDArray[np.int64]:
        """(epochs, clients, samples): in which order each client visits its own samples."""
        generators = [self.keys[client].generator("batches") for client in self.clients]
        orders = [[g.permutation(self.samples) for g in generators] for _ in range(local.epochs)]
        return np.array(orders)

    def batches(self, local: Local) -> Iterator[Samples]:
        """x (clients, batch, ...) and y (clients, batch) of each step; a last short one is kept."""
        held, lane = np.stack(self.rows), np.arange(len(self.rows))[:, None]
        for order in self.passes(local):
            for first in range(0, order.shape[1], local.batch_size):
                at = torch.from_numpy(held[lane, order[:, first : first + local.batch_size]])
                yield self._at(at)

    def record_batches(
        self, records: Sequence[Records], steps: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """x, y and which places are taken: a coin for each record; short batches are filled up."""
        coins = [self.keys[client].stream("record coins") for client in self.clients]
        for _ in range(steps):
            picked = [
                rows[mechanism.batch(len(rows), stream)]
                for mechanism, rows, stream in zip(records, self.rows, coins, strict=True)
            ]
            most = max(1, *(len(rows) for rows in picked))
            at = np.stack([np.pad(rows, (0, most - len(rows))) for rows in picked])
            taken = np.stack([np.arange(most) < len(rows) for rows in picked])
            x, y = self._at(torch.from_numpy(at))
            yield x, y, torch.from_numpy(taken.astype(np.float32))

    def _at(self, places: torch.Tensor) -> Samples:
        flat = places.view(-1)
        shape = places.shape
        x, y = self.x.index_select(0, flat), self.y.index_select(0, flat)
        return x.view(*shape, *x.shape[1:]), y.view(shape)

    # --- the clients' part of a noise on the sum

    def hidden(self, name: str, rows: Array) -> Array:
        """Return the rows as they leave the clients: bounded, with the clients' part of the noise.

        Untouched where all of the noise is the server's, which then bounds the rows as well.
        """
        part = float(self.plan.part())
        noise, meter = self.plan.noise[name], self.meters[name]
        if not part:
            return rows
        bounded = noise.bound(np.asarray(rows, np.float64))
        meter.bounded += len(bounded)
        streams = [self.keys[client].stream("noise share " + name) for client in self.clients]
        shares = zip(bounded, streams, strict=True)
        return np.stack([noise.add(row, stream, meter, part) for row, stream in shares])


class Host:
    """Answers tasks about the clients whose data it has; the same object in every engine.

    `keys`: of this machine, where it is not the server's. PyTorch is held to one thread: more lose
    on tensors this small, and processes are what scales.
    """

    def __init__(
        self, algorithm: Algorithm, plan: Plan, setting: Setting, keys: Keys | None = None
    ) -> None:
        torch.set_num_threads(1)
        self.algorithm, self.plan, self.setting, self.keys = algorithm, plan, setting, keys
        self.x, self.y = setting.samples(setting.federation.train)
        self.grams: dict[int, torch.Tensor] = {}

    def site(self, task: Task) -> Site:
        """The clients of a task, with their data and memory."""
        keys = task.keys
        if self.keys is not None and not keys:
            derived = self.keys.derived(task.digest)  # no noise ever covers two questions' answers
            keys = {client: derived.child(task.round, client) for client in task.clients}
        return Site(
            round=task.round,
            clients=task.clients,
            rows=[self.setting.federation.clients[client] for client in task.clients],
            x=self.x,
            y=self.y,
            model=self.setting.model,
            plan=self.plan,
            keys=keys,
            memory={client: dict(arrays) for client, arrays in task.memory.items()},
            grams=self.grams,
            open=self.setting.open,
        )

    def answer(self, task: Task) -> Reply:
        """The reply of these clients; `refused` for a task of another plan."""
        if task.mark != self.plan.mark:
            return Reply(task.clients, {}, refused="another plan")
        site = self.site(task)
        rows = self.algorithm.client(task.sent, site)
        return Reply(task.clients, rows, site.memory, site.meters)
