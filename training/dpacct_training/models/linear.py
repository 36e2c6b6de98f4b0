"""Multinomial logistic regression, with its gradients written out for many clients at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpacct import InvalidArgument
from dpacct_training.models.model import INWARD, Model

if TYPE_CHECKING:
    from dpacct_training.local import Local
    from dpacct_training.noise import Noise
    from dpacct_training.site import Site

_SPAN = 256
"""Clients with more samples are trained in the space of weights."""
_KEPT = 25_000_000
"""Numbers of Gram matrices that a host keeps: 100 MB."""


def fours(rows: Tensor) -> Tensor:
    """Rows lengthened by zeros to a multiple of four numbers.

    Products of blocks that begin at odd places in memory have other last bits; so a client's blocks
    begin alike whoever else is there.
    """
    missing = -rows.shape[-1] % 4
    return torch.nn.functional.pad(rows, (0, missing)) if missing else rows


@dataclass(frozen=True)
class Linear(Model):
    """Scores W x + b; W row by row, as PyTorch stores it, is the order in which smoothing smooths."""

    @property
    def name(self) -> str:
        """The model's name in experiments and reports."""
        return "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        closed = {"loss": "cross_entropy", "device": "cpu"}  # its gradients are written out
        for name, value in closed.items():
            if vars(self)[name] != value:
                message = f"{name} must be {value} for the model linear, got {vars(self)[name]!r}"
                raise InvalidArgument(message, argument=name)

    @property
    def features(self) -> int:
        """Numbers in one sample."""
        return math.prod(self.inputs)

    def module(self) -> torch.nn.Module:
        """One linear layer."""
        linear = torch.nn.Linear(self.features, self.classes)
        return torch.nn.Sequential(torch.nn.Flatten(), linear)

    def matrix(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """(W, b) as views into a flat vector, or into a row for each client."""
        split = self.classes * self.features
        w, b = flat[..., :split], flat[..., split:]
        return w.reshape(*flat.shape[:-1], self.classes, self.features), b

    def row(self, w: Tensor, b: Tensor) -> Tensor:
        """Join what `matrix` takes apart: W (clients, classes, features) and b (clients, classes)."""
        return torch.cat([w.flatten(1), b], dim=1)

    # --- closed forms

    def _scores(self, w: Tensor, x: Tensor) -> Tensor:
        """(clients, batch, classes), each client's own."""
        weights, bias = self.matrix(w)
        weights = fours(weights)
        return torch.baddbmm(bias[:, None, :], x, weights.transpose(1, 2))

    def _error(self, w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """(clients, batch, classes): probabilities less the truth, the gradient by the scores."""
        error = torch.softmax(self._scores(w, x), dim=2)
        return error.scatter_add_(2, y[:, :, None], error.new_full((), -1.0).expand(*y.shape, 1))

    def _pull(self, error: Tensor, x: Tensor) -> Tensor:
        """error^T (x, 1) of each client, as a row."""
        pulled = torch.bmm(fours(error).transpose(1, 2), x)
        return self.row(pulled[:, : self.classes, : self.features], error.sum(1))

    def gradient(self, w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """error^T x over the batch, ten times as quick as automatic differentiation."""
        x = fours(x.flatten(2))
        error = self._error(w, x, y)
        return self._pull(error, x).div_(y.shape[1])

    def bounded_sum(
        self, w: Tensor, x: Tensor, y: Tensor, taken: Tensor, noises: Sequence[Noise]
    ) -> Tensor:
        """Evaluate `Model.bounded_sum` without any per-record gradient.

        The gradient of a record is the outer product of its error and (x, 1), so that its l1 and l2
        norms are products of theirs.
        """
        orders = [noise.order for noise in noises]
        if set(orders) == {math.inf}:
            return self._bounded_by_number(w, x.flatten(2), y, taken, noises)
        if math.inf in orders:
            return super().bounded_sum(w, x, y, taken, noises)
        x = fours(x.flatten(2))
        error = self._error(w, x, y)
        l2 = error.norm(dim=2) * torch.sqrt((x * x).sum(2) + 1.0)
        l1 = error.abs().sum(2) * (x.abs().sum(2) + 1.0)
        norms = torch.where(torch.tensor(orders)[:, None] == 1.0, l1, l2)
        clips = torch.tensor([noise.clip * INWARD for noise in noises])[:, None]
        error = error * ((clips / norms).clamp(max=1.0) * taken)[:, :, None]
        return self._pull(error, x)

    def _bounded_by_number(
        self, w: Tensor, x: Tensor, y: Tensor, taken: Tensor, noises: Sequence[Noise]
    ) -> Tensor:
        """Sum records' gradients of which each number is clipped by itself."""
        error = self._error(w, fours(x), y)
        sums, biases = [], []
        for client, noise in enumerate(noises):
            clip, kept = noise.clip * INWARD, taken[client].bool()
            each = error[client][kept]
            whole = each[:, :, None] * x[client][kept][:, None, :]
            sums.append(whole.clamp_(-clip, clip).sum(0))
            biases.append(each.clamp(-clip, clip).sum(0))
        return self.row(torch.stack(sums), torch.stack(biases))

    # --- plain SGD in the span of the samples

    def _gram(self, site: Site, x: Tensor) -> Tensor:
        """X X^T + 1 of each client, kept by the host: data do not change."""
        if any(client not in site.grams for client in site.clients):
            if (len(site.grams) + len(site.clients)) * site.samples**2 > _KEPT:
                site.grams.clear()
            products = torch.bmm(x, x.transpose(1, 2)).add_(1.0)
            site.grams.update(zip(site.clients, products, strict=True))
        return torch.stack([site.grams[client] for client in site.clients])

    def fit_in_span(
        self, site: Site, start: NDArray[np.float64], local: Local, within: float | None
    ) -> NDArray[np.float32] | None:
        """Weights stay s w0 + a X^T A: a step costs batch * samples, not batch * features.

        With K = X X^T + 1 and S = K A the scores of the samples are s (scores under w0) + a S, and
        |w - w0|^2 = u^2 |w0|^2 + 2 u a <X w0, A> + a^2 <S, A> with u = s - 1, so that neither a step
        nor the pull-back looks at the weights.
        """
        n, size, classes = len(site.clients), site.samples, self.classes
        if size > _SPAN:  # products with so many samples cost more than with the weights
            return None
        rows = torch.from_numpy(np.concatenate(site.rows))
        x, y = site.x.index_select(0, rows).flatten(1), site.y[rows]
        x = fours(x)
        gram = self._gram(site, x.view(n, size, -1)).view(n * size, size)
        flat = torch.from_numpy(start.astype(np.float32))
        weights, bias = self.matrix(flat)
        base = torch.addmm(bias, x[:, : self.features], weights.T)  # scores under the start
        truth = torch.nn.functional.one_hot(y, classes).float()
        square = float(flat.double().square().sum())
        a_rows, span = torch.zeros(n * size, classes), torch.zeros(n, size, classes)  # A and S
        s, a = torch.ones(n, 1, 1), torch.ones(n, 1, 1)
        pace = local.rate(site.round)
        keep, first = 1.0 - pace * local.weight_decay, np.arange(n)[:, None] * size
        for order in site.passes(local):
            at = torch.from_numpy(order + first)
            k, z, t = (
                v.index_select(0, at.view(-1)).view(n, size, -1) for v in (gram, base, truth)
            )
            for begin in range(0, size, local.batch_size):
                batch = slice(begin, begin + local.batch_size)
                place = at[:, batch].reshape(-1)
                error = span.view(n * size, classes).index_select(0, place).view(n, -1, classes)
                error = error.mul_(a).addcmul_(z[:, batch], s)
                error = error.sub_(error.amax(2, keepdim=True)).exp_()  # softmax, in place
                error = error.div_(error.sum(2, keepdim=True)).sub_(t[:, batch])
                s, a = s * keep, a * keep
                error.mul_((-pace / error.shape[1]) / a)
                a_rows.index_add_(0, place, error.view(-1, classes))
                span.baddbmm_(k[:, batch].transpose(1, 2), error)
                if within is not None:
                    u, shaped = s - 1.0, a_rows.view(n, size, classes)
                    mixed = torch.addcmul(base.view(n, size, classes) * (2.0 * u), span, a)
                    norm = mixed.mul_(shaped).sum((1, 2), keepdim=True)
                    norm = norm.mul_(a).add_(u * u * square).clamp_(min=1e-30).sqrt_()
                    factor = (within / norm).clamp_(max=1.0)
                    a, s = a * factor, 1.0 + u * factor
        shaped = a_rows.view(n, size, classes).mul_(a)
        moved = torch.bmm(shaped.transpose(1, 2), x.view(n, size, -1))[:, :, : self.features]
        updates = self.row(moved, shaped.sum(1)).add_((s - 1.0).view(n, 1) * flat)
        result: NDArray[np.float32] = updates.numpy()
        return result
