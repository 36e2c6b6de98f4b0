"""Training of a round's clients on this machine: stacked, one by one, or in a pool of processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import one_of, whole
from dpacct_training.aggregate import Turn, Vector
from dpacct_training.data.dataset import Dataset, Federation
from dpacct_training.extras import torch
from dpacct_training.keys import Keys
from dpacct_training.local_sgd import LocalSGD
from dpacct_training.models.model import Model

MODES = ("auto", "stacked", "loop")
CHUNK = 50
"""Clients per tensor program. It does not depend on the number of processes: neither do the bits."""
_AT_ONCE = 2000  # samples per evaluation


class Task(NamedTuple):
    """Some clients of a round, all with equally many samples when stacked."""

    weights: Vector
    clients: tuple[int, ...]
    round: int
    keys: Keys
    local: LocalSGD


class Trainer:
    """Trains the clients of a task; one lives in each process."""

    def __init__(self, model: Model, federation: Federation, mode: str) -> None:
        library = torch()
        self.model = model
        self.stacked = model.stacks if mode == "auto" else mode == "stacked"
        self.rows = federation.clients
        self.x = library.from_numpy(federation.train.scaled(federation.scaling))
        self.y = library.from_numpy(federation.train.y)

    def __call__(self, task: Task) -> NDArray[np.float32]:
        return self._together(task) if self.stacked else self._one_by_one(task)

    def _together(self, task: Task) -> NDArray[np.float32]:
        """One tensor program: step k of all clients is one product."""
        library, local = torch(), task.local
        held = [self.rows[client] for client in task.clients]
        orders = [
            [rows[batch] for batch in local.batches(len(rows), client, task.round, task.keys)]
            for rows, client in zip(held, task.clients, strict=True)
        ]
        stack = self.model.stack(task.weights, len(held))
        for batches in zip(*orders, strict=True):
            at = library.from_numpy(np.concatenate(batches))
            x = self.x.index_select(0, at).unflatten(0, (len(held), -1))
            y = self.y.index_select(0, at).unflatten(0, (len(held), -1))
            stack.step(x, y, local.rate(task.round), local.weight_decay)
            if local.clip is not None:
                stack.pull_back(local.clip)
        return stack.updates()

    def _one_by_one(self, task: Task) -> NDArray[np.float32]:
        """The textbook: each client alone, by automatic differentiation."""
        start = torch().from_numpy(task.weights.astype(np.float32))
        found = [self._one(client, start, task) for client in task.clients]
        return np.stack([flat.numpy() for flat in found])

    def _one(self, client: int, start: Any, task: Task) -> Any:
        library, local = torch(), task.local
        rate = local.rate(task.round)
        rows = self.rows[client]
        flat = start.clone()
        for batch in local.batches(len(rows), client, task.round, task.keys):
            at = library.from_numpy(rows[batch])
            weights = flat.requires_grad_(True)
            loss = self.model.loss(weights, self.x[at], self.y[at])
            (gradient,) = library.autograd.grad(loss, weights)
            flat = flat.detach() * (1.0 - rate * local.weight_decay) - rate * gradient
            if local.clip is not None:
                moved = flat - start
                norm = float(library.linalg.vector_norm(moved))
                if norm > local.clip:
                    flat = start + moved * (local.clip / norm)
        return flat.detach() - start


_here: dict[str, Trainer] = {}  # the trainer of a pool's process


def _begin(model: Model, federation: Federation, mode: str) -> None:
    _here["trainer"] = Trainer(model, federation, mode)


def _run(task: Task) -> NDArray[np.float32]:
    return _here["trainer"](task)


class InProcess:
    """The default engine.

    `mode`: "stacked" (many clients in one tensor program), "loop", or "auto": what the model gains
    from. `processes`: 1 trains here, more train in a pool; the results are the same, bit for bit.
    A context manager. Raises `InvalidArgument`, and `MissingExtra` without PyTorch.
    """

    def __init__(
        self, model: Model, federation: Federation, mode: str = "auto", processes: int = 1
    ) -> None:
        one_of("engine", mode, MODES)
        whole("processes", processes, 1, 1024)
        self.model, self.federation = model, federation
        self._sizes = [len(rows) for rows in federation.clients]
        self._pool: ProcessPoolExecutor | None = None
        self._trainer: Trainer | None = None
        self._seen: dict[int, tuple[Dataset, Any, Any]] = {}
        if processes == 1:
            self._trainer = Trainer(model, federation, mode)
        else:
            self._pool = ProcessPoolExecutor(
                processes, get_context("spawn"), _begin, (model, federation, mode)
            )

    def train(self, weights: Vector, turn: Turn, local: LocalSGD) -> NDArray[np.float32]:
        """The updates of the round's clients, in their order (`local_sgd.Train`)."""
        found = np.empty((turn.sample.size, len(weights)), np.float32)
        places = list(self._chunks(turn.sample.clients))
        tasks = [
            Task(weights, tuple(turn.sample.clients[at].tolist()), turn.round, turn.keys, local)
            for at in places
        ]
        run = self._pool.map(_run, tasks) if self._pool else map(self._need(), tasks)
        for at, rows in zip(places, run, strict=True):
            found[at] = rows
        return found

    def _need(self) -> Trainer:
        assert self._trainer is not None
        return self._trainer

    def _chunks(self, clients: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Positions of clients with equally many samples, at most `CHUNK` at a time."""
        sizes = np.array([self._sizes[c] for c in clients], np.int64)
        for size in np.unique(sizes):
            at = np.flatnonzero(sizes == size)
            for start in range(0, len(at), CHUNK):
                yield at[start : start + CHUNK]

    def evaluate(self, weights: Vector, data: Dataset) -> tuple[float, float]:
        """(mean loss, share classified rightly) over a data set."""
        library = torch()
        if id(data) not in self._seen:  # the data are kept, so the id stays theirs
            read = library.from_numpy(data.scaled(self.federation.scaling))
            self._seen[id(data)] = (data, read, library.from_numpy(data.y))
        _, x, y = self._seen[id(data)]
        flat = library.from_numpy(weights.astype(np.float32))
        loss, right = 0.0, 0
        with library.no_grad():
            for at in range(0, len(y), _AT_ONCE):
                scores = self.model.scores(flat, x[at : at + _AT_ONCE])
                truth = y[at : at + _AT_ONCE]
                entropy = library.nn.functional.cross_entropy(scores, truth, reduction="sum")
                loss += float(entropy)
                right += int((scores.argmax(dim=1) == truth).sum())
        return loss / len(y), right / len(y)

    def close(self) -> None:
        """End the pool."""
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
