"""What a model is: a function of one flat vector of weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import one_of
from dpacct_training.aggregate import Vector
from dpacct_training.extras import torch
from dpacct_training.keys import Keys

STARTS = ("zeros", "default")


@dataclass(frozen=True)
class Model(ABC):
    """`inputs`: shape of one sample; `classes`: how many there are.

    `start`: "zeros", or "default" for PyTorch's own initialisation, keyed by the run.
    """

    inputs: tuple[int, ...]
    classes: int
    start: str = "default"

    name: ClassVar[str]
    stacks: ClassVar[bool] = False
    """Whether training many clients in one tensor program pays (measured: not for convolutions)."""

    def __post_init__(self) -> None:
        one_of("start", self.start, STARTS)

    @abstractmethod
    def modules(self) -> dict[str, Any]:
        """The torch modules, by name; their parameters, in order, are the flat vector."""

    @abstractmethod
    def apply(self, call: Any, x: Any) -> Any:
        """Class scores (samples, classes); `call(name, x)` runs the module of that name."""

    @cached_property
    def _layout(self) -> tuple[dict[str, Any], list[tuple[str, str, Any]]]:
        with torch().device("meta"):  # shapes only: no memory, and no random number is used up
            modules = self.modules()
        shapes = [
            (name, key, value.shape)
            for name, module in modules.items()
            for key, value in module.named_parameters()
        ]
        return modules, shapes

    @property
    def dimension(self) -> int:
        """How many weights there are."""
        return sum(math.prod(shape) for _, _, shape in self._layout[1])

    def scores(self, flat: Any, x: Any) -> Any:
        """Class scores of the samples `x` under the weights `flat`, both torch tensors."""
        modules, shapes = self._layout
        parameters: dict[str, dict[str, Any]] = {}
        pieces = flat.split([math.prod(shape) for _, _, shape in shapes])
        for (name, key, shape), piece in zip(shapes, pieces, strict=True):
            parameters.setdefault(name, {})[key] = piece.view(shape)
        run = torch().func.functional_call
        return self.apply(lambda name, z: run(modules[name], parameters.get(name, {}), (z,)), x)

    def loss(self, flat: Any, x: Any, y: Any) -> Any:
        """Mean cross-entropy."""
        return torch().nn.functional.cross_entropy(self.scores(flat, x), y)

    def initial(self, keys: Keys) -> Vector:
        """The weights that a run starts from."""
        if self.start == "zeros":
            return np.zeros(self.dimension)
        library = torch()
        with library.random.fork_rng():
            library.manual_seed(int(keys.generator("start").integers(2**63)))
            fresh = self.modules()
        return self.flattened(p for m in fresh.values() for p in m.parameters())

    def flattened(self, tensors: Iterable[Any]) -> Vector:
        """Tensors in the order of the flat vector, as that vector."""
        pieces = [t.detach().double().numpy().reshape(-1) for t in tensors]
        return np.concatenate(pieces)

    def stack(self, weights: Vector, count: int) -> Stack:
        """`count` copies of the model, to be trained side by side."""
        return VmapStack(self, weights, count)


class Stack(ABC):
    """Several local models, trained by one tensor program; row i is client i's."""

    @abstractmethod
    def step(self, x: Any, y: Any, rate: float, weight_decay: float) -> None:
        """One step of SGD for each, on its own batch: x (clients, batch, ...), y (clients, batch)."""

    @abstractmethod
    def pull_back(self, clip: float) -> None:
        """Back into the ball of radius `clip` around the start (000 Algorithm 1)."""

    @abstractmethod
    def updates(self) -> NDArray[np.float32]:
        """Local models less the start."""


class VmapStack(Stack):
    """For any model whose modules `torch.func.vmap` accepts."""

    def __init__(self, model: Model, weights: Vector, count: int) -> None:
        library = torch()
        self._torch = library
        assert len(weights) == model.dimension  # this lays the model out, which vmap may not
        self._base = library.from_numpy(weights.astype(np.float32))
        self._flat = self._base.repeat(count, 1)
        self._gradient = library.func.vmap(library.func.grad(model.loss))

    def step(self, x: Any, y: Any, rate: float, weight_decay: float) -> None:
        gradient = self._gradient(self._flat, x, y)
        self._flat.mul_(1.0 - rate * weight_decay).sub_(gradient, alpha=rate)

    def pull_back(self, clip: float) -> None:
        moved = self._flat - self._base
        norms = self._torch.linalg.vector_norm(moved, dim=1)
        if bool((norms > clip).any()):
            self._flat = self._base + moved * (clip / norms).clamp(max=1.0)[:, None]

    def updates(self) -> NDArray[np.float32]:
        found: NDArray[np.float32] = (self._flat - self._base).numpy()
        return found
