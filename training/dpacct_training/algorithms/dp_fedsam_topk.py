"""DP-FedSAM-top_k: only the largest numbers of the noisy mean are applied (Shi et al. 2023, Section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.accept import positive
from dpacct_training.algorithm import Arrays
from dpacct_training.algorithms.blur import sparse
from dpacct_training.algorithms.dp_fedsam import DPFedSAM
from dpacct_training.setting import Setting


@dataclass(frozen=True)
class DPFedSAMTopK(DPFedSAM):
    """`keep`: share of the coordinates kept, chosen *after* the noisy sum, which is post-processing.

    Chosen by each client from its own noisy message, what is summed would be no function of the sum,
    and one message alone is hardly hidden: that is not offered.
    """

    keep: float = 0.4

    name: ClassVar[str] = "dp_fedsam_topk"
    source: ClassVar[str] = "Shi et al. 2023, Algorithm 1, top-k"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("keep", self.keep, 1.0)

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        moved = sparse(released["update"][None], self.keep)[0]
        return {"weights": state["weights"] + moved}


ALGORITHM = DPFedSAMTopK
