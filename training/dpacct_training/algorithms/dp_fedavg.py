"""DP-FedAvg (AE-DPFL, Algorithms 3 and 4, after Geyer et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.algorithms.fedavg import FedAvg
from dpacct_training.plan import SERVER, Cohort, Plan
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


ALGORITHM = DPFedAvg
