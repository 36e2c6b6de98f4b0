"""Private-kNN-FL: agents vote with their nearest neighbours' labels (AE-DPFL, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from dpacct_training.accept import one_of, whole
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.algorithms.pate_fl import PateFL
from dpacct_training.noise import Votes
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class KnnFL(PateFL):
    """No agent trains: its vote is the mean of the labels of its `neighbours` samples nearest to a query.

    Features are the samples as the model reads them: `dpacct-train data features` makes public ones.
    `level`: who is protected, "agent", or "instance" (one record of an agent).
    """

    neighbours: int = 1
    level: str = "agent"

    name: ClassVar[str] = "knn_fl"
    source: ClassVar[str] = "AE-DPFL, Algorithm 2"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("neighbours", self.neighbours, 1, 10**6)
        one_of("level", self.level, ("agent", "instance"))

    def votes(self, setting: Setting) -> Votes:
        """Of each client's records the nearest ones vote, by features."""
        classes = setting.model.classes
        size = self.queries * classes
        return Votes(size, 1.0, self.sigma, classes, self.level, self.neighbours)

    def scores(self, sent: Arrays, site: Site, x: torch.Tensor) -> Array:
        """k-th parts of a vote: (agents, queries, classes); an agent with fewer samples takes all."""
        votes, queries = [], x.flatten(1)
        for rows in site.rows:
            distances = torch.cdist(queries, site.x[rows].flatten(1))
            nearest = distances.topk(min(self.neighbours, len(rows)), largest=False).indices
            votes.append(np.eye(site.model.classes)[site.y[rows][nearest].numpy()].mean(axis=1))
        return np.stack(votes)
