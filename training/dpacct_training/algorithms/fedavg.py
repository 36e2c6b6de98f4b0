"""FedAvg: no clip, no noise, no guarantee (McMahan et al. 2017, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.aggregate import Release, Turn, Updates, Vector, noisy_mean
from dpacct_training.algorithms.algorithm import Algorithm, Cohort
from dpacct_training.local_sgd import Train
from dpacct_training.plan import Plan


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """The mean of the local models, each client weighted alike: what privacy is measured against."""

    name: ClassVar[str] = "fedavg"
    source: ClassVar[str] = "McMahan et al. 2017, Algorithm 1"

    def plan(self, cohort: Cohort) -> Plan:
        """A plan without a guarantee."""
        return Plan(
            clients=cohort.clients, rate=cohort.rate, scheme=cohort.scheme, rounds=cohort.rounds
        )

    def client_step(self, train: Train, weights: Vector, turn: Turn, plan: Plan) -> Updates:
        """Local SGD."""
        return Updates(train(weights, turn, self.local))

    def aggregate(self, updates: Updates, turn: Turn, plan: Plan) -> Release:
        """The sum over tau K."""
        return noisy_mean(plan, updates, turn)

    def server_step(self, weights: Vector, release: Release) -> Vector:
        """One step of length 1."""
        return weights + release.value


ALGORITHM = FedAvg
