"""DP-Fed: clipped at every local step, noise at the server (Liang et al. 2020, Algorithm 1, sigma = 0)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpacct_training.accept import one_of
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local import fit
from dpacct_training.plan import Cohort
from dpacct_training.site import Site


@dataclass(frozen=True)
class DPFed(DPFedAvg):
    """The local model never leaves the G-ball around the received one (CLIENTUPDATE).

    The server clips once more: its bound must not rest on what clients say they did.
    """

    name: ClassVar[str] = "dp_fed"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1, sigma = 0"

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """What Theorem 1 or 2 asks for, by the sampling."""
        theorem = {"uniform": "theorem1", "poisson": "theorem2"}
        scheme = one_of("scheme", cohort.scheme, theorem)
        return self, replace(cohort, noise=f"dp_fed_ls.{theorem[scheme]}")

    def update(self, sent: Arrays, site: Site) -> Array:
        """Pulled back after every step."""
        return fit(site, sent["weights"], self.local, within=site.plan.noise["update"].clip)


ALGORITHM = DPFed
