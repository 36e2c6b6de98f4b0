"""DP-Fed-LS: DP-Fed, and the released mean is smoothed (Liang et al. 2020, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.accept import real
from dpacct_training.algorithm import Arrays
from dpacct_training.algorithms.dp_fed import DPFed
from dpacct_training.setting import Setting
from dpacct_training.smoothing import smooth


@dataclass(frozen=True)
class DPFedLS(DPFed):
    """w_t = w_{t-1} + A_sigma^{-1} (noisy mean): post-processing, so the guarantee is DP-Fed's.

    `smoothing` is sigma; the vector is smoothed in the order in which the model lays its weights out
    (`layout` of the model), which decides what "neighbouring" means.
    """

    smoothing: float = 1.0

    name: ClassVar[str] = "dp_fed_ls"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1"

    def __post_init__(self) -> None:
        real("smoothing", self.smoothing, 0.0, 1e12)

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """One smoothed step of length 1."""
        return {"weights": state["weights"] + smooth(released["update"], self.smoothing)}


ALGORITHM = DPFedLS
