"""Local SGD: what a client does between receiving the model and answering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import positive, real, whole
from dpacct_training.aggregate import Turn, Vector
from dpacct_training.keys import Keys


@dataclass(frozen=True, kw_only=True)
class LocalSGD:
    """`epochs` passes over the client's data in batches of `batch_size`.

    The learning rate of round t is learning_rate * decay^(t-1). With `clip`, the model is pulled back
    into the ball of that radius around the received one after every step (000 Algorithm 1, CLIENTUPDATE).
    Raises `InvalidArgument`.
    """

    epochs: int = 1
    batch_size: int = 10
    learning_rate: float = 0.01
    decay: float = 1.0
    weight_decay: float = 0.0
    clip: float | None = None

    def __post_init__(self) -> None:
        whole("epochs", self.epochs, 1)
        whole("batch_size", self.batch_size, 1)
        positive("learning_rate", self.learning_rate)
        positive("decay", self.decay)
        real("weight_decay", self.weight_decay, 0.0)
        if self.clip is not None:
            positive("clip", self.clip)

    def rate(self, round: int) -> float:
        """The learning rate of this round, counted from 1."""
        return self.learning_rate * self.decay ** (round - 1)

    def batches(self, size: int, client: int, round: int, keys: Keys) -> list[NDArray[np.int64]]:
        """The order in which a client with `size` samples visits them; a last short batch is kept.

        >>> order = LocalSGD(epochs=2, batch_size=4).batches(10, 7, 1, Keys.from_seed(0))
        >>> [len(batch) for batch in order], sorted(np.concatenate(order[:3]).tolist()) == list(range(10))
        ([4, 4, 2, 4, 4, 2], True)
        """
        rng = keys.generator("batches", round=round, client=client)
        found = []
        for _ in range(self.epochs):
            order = rng.permutation(size)
            found += [order[i : i + self.batch_size] for i in range(0, size, self.batch_size)]
        return found


class Train(Protocol):
    """What an engine offers to an algorithm: the updates of a round's clients, one row each."""

    def __call__(self, weights: Vector, turn: Turn, local: LocalSGD) -> NDArray[Any]:
        """Local models after training, less the model they started from."""
