"""Noisy steps inside clients: what they send is private before it leaves, so the server needs no trust.

PriFedSync: personal models and helpers (Zheng et al. 2021, Algorithms 1 and 2). UDP-FL: every client its
own mechanism and budget (Algorithms 1 to 3 of the paper of that name).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np
import torch

import dpacct as dp
from dpacct import InvalidArgument
from dpacct_training.accept import Settings, delta, one_of, positive, real, setting, share, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays, Setting
from dpacct_training.local import noisy_fit
from dpacct_training.noise import Gaussian, Noise, Unprotected
from dpacct_training.plan import NOISES, Cohort, Plan, Records
from dpacct_training.site import Site


@dataclass(frozen=True)
class PriFedSync(Algorithm):
    """A client starts from its helper (1 - alpha) mine + alpha mean; alpha 1 is NoisySGD, without helpers.

    `sigma`: the noise over 2 C, as printed; found for [privacy] epsilon, of the client with the fewest
    records, where that is given in its place. What a client sends is private before it leaves, so the
    server needs no trust and its mean no noise. Batches of [local] batch_size are drawn without
    replacement in each of `steps` steps; [privacy] rate is the client's public coin.
    """

    sigma: float | None = setting(None, real, 0.0)
    alpha: float = setting(0.1, real, 0.0, 1.0)
    steps: int = setting(38, whole, 1)

    name: ClassVar[str] = "prifedsync"
    source: ClassVar[str] = "Zheng et al. 2021, Algorithms 1 and 2"
    messages: ClassVar[tuple[str, ...]] = ("model",)
    personalises: ClassVar[bool] = True
    unused: ClassVar[Mapping[str, str]] = {
        "local.epochs": "a client takes [algorithm] steps",
    }

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """Use the exact noise: `sigma` is the paper's own, 1 unless another is given."""
        printed = 1.0 if self.sigma is None else self.sigma
        return replace(self, sigma=printed), replace(cohort, noise="exact", epsilon=None)

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Noise on the gradients of each client's records; the server adds none."""
        one_of("noise", cohort.noise, NOISES)
        size, clip = setting.model.dimension, cohort.clip
        fewest = min(setting.federation.sizes)

        @cache  # one account for all clients that hold equally many records
        def records(held: int, noise: Noise) -> Records:
            return Records(
                noise=noise,
                steps=self.steps,
                rate=Fraction(min(self.local.batch_size, held), held),
                scheme="uniform",
                coin=cohort.rate,
                delta=cohort.delta or Fraction(1, 10**5),
            )

        def gaussian(multiplier: float) -> Noise:
            return Gaussian(size, positive("clip", clip), multiplier)

        noise: Noise = Unprotected(size) if clip is None else Unprotected(size, clip)
        if cohort.noise != "none":
            found = cohort.found(
                "sigma", self.sigma, lambda z: records(fewest, gaussian(2.0 * z)).node
            )
            noise = gaussian(2.0 * found) if found else noise
        sizes = enumerate(setting.federation.sizes)
        return Plan(cohort=cohort, records={client: records(n, noise) for client, n in sizes})

    def paper_says(self, plan: Plan) -> str:
        """Say what the paper's theorem gives at this run's parameters, beside what holds."""
        if not plan.accounts:
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
        clip = positive("clip", plan.cohort.clip)
        paper = dp.federated.PriFedSync(
            clients=plan.cohort.clients,
            client_rate=plan.cohort.rate,
            batch_size=rate.numerator,
            records=rate.denominator,
            local_steps=self.steps,
            rounds=rounds,
            sigma=next(iter(plan.records.values())).noise.variance ** 0.5 / (2.0 * clip),
        )
        return float(paper.mu_clt)

    def helper(self, sent: Arrays, site: Site) -> Array:
        """Return the model from which a client starts and which it uses itself."""
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


@dataclass(frozen=True)
class Member(Settings):
    """[[client]]: a mechanism and a budget; a client stops where one more round would exceed it."""

    noise: Noise
    epsilon: float
    delta: Fraction = setting(Fraction(1, 10**5), delta, 1)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        super().__post_init__()


_OWN = "each [[client]] has one of its own"


@dataclass(frozen=True)
class UDPFL(Algorithm):
    """Client i is of the kind members[i mod n]. Clips are honest: l1 for Laplace, each number for staircases.

    `pull`: strength of the harmoniser (Section 3.3), towards the received model, for the stricter
    clients. `shuffle`: the order of the models is drawn anew before they are averaged, which changes no
    mean; a shuffled noisy model gets no credit here. `connect`: points looked at between the last model
    and the mean, on *public* data; 1 takes the point of Theorem 5, a tenth of the way beyond the mean,
    and looks at nothing; 0 takes the mean.
    """

    members: tuple[Member, ...]
    steps: int = setting(2, whole, 1)
    sample_rate: Fraction = setting(Fraction(1, 20), share)
    pull: float = setting(0.0, real, 0.0)
    connect: int = setting(0, whole)
    shuffle: bool = False

    name: ClassVar[str] = "udp_fl"
    source: ClassVar[str] = "UDP-FL, Algorithms 1 to 3"
    messages: ClassVar[tuple[str, ...]] = ("model",)
    unused: ClassVar[Mapping[str, str]] = {
        "privacy.epsilon": _OWN,
        "privacy.delta": _OWN,
        "privacy.clip": _OWN,
        "local.epochs": "a client takes [algorithm] steps",
        "local.batch_size": "a step takes the share [algorithm] sample_rate of the records",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.members:
            raise InvalidArgument("[[client]] must be given at least once", argument="client")

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """Every gradient clipped in l2, whatever the noise; the paper's accounting stops the clients."""
        members = tuple(replace(m, noise=m.noise.as_printed()) for m in self.members)
        return replace(self, members=members), replace(cohort, noise="exact")

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """A noise for each client, by its own budget."""
        one_of("noise", cohort.noise, NOISES)
        records = [
            Records(
                noise=member.noise.without() if cohort.noise == "none" else member.noise,
                steps=self.steps,
                rate=self.sample_rate,
                coin=cohort.rate,
                epsilon=member.epsilon,
                delta=member.delta,
            )
            for member in self.members
        ]
        clients = range(cohort.clients)
        return Plan(cohort=cohort, records={c: records[c % len(records)] for c in clients})

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Noisy models, pulled the more towards the last one the smaller the budget (the harmoniser)."""
        weakest = max(member.epsilon for member in self.members)
        records = [site.plan.records[client] for client in site.clients]
        slack = [(weakest - (mechanism.epsilon or weakest)) / weakest for mechanism in records]
        pull = self.pull * torch.tensor(slack, dtype=torch.float32)[:, None]
        terms = [lambda w, start: pull * (w - start)]
        return {"model": noisy_fit(site, sent["weights"], self.local, records, terms)}

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """A count of the shuffles, where there is a shuffler."""
        return {"shuffled": np.zeros(1)} if self.shuffle else {}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The mean of what was shuffled, then mode connectivity on public data."""
        models = released["model"]
        if not len(models):
            return state
        if self.shuffle:
            chance = setting.generator("shuffle", int(state["shuffled"][0]))
            models = models[chance.permutation(len(models))]
            state = {**state, "shuffled": state["shuffled"] + 1}
        mean = models.mean(axis=0, dtype=np.float64)
        return {**state, "weights": self.connected(state["weights"], mean, setting)}

    def connected(self, last: Array, mean: Array, setting: Setting) -> Array:
        """The point that is taken on the path from the last model to the mean and beyond."""
        if not self.connect:
            return mean
        if self.connect == 1:
            beyond: Array = 1.1 * mean - 0.1 * last
            return beyond
        x, y = setting.open()  # a loss is looked at: never of the clients' data
        path: list[Array] = [last + t * (mean - last) for t in np.linspace(0.0, 1.5, self.connect)]
        losses = [
            float(setting.model.mean_loss(torch.from_numpy(w.astype(np.float32)), x, y))
            for w in path
        ]
        return path[int(np.argmin(losses))]
