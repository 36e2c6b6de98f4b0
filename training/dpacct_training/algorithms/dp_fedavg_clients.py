"""DP-FedAvg with the clients' noise (003 Algorithms 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpacct_training.aggregate import Turn, Updates, Vector, noise_share
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.clip import checked, clipped
from dpacct_training.local_sgd import Train
from dpacct_training.plan import CLIENTS, Plan


@dataclass(frozen=True)
class DPFedAvgClients(DPFedAvg):
    """Each client clips, and adds a share of the noise before its update leaves it.

    The shares add up to the plan's noise, so the guarantee of the sum is that of `dp_fedavg`. It is
    one of the sum: who sees single messages sees 1/m of the noise's variance, so a secure sum is
    assumed, and that all shares are honest.
    """

    name: ClassVar[str] = "dp_fedavg_clients"
    source: ClassVar[str] = "003 Algorithms 5 and 6"
    noise_by: ClassVar[str] = CLIENTS

    def client_step(self, train: Train, weights: Vector, turn: Turn, plan: Plan) -> Updates:
        """Local SGD, the clip, and the share of the noise."""
        sent = super().client_step(train, weights, turn, plan)
        clients = turn.sample.clients
        rows = checked(sent.rows, clients)
        if plan.clip is None or not plan.private:
            return replace(sent, rows=rows)
        rows = clipped(rows, plan.clip)
        for row, client in zip(rows, clients, strict=True):
            row += noise_share(plan, turn, int(client), row.size)
        return Updates(rows, clips=len(rows), shares=len(rows))


ALGORITHM = DPFedAvgClients
