"""Source inference: which client holds a record that is known to be somewhere (Hu et al. 2021).

The attacker sees each client's own messages, as the server does: only noise that clients draw hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import real, whole
from dpacct_training.attacks.worlds import UPDATE, Target, Watch
from dpacct_training.engine import Around
from dpacct_training.keys import Keys
from dpacct_training.run import Run
from dpacct_training.site import Reply, Task


@dataclass(frozen=True)
class Origins:
    """`right`: share of records attributed to the right client, at least `least`; guessing gives `guess`."""

    records: int
    clients: int
    right: float
    least: float
    guess: float


@dataclass
class Overhearing(Around):
    """`inner`, with the models that clients send kept as they come."""

    models: dict[int, NDArray[np.float32]]

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The inner engine's replies."""
        start = tasks[0].sent.get("weights", 0.0) if tasks else 0.0
        for reply in self.inner.ask(tasks):
            if reply.summed:  # nobody sees whose it is
                yield reply
                continue
            rows = reply.rows["model"] if "model" in reply.rows else start + reply.rows[UPDATE]
            self.models |= dict(zip(reply.clients, rows.astype(np.float32), strict=True))
            yield reply


def origins(
    target: Target,
    records: int = 1000,
    *,
    keys: Keys,
    confidence: float = 0.999,
    watch: Watch | None = None,
) -> Origins:
    """Name the client whose model has the smallest loss, the mean over the rounds it took part in.

    Raises `InvalidArgument` where clients send no models.
    """
    prepared, setting = target.prepared, target.prepared.setting
    held = setting.federation.clients
    owner = np.concatenate([np.full(len(rows), client) for client, rows in enumerate(held)])
    whole("records", records, 10)
    level = real("confidence", confidence, 0.5, 1.0 - 1e-12)
    target.sends_models()
    some = keys.generator("records").permutation(len(owner))[:records]
    asked, truth = np.concatenate(held)[some], owner[some]
    x, y = (part[torch.from_numpy(asked)] for part in setting.samples(setting.federation.train))
    losses, rounds = np.zeros((len(held), len(asked))), np.zeros(len(held))
    run = Run(prepared.algorithm, prepared.plan, setting, keys)
    with closing(Overhearing(prepared.engine.start(prepared, None), {})) as engine:
        for round in range(1, prepared.cohort.rounds + 1):
            engine.models.clear()
            run.step(engine, round)
            heard = sorted(engine.models)
            with torch.no_grad():
                scores = [
                    setting.model.scores(torch.from_numpy(engine.models[c]), x) for c in heard
                ]
                each = [torch.nn.functional.cross_entropy(z, y, reduction="none") for z in scores]
            if heard:  # beside the others of the round: later models are better for every record
                losses[heard] += (result := torch.stack(each).double().numpy()) - result.mean(
                    axis=0
                )
                rounds[heard] += 1.0
            if watch is not None:
                watch(round, prepared.cohort.rounds)
    mean = np.where(rounds[:, None] > 0, losses / np.maximum(rounds, 1.0)[:, None], np.inf)
    right = int((mean.argmin(axis=0) == truth).sum())
    count = len(asked)
    return Origins(
        records=count,
        clients=len(held),
        right=right / count,
        least=1.0 - dp.auditing.upper_rate(count - right, count, level),
        guess=1.0 / len(held),
    )
