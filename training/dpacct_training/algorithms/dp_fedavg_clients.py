"""DP-FedAvg with the clients' noise (AE-DPFL, Algorithms 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.plan import SHARES


@dataclass(frozen=True)
class DPFedAvgClients(DPFedAvg):
    """Each client clips, and adds its share of the noise before its update leaves it.

    A share has 1 / (tau K) of the variance, not 1 / m of Algorithm 6: m, who takes part, is a secret
    that clients are not told. What too few shares leave missing the server adds. The guarantee is one
    of the sum: a secure sum is assumed, and that all shares are honest.
    """

    by: str = SHARES

    name: ClassVar[str] = "dp_fedavg_clients"
    source: ClassVar[str] = "AE-DPFL, Algorithms 5 and 6"


ALGORITHM = DPFedAvgClients
