"""The student of a vote, and what models learn from public samples without labels: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, log_softmax, normalize, softmax

from dpacct_training.models.model import Model

_PROBE = 1e-3
"""How far a random direction is followed to find the worst one: xi of Miyato et al. 2018."""
_AT_ONCE = 200  # unlabelled samples of a step


@dataclass(frozen=True)
class Student:
    """`steps` of length `rate` on all labelled samples at once, with a decay of 1e-3.

    `vat`: weight of virtual adversarial training on unlabelled samples, within `radius` (Miyato et al.
    2018); `directions` are its random ones. `self_training`: then again on all samples, those without a
    label by what it says itself.
    """

    model: Model
    steps: int
    rate: float
    vat: float = 0.0
    radius: float = 0.5
    self_training: bool = False

    def taught(
        self, w: Tensor, x: Tensor, y: Tensor, others: Tensor, directions: np.random.Generator
    ) -> Tensor:
        """The weights of a student that began with `w`; `others` are samples without labels."""
        everything = torch.cat([x, others])
        w = self._fitted(w, x, y, everything, directions)
        if self.self_training:
            with torch.no_grad():
                guessed = self.model.scores(w, others).argmax(1)
            w = self._fitted(w, everything, torch.cat([y, guessed]), everything, directions)
        return w

    def _fitted(
        self, w: Tensor, x: Tensor, y: Tensor, everything: Tensor, directions: np.random.Generator
    ) -> Tensor:
        rows = w[None]
        for _ in range(self.steps if len(y) else 0):
            g = self.model.gradient(rows, x[None], y[None]) + 1e-3 * rows
            if self.vat:
                some = directions.integers(len(everything), size=_AT_ONCE)
                batch = everything[torch.from_numpy(some)]
                noise = torch.from_numpy(directions.standard_normal(batch.shape, np.float32))
                g = g + self.vat * unsteadiness(self.model, rows[0], batch, noise, self.radius)
            rows = rows - self.rate * g
        return rows[0]


def unsteadiness(model: Model, w: Tensor, x: Tensor, noise: Tensor, radius: float) -> Tensor:
    """Gradient by w of KL(p(x) || p(x + r)) at the worst r of length `radius` (Miyato et al. 2018, Eq. 5).

    The worst direction is one power iteration from `noise` (Eq. 9 to 12); p(x) is held.
    """
    with torch.no_grad():
        before = log_softmax(model.scores(w, x), dim=1)

    def moved(w: Tensor, r: Tensor) -> Tensor:
        after = log_softmax(model.scores(w, x + r), dim=1)
        return kl_div(after, before, log_target=True, reduction="batchmean")

    def of_length(r: Tensor, length: float) -> Tensor:
        return length * normalize(r.flatten(1), dim=1).view_as(r)

    r = of_length(noise, _PROBE).requires_grad_(True)
    (worst,) = torch.autograd.grad(moved(w, r), r)
    weights = w.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(moved(weights, of_length(worst, radius)), weights)
    return gradient


def uninformed(scores: Tensor) -> Tensor:
    """Less the information of guesses, (..., batch, classes): each is sure, and all classes are guessed.

    H(Y | x) - H(Y), which domain adaptation makes small on the other domain's samples (Liang, Hu, Feng
    2020, Eq. 2 and 3, after Krause et al. 2010).
    """
    p = softmax(scores, dim=-1)
    sure = -(p * log_softmax(scores, dim=-1)).sum(-1).mean(-1)
    mean = p.mean(-2).clamp(min=1e-12)
    return sure + (mean * mean.log()).sum(-1)
