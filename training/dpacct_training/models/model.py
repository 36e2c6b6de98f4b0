"""Model: a function of one flat vector of weights, or of a row for each client."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpacct import InvalidArgument
from dpacct_training.accept import Settings, one_of, setting

if TYPE_CHECKING:
    from dpacct_training.local import Local
    from dpacct_training.noise import Noise
    from dpacct_training.site import Site

STARTS = ("zeros", "default")
DEVICES = ("cpu", "cuda", "auto")
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": torch.nn.functional.cross_entropy,
    "multi_margin": torch.nn.functional.multi_margin_loss,
    "nll": torch.nn.functional.nll_loss,
}
"""Losses of class scores and labels, by name; "nll" is for models that end in a log-softmax."""
_STACKED = 200_000
"""Weights up to which the gradients of a batch's records are one program (measured: half the time of one
record after another; with a million weights they are four times slower, since they fill the memory)."""
INWARD = 1.0 - 1e-6
"""Closed forms bound a gradient to this part of its clip: in single precision it must not be longer."""


@dataclass(frozen=True)
class Model(Settings, ABC):
    """`inputs`: shape of one sample; `classes`: how many there are.

    `start`: "zeros", or "default" for PyTorch's own initialisation, keyed by the run. `loss`: the mean of
    which is descended. `device`: where scores and gradients are computed; "auto": a GPU, if there is one.
    """

    inputs: tuple[int, ...]
    classes: int
    start: str = setting("default", one_of, STARTS)
    loss: str = setting("cross_entropy", one_of, LOSSES)
    device: str = setting("cpu", one_of, DEVICES)

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name in experiments and reports."""

    @abstractmethod
    def module(self) -> torch.nn.Module:
        """A fresh module; its parameters, in order, are the flat vector."""

    @property
    def stacks(self) -> bool:
        """Return whether training many clients in one tensor program pays."""
        return False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device == "cuda" and not torch.cuda.is_available():
            message = 'device must be "cpu" or "auto" where PyTorch sees no GPU, got \'cuda\''
            raise InvalidArgument(message, argument="device")

    @cached_property
    def place(self) -> torch.device:
        """The device of scores and gradients."""
        auto = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.device(auto if self.device == "auto" else self.device)

    @cached_property
    def net(self) -> torch.nn.Module:
        """The module on its device; its own weights are never used."""
        with torch.random.fork_rng():  # no random number of the caller's is used up
            return self.module().to(self.place)

    @cached_property
    def shapes(self) -> dict[str, torch.Size]:
        """The shape of each parameter, in order."""
        return {name: value.shape for name, value in self.net.named_parameters()}

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return sum(map(math.prod, self.shapes.values()))

    def scores(self, flat: Tensor, x: Tensor) -> Tensor:
        """Class scores of the samples `x` under the weights `flat`, on the model's device."""
        pieces = torch.split(flat.to(self.place), [math.prod(s) for s in self.shapes.values()])
        parameters = {
            name: piece.view(shape)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }
        scores: Tensor = torch.func.functional_call(self.net, parameters, (x.to(self.place),))
        return scores

    def mean_loss(self, flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """The mean loss of samples with labels `y`."""
        return LOSSES[self.loss](self.scores(flat, x), y.to(self.place))

    def initial(self, generator: np.random.Generator) -> NDArray[np.float64]:
        """The weights that a run starts from."""
        if self.start == "zeros":
            return np.zeros(self.dimension)
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**63)))
            fresh = self.module()
        pieces = [value.detach().double().numpy().reshape(-1) for value in fresh.parameters()]
        return np.concatenate(pieces)

    # --- many clients at once: rows of weights

    def gradient(self, w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """(clients, d): of the mean loss of each client's batch x (clients, batch, ...)."""
        if self.stacks:
            _ = self.shapes  # this lays the model out, which vmap may not
            x, y = x.to(self.place), y.to(self.place)
            stacked = torch.func.vmap(torch.func.grad(self.mean_loss))(w.to(self.place), x, y)
            return self.back(stacked)
        rows = torch.empty_like(w)
        for client in range(len(w)):
            weights = self.leaf(w[client])
            loss = self.mean_loss(weights, x[client], y[client])
            rows[client] = self.back(torch.autograd.grad(loss, weights)[0])
        return rows

    def leaf(self, flat: Tensor) -> Tensor:
        """Weights on the model's device, by which a gradient may be taken."""
        return flat.detach().to(self.place).requires_grad_(True)

    def back(self, result: Tensor) -> Tensor:
        """A result of the model's device, where noise is drawn."""
        return result.cpu()

    def bounded_sum(
        self, w: Tensor, x: Tensor, y: Tensor, taken: Tensor, noises: Sequence[Noise]
    ) -> Tensor:
        """(clients, d): the sum of each client's per-record gradients, each bounded by its noise.

        `taken` (clients, batch): 1 where a place holds a record of the batch.
        """
        sums = []
        for client, noise in enumerate(noises):
            kept, total = taken[client].bool(), np.zeros(w.shape[1])
            for rows in self.record_gradients(w[client], x[client][kept], y[client][kept]):
                total += noise.bound(rows).sum(axis=0)
            sums.append(total)
        return torch.from_numpy(np.stack(sums).astype(np.float32))

    def record_gradients(self, w: Tensor, x: Tensor, y: Tensor) -> Iterator[NDArray[np.float64]]:
        """Rows with the gradient of the loss of each record by itself, some records at a time."""
        if self.dimension > _STACKED:
            for place in range(len(y)):
                weights = self.leaf(w)
                loss = self.mean_loss(weights, x[place, None], y[place, None])
                (row,) = torch.autograd.grad(loss, weights)
                yield self.back(row)[None].numpy().astype(np.float64)
        elif len(y):

            def record_loss(flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
                return self.mean_loss(flat, x[None], y[None])

            each = torch.func.vmap(torch.func.grad(record_loss), (None, 0, 0))
            rows = each(w.to(self.place), x.to(self.place), y.to(self.place))
            yield self.back(rows).numpy().astype(np.float64)

    def fit_in_span(
        self, site: Site, start: NDArray[np.float64], local: Local, within: float | None
    ) -> NDArray[np.float32] | None:
        """Plain SGD in the span of each client's samples; None where it is not open, or does not pay."""
        return None
