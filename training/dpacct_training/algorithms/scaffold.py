"""SCAFFOLD with a client-level guarantee: two hidden sums a round (Karimireddy et al. 2020, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from dpacct_training.accept import positive, setting
from dpacct_training.algorithm import Algorithm, Arrays
from dpacct_training.local import fit
from dpacct_training.plan import Cohort, Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Site


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """Clients keep c_i, the server c; the update and the change of c_i are clipped and hidden apart.

    `control`: the clip of a change of c_i; `split`: the control's share of the precision. Both sums
    of a round are paid together.
    """

    control: float = setting(1.0, positive)
    split: float = setting(0.1, positive, 0.999)

    name: ClassVar[str] = "scaffold"
    source: ClassVar[str] = "Karimireddy et al. 2020, Algorithm 1, option II"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Model update and control update, each with its own noise."""
        size = setting.model.dimension
        update = cohort.gaussian(size, share=1.0 - self.split)
        change = cohort.gaussian(size, share=self.split, clip=self.control)
        return Plan(cohort=cohort, noise={"update": update, "control": change})

    def begin(self, setting: Setting) -> Arrays:
        """The first model, and controls of nothing."""
        start = setting.initial()
        return {"weights": start, "control": np.zeros_like(start)}

    def sent(self, state: Arrays) -> Arrays:
        """Model and control: both are public."""
        return dict(state)

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Local steps corrected by the controls, and how the client's control moved."""
        c = sent["control"]
        c_i = site.recall("control", np.zeros_like(c))
        correction = torch.from_numpy((c - c_i).astype(np.float32))
        rows = fit(site, sent["weights"], self.local, terms=[lambda w, start: correction])
        moved = self.local.steps(site.samples) * self.local.rate(site.round)
        fresh = c_i - c - rows / moved  # c_i^+ = c_i - c + (x - y_i) / (K eta)
        site.keep("control", fresh)
        return {"update": rows, "control": fresh - c_i}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """A step of the model and of the control."""
        control = state["control"] + float(setting.rate) * released["control"]
        return {"weights": state["weights"] + released["update"], "control": control}
