"""Local training of clients, all clients of a site at once.

Weights are rows (clients, d). A gradient is a function of (model, weights, x, y); terms are added to
it, as in optax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from dpacct_training.accept import Settings, one_of, positive, real, setting, whole
from dpacct_training.models.model import Model
from dpacct_training.plan import Records

if TYPE_CHECKING:
    from dpacct_training.site import Site

Rows = torch.Tensor
Gradient = Callable[[Model, Rows, Rows, Rows], Rows]
Term = Callable[[Rows, Rows], Rows]
"""(weights, start) -> what is added to the gradient: a proximal pull, a correction."""


@dataclass(frozen=True, kw_only=True)
class Local(Settings):
    """[local]: `epochs` passes over the client's data in batches of `batch_size`.

    The learning rate of round t is learning_rate * decay^(t-1). Raises `InvalidArgument`.
    """

    epochs: int = setting(1, whole, 1)
    batch_size: int = setting(10, whole, 1)
    learning_rate: float = setting(0.01, positive)
    decay: float = setting(1.0, positive)
    weight_decay: float = setting(0.0, real, 0.0)
    momentum: float = setting(0.0, real, 0.0, 1.0)
    optimiser: str = setting("sgd", one_of, ("sgd", "adam"))

    def rate(self, round: int) -> float:
        """The learning rate of this round, counted from 1."""
        return self.learning_rate * self.decay ** (round - 1)

    def steps(self, samples: int) -> int:
        """Return the steps that a client with so many samples takes in a round."""
        return self.epochs * -(-samples // self.batch_size)


class Optimiser:
    """SGD with momentum, or Adam (Kingma and Ba 2015), with moments of its own for each row."""

    def __init__(self, local: Local, like: Rows) -> None:
        self.local, self.steps = local, 0
        self.first, self.second = torch.zeros_like(like), torch.zeros_like(like)

    def step(self, w: Rows, g: Rows, pace: float) -> Rows:
        """The next weights."""
        local, self.steps = self.local, self.steps + 1
        if local.optimiser == "adam":
            self.first.lerp_(g, 0.1)
            self.second.lerp_(g * g, 0.001)
            scale = (self.second / (1.0 - 0.999**self.steps)).sqrt_().add_(1e-8)
            g = self.first / (1.0 - 0.9**self.steps) / scale
        elif local.momentum:
            g = self.first.mul_(local.momentum).add_(g)
        return w * (1.0 - pace * local.weight_decay) - pace * g


def paired(function: Callable[..., Rows], *rows: Rows) -> Rows:
    """`function` of rows, called with two where there is one.

    The product of a single matrix takes another path, with other last bits: a client's update must
    not depend on who else is at its site.
    """
    if len(rows[0]) > 1:
        return function(*rows)
    return function(*(torch.cat([row, row]) for row in rows))[:1]


def plain(model: Model, w: Rows, x: Rows, y: Rows) -> Rows:
    """The gradient of the mean loss of each client's batch."""
    if y.shape[1] == 1:  # a batch of one is no matrix either; twice the same has the same mean
        x, y = torch.cat([x, x], dim=1), torch.cat([y, y], dim=1)
    return paired(model.gradient, w, x, y)


@dataclass(frozen=True)
class SAM:
    """The gradient at the worst point within `rho` (Shi et al. 2023, Algorithm 1, lines 7 to 9)."""

    rho: float

    def __call__(self, model: Model, w: Rows, x: Rows, y: Rows) -> Rows:
        """Two gradients a step."""
        g = plain(model, w, x, y)
        worst = w + g * (self.rho / g.norm(dim=1, keepdim=True).clamp(min=1e-12))
        return plain(model, worst, x, y)


def starts(start: NDArray[np.float64], clients: int) -> Rows:
    """One model for all clients, or a row each, as single-precision rows."""
    rows = np.broadcast_to(start.astype(np.float32), (clients, start.shape[-1]))
    return torch.from_numpy(rows.copy(order="C"))


def fit(
    site: Site,
    start: NDArray[np.float64],
    local: Local,
    *,
    gradient: Gradient = plain,
    terms: Sequence[Term] = (),
    within: float | None = None,
) -> NDArray[np.float32]:
    """Local models less `start` (one model for all, or a row each).

    `within`: pulled back into that ball around the start after every step (Liang et al. 2020, Algorithm 1).
    """
    plain_sgd = gradient is plain and not terms and not local.momentum and start.ndim == 1
    if plain_sgd and local.optimiser == "sgd":
        updates = site.model.fit_in_span(site, start, local, within)
        if updates is not None:
            return updates
    w0 = starts(start, len(site.clients))
    w, pace, optimiser = w0.clone(), local.rate(site.round), Optimiser(local, w0)
    for x, y in site.batches(local):
        g = gradient(site.model, w, x, y)
        for term in terms:
            g = g + term(w, w0)
        w = optimiser.step(w, g, pace)
        if within is not None:
            moved = w - w0
            w = w0 + moved * (within / moved.norm(dim=1, keepdim=True)).clamp(max=1.0)
    moved_by: NDArray[np.float32] = (w - w0).numpy()
    return moved_by


def noisy_fit(
    site: Site,
    start: NDArray[np.float64],
    local: Local,
    records: Sequence[Records],
    terms: Sequence[Term] = (),
) -> NDArray[np.float32]:
    """Local models by noisy steps on sampled records: bounded, summed, hidden, over the expected size.

    The mechanism of each client is its own; coins, bound and noise are those that `Records.node`
    accounts. The clients of a site take equally many steps.
    """
    w0 = starts(start, len(site.clients))
    w, pace, optimiser = w0.clone(), local.rate(site.round), Optimiser(local, w0)
    streams = [site.keys[client].stream("record noise") for client in site.clients]
    noises = [mechanism.noise for mechanism in records]
    expected = np.array([float(mechanism.rate * site.samples) for mechanism in records])
    share = torch.from_numpy((1.0 / expected).astype(np.float32))[:, None]

    def bounded_sum(w: Rows, x: Rows, y: Rows, taken: Rows) -> Rows:
        return site.model.bounded_sum(w, x, y, taken, (noises * 2)[: len(w)])

    for x, y, taken in site.record_batches(records, records[0].steps):
        total = paired(bounded_sum, w, x, y, taken).numpy().astype(np.float64)
        for row, (noise, stream) in enumerate(zip(noises, streams, strict=True)):
            total[row] = noise.add(total[row], stream, site.meters["records"])
        g = torch.from_numpy(total.astype(np.float32)) * share
        for term in terms:
            g = g + term(w, w0)
        w = optimiser.step(w, g, pace)
    models: NDArray[np.float32] = w.numpy()
    return models
