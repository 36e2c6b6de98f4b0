"""Inversion: reconstruct a training sample from an update or from releases.

The attacker knows everyone else's data and subtracts them, so that only the victim is there. What is seen
of it is an update as it is, one release that the victim takes part in, or all releases of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import real, whole
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.attacks.worlds import (
    CLIENTS,
    UPDATE,
    AttackedUnits,
    AttackResult,
    Presence,
    Rigged,
    Table,
    Watch,
    percent,
)
from dpacct_training.keys import Keys
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.plan import Plan
from dpacct_training.run import Run

Vectors = NDArray[np.float64]
ALONE, RELEASE, RELEASES = "the update itself", "one release", "all releases"
_STEPS, _SMOOTH, _PACE = 200, 1e-3, 0.05  # of `by_cosine`


@dataclass(frozen=True)
class Seen:
    """Images reconstructed from what was `seen`, with their errors.

    `error`: mean squared error of a pixel in [0, 1], `picked`: share of victims told from the other
    victims, at least `least` at the confidence; `bound`: what the plan allows.
    """

    seen: str
    images: Array
    error: float
    picked: float
    least: float
    bound: float

    @property
    def decibels(self) -> float:
        """Peak signal-to-noise ratio."""
        return float(-10.0 * np.log10(max(self.error, 1e-12)))


@dataclass(frozen=True)
class Inversion(AttackResult):
    """The reconstructions; without information the attacker has the `mean` image and one guess."""

    originals: Array
    mean_error: float
    seen: tuple[Seen, ...]

    @property
    def alarm(self) -> bool:
        """Return whether more victims were recognised than the plan allows."""
        return any(each.least > each.bound for each in self.seen)

    def table(self) -> Table:
        """A row for each thing that was seen."""
        head = ("seen", "error", "dB", "mean image", "picked", "at least", "proven at most")
        guessing = percent(1.0 / len(self.originals))
        return (*head, "guessing"), [
            (
                each.seen,
                f"{each.error:.4f}",
                f"{each.decibels:.1f}",
                f"{self.mean_error:.4f}",
                *map(percent, (each.picked, each.least, each.bound)),
                guessing,
            )
            for each in self.seen
        ]

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        seen = [{k: v for k, v in vars(s).items() if k != "images"} for s in self.seen]
        return {"seen": seen, "mean_error": self.mean_error, "alarm": self.alarm}


def inversion(
    target: AttackedUnits,
    images: int = 16,
    *,
    keys: Keys,
    confidence: float = 0.999,
    watch: Watch | None = None,
) -> Inversion:
    """Reconstruct one image from each of several clients, or several records of one client.

    Raises `InvalidArgument`.
    """
    target.sends_models()
    whole("images", images, 2, min(512, len(target.rows)))
    level = 1.0 - (1.0 - real("confidence", confidence, 0.5, 1.0 - 1e-12)) / 3
    setting = target.prepared.setting
    rows = np.array([unit[0] for unit in target.rows[:images]])
    start = setting.model.initial(keys.generator("start"))
    alone = _one_each(target, start)
    x = setting.samples(setting.federation.train)[0]
    public = setting.samples(setting.federation.test)[0].flatten(1).numpy()
    low, high = float(public.min()), float(public.max())
    originals = (x[rows].numpy() - low) / (high - low)
    mean = np.broadcast_to(((public - low) / (high - low)).mean(axis=0), (images, public.shape[1]))
    present = np.eye(len(target.rows), dtype=bool)[:images]
    ways = (
        (ALONE, _without_noise(_taking_part(alone))),
        (RELEASE, _taking_part(alone)),
        (RELEASES, alone),
    )
    results: list[Seen] = []
    templates = np.empty((0, 0))
    for name, seen in ways:
        moved = _moved(seen, present, keys.derived(name))
        if name == ALONE:
            templates = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        drawn = np.stack([invert(setting.model, start, u, public.mean(axis=0)) for u in moved])
        drawn = (drawn.clip(low, high) - low) / (high - low)
        right = int(((moved @ templates.T).argmax(axis=1) == np.arange(images)).sum())
        bound = 1.0
        if seen.account is not None:
            risk = dp.Risk(seen.account.plan)
            bound = float(risk.reconstruction(Fraction(1, images)))
        results.append(
            Seen(
                seen=name,
                images=drawn.reshape(originals.shape),
                error=float(((drawn - originals.reshape(images, -1)) ** 2).mean()),
                picked=right / images,
                least=1.0 - dp.auditing.upper_rate(images - right, images, level),
                bound=bound,
            )
        )
        if watch is not None:
            watch(len(results), len(ways))
    return Inversion(
        originals=originals,
        mean_error=float(((mean - originals.reshape(images, -1)) ** 2).mean()),
        seen=tuple(results),
    )


def _changed(target: AttackedUnits, plan: Plan) -> AttackedUnits:
    return replace(target, prepared=replace(target.prepared, plan=plan))


def _one_each(target: AttackedUnits, start: Array) -> AttackedUnits:
    """Every world begins alike, and each client holds its first sample only."""
    prepared = target.prepared
    setting = replace(prepared.setting, model=Rigged.of(prepared.setting.model, begin=start))
    if target.unit == CLIENTS:
        firsts = tuple(rows[:1] for rows in setting.federation.clients)
        setting = replace(setting, federation=replace(setting.federation, clients=firsts, sizes=()))
    return replace(target, prepared=replace(prepared, setting=setting))


def _taking_part(target: AttackedUnits) -> AttackedUnits:
    """One round, or one step, of which everyone knows that the victim is in it: no coin hides it."""
    plan = target.prepared.plan
    cohort = replace(plan.cohort, rounds=1, rate=Fraction(1), scheme="none")
    records = {
        client: replace(
            record, rate=Fraction(1), scheme="none", steps=1, coin=Fraction(1), epsilon=None
        )
        for client, record in plan.records.items()
        if client == target.client
    }
    return _changed(target, replace(plan, cohort=cohort, records=records))


def _without_noise(target: AttackedUnits) -> AttackedUnits:
    plan = target.prepared.plan
    noise = {name: each.without() for name, each in plan.noise.items()}
    records = {c: replace(held, noise=held.noise.without()) for c, held in plan.records.items()}
    return _changed(target, replace(plan, noise=noise, records=records))


def _moved(target: AttackedUnits, present: Presence, keys: Keys) -> Vectors:
    """(victims, weights): the total change of the model by all releases of a world."""
    moved = np.zeros((len(present), target.prepared.setting.model.dimension))

    def heard(world: int, run: Run, before: Arrays, released: Arrays) -> None:
        if target.unit == CLIENTS:
            moved[world] += released[UPDATE] * float(run.plan.denominator)
        elif len(released["model"]):
            moved[world] += released["model"][0] - before["weights"]

    target.worlds(present, keys, heard=heard)
    return moved


def invert(model: Model, start: Array, update: Array, begin: Array) -> Array:
    """The flattened sample, from the change of the model by training on it alone.

    In closed form where the model is linear: each row of the update is (x, 1) times a number, so that x
    is the rows over the biases, weighted by these (Phong et al. 2018).
    """
    if not update.any():
        return begin  # nothing was seen of it
    if isinstance(model, Linear):
        weights, bias = model.matrix(torch.from_numpy(update))
        drawn: Array = ((bias @ weights) / bias.square().sum()).numpy()
        return drawn
    return by_cosine(model, start, update, begin)


def by_cosine(model: Model, start: Array, update: Array, begin: Array) -> Array:
    """Gradients of the guess turned towards the update (Geiping et al. 2020, Equation 4), from `begin`.

    The label is the class whose bias rises: that of the only negative gradient (Zhao et al. 2020).
    """
    flat = torch.from_numpy(start.astype(np.float32)).requires_grad_(True)
    wanted = torch.from_numpy(-update.astype(np.float32))
    label = torch.from_numpy(update[-model.classes :]).argmax()[None]
    x = torch.from_numpy(begin.astype(np.float32)).view(1, *model.inputs).requires_grad_(True)
    optimiser = torch.optim.Adam([x], lr=_PACE)
    for step in range(_STEPS):
        optimiser.param_groups[0]["lr"] = _PACE * (1.0 - step / _STEPS)
        (g,) = torch.autograd.grad(model.mean_loss(flat, x, label), flat, create_graph=True)
        loss = 1.0 - torch.nn.functional.cosine_similarity(g, wanted, dim=0)
        loss = loss + _SMOOTH * ((x.diff(dim=-1) ** 2).mean() + (x.diff(dim=-2) ** 2).mean())
        (slope,) = torch.autograd.grad(loss, x)
        x.grad = slope.sign()
        optimiser.step()
    result: Array = x.detach().double().numpy().reshape(-1)
    return result
