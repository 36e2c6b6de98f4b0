"""Votes of agents on public queries, and a student of the noisy majorities (AE-DPFL, Algorithms 1 and 2)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, positive, real, setting, whole
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.noise import Votes
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site
from dpacct_training.student import Student


@dataclass(frozen=True)
class Voting(Algorithm):
    """Each round a batch of `queries` of the public samples, and a student of all labels so far.

    `sigma`: of the noise on each count, in votes. `threshold`, `threshold_sigma`: a query is answered
    only where its largest count, with noise of that deviation, reaches so many votes (Papernot et al.
    2018, Algorithm 1). `student_steps`, `student_rate`, `vat`, `radius`, `self_training`: see `Student`.
    `level`: who is protected, "agent" or "instance" (one record of an agent).
    """

    sigma: float = setting(40.0, positive)
    queries: int = setting(50, whole, 1)
    threshold: float | None = None
    threshold_sigma: float | None = None
    student_steps: int = setting(400, whole, 1)
    student_rate: float = setting(0.1, positive)
    self_training: bool = False
    vat: float = setting(0.0, real, 0.0)
    radius: float = setting(0.5, positive)
    level: str = setting("agent", one_of, ("agent", "instance"))

    keeps_for_good: ClassVar[bool] = True

    @property
    def parts(self) -> int:
        """How many parts a vote may be divided into."""
        return 1

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """As it is: `sigma` is the paper's own."""
        return self, replace(cohort, noise="exact")

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """As many noisy arg max of votes as are asked in all rounds."""
        public, asked = len(setting.open()[1]), cohort.rounds * self.queries
        if asked > public or cohort.scheme != "none":
            message = "rounds * queries must be at most the public samples, and scheme none"
            raise InvalidArgument(
                f"{message}, got {asked} of {public} and {cohort.scheme}", argument="queries"
            )
        votes = Votes(
            size=self.queries * setting.model.classes,
            clip=1.0,
            sigma=self.sigma,
            classes=setting.model.classes,
            level=self.level,
            neighbours=self.parts,
            threshold=self.threshold,
            threshold_sigma=self.threshold_sigma,
        )
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

    @abstractmethod
    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """The vote of each agent on each query: (agents, queries, classes)."""

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Each agent's votes on this round's public queries."""
        first = (site.round - 1) * self.queries
        x = site.open()[0][first : first + self.queries]
        return {"votes": self.scores(sent, site, x).reshape(len(site.clients), -1)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The labels so far (-1: no answer), and a student that learned from them."""
        labels = np.concatenate([state["labels"], released["votes"]])
        public, y = setting.open()[0], torch.from_numpy(labels)
        student = Student(
            setting.model,
            self.student_steps,
            self.student_rate,
            self.vat,
            self.radius,
            self.self_training,
        )
        answered = torch.arange(len(public)) < len(y)
        answered[: len(y)] &= y >= 0
        w = student.taught(
            torch.from_numpy(state["start"].astype(np.float32)),
            public[answered],
            y[y >= 0],
            public[~answered],
            setting.generator("student", len(labels)),
        )
        return {**state, "weights": w.double().numpy(), "labels": labels}
