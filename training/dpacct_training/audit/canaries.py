"""Canaries: an engine around an engine that lies for some clients.

Every algorithm and every engine can be audited so: the whole chain of a run stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import whole
from dpacct_training.accounts import RUN
from dpacct_training.audit.one_run import lower_bound
from dpacct_training.engine import Engine
from dpacct_training.keys import Keys
from dpacct_training.noise import Gaussian, Noise, Vector
from dpacct_training.plan import Plan
from dpacct_training.prepare import Prepared
from dpacct_training.run import Run
from dpacct_training.site import Reply, Task

FIELD = "update"
"""The field of the messages in which canaries shout."""
_LOUD = 1000.0  # canaries shout: the clip has to do its work


@dataclass(frozen=True)
class Canaries:
    """The first clients of a federation; each has a random direction and a fair coin."""

    directions: NDArray[np.float64]
    included: NDArray[np.bool_]

    @classmethod
    def hidden(cls, count: int, dimension: int, keys: Keys) -> Canaries:
        """Unit vectors, nearly orthogonal where there are many dimensions."""
        directions = keys.stream("canary directions").normals(count * dimension)
        directions = directions.reshape(count, dimension)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        coins = keys.stream("canary coins").words(count) >> np.uint64(63)
        return cls(directions, coins.astype(bool))

    def row(self, client: int, noise: Noise) -> Vector:
        """What a canary answers: its direction, loudly; left out, nothing.

        A client that answers zero is one that is not there: denominators are public and fixed.
        """
        loud = _LOUD * noise.clip if self.included[client] else 0.0
        row: Vector = self.directions[client] * loud
        return row


@dataclass(frozen=True)
class CanaryEngine:
    """`inner`, with the answers of canaries replaced; they clip and add shares as the plan asks.

    A canary that draws its noise has a share like everybody's, by a stream of its own.
    """

    inner: Engine
    canaries: Canaries
    plan: Plan
    keys: Keys

    @property
    def local(self) -> bool:
        """As the inner engine is."""
        return self.inner.local

    def where(self, client: int) -> int:
        """As the inner engine says."""
        return self.inner.where(client)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The inner engine's replies, with the canaries' own."""
        rounds = {task.clients: task.round for task in tasks}
        noise, part = self.plan.noise[FIELD], float(self.plan.part())
        for reply in self.inner.ask(tasks):
            rows = np.array(reply.rows[FIELD], np.float64)
            for i, client in enumerate(reply.clients):
                if client >= len(self.canaries.included):
                    continue
                row = self.canaries.row(client, noise)
                if part:
                    keys = self.keys.child(rounds[reply.clients], client)
                    stream = keys.stream("noise share " + FIELD)
                    share = noise.unit(noise.size, stream) * noise.clip * part**0.5
                    row = noise.bound(row[None])[0] + share
                rows[i] = row
            yield replace(reply, rows={**reply.rows, FIELD: rows})

    def close(self) -> None:
        """End what the inner engine started."""
        self.inner.close()


@dataclass(frozen=True)
class Audit:
    """What an audit found: a lower bound beside the epsilon that was proven."""

    empirical: float
    proven: float
    delta: float
    confidence: float
    canaries: int

    @property
    def alarm(self) -> bool:
        """Whether the run leaks more than was proven: then something in the chain is wrong."""
        return self.empirical > self.proven

    def __str__(self) -> str:
        verdict = "ALARM: above" if self.alarm else "below"
        return (
            f"empirical lower bound {self.empirical:.4g} (confidence {self.confidence:g}, "
            f"{self.canaries} canaries, one run), {verdict} the proven epsilon {self.proven:.4g} "
            f"at delta {self.delta:.4g}; never a guarantee"
        )


def audit(
    prepared: Prepared,
    canaries: int,
    *,
    keys: Keys | None = None,
    confidence: float = 0.95,
    weakened: float = 1.0,
) -> Audit:
    """Run an experiment with canaries among its clients, and guess from its releases who was in.

    `weakened` divides the noise that is drawn, not the one that is accounted: a test of the audit.
    Raises `InvalidArgument` where there is nothing to audit.
    """
    plan = prepared.plan
    noise = plan.noise.get(FIELD)
    if not isinstance(noise, Gaussian) or plan.cohort.delta is None:
        message = (
            f"the algorithm of an audit must be a private one whose {FIELD} hides in Gaussian noise"
        )
        raise dp.InvalidArgument(f"{message}, got {prepared.algorithm.name}", argument="algorithm")
    whole("canaries", canaries, 2, plan.cohort.clients)
    secret = prepared.keys() if keys is None else keys
    hidden = Canaries.hidden(canaries, noise.size, secret)
    weak = replace(noise, multiplier=noise.multiplier / weakened)
    drawn = replace(plan, noise={**plan.noise, FIELD: weak})
    run = Run(prepared.algorithm, drawn, prepared.setting, secret)
    engine = prepared.engine.start(replace(prepared, plan=drawn), None)
    scores = np.zeros(canaries)
    with closing(CanaryEngine(engine, hidden, drawn, secret)) as lying:
        for round in range(1, plan.cohort.rounds + 1):
            clip = run.algorithm.mechanisms(plan, run.state.server)[FIELD].clip
            released = run.step(lying, round)[FIELD]
            scores += _evidence(hidden, released * float(plan.denominator), plan, clip)
    run.check()
    account = plan.accounts[RUN]
    delta = float(account.delta)
    empirical = lower_bound(scores, hidden.included, delta, confidence=confidence)
    return Audit(empirical, float(account.spent(account.times)), delta, confidence, canaries)


def _evidence(hidden: Canaries, total: Vector, plan: Plan, clip: float) -> Vector:
    """Log-likelihood ratio of each canary's presence in this sum, the others being noise."""
    rate, std = float(plan.cohort.rate), plan.noise[FIELD].at(clip).variance ** 0.5
    heard = (hidden.directions @ total) * clip / std**2 - 0.5 * (clip / std) ** 2
    evidence: Vector = heard
    if rate < 1.0:
        evidence = np.logaddexp(np.log1p(-rate), np.log(rate) + heard)
    return evidence
