"""PATE-FL: agents vote on public queries; noisy majorities teach a student (AE-DPFL, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.accept import positive, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.local import fit
from dpacct_training.models.model import Model
from dpacct_training.noise import Votes
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class PateFL(Algorithm):
    """Each round a batch of `queries` of the public samples; agents train when first asked.

    `sigma`: of the noise on each count, in votes. An agent keeps its model to itself. `student_steps`:
    full-batch steps of the student on all labels so far. `self_training`: then again on all of the
    public samples, those without a label by what it says itself; this costs no privacy.
    """

    sigma: float = 40.0
    queries: int = 50
    student_steps: int = 400
    student_rate: float = 0.1
    self_training: bool = False

    name: ClassVar[str] = "pate_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 1"

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        whole("queries", self.queries, 1)
        whole("student_steps", self.student_steps, 1)
        positive("student_rate", self.student_rate)

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """As it is: `sigma` is the paper's own."""
        return self, replace(cohort, noise="exact")

    def votes(self, setting: Setting) -> Votes:
        """The mechanism of a round."""
        classes = setting.model.classes
        return Votes(self.queries * classes, 1.0, self.sigma, classes)

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """As many noisy arg max of votes as are asked in all rounds."""
        public, asked = len(setting.open()[1]), cohort.rounds * self.queries
        if asked > public or cohort.scheme != "none":
            message = "rounds * queries must be at most the public samples, and scheme none"
            raise InvalidArgument(
                f"{message}, got {asked} of {public} and {cohort.scheme}", argument="queries"
            )
        votes = self.votes(setting)
        return Plan(
            cohort=cohort, noise={"votes": votes.without() if cohort.noise == "none" else votes}
        )

    def begin(self, setting: Setting) -> Arrays:
        """The first student, and labels of nothing."""
        start = setting.initial()
        return {"weights": start, "start": start, "labels": np.zeros(0, np.int64)}

    def sent(self, state: Arrays) -> Arrays:
        """The first model, from which agents train."""
        return {"start": state["start"]}

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """One vote of each agent on each query: (agents, queries, classes)."""
        if not site.remembers("agent"):
            site.keep("agent", sent["start"] + fit(site, sent["start"], self.local))
        agents = torch.from_numpy(site.recall("agent", sent["start"]).astype(np.float32))
        with torch.no_grad():
            labels = torch.stack([site.model.scores(w, x).argmax(1) for w in agents])
        votes: Array = np.eye(site.model.classes)[labels.numpy()]
        return votes

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Votes of each agent's model on this round's public queries."""
        first = (site.round - 1) * self.queries
        x = site.open()[0][first : first + self.queries]
        return {"votes": self.scores(sent, site, x).reshape(len(site.clients), -1)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The labels so far, and a student that learned from them."""
        labels = np.concatenate([state["labels"], released["votes"]])
        x, y = setting.open()[0][: len(labels)], torch.from_numpy(labels)
        start = torch.from_numpy(state["start"].astype(np.float32))
        w = self._student(start, x, y, setting.model)
        if self.self_training:
            everything = setting.open()[0]
            with torch.no_grad():
                guessed = setting.model.scores(w, everything[len(y) :]).argmax(1)
            w = self._student(w, everything, torch.cat([y, guessed]), setting.model)
        return {**state, "weights": w.double().numpy(), "labels": labels}

    def _student(
        self, start: torch.Tensor, x: torch.Tensor, y: torch.Tensor, model: Model
    ) -> torch.Tensor:
        w = start[None]
        for _ in range(self.student_steps):
            w = w - self.student_rate * (model.gradient(w, x[None], y[None]) + 1e-3 * w)
        return w[0]
