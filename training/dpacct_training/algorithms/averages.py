"""Noisy means of clients' updates: FedAvg and what its papers add to it, the clip and the noise the same.

FedAvg (McMahan et al. 2017); DP-FedAvg (AE-DPFL, Algorithms 3 to 6; Geyer et al. 2017); DP-Fed and
DP-Fed-LS (Liang et al. 2020); FedProx (Li et al. 2020); FedAdam, FedYogi and FedAdagrad (Reddi et al.
2021); adaptive clips (Andrew et al. 2021); SCAFFOLD (Karimireddy et al. 2020); NbAFL (Wei et al. 2020);
BLUR and LUS (Cheng et al. 2022); DP-FedSAM (Shi et al. 2023); Fed-SMP (Hu et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, positive, real, setting
from dpacct_training.algorithm import Algorithm, Array, Arrays, Setting
from dpacct_training.local import SAM, fit
from dpacct_training.noise import Noise, Unprotected
from dpacct_training.plan import EACH, SERVER, SHARES, Cohort, Plan
from dpacct_training.site import Site
from dpacct_training.smoothing import smooth


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """The sum of the updates over tau K, each client weighted alike: what privacy is measured against.

    `how` and `shaped` say how clients train and what becomes of their updates, `moved` how far the server
    goes by what was released.
    """

    name: ClassVar[str] = "fedavg"
    source: ClassVar[str] = "McMahan et al. 2017, Algorithm 1"
    unused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("privacy.epsilon", "privacy.delta", "privacy.clip", "privacy.noise"),
        "it neither bounds nor adds noise",
    )

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """A plan without a guarantee."""
        return Plan(cohort=cohort, noise={"update": Unprotected(setting.model.dimension)})

    def how(self, site: Site) -> dict[str, Any]:
        """Settings of `fit`: a gradient, terms, a ball."""
        return {}

    def shaped(self, rows: Array, sent: Arrays) -> Array:
        """Each client's update as it is sent."""
        return rows

    def update(self, sent: Arrays, site: Site) -> Array:
        """Return each client's update of the model, a row each."""
        return self.shaped(fit(site, sent["weights"], self.local, **self.how(site)), sent)

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """The update, with the part of the noise that is the clients'."""
        return {"update": site.hidden("update", self.update(sent, site))}

    def moved(self, mean: Array) -> Array:
        """The step of the server: post-processing of the noisy mean, so the guarantee stays."""
        return mean

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """One step of length 1."""
        return {"weights": state["weights"] + self.moved(released["update"])}


@dataclass(frozen=True)
class DPFedAvg(FedAvg):
    """Local SGD runs free; the update is clipped once, and noise is added to the sum.

    `by`: who draws the noise ("server", "shares" or "each"; see `Plan`). Algorithm 3 divides by the
    realised number of clients, which is a secret; here it is the public tau K.
    """

    by: str = SERVER

    unused: ClassVar[Mapping[str, str]] = {}
    name: ClassVar[str] = "dp_fedavg"
    source: ClassVar[str] = "AE-DPFL, Algorithms 3 and 4"
    printed: ClassVar[float | None] = 0.06  # AE-DPFL, hyperparameters: S = 0.08, sigma = 0.06

    def size(self, dimension: int) -> int:
        """The number of values in an update."""
        return dimension

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Noise for the cohort's target."""
        noise = cohort.gaussian(self.size(setting.model.dimension), by=self.by)
        return Plan(cohort=cohort, noise={"update": noise}, by=self.by)


@dataclass(frozen=True)
class DPFedAvgClients(DPFedAvg):
    """Each client clips, and adds its share of the noise before its update leaves it.

    A share has 1 / (tau K) of the variance, not 1 / m of Algorithm 6: m, who takes part, is a secret
    that clients are not told. What too few shares leave missing the server adds. The guarantee is one
    of the sum: a secure sum is assumed, and that all shares are honest.
    """

    by: str = SHARES

    name: ClassVar[str] = "dp_fedavg_clients"
    source: ClassVar[str] = "AE-DPFL, Algorithms 5 and 6"


@dataclass(frozen=True)
class DPFed(DPFedAvg):
    """The local model never leaves the G-ball around the received one (CLIENTUPDATE).

    The server clips once more: its bound must not rest on what clients say they did.
    """

    name: ClassVar[str] = "dp_fed"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1, sigma = 0"

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """Use the noise of Theorem 1 or 2, by the sampling."""
        theorem = {"uniform": "theorem1", "poisson": "theorem2"}
        scheme = one_of("scheme", cohort.scheme, theorem)
        return self, replace(cohort, noise=f"dp_fed_ls.{theorem[scheme]}")

    def how(self, site: Site) -> dict[str, Any]:
        """Pulled back after every step."""
        return {"within": site.plan.noise["update"].clip}


@dataclass(frozen=True)
class DPFedLS(DPFed):
    """w_t = w_{t-1} + A_sigma^{-1} (noisy mean), with the `smoothing` factor sigma.

    The vector is smoothed in the order of the model's weights, which decides what "neighbouring" means.
    """

    smoothing: float = setting(1.0, real, 0.0, 1e12)

    name: ClassVar[str] = "dp_fed_ls"
    source: ClassVar[str] = "Liang et al. 2020, Algorithm 1"

    def moved(self, mean: Array) -> Array:
        """The smoothed mean."""
        return smooth(mean, self.smoothing)


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

    def how(self, site: Site) -> dict[str, Any]:
        """A pull back to the model that was sent."""
        return {"terms": [self.pull]}


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

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """Moments of the server's optimiser."""
        return {"first": np.zeros_like(start), "second": np.full_like(start, self.tau**2)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """Adam's, Yogi's or Adagrad's step from the noisy mean."""
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


@dataclass(frozen=True)
class AdaptiveClip(Algorithm):
    """Two releases a round on the same sample: the update and the count of short updates; both are charged.

    `spread`: the count's noise, as a share of the expected number of clients, and at least twice the
    noise multiplier; one client moves the count by 1. The update's multiplier z is such that
    z^-2 + z_count^-2 is what one Gaussian of the target would have. [privacy] clip is the first round's.
    """

    quantile: float = setting(0.5, real, 0.0, 1.0)
    pace: float = setting(0.2, positive)
    spread: float = setting(0.05, positive)

    name: ClassVar[str] = "adaptive_clip"
    fixed_clip: ClassVar[bool] = False
    public: ClassVar[tuple[str, ...]] = ("weights", "clip")
    source: ClassVar[str] = "Andrew et al. 2021, Algorithm 1"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """The update and the count of short ones share one noise multiplier (their Theorem 1)."""
        whole = cohort.multiplier()
        count = max(self.spread * float(cohort.denominator), 2.0 * whole)
        share = (whole / count) ** 2  # of the precision, that the count takes
        update = cohort.gaussian(setting.model.dimension, share=1.0 - share)
        short = cohort.gaussian(1, share=share or 1.0, clip=1.0)
        return Plan(cohort=cohort, noise={"update": update, "short": short})

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """The first clip as a part of the plan's."""
        return {"clip": np.ones(1)}

    def mechanisms(self, plan: Plan, state: Arrays) -> Mapping[str, Noise]:
        """The update's noise at the clip of this round."""
        update = plan.noise["update"]
        return {**plan.noise, "update": update.at(update.clip * float(state["clip"][0]))}

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Clipped updates, and whether each was short of the clip."""
        rows = fit(site, sent["weights"], self.local)
        clip = site.plan.noise["update"].clip * sent["clip"]
        short = np.linalg.norm(rows, axis=1, keepdims=True) <= clip
        return {"update": rows, "short": short.astype(np.float64)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """A step, and the clip moved towards the wanted quantile."""
        clip = state["clip"] * math.exp(-self.pace * (float(released["short"][0]) - self.quantile))
        return {"weights": state["weights"] + released["update"], "clip": clip}


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """Clients keep c_i, the server c; the update and the change of c_i are clipped and hidden apart.

    `control`: the clip of a change of c_i; `split`: the control's share of the precision. Both sums
    of a round are paid together.
    """

    control: float = setting(1.0, positive)
    split: float = setting(0.1, positive, 0.999)

    name: ClassVar[str] = "scaffold"
    public: ClassVar[tuple[str, ...]] = ("weights", "control")
    source: ClassVar[str] = "Karimireddy et al. 2020, Algorithm 1, option II"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Model update and control update, each with its own noise."""
        size = setting.model.dimension
        update = cohort.gaussian(size, share=1.0 - self.split)
        change = cohort.gaussian(size, share=self.split, clip=self.control)
        return Plan(cohort=cohort, noise={"update": update, "control": change})

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """Controls of nothing."""
        return {"control": np.zeros_like(start)}

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


@dataclass(frozen=True)
class NbAFL(Algorithm):
    """The guarantee is each client's against the server too, so no coin amplifies it.

    `mu`: the proximal term of its local objective. What is broadcast is computed from messages that
    are private already: the paper's noise on the way down would protect nothing more, and is not
    drawn. The server averages models, so that the number of them must be public.
    """

    mu: float = 0.0

    name: ClassVar[str] = "nbafl"
    source: ClassVar[str] = "Wei et al. 2020, Algorithm 1"

    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """Let the clients draw all of the noise."""
        if cohort.scheme == "poisson":
            message = "scheme must be uniform or none for nbafl, whose mean is over a public number"
            raise InvalidArgument(f"{message}, got 'poisson'", argument="scheme")
        noise = cohort.gaussian(setting.model.dimension, by=EACH)
        return Plan(cohort=cohort, noise={"model": noise}, by=EACH)

    def client(self, sent: Arrays, site: Site) -> Arrays:
        """Whole models, kept near the one that was sent."""
        pull = FedProx(self.local, mu=self.mu).pull
        models = sent["weights"] + fit(site, sent["weights"], self.local, terms=[pull])
        return {"model": site.hidden("model", models)}

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The mean of the noisy models."""
        return {"weights": released["model"]}


def sparse(rows: Array, keep: float) -> Array:
    """Each row with the share `keep` of its largest coordinates, and zeros."""
    if keep >= 1.0:
        return rows
    least = np.quantile(np.abs(rows), 1.0 - keep, axis=1, keepdims=True)
    return np.where(np.abs(rows) >= least, rows, np.zeros_like(rows))


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

    def how(self, site: Site) -> dict[str, Any]:
        """A penalty beyond the clip."""
        clip = site.plan.noise["update"].clip

        def penalty(w: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
            moved = w - start
            longer: torch.Tensor = moved.norm(dim=1, keepdim=True) > clip
            return self.lam * moved * longer

        return {"terms": [penalty]}

    def shaped(self, rows: Array, sent: Arrays) -> Array:
        """The largest coordinates."""
        return sparse(rows, self.keep)


@dataclass(frozen=True)
class DPFedSAM(DPFedAvg):
    """Each step follows the gradient at the worst point within `rho`: two gradients a step."""

    rho: float = setting(0.03, real, 0.0)

    name: ClassVar[str] = "dp_fedsam"
    source: ClassVar[str] = "Shi et al. 2023, Algorithm 1"
    printed: ClassVar[float | None] = 0.95  # Shi et al. 2023, Section 6.1

    def how(self, site: Site) -> dict[str, Any]:
        """The gradient at the worst place nearby."""
        return {"gradient": SAM(self.rho)}


@dataclass(frozen=True)
class DPFedSAMTopK(DPFedSAM):
    """`keep`: share of the coordinates kept, chosen *after* the noisy sum, which is post-processing.

    The paper lets each client select of its own noisy message: what is summed is then no function of the
    sum, and one message alone is hardly hidden.
    """

    keep: float = setting(0.4, positive, 1.0)

    name: ClassVar[str] = "dp_fedsam_topk"
    source: ClassVar[str] = "Shi et al. 2023, Algorithm 1, top-k"

    def moved(self, mean: Array) -> Array:
        """The largest entries of the noisy mean."""
        kept: Array = sparse(mean[None], self.keep)[0]
        return kept


@dataclass(frozen=True)
class FedSMP(DPFedAvg):
    """`keep` of the coordinates, at random, or (`follow`) the largest of the last release.

    Both choices are public: the first by chance, the second by post-processing. The clip is of the
    kept part.
    """

    keep: float = setting(0.4, positive, 1.0)
    follow: bool = False

    name: ClassVar[str] = "fed_smp"
    public: ClassVar[tuple[str, ...]] = ("weights", "kept")
    source: ClassVar[str] = "Hu et al. 2023, Algorithm 1"
    printed: ClassVar[float | None] = 0.95  # Shi et al. 2023, Section 6.1

    def size(self, dimension: int) -> int:
        """The number of kept coordinates."""
        return max(1, int(self.keep * dimension))

    def chosen(self, setting: Setting, round: int, last: Array) -> Array:
        """The coordinates of the next round, ascending."""
        size = self.size(len(last))
        if self.follow and round:
            return np.sort(np.argsort(np.abs(last), kind="stable")[-size:])
        return np.sort(setting.generator("mask", round).permutation(len(last))[:size])

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """The first kept coordinates."""
        return {"kept": self.chosen(setting, 0, start), "round": np.zeros(1, np.int64)}

    def shaped(self, rows: Array, sent: Arrays) -> Array:
        """The kept coordinates of an update."""
        return np.ascontiguousarray(rows[:, sent["kept"]])

    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """A step on the kept coordinates, and those of the next round."""
        moved, round = np.zeros_like(state["weights"]), int(state["round"][0]) + 1
        moved[state["kept"]] = released["update"]
        kept = self.chosen(setting, round, moved)
        return {"weights": state["weights"] + moved, "kept": kept, "round": np.array([round])}
