"""UDP-FL: every client its own mechanism and budget (Algorithms 1 to 3 of the paper of that name)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.accept import Settings, delta, positive, real, setting, share, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.local import noisy_fit
from dpacct_training.noise import Noise
from dpacct_training.plan import Cohort, Plan
from dpacct_training.records import Records
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class Member(Settings):
    """[[client]]: a mechanism and a budget; a client stops where one more round would exceed it."""

    noise: Noise
    epsilon: float
    delta: Fraction = setting(Fraction(1, 10**5), delta, 1)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        super().__post_init__()


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

    def begin(self, setting: Setting) -> Arrays:
        """The first model; how often the shuffler was needed, where there is one."""
        return {"weights": setting.initial(), **({"shuffled": np.zeros(1)} if self.shuffle else {})}

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
            float(setting.model.loss(torch.from_numpy(w.astype(np.float32)), x, y)) for w in path
        ]
        return path[int(np.argmin(losses))]
