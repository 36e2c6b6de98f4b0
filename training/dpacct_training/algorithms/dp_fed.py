"""DP-Fed: clipped at every local step, noise at the server (000 Algorithm 1 with sigma = 0)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpacct_training.aggregate import Turn, Updates, Vector
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local_sgd import Train
from dpacct_training.plan import Plan


@dataclass(frozen=True)
class DPFed(DPFedAvg):
    """The local model never leaves the G-ball around the received one.

    The server clips once more: its bound must not rest on what clients say they did.
    """

    name: ClassVar[str] = "dp_fed"
    source: ClassVar[str] = "000 Algorithm 1, sigma = 0"

    def client_step(self, train: Train, weights: Vector, turn: Turn, plan: Plan) -> Updates:
        """CLIENTUPDATE of Algorithm 1."""
        return Updates(train(weights, turn, replace(self.local, clip=plan.clip)))


ALGORITHM = DPFed
