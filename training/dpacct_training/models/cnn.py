"""Two convolutions and two fully connected layers (000 Section 6.2, at a width of one's choice)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.accept import widths
from dpacct_training.models.model import Model


@dataclass(frozen=True)
class CNN(Model):
    """5x5 convolutions with max-pooling, then linear layers; inputs are (channels, height, width).

    000 prints 384 and 192 hidden units and about 3.4 million weights: channels (64, 64) give it on
    32 x 32 images. The defaults are narrow, for one core.
    """

    channels: tuple[int, int] = (8, 16)
    hidden: tuple[int, ...] = (64,)

    name: ClassVar[str] = "cnn"

    def __post_init__(self) -> None:
        super().__post_init__()
        widths("channels", self.channels, 2)
        widths("hidden", self.hidden)
        if len(self.inputs) != 3 or min(self.inputs[1:]) < 4:
            message = f"a cnn needs images of at least 4 x 4, got inputs of shape {self.inputs}"
            raise InvalidArgument(message, argument="model")

    def modules(self) -> dict[str, torch.nn.Module]:
        """The layers; heights and widths are halved twice, rounded down."""
        nn = torch.nn
        depth, height, width = self.inputs
        first, second = self.channels
        layers = [
            *(nn.Conv2d(depth, first, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(first, second, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            nn.Flatten(),
        ]
        size = second * (height // 4) * (width // 4)
        for following in self.hidden:
            layers += [nn.Linear(size, following), nn.ReLU()]
            size = following
        return {"net": nn.Sequential(*layers, nn.Linear(size, self.classes))}

    def apply(self, call: Any, x: Any) -> Any:
        """One after the other."""
        return call("net", x)


MODEL = CNN
