"""FedAdam, FedYogi and FedAdagrad: an optimiser at the server (Reddi et al. 2021, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpacct_training.accept import one_of, positive, real, setting
from dpacct_training.algorithm import Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.setting import Setting

KINDS = ("adam", "yogi", "adagrad")


@dataclass(frozen=True)
class FedOpt(DPFedAvg):
    """Moments of what was released: post-processing, so the guarantee is DP-FedAvg's.

    `tau`: how adaptive the steps are; the larger, the less.
    """

    kind: str = setting("adam", one_of, KINDS)
    server_rate: float = setting(0.1, positive)
    beta1: float = setting(0.9, real, 0.0, 1.0)
    beta2: float = setting(0.99, real, 0.0, 1.0)
    tau: float = setting(1e-3, positive)

    name: ClassVar[str] = "fed_opt"
    source: ClassVar[str] = "Reddi et al. 2021, Algorithm 2"
    printed: ClassVar[float | None] = None

    def begin(self, setting: Setting) -> Arrays:
        """The first model, and moments of the server's optimiser."""
        start = setting.initial()
        return {
            "weights": start,
            "first": np.zeros_like(start),
            "second": np.full_like(start, self.tau**2),
        }

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """Adam's or Yogi's step from the noisy mean: post-processing."""
        mean, second = released["update"], state["second"]
        first = self.beta1 * state["first"] + (1.0 - self.beta1) * mean
        square = mean**2
        if self.kind == "adam":
            second = self.beta2 * second + (1.0 - self.beta2) * square
        elif self.kind == "yogi":
            second = second - (1.0 - self.beta2) * square * np.sign(second - square)
        else:
            second = second + square
        step = self.server_rate * first / (np.sqrt(second) + self.tau)
        return {"weights": state["weights"] + step, "first": first, "second": second}
