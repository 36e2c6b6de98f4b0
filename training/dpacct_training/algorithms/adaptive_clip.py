"""DP-FedAvg with a clip that follows a quantile of the update norms (Andrew et al. 2021, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpacct_training.accept import positive, real, setting
from dpacct_training.algorithm import Algorithm, Arrays
from dpacct_training.local import fit
from dpacct_training.noise import Noise
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class AdaptiveClip(Algorithm):
    """Two releases a round on the same sample: the update and the count of short updates; both are charged.

    `spread`: the count's noise, as a share of the expected number of clients; one client moves the
    count by 1. The update's multiplier z is such that z^-2 + z_count^-2 is what one Gaussian of the
    target would have. `initial_clip`: of the first round; [privacy] clip is not used after it.
    """

    quantile: float = setting(0.5, real, 0.0, 1.0)
    pace: float = setting(0.2, positive)
    spread: float = setting(0.05, positive)
    initial_clip: float = setting(0.1, positive)

    name: ClassVar[str] = "adaptive_clip"
    source: ClassVar[str] = "Andrew et al. 2021, Algorithm 1"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """The update and the count of short ones share one noise multiplier (their Theorem 1)."""
        whole = cohort.multiplier()
        count = max(self.spread * float(cohort.denominator), 2.0 * whole)
        share = (whole / count) ** 2  # of the precision, that the count takes
        update = cohort.gaussian(setting.model.dimension, share=1.0 - share)
        return Plan(
            cohort=cohort,
            noise={"update": update, "short": cohort.gaussian(1, share=share or 1.0, clip=1.0)},
        )

    def begin(self, setting: Setting) -> Arrays:
        """The first model and the first clip."""
        return {"weights": setting.initial(), "clip": np.full(1, self.initial_clip)}

    def sent(self, state: Arrays) -> Arrays:
        """Model and clip: both are public."""
        return dict(state)

    def mechanisms(self, plan: Plan, state: Arrays) -> Mapping[str, Noise]:
        """The update's noise at the clip of this round."""
        return {**plan.noise, "update": plan.noise["update"].at(float(state["clip"][0]))}

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Clipped updates, and whether each was short of the clip."""
        rows = fit(site, sent["weights"], self.local)
        short = np.linalg.norm(rows, axis=1, keepdims=True) <= sent["clip"]
        return {"update": rows, "short": short.astype(np.float64)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """A step, and the clip moved towards the wanted quantile."""
        clip = state["clip"] * math.exp(-self.pace * (float(released["short"][0]) - self.quantile))
        return {"weights": state["weights"] + released["update"], "clip": clip}
