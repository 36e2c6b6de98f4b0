"""Multinomial logistic regression, with its gradient written out for many clients at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import one_of
from dpacct_training.aggregate import Vector
from dpacct_training.extras import required, torch
from dpacct_training.models.model import Model, Stack

LAYOUTS = ("input-fastest", "class-fastest")


@dataclass(frozen=True)
class Linear(Model):
    """Scores W x + b.

    `layout`: in which order the weights make a vector, which Laplacian smoothing smooths along:
    "input-fastest" (one class after the other, as PyTorch stores W) or "class-fastest". Measured on
    MNIST the first gains from smoothing, the second loses.
    """

    layout: str = "input-fastest"

    name: ClassVar[str] = "linear"
    stacks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("layout", self.layout, LAYOUTS)

    @property
    def features(self) -> int:
        """Numbers in one sample."""
        return math.prod(self.inputs)

    @property
    def dimension(self) -> int:
        """Weights and biases."""
        return self.classes * (self.features + 1)

    def modules(self) -> dict[str, Any]:
        """One linear layer."""
        return {"linear": required("torch.nn").Linear(self.features, self.classes)}

    def apply(self, call: Any, x: Any) -> Any:
        """W x + b."""
        return call("linear", x.flatten(1))

    def matrix(self, flat: Any) -> tuple[Any, Any]:
        """(W, b) as views into one or more flat vectors, numpy or torch."""
        split = self.classes * self.features
        w, b = flat[..., :split], flat[..., split:]
        if self.layout == "input-fastest":
            return w.reshape(*flat.shape[:-1], self.classes, self.features), b
        return w.reshape(*flat.shape[:-1], self.features, self.classes).swapaxes(-1, -2), b

    def scores(self, flat: Any, x: Any) -> Any:
        """As `Model.scores`, for either layout."""
        w, b = self.matrix(flat)
        return torch().nn.functional.linear(x.flatten(1), w, b)

    def flattened(self, tensors: Iterable[Any]) -> Vector:
        """As `Model.flattened`, for either layout."""
        w, b = tensors
        if self.layout == "class-fastest":
            w = w.T
        return super().flattened((w, b))

    def stack(self, weights: Vector, count: int) -> Stack:
        """The gradient by hand: 10 times the textbook loop."""
        return LinearStack(self, weights, count)


class LinearStack(Stack):
    """Weights (clients, classes, features): the products then run along memory."""

    def __init__(self, model: Linear, weights: Vector, count: int) -> None:
        self._torch = torch()
        self._model = model
        flat = weights.astype(np.float32)
        w, b = model.matrix(flat)
        self._w0 = self._torch.from_numpy(np.ascontiguousarray(w))
        self._b0 = self._torch.from_numpy(b.copy())
        self._w = self._w0.repeat(count, 1, 1)
        self._b = self._b0.repeat(count, 1)

    def step(self, x: Any, y: Any, rate: float, weight_decay: float) -> None:
        x = x.flatten(2)
        scores = self._torch.baddbmm(self._b[:, None, :], x, self._w.transpose(1, 2))
        error = self._torch.softmax(scores, dim=2)
        error.scatter_add_(2, y[:, :, None], error.new_full((), -1.0).expand(*y.shape, 1))
        # w <- (1 - rate * decay) w - rate / B * error^T x, in one product
        keep, pace = 1.0 - rate * weight_decay, rate / y.shape[1]
        self._w.baddbmm_(error.transpose(1, 2), x, beta=keep, alpha=-pace)
        self._b.mul_(keep).sub_(error.sum(dim=1), alpha=pace)

    def pull_back(self, clip: float) -> None:
        norm = self._torch.linalg.vector_norm
        w, b = self._w - self._w0, self._b - self._b0
        norms = self._torch.hypot(norm(w.flatten(1), dim=1), norm(b, dim=1))
        if bool((norms > clip).any()):
            factor = (clip / norms).clamp(max=1.0)
            self._w = w.mul_(factor[:, None, None]).add_(self._w0)
            self._b = b.mul_(factor[:, None]).add_(self._b0)

    def updates(self) -> NDArray[np.float32]:
        w, b = self._w - self._w0, self._b - self._b0
        if self._model.layout == "class-fastest":
            w = w.transpose(1, 2)
        found: NDArray[np.float32] = self._torch.cat([w.flatten(1), b], dim=1).numpy()
        return found


MODEL = Linear
