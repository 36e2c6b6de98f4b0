"""A perceptron with hidden layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch

from dpacct_training.accept import widths
from dpacct_training.models.model import Model


@dataclass(frozen=True)
class MLP(Model):
    """ReLU between linear layers of the widths `hidden`."""

    hidden: tuple[int, ...] = (64,)

    name: ClassVar[str] = "mlp"
    stacks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        widths("hidden", self.hidden)

    def modules(self) -> dict[str, torch.nn.Module]:
        """The layers."""
        nn = torch.nn
        sizes = (math.prod(self.inputs), *self.hidden, self.classes)
        layers: list[torch.nn.Module] = [nn.Flatten()]
        for width, following in pairwise(sizes):
            layers += [nn.Linear(width, following), nn.ReLU()]
        return {"net": nn.Sequential(*layers[:-1])}
