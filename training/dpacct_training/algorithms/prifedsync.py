"""PriFedSync: noisy steps in clients, personal models, helpers (Zheng et al. 2021, Algorithms 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np

import dpacct as dp
from dpacct_training.accept import positive, real, setting, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.local import noisy_fit
from dpacct_training.noise import Gaussian, Noise, Unprotected
from dpacct_training.plan import Cohort, Plan
from dpacct_training.records import Records
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class PriFedSync(Algorithm):
    """A client starts from its helper (1 - alpha) mine + alpha mean; alpha 1 is NoisySGD, without helpers.

    `sigma`: the noise over 2 C, as printed. What a client sends is private before it leaves, so the
    server needs no trust and its mean no noise. Batches of [local] batch_size are drawn without
    replacement in each of `steps` steps; [privacy] rate is the client's public coin.
    """

    sigma: float = setting(1.0, real, 0.0)
    alpha: float = setting(0.1, real, 0.0, 1.0)
    steps: int = setting(38, whole, 1)

    name: ClassVar[str] = "prifedsync"
    source: ClassVar[str] = "Zheng et al. 2021, Algorithms 1 and 2"
    messages: ClassVar[tuple[str, ...]] = ("model",)
    personalises: ClassVar[bool] = True

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """As it is: `sigma` is the paper's own."""
        return self, replace(cohort, noise="exact")

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Noise on the gradients of each client's records; the server adds none."""
        size, clip = setting.model.dimension, cohort.clip
        noise: Noise = Unprotected(size) if clip is None else Unprotected(size, clip)
        if self.sigma and cohort.noise != "none":
            noise = Gaussian(size, positive("clip", clip), 2.0 * self.sigma)

        @cache  # one account for all clients that hold equally many records
        def records(held: int) -> Records:
            rate = Fraction(min(self.local.batch_size, held), held)
            return Records(
                noise=noise,
                steps=self.steps,
                rate=rate,
                scheme="uniform",
                coin=cohort.rate,
                delta=cohort.delta or Fraction(1, 10**5),
            )

        clients = enumerate(setting.federation.clients)
        return Plan(cohort=cohort, records={client: records(len(rows)) for client, rows in clients})

    def paper_says(self, plan: Plan) -> str:
        """What Theorem 1 of the paper says at this run's parameters, beside what holds."""
        if not plan.private:
            return ""
        mu = self.paper_mu(plan, plan.cohort.rounds)
        return (
            f"The paper's Theorem 2 says mu = {mu:.2f} for the client with the fewest records,"
            " which is a limit and no bound. Weak and strong federated f-DP (a record, from one other"
            " client or from all of them and the server) cost the same here: what a client sends is"
            " private before it leaves."
        )

    def paper_mu(self, plan: Plan, rounds: int) -> float:
        """Theorem 2, for the client with the fewest records."""
        rate = max(records.rate for records in plan.records.values())
        paper = dp.federated.PriFedSync(
            clients=plan.cohort.clients,
            client_rate=plan.cohort.rate,
            batch_size=rate.numerator,
            records=rate.denominator,
            local_steps=self.steps,
            rounds=rounds,
            sigma=self.sigma,
        )
        return float(paper.mu_clt)

    def helper(self, sent: Arrays, site: Site) -> Array:
        """Where a client starts from, and what it uses itself."""
        mine = site.recall("model", sent["weights"])
        return (1.0 - self.alpha) * mine + self.alpha * sent["weights"]

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Each client's own model: noisy steps from its helper."""
        records = [site.plan.records[client] for client in site.clients]
        models = noisy_fit(site, self.helper(sent, site), self.local, records)
        site.keep("model", models)
        return {"model": models}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The mean of the models that came."""
        if not len(released["who"]):
            return state
        return {"weights": released["model"].mean(axis=0, dtype=np.float64)}

    def personal(self, sent: Arrays, site: Site) -> Array:
        """The helper of each client."""
        return self.helper(sent, site)
