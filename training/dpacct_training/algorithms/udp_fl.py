"""UDP-FL: every client its own mechanism and budget (Algorithms 1 to 3 of the paper of that name)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.accept import delta, positive, real, share, whole
from dpacct_training.algorithm import Algorithm, Arrays
from dpacct_training.local import noisy_fit
from dpacct_training.noise import Noise
from dpacct_training.plan import Cohort, Plan
from dpacct_training.records import Records
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class Member:
    """[[client]]: a mechanism and a budget; a client stops where one more round would exceed it."""

    noise: Noise
    epsilon: float
    delta: Fraction = Fraction(1, 10**5)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        object.__setattr__(self, "delta", delta("delta", self.delta, 1))


@dataclass(frozen=True)
class UDPFL(Algorithm):
    """Client i is of the kind members[i mod n]. Clips are honest: l1 for Laplace, each number for staircases.

    `pull`: strength of the harmoniser (Section 3.3), towards the received model, for the stricter
    clients. `connect`: points looked at between the last model and the mean, on *public* data; 1 takes
    the point of Theorem 5, a tenth of the way beyond the mean, and looks at nothing; 0 takes the mean.
    """

    members: tuple[Member, ...]
    steps: int = 2
    sample_rate: Fraction = Fraction(1, 20)
    pull: float = 0.0
    connect: int = 0

    name: ClassVar[str] = "udp_fl"
    source: ClassVar[str] = "UDP-FL, Algorithms 1 to 3"
    messages: ClassVar[tuple[str, ...]] = ("model",)

    def __post_init__(self) -> None:
        if not self.members:
            raise InvalidArgument("[[client]] must be given at least once", argument="client")
        whole("steps", self.steps, 1)
        object.__setattr__(self, "sample_rate", share("sample_rate", self.sample_rate))
        real("pull", self.pull, 0.0)
        whole("connect", self.connect)

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

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The mean of what was shuffled, then mode connectivity on public data."""
        if not len(released["who"]):
            return state
        mean = released["model"].mean(axis=0, dtype=np.float64)
        if not self.connect:
            return {"weights": mean}
        if self.connect == 1:
            return {"weights": 1.1 * mean - 0.1 * state["weights"]}
        x, y = setting.open()  # a loss is looked at: never of the clients' data
        between = np.linspace(0.0, 1.5, self.connect)
        path = [state["weights"] + t * (mean - state["weights"]) for t in between]
        losses = [
            float(setting.model.loss(torch.from_numpy(w.astype(np.float32)), x, y)) for w in path
        ]
        return {"weights": path[int(np.argmin(losses))]}
