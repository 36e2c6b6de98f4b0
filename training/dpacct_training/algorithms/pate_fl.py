"""PATE-FL: agents vote on public queries; noisy majorities teach a student (AE-DPFL, Algorithm 1)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from dpacct_training.accept import real, setting
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.local import Rows, Term, fit, paired
from dpacct_training.site import Site
from dpacct_training.student import uninformed
from dpacct_training.voting import Voting

_AT_ONCE = 48  # public samples of a step; a multiple of four


@dataclass(frozen=True)
class PateFL(Voting):
    """Agents train when first asked, and keep their models to themselves.

    `adapt`: weight of domain adaptation, by which agents learn from the public samples too (PATE-FL+DA;
    the appendix names no method: see `uninformed`).
    """

    adapt: float = setting(0.0, real, 0.0)

    name: ClassVar[str] = "pate_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 1"

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """One vote of each agent on each query: (agents, queries, classes)."""
        if not site.remembers("agent"):
            terms = [self.adaptation(site)] if self.adapt else []
            site.keep("agent", sent["start"] + fit(site, sent["start"], self.local, terms=terms))
        agents = torch.from_numpy(site.recall("agent", sent["start"]).astype(np.float32))
        with torch.no_grad():
            labels = torch.stack([site.model.scores(w, x).argmax(1) for w in agents])
        votes: Array = np.eye(site.model.classes)[labels.numpy()]
        return votes

    def adaptation(self, site: Site) -> Term:
        """What each step of an agent takes from the next public samples."""
        (public, _), firsts = site.open(), itertools.count(0, _AT_ONCE)

        def by_guesses(w: Rows, x: Rows) -> Rows:
            return site.model.through(w, x, uninformed)

        def term(w: Rows, start: Rows) -> Rows:
            places = (torch.arange(_AT_ONCE) + next(firsts)) % len(public)
            batch = public[places]
            return self.adapt * paired(by_guesses, w, batch.expand(len(w), *batch.shape))

        return term
