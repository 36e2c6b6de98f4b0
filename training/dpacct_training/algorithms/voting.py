"""Votes of agents on public queries, and a student of the noisy majorities (AE-DPFL, Algorithms 1 and 2).

PATE-FL: agents vote with models of their own. Private-kNN-FL: with their nearest neighbours' labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import torch

import dpacct as dp
from dpacct import InvalidArgument
from dpacct_training.accept import one_of, positive, setting, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays, Setting
from dpacct_training.local import Local, fit
from dpacct_training.noise import Votes
from dpacct_training.plan import NOISES, Cohort, Plan
from dpacct_training.site import Site


@dataclass(frozen=True)
class Voting(Algorithm):
    """Each round a batch of `queries` of the public samples, and a student of all labels so far.

    `sigma`: of the noise on each count, in votes; found for [privacy] epsilon where that is given in its
    place. The student takes `student_steps` of length `student_rate` on all labelled samples at once.
    `level`: who is protected, "agent" or "instance" (one record of an agent).
    """

    sigma: float | None = setting(None, positive)
    queries: int = setting(50, whole, 1)
    student_steps: int = setting(400, whole, 1)
    student_rate: float = setting(0.1, positive)
    level: str = setting("agent", one_of, ("agent", "instance"))

    public: ClassVar[tuple[str, ...]] = ("start",)
    keeps_for_good: ClassVar[bool] = True
    unused: ClassVar[Mapping[str, str]] = {"privacy.clip": "an agent has one vote a query"}

    @property
    def parts(self) -> int:
        """The number of parts into which a vote may be divided."""
        return 1

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """Use the exact noise: `sigma` is the paper's own, 40 unless another is given."""
        printed = 40.0 if self.sigma is None else self.sigma
        return replace(self, sigma=printed), replace(cohort, noise="exact", epsilon=None)

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Plan as many noisy arg max of votes as all rounds ask for."""
        public, asked = len(setting.open()[1]), cohort.rounds * self.queries
        if asked > public or cohort.scheme != "none":
            message = "rounds * queries must be at most the public samples, and scheme none"
            raise InvalidArgument(
                f"{message}, got {asked} of {public} and {cohort.scheme}", argument="queries"
            )
        one_of("noise", cohort.noise, NOISES)

        def votes(sigma: float) -> Votes:
            return Votes(
                size=self.queries * setting.model.classes,
                clip=1.0,
                sigma=sigma,
                classes=setting.model.classes,
                level=self.level,
                neighbours=self.parts,
            )

        if cohort.noise == "none":
            return Plan(cohort=cohort, noise={"votes": votes(1.0).without()})

        def step(sigma: float) -> dp.Node | None:
            return Plan(cohort=cohort, noise={}).step({"votes": votes(sigma)})

        return Plan(cohort=cohort, noise={"votes": votes(cohort.found("sigma", self.sigma, step))})

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """The model from which agents train, and labels of nothing."""
        return {"start": start, "labels": np.zeros(0, np.int64)}

    @abstractmethod
    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """The vote of each agent on each query: (agents, queries, classes)."""

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Each agent's votes on this round's public queries."""
        first = (site.round - 1) * self.queries
        x = site.open()[0][first : first + self.queries]
        return {"votes": self.scores(sent, site, x).reshape(len(site.clients), -1)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The labels so far, and a student that learned from them, with a decay of 1e-3."""
        labels = np.concatenate([state["labels"], released["votes"]])
        x, y = setting.open()[0][None, : len(labels)], torch.from_numpy(labels)[None]
        w = torch.from_numpy(state["start"].astype(np.float32))[None]
        for _ in range(self.student_steps):
            w = w - self.student_rate * (setting.model.gradient(w, x, y) + 1e-3 * w)
        return {**state, "weights": w[0].double().numpy(), "labels": labels}


@dataclass(frozen=True)
class PateFL(Voting):
    """Agents train when first asked, and keep their models to themselves."""

    name: ClassVar[str] = "pate_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 1"
    unused: ClassVar[Mapping[str, str]] = {**Voting.unused, "local.decay": "agents train once"}

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """One vote of each agent on each query: (agents, queries, classes)."""
        if not site.remembers("agent"):
            site.keep("agent", sent["start"] + fit(site, sent["start"], self.local))
        agents = torch.from_numpy(site.recall("agent", sent["start"]).astype(np.float32))
        with torch.no_grad():
            labels = torch.stack([site.model.scores(w, x).argmax(1).cpu() for w in agents])
        votes: Array = np.eye(site.model.classes)[labels.numpy()]
        return votes


@dataclass(frozen=True)
class KnnFL(Voting):
    """No agent trains: its vote is the mean of the labels of its `neighbours` samples nearest to a query.

    Features are the samples as the model reads them.
    """

    neighbours: int = setting(1, whole, 1, 10**6)

    name: ClassVar[str] = "knn_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 2"
    unused: ClassVar[Mapping[str, str]] = {
        **Voting.unused,
        **{f"local.{field.name}": "no agent trains" for field in fields(Local)},
    }

    @property
    def parts(self) -> int:
        """The parts of a vote: one for each neighbour."""
        return self.neighbours

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """k-th parts of a vote: (agents, queries, classes); an agent with fewer samples takes all."""
        votes, queries = [], x.flatten(1)
        for rows in site.rows:
            distances = torch.cdist(queries, site.x[rows].flatten(1))
            nearest = distances.topk(min(self.neighbours, len(rows)), largest=False).indices
            votes.append(np.eye(site.model.classes)[site.y[rows][nearest].numpy()].mean(axis=1))
        return np.stack(votes)
