"""Convolutions and fully connected layers: the papers' networks by their widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, whole, widths
from dpacct_training.models.model import Model


@dataclass(frozen=True)
class CNN(Model):
    """Convolutions of `channels`, each pooled by its number in `pool` (1: not), then layers of `hidden`.

    Inputs are (channels, height, width). `padding`: "same" or "valid". The defaults are narrow, for one
    core. The papers' own:

    | paper | inputs | channels | kernel, padding, pool | hidden | weights |
    |---|---|---|---|---|---|
    | Liang et al. 2020, Section 6.2 | 3 x 32 x 32 | 64, 128 | 5, same, 2 2 | 384, 192 | 3,431,754 |
    | Zheng et al. 2021, MNIST | 1 x 28 x 28 | 32, 64 | 3, valid, 1 2 | 128 | 1,199,882 |
    | Zheng et al. 2021, CIFAR-10 | 3 x 32 x 32 | 32, 64, 64 | 3, valid, 2 2 1 | 64 | 122,570 |
    | Shi et al. 2023, EMNIST, 62 classes | 1 x 28 x 28 | 32, 64 | 5, same, 2 2 | 512 | 1,690,046 |

    Neither Zheng et al. 2021 nor Shi et al. 2023 prints the channels: these are those of the tutorials
    that they follow.
    """

    channels: tuple[int, ...] = (8, 16)
    hidden: tuple[int, ...] = (64,)
    kernel: int = 5
    padding: str = "same"
    pool: tuple[int, ...] = (2, 2)

    name: ClassVar[str] = "cnn"

    def __post_init__(self) -> None:
        super().__post_init__()
        widths("channels", self.channels)
        widths("hidden", self.hidden)
        whole("kernel", self.kernel, 1, 100)
        one_of("padding", self.padding, ("same", "valid"))
        widths("pool", self.pool, len(self.channels))
        if len(self.inputs) != 3 or min(self._sides()) < 1:
            least = "large enough for its convolutions and pools"
            message = f"a cnn needs images {least}, got inputs of shape {self.inputs}"
            raise InvalidArgument(message, argument="model")

    def _sides(self) -> tuple[int, int]:
        """Height and width after the last pool; below 1 where nothing is left."""
        lost = 0 if self.padding == "same" else self.kernel - 1
        height, width = self.inputs[1:]
        for factor in self.pool:
            height, width = (height - lost) // factor, (width - lost) // factor
        return height, width

    def modules(self) -> dict[str, torch.nn.Module]:
        """The layers, one after the other."""
        nn, (height, width) = torch.nn, self._sides()
        layers: list[torch.nn.Module] = []
        depth = self.inputs[0]
        for following, factor in zip(self.channels, self.pool, strict=True):
            layers += [nn.Conv2d(depth, following, self.kernel, padding=self.padding), nn.ReLU()]
            layers += [nn.MaxPool2d(factor)] if factor > 1 else []
            depth = following
        layers.append(nn.Flatten())
        size = depth * height * width
        for following in self.hidden:
            layers += [nn.Linear(size, following), nn.ReLU()]
            size = following
        return {"net": nn.Sequential(*layers, nn.Linear(size, self.classes))}
