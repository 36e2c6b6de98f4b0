"""DP-FedAvg-BLUR and -BLURS: updates kept short, then sparse, before the clip (Cheng et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from dpacct_training.accept import positive, real, setting
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local import fit
from dpacct_training.site import Site


@dataclass(frozen=True)
class Blur(DPFedAvg):
    """lam/2 max(0, |w - w_t|^2 - C^2) is added to the local loss (BLUR).

    `keep` below 1 (LUS): each client keeps the largest coordinates of its update. Which ones is a
    secret of the client, chosen before the clip; the noise is on all of them.
    """

    lam: float = setting(0.1, real, 0.0)
    keep: float = setting(1.0, positive, 1.0)

    name: ClassVar[str] = "blur"
    source: ClassVar[str] = "Cheng et al. 2022, Algorithm 1"
    printed: ClassVar[float | None] = 0.95  # Shi et al. 2023, Section 6.1

    def update(self, sent: Arrays, site: Site) -> Array:
        """An update that was kept small by a penalty beyond the clip."""
        clip = site.plan.noise["update"].clip

        def penalty(w: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
            moved = w - start
            longer: torch.Tensor = moved.norm(dim=1, keepdim=True) > clip
            return self.lam * moved * longer

        return sparse(fit(site, sent["weights"], self.local, terms=[penalty]), self.keep)


def sparse(rows: Array, keep: float) -> Array:
    """Each row with the share `keep` of its largest coordinates, and zeros."""
    if keep >= 1.0:
        return rows
    least = np.quantile(np.abs(rows), 1.0 - keep, axis=1, keepdims=True)
    return np.where(np.abs(rows) >= least, rows, np.zeros_like(rows))
