"""Private-kNN-FL: agents vote with their nearest neighbours' labels (AE-DPFL, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from dpacct_training.accept import setting, whole
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.site import Site
from dpacct_training.voting import Voting


@dataclass(frozen=True)
class KnnFL(Voting):
    """No agent trains: its vote is the mean of the labels of its `neighbours` samples nearest to a query.

    Features are the samples as the model reads them: `dpacct-train data features` makes public ones.
    """

    neighbours: int = setting(1, whole, 1, 10**6)

    name: ClassVar[str] = "knn_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 2"

    @property
    def parts(self) -> int:
        """One for each neighbour."""
        return self.neighbours

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """k-th parts of a vote: (agents, queries, classes); an agent with fewer samples takes all."""
        votes, queries = [], x.flatten(1)
        for rows in site.rows:
            distances = torch.cdist(queries, site.x[rows].flatten(1))
            nearest = distances.topk(min(self.neighbours, len(rows)), largest=False).indices
            votes.append(np.eye(site.model.classes)[site.y[rows][nearest].numpy()].mean(axis=1))
        return np.stack(votes)
