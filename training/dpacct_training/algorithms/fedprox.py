"""FedProx: local models are pulled towards the received one (Li et al. 2020, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from dpacct_training.accept import real, setting
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local import fit
from dpacct_training.site import Site


@dataclass(frozen=True)
class FedProx(DPFedAvg):
    """mu (w - w_t) is added to each local gradient; the rest is DP-FedAvg's."""

    mu: float = setting(0.1, real, 0.0)

    name: ClassVar[str] = "fedprox"
    source: ClassVar[str] = "Li et al. 2020, Algorithm 2"
    printed: ClassVar[float | None] = None

    def pull(self, w: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """The gradient of mu/2 |w - start|^2."""
        return self.mu * (w - start)

    def update(self, sent: Arrays, site: Site) -> Array:
        """Local steps with a pull back to the model that was sent."""
        return fit(site, sent["weights"], self.local, terms=[self.pull])
