"""DP-FedSAM: local steps that look for flat minima (Shi et al. 2023, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct import InvalidArgument
from dpacct_training.accept import positive, real, setting
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.algorithms.blur import sparse
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local import SAM, fit
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class DPFedSAM(DPFedAvg):
    """Each step follows the gradient at the worst point within `rho`: two gradients a step."""

    rho: float = setting(0.03, real, 0.0)

    name: ClassVar[str] = "dp_fedsam"
    source: ClassVar[str] = "Shi et al. 2023, Algorithm 1"
    printed: ClassVar[float | None] = 0.95  # Shi et al. 2023, Section 6.1

    def update(self, sent: Arrays, site: Site) -> Array:
        """Local steps by the gradient at the worst place nearby."""
        return fit(site, sent["weights"], self.local, gradient=SAM(self.rho))


@dataclass(frozen=True)
class DPFedSAMTopK(DPFedSAM):
    """`keep`: share of the coordinates kept, chosen *after* the noisy sum, which is post-processing.

    `select`: "sum". What each client selects of its own noisy message ("message") is refused: it is no
    function of the sum, and one message alone is hardly hidden.
    """

    keep: float = setting(0.4, positive, 1.0)
    select: str = "sum"

    name: ClassVar[str] = "dp_fedsam_topk"
    source: ClassVar[str] = "Shi et al. 2023, Algorithm 1, top-k"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.select != "sum":
            message = "select must be 'sum': what clients select of single noisy messages is no function of"
            why = "their sum, and one message alone is hardly hidden"
            raise InvalidArgument(f"{message} {why}, got {self.select!r}", argument="select")

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """Only the largest entries of the noisy mean move: post-processing."""
        moved = sparse(released["update"][None], self.keep)[0]
        return {"weights": state["weights"] + moved}
