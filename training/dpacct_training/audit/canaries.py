"""Canaries: clients whose updates are known directions, put through the whole chain of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import whole
from dpacct_training.aggregate import Turn, Vector
from dpacct_training.audit.one_run import lower_bound
from dpacct_training.engines.in_process import InProcess
from dpacct_training.executed import Executed
from dpacct_training.keys import Keys
from dpacct_training.local_sgd import LocalSGD, Train
from dpacct_training.plan import Plan
from dpacct_training.prepare import Prepared

_LOUD = 1000.0  # canaries shout: the clip has to do its work


@dataclass(frozen=True)
class Canaries:
    """The first clients of a federation; each has a random direction and a fair coin."""

    directions: NDArray[np.float64]
    included: NDArray[np.bool_]
    clip: float

    @classmethod
    def hidden(cls, count: int, dimension: int, clip: float, keys: Keys) -> Canaries:
        """Unit vectors, nearly orthogonal where there are many dimensions."""
        normals = keys.stream("canary directions").normals(count * dimension)
        directions = normals.reshape(count, dimension)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        coins = keys.stream("canary coins").words(count) >> np.uint64(63)
        return cls(directions, coins.astype(bool), clip)

    def among(self, train: Train) -> Train:
        """A training in which canaries answer with their direction, or, left out, with nothing.

        A client that answers zero is one that is not there: denominators are public and fixed.
        """

        def answer(weights: Vector, turn: Turn, local: LocalSGD) -> NDArray[Any]:
            rows = np.array(train(weights, turn, local))
            clients = turn.sample.clients
            mine = clients < len(self.included)
            theirs = clients[mine]
            loud = self.directions[theirs] * (_LOUD * self.clip)
            rows[mine] = np.where(self.included[theirs, None], loud, 0.0)
            return rows

        return answer


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
    plan, algorithm = prepared.plan, prepared.algorithm
    if plan.clip is None or prepared.delta is None or not plan.private:
        told = "the algorithm of an audit must be a private one"
        raise dp.InvalidArgument(f"{told}, got {algorithm.name}", argument="algorithm")
    whole("canaries", canaries, 2, plan.clients)
    secret = prepared.keys() if keys is None else keys
    hidden = Canaries.hidden(canaries, prepared.model.dimension, plan.clip, secret)
    run_plan = replace(plan, noise_multiplier=plan.noise_multiplier / weakened)
    scores = np.zeros(canaries)
    weights, executed = prepared.model.initial(secret), Executed()
    with InProcess(prepared.model, prepared.federation, prepared.running.engine) as engine:
        train = hidden.among(engine.train)
        for round in range(1, plan.rounds + 1):
            turn = Turn(round, plan.sample(round, secret), secret)
            updates = algorithm.client_step(train, weights, turn, run_plan)
            release = algorithm.aggregate(updates, turn, run_plan)
            weights = algorithm.server_step(weights, release)
            executed.add(turn.sample, release)
            scores += _evidence(hidden, release.value * float(plan.denominator), plan)
    executed.check(plan, prepared.model.dimension)
    proven = plan.epsilon(prepared.delta)
    assert proven is not None
    delta = float(prepared.delta)
    found = lower_bound(scores, hidden.included, delta, confidence=confidence)
    return Audit(found, float(proven), delta, confidence, canaries)


def _evidence(hidden: Canaries, total: Vector, plan: Plan) -> Vector:
    """Log-likelihood ratio of each canary's presence in this sum, the others being noise."""
    rate, clip, std = float(plan.rate), hidden.clip, plan.noise_std
    heard = (hidden.directions @ total) * clip / std**2 - 0.5 * (clip / std) ** 2
    return np.logaddexp(np.log1p(-rate), np.log(rate) + heard) if rate < 1.0 else heard
