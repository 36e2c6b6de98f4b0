"""A Strategy for those who have a Flower app: its clients train as ever, and what is released is private.

Flower's own differentially private strategies take a fixed number of clients, divide by how many
answered, and say nothing where amplification by sampling was claimed; here the coins are tossed that
are accounted.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from dpacct import InvalidArgument
from dpacct_training.accounts import RUN
from dpacct_training.algorithm import Algorithm, Setting
from dpacct_training.algorithms.averages import AdaptiveClip, DPFedAvg
from dpacct_training.data.dataset import Dataset, Federation
from dpacct_training.durable import write_text
from dpacct_training.engines import Engine
from dpacct_training.engines.flower.node import MALFORMED
from dpacct_training.keys import Keys
from dpacct_training.local import Local
from dpacct_training.models.model import Model
from dpacct_training.plan import Cohort
from dpacct_training.run import Run
from dpacct_training.site import Reply, Task

_log = logging.getLogger(__name__)
_ARRAYS, _CONFIG = "arrays", "config"  # names of the records, as Flower's own strategies have them


@dataclass(frozen=True)
class _Weights(Model):
    """The app's initial weights as a model."""

    values: np.ndarray[Any, np.dtype[np.float64]] = field(
        default_factory=lambda: np.zeros(0), compare=False
    )

    @property
    def name(self) -> str:
        return "weights"

    def module(self) -> torch.nn.Module:
        return torch.nn.Linear(self.values.size, 1, bias=False)

    def initial(self, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
        return self.values


@dataclass(frozen=True)
class _Answers(Engine):
    """An engine whose answers came already: a row for each client, or why there is none."""

    rows: dict[int, Any]
    clip: float | None

    @property
    def local(self) -> bool:
        return False

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        for client in (client for task in tasks for client in task.clients):
            row = self.rows.get(client)
            if row is None:
                yield Reply((client,), {}, refused="no answer")
                continue
            message = {"update": row[None]}
            if self.clip is not None:  # counted here: a client need not know of it
                message["short"] = np.array([[float(np.linalg.norm(row) <= self.clip)]])
            yield Reply((client,), message)

    def close(self) -> None:
        """Forget the answers."""
        self.rows.clear()


class Private(Strategy):  # type: ignore[misc]  # Flower's types are not read by mypy here
    """Averages what a ClientApp answers to `train`, privately; each SuperNode is one client.

    In each round every one of `clients` nodes is asked with chance `rate`; how it moved the arrays is
    clipped to l2 norm `clip`, summed, hidden in the Gaussian noise that (epsilon, delta) after
    `rounds` rounds needs, and divided by rate * clients. `quantile`: of the norms, which the clip
    then follows (Andrew et al. 2021); the count that this takes is paid with the rest. Protected is a
    node with all that it holds, from whoever sees the arrays. After `rounds` rounds nobody is asked
    and nothing released. `folder` has ledger, checkpoint and key: begun anew there, a run goes on.
    A round that nobody answers ends the run, before anything is charged. Metrics tell how many answers
    are `missing`. `wait`: seconds for the nodes to come. Clients' metrics and evaluations are in no
    account, so none are asked for: use `evaluate_fn`. Raises `InvalidArgument`, `ConnectionError`.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        clients: int,
        rate: Fraction | float | str,
        rounds: int,
        clip: float,
        epsilon: float,
        delta: float | str,
        quantile: float | None = None,
        seed: int | None = None,
        wait: float = 600.0,
        clock: Any = time,
    ) -> None:
        self.cohort = Cohort(
            clients=clients,
            rate=Fraction(str(rate)),
            rounds=rounds,
            clip=clip,
            epsilon=epsilon,
            delta=Fraction(str(delta)),
        )
        self.folder, self.wait, self._clock = Path(folder), wait, clock
        self.keys = Keys.fresh() if seed is None else Keys.from_seed(seed)
        self.algorithm: Algorithm = DPFedAvg(Local())
        if quantile is not None:
            self.algorithm = AdaptiveClip(Local(), quantile=quantile)
        self._run: Run | None = None
        self._nodes: list[int] = []
        self._like: list[tuple[str, Any]] = []  # names, shapes and types of the app's arrays
        self._asked: dict[int, int] = {}  # client by node, of the round under way
        self._sampled = 0  # clients whose coins fell in it

    # --- the run

    def _begin(self, record: ArrayRecord, grid: Grid) -> Run:
        self._like = [(name, array.numpy()) for name, array in record.items()]
        wrong = [n for n, a in self._like if not np.issubdtype(a.dtype, np.floating)]
        if wrong:
            message = f"arrays must hold floating-point numbers, got others in {wrong[0]!r}"
            raise InvalidArgument(message, argument="arrays")
        start, clients = self._joined([array for _, array in self._like]), self.cohort.clients
        here = Dataset("elsewhere", np.zeros((0, 1)), np.zeros(0, np.int64), 2)
        federation = Federation(here, (here.y,) * clients, here, here, sizes=(1,) * clients)
        setting = Setting(_Weights((start.size,), 1, values=start), federation, self.cohort.rate)
        plan = self.algorithm.plan(self.cohort, setting)
        shapes = [(name, array.shape, str(array.dtype)) for name, array in self._like]
        mark = json.dumps([plan.mark, shapes])
        run = Run(self.algorithm, plan, setting, self.keys, self.folder, mark)
        self._nodes = self._population(grid)
        return run

    def _population(self, grid: Grid) -> list[int]:
        """The nodes that are the clients, as they were when the run was begun."""
        path = self.folder / "nodes.json"
        if path.exists():
            nodes: list[int] = json.loads(path.read_text(encoding="utf-8"))
            return nodes
        end, clients = self._clock.monotonic() + self.wait, self.cohort.clients
        while len(present := sorted(grid.get_node_ids())) < clients:
            if self._clock.monotonic() > end:
                message = f"{clients} nodes were awaited for {self.wait:g} s"
                raise ConnectionError(f"{message}, and {len(present)} came")
            self._clock.sleep(1.0)
        if len(present) > clients:
            message = f"clients must be the number of nodes, {len(present)}, got {clients}"
            raise InvalidArgument(message, argument="clients")
        write_text(path, json.dumps(present))
        return present

    def _joined(self, arrays: Iterable[Any]) -> Any:
        return np.concatenate([array.ravel().astype(np.float64) for array in arrays])

    def _vector(self, record: ArrayRecord) -> Any:
        """The arrays as one vector. Raises one of `MALFORMED` where they are others than the app's."""
        parts = [(record[name].numpy(), like) for name, like in self._like]
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in parts):
            raise ValueError("other arrays than were sent")
        return self._joined(array for array, _ in parts)

    def _record(self, run: Run) -> ArrayRecord:
        """The state's weights, in the app's shapes and types."""
        weights, first, arrays = run.state.server["weights"], 0, {}
        for name, like in self._like:
            part = weights[first : first + like.size]
            arrays[name] = Array(part.reshape(like.shape).astype(like.dtype))
            first += like.size
        return ArrayRecord(arrays)

    # --- what Flower calls

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Messages to the nodes whose coins fell; none when the budget is spent."""
        if self._run is None:
            self._run = self._begin(arrays, grid)
        run, self._asked = self._run, {}
        round = run.state.round + 1
        if round > self.cohort.rounds:
            _log.warning("the budget is spent: nobody is asked, and nothing more is released")
            return []
        sample, present = run.plan.sample(round, run.keys), set(grid.get_node_ids())
        nodes = {self._nodes[client]: int(client) for client in sample}
        self._sampled = len(nodes)
        self._asked = {node: client for node, client in nodes.items() if node in present}
        said = ConfigRecord({**config, "server-round": round})
        content = RecordDict({_ARRAYS: self._record(run), _CONFIG: said})
        return [Message(content, dst_node_id=node, message_type="train") for node in self._asked]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The next arrays, noise and all, also where nobody was asked; and epsilon so far."""
        run = self._run
        if run is None or run.state.round == self.cohort.rounds:
            return None, None
        sent, rows = self._vector(self._record(run)), {}
        for reply in replies:
            client = self._asked.pop(reply.metadata.src_node_id, None)  # its first answer only
            if client is None or reply.has_error():
                continue
            try:
                row = self._vector(reply.content[_ARRAYS]) - sent
            except MALFORMED:
                continue  # missing, as if it had not answered
            if np.isfinite(row).all():
                rows[client] = row
        missing = self._sampled - len(rows)
        if missing:
            round = run.state.round + 1
            _log.warning("round %d: %d of %d answers are missing", round, missing, self._sampled)
            if not rows:  # where no coin fell, a round is like any other
                message = f"none of the {missing} nodes of round {round} gave an answer"
                why = "nothing was charged or released, and the same command goes on from there"
                raise ConnectionError(f"{message} that can be read: {why}")
        mechanisms = run.algorithm.mechanisms(run.plan, run.state.server)
        clip = mechanisms["update"].clip
        with run.accounts:
            run.step(_Answers(rows, clip if "short" in mechanisms else None), run.state.round + 1)
            assert run.folder is not None
            run.folder.save(run.state)  # before anybody sees it
        if run.state.round == self.cohort.rounds:
            run.check()
            run.folder.forget_key()
        epsilon = float(run.plan.accounts[RUN].spent(run.state.round))
        told = {"epsilon": epsilon, "clip": clip, "missing": missing}
        return self._record(run), MetricRecord(told)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Nobody: what clients measure on their data is in no account."""
        return []

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Nothing was asked."""
        return None

    def summary(self) -> None:
        """Log what is promised."""
        _log.info("%s", self.cohort)
