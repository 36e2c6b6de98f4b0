"""Fed-SMP: noise on a part of the coordinates that is the same for all (Hu et al. 2023, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpacct_training.accept import positive, setting
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class FedSMP(DPFedAvg):
    """`keep` of the coordinates, at random, or (`follow`) the largest of the last release.

    Both choices are public: the first by chance, the second by post-processing. The clip is of the
    kept part.
    """

    keep: float = setting(0.4, positive, 1.0)
    follow: bool = False

    name: ClassVar[str] = "fed_smp"
    source: ClassVar[str] = "Hu et al. 2023, Algorithm 1"
    printed: ClassVar[float | None] = 0.95  # Shi et al. 2023, Section 6.1

    def size(self, dimension: int) -> int:
        """The number of kept coordinates."""
        return max(1, int(self.keep * dimension))

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Noise on as many coordinates as are kept."""
        noise = cohort.gaussian(self.size(setting.model.dimension), by=self.by)
        return Plan(cohort=cohort, noise={"update": noise}, by=self.by)

    def chosen(self, setting: Setting, round: int, last: Array) -> Array:
        """The coordinates of the next round, ascending."""
        size = self.size(len(last))
        if self.follow and round:
            return np.sort(np.argsort(np.abs(last), kind="stable")[-size:])
        return np.sort(setting.generator("mask", round).permutation(len(last))[:size])

    def begin(self, setting: Setting) -> Arrays:
        """The first model and the first kept coordinates."""
        start = setting.initial()
        kept = self.chosen(setting, 0, start)
        return {"weights": start, "kept": kept, "round": np.zeros(1, np.int64)}

    def sent(self, state: Arrays) -> Arrays:
        """Model and kept coordinates: both are public."""
        return {"weights": state["weights"], "kept": state["kept"]}

    def update(self, sent: Arrays, site: Site) -> Array:
        """The kept coordinates of an update."""
        return np.ascontiguousarray(super().update(sent, site)[:, sent["kept"]])

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """A step on the kept coordinates, and those of the next round."""
        moved, round = np.zeros_like(state["weights"]), int(state["round"][0]) + 1
        moved[state["kept"]] = released["update"]
        kept = self.chosen(setting, round, moved)
        return {"weights": state["weights"] + moved, "kept": kept, "round": np.array([round])}
