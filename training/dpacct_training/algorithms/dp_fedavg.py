"""DP-FedAvg, with the server's or the clients' noise (AE-DPFL, Algorithms 3 to 6; Geyer et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.algorithms.fedavg import FedAvg
from dpacct_training.plan import SERVER, SHARES, Cohort, Plan
from dpacct_training.setting import Setting


@dataclass(frozen=True)
class DPFedAvg(FedAvg):
    """Local SGD runs free; the update is clipped once, and noise is added to the sum.

    `by`: who draws the noise ("server", "shares" or "each"; see `Plan`). Algorithm 3 divides by the
    realised number of clients, which is a secret; here it is the public tau K.
    """

    by: str = SERVER

    name: ClassVar[str] = "dp_fedavg"
    source: ClassVar[str] = "AE-DPFL, Algorithms 3 and 4"
    printed: ClassVar[float | None] = 0.06  # AE-DPFL, hyperparameters: S = 0.08, sigma = 0.06

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Noise for the cohort's target."""
        noise = cohort.gaussian(setting.model.dimension, by=self.by)
        return Plan(cohort=cohort, noise={"update": noise}, by=self.by)


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
