"""FedAvg: no clip, no noise, no guarantee (McMahan et al. 2017, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.local import fit
from dpacct_training.noise import Unprotected
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """The sum of the updates over tau K, each client weighted alike: what privacy is measured against."""

    name: ClassVar[str] = "fedavg"
    source: ClassVar[str] = "McMahan et al. 2017, Algorithm 1"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """A plan without a guarantee."""
        return Plan(cohort=cohort, noise={"update": Unprotected(setting.model.dimension)})

    def update(self, sent: Arrays, site: Site) -> Array:
        """How each client would move the model: a row each."""
        return fit(site, sent["weights"], self.local)

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """The update, with the part of the noise that is the clients'."""
        return {"update": site.hidden("update", self.update(sent, site))}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """One step of length 1."""
        return {"weights": state["weights"] + released["update"]}
