"""Next character from the last eighty (Liang et al. 2020, Section 6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.accept import whole
from dpacct_training.models.model import Model


@dataclass(frozen=True)
class LSTM(Model):
    """Embedding, stacked LSTM, linear layer on the last state; inputs are (length,) character codes.

    Liang et al. 2020: embedding 8, two layers of 256. `classes` is the size of the alphabet.
    """

    embedding: int = 8
    hidden: int = 256
    layers: int = 2

    name: ClassVar[str] = "lstm"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("embedding", "hidden", "layers"):
            whole(name, getattr(self, name), 1, 10**6)
        if len(self.inputs) != 1:
            message = f"an lstm needs sequences of codes, got inputs of shape {self.inputs}"
            raise InvalidArgument(message, argument="model")

    def modules(self) -> dict[str, torch.nn.Module]:
        """Three modules, one after the other."""
        nn = torch.nn
        return {
            "embedding": nn.Embedding(self.classes, self.embedding),
            "lstm": nn.LSTM(self.embedding, self.hidden, self.layers, batch_first=True),
            "linear": nn.Linear(self.hidden, self.classes),
        }

    def apply(self, call: Any, x: Any) -> Any:
        """The state after the last character decides."""
        states, _ = call("lstm", call("embedding", x.long()))
        return call("linear", states[:, -1])
