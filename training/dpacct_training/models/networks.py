"""Networks: perceptron, convolutions, residual blocks, and the next character from the last eighty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, setting, whole, widths
from dpacct_training.models.model import Model


@dataclass(frozen=True)
class MLP(Model):
    """ReLU between linear layers of the widths `hidden`."""

    hidden: tuple[int, ...] = setting((64,), widths)

    name: ClassVar[str] = "mlp"
    stacks: ClassVar[bool] = True

    def modules(self) -> dict[str, torch.nn.Module]:
        """The layers."""
        nn = torch.nn
        sizes = (math.prod(self.inputs), *self.hidden, self.classes)
        layers: list[torch.nn.Module] = [nn.Flatten()]
        for width, following in pairwise(sizes):
            layers += [nn.Linear(width, following), nn.ReLU()]
        return {"net": nn.Sequential(*layers[:-1])}


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

    channels: tuple[int, ...] = setting((8, 16), widths)
    hidden: tuple[int, ...] = setting((64,), widths)
    kernel: int = setting(5, whole, 1, 100)
    padding: str = setting("same", one_of, ("same", "valid"))
    pool: tuple[int, ...] = (2, 2)

    name: ClassVar[str] = "cnn"

    def __post_init__(self) -> None:
        super().__post_init__()
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


class Block(torch.nn.Module):
    """Two 3 x 3 convolutions beside a shortcut (He et al. 2016, Figure 2)."""

    def __init__(self, depth: int, width: int, stride: int, groups: int) -> None:
        super().__init__()
        nn = torch.nn
        self.inner = nn.Sequential(
            nn.Conv2d(depth, width, 3, stride, padding=1, bias=False),
            nn.GroupNorm(groups, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.GroupNorm(groups, width),
        )
        self.shortcut: torch.nn.Module = nn.Identity()
        if stride > 1 or depth != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(depth, width, 1, stride, bias=False), nn.GroupNorm(groups, width)
            )

    def forward(self, x: Any) -> Any:
        """relu(inner(x) + shortcut(x))."""
        return torch.relu(self.inner(x) + self.shortcut(x))


@dataclass(frozen=True)
class ResNet(Model):
    """Stages of `blocks`, each twice as wide as the one before, from `width` on; for 32 x 32 images.

    Width 64 and blocks (2, 2, 2, 2) are ResNet-18 for CIFAR, with 11,173,962 weights for ten classes;
    the default width is for one core. `groups` must divide the width.
    """

    width: int = setting(8, whole, 1, 10**4)
    blocks: tuple[int, ...] = setting((2, 2, 2, 2), widths)
    groups: int = setting(2, whole, 1)

    name: ClassVar[str] = "resnet"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.groups:
            message = f"groups must divide width {self.width}, got {self.groups}"
            raise InvalidArgument(message, argument="groups")
        if len(self.inputs) != 3:
            message = f"a resnet needs images, got inputs of shape {self.inputs}"
            raise InvalidArgument(message, argument="model")

    def modules(self) -> dict[str, torch.nn.Module]:
        """Stem, stages, mean over the image, linear layer."""
        nn, width = torch.nn, self.width
        layers: list[torch.nn.Module] = [
            nn.Conv2d(self.inputs[0], width, 3, padding=1, bias=False),
            nn.GroupNorm(self.groups, width),
            nn.ReLU(),
        ]
        depth = width
        for stage, count in enumerate(self.blocks):
            for place in range(count):
                stride = 2 if stage and not place else 1
                layers.append(Block(depth, width << stage, stride, self.groups))
                depth = width << stage
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(depth, self.classes)]
        return {"net": nn.Sequential(*layers)}


@dataclass(frozen=True)
class LSTM(Model):
    """Embedding, stacked LSTM, linear layer on the last state; inputs are (length,) character codes.

    Liang et al. 2020: embedding 8, two layers of 256. `classes` is the size of the alphabet.
    """

    embedding: int = setting(8, whole, 1, 10**6)
    hidden: int = setting(256, whole, 1, 10**6)
    layers: int = setting(2, whole, 1, 10**6)

    name: ClassVar[str] = "lstm"

    def __post_init__(self) -> None:
        super().__post_init__()
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
