"""DP-FedAvg with the server's noise (003 Algorithms 3 and 4, after Geyer et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import dpacct as dp
from dpacct_training.algorithms.algorithm import Cohort
from dpacct_training.algorithms.fedavg import FedAvg
from dpacct_training.plan import SERVER, Plan


@dataclass(frozen=True)
class DPFedAvg(FedAvg):
    """Local SGD runs free; the server clips the update once, sums, and adds the noise.

    Algorithm 3 divides by the realised number of clients; here it is the public q N (see
    `aggregate.noisy_mean`).
    """

    name: ClassVar[str] = "dp_fedavg"
    source: ClassVar[str] = "003 Algorithms 3 and 4"
    noise_by: ClassVar[str] = SERVER

    def plan(self, cohort: Cohort) -> Plan:
        """Noise for the cohort's target."""
        if cohort.clip is None or cohort.target is None:
            told = f"clip and a privacy target must be given for {self.name}"
            raise dp.InvalidArgument(f"{told}, got none", argument="privacy")
        multiplier = cohort.target.multiplier(
            rate=cohort.rate, rounds=cohort.rounds, scheme=cohort.scheme, clip=cohort.clip
        )
        return Plan(
            clients=cohort.clients,
            rate=cohort.rate,
            scheme=cohort.scheme,
            rounds=cohort.rounds,
            clip=cohort.clip,
            noise_multiplier=multiplier,
            noise_by=self.noise_by,
        )


ALGORITHM = DPFedAvg
