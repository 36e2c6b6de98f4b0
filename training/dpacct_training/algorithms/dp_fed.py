"""DP-Fed, clipped at every local step, and DP-Fed-LS, smoothed after it (Liang et al. 2020, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpacct_training.accept import one_of, real, setting
from dpacct_training.algorithm import Algorithm, Array, Arrays
from dpacct_training.algorithms.dp_fedavg import DPFedAvg
from dpacct_training.local import fit
from dpacct_training.plan import Cohort
from dpacct_training.setting import Setting
from dpacct_training.site import Site
from dpacct_training.smoothing import smooth


@dataclass(frozen=True)
class DPFed(DPFedAvg):
    """The local model never leaves the G-ball around the received one (CLIENTUPDATE).

    The server clips once more: its bound must not rest on what clients say they did.
    """

    name: ClassVar[str] = "dp_fed"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1, sigma = 0"

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """What Theorem 1 or 2 asks for, by the sampling."""
        theorem = {"uniform": "theorem1", "poisson": "theorem2"}
        scheme = one_of("scheme", cohort.scheme, theorem)
        return self, replace(cohort, noise=f"dp_fed_ls.{theorem[scheme]}")

    def update(self, sent: Arrays, site: Site) -> Array:
        """Pulled back after every step."""
        return fit(site, sent["weights"], self.local, within=site.plan.noise["update"].clip)


@dataclass(frozen=True)
class DPFedLS(DPFed):
    """w_t = w_{t-1} + A_sigma^{-1} (noisy mean): post-processing, so the guarantee is DP-Fed's.

    `smoothing` is sigma; the vector is smoothed in the order in which the model lays its weights out
    (`layout` of the model), which decides what "neighbouring" means.
    """

    smoothing: float = setting(1.0, real, 0.0, 1e12)

    name: ClassVar[str] = "dp_fed_ls"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1"

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """One smoothed step of length 1."""
        return {"weights": state["weights"] + smooth(released["update"], self.smoothing)}
