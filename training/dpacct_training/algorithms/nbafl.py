"""NbAFL: each client clips its model and hides it whole before it leaves (Wei et al. 2020, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct import InvalidArgument
from dpacct_training.algorithm import Algorithm, Arrays
from dpacct_training.algorithms.fedprox import FedProx
from dpacct_training.local import fit
from dpacct_training.plan import EACH, Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class NbAFL(Algorithm):
    """The guarantee is each client's against the server too, so no coin amplifies it.

    `mu`: the proximal term of its local objective. What is broadcast is computed from messages that
    are private already: the paper's noise on the way down would protect nothing more, and is not
    drawn. The server averages models, so that the number of them must be public.
    """

    mu: float = 0.0

    name: ClassVar[str] = "nbafl"
    source: ClassVar[str] = "Wei et al. 2020, Algorithm 1"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """All of the noise is each client's."""
        if cohort.scheme == "poisson":
            message = "scheme must be uniform or none for nbafl, whose mean is over a public number"
            raise InvalidArgument(f"{message}, got 'poisson'", argument="scheme")
        noise = cohort.gaussian(setting.model.dimension, by=EACH)
        return Plan(cohort=cohort, noise={"model": noise}, by=EACH)

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Whole models, kept near the one that was sent."""
        pull = FedProx(self.local, mu=self.mu).pull
        models = sent["weights"] + fit(site, sent["weights"], self.local, terms=[pull])
        return {"model": site.hidden("model", models)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The mean of the noisy models."""
        return {"weights": released["model"]}
