"""Networks by name: functions of a sample's shape and the classes that return a module."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from dpacct_training.accept import one_of, whole, widths

Shape = Sequence[int]


def mlp(inputs: Shape, classes: int, hidden: Shape = (64,)) -> nn.Module:
    """ReLU between linear layers of the widths `hidden`."""
    layers: list[nn.Module] = [nn.Flatten()]
    for width, following in pairwise((math.prod(inputs), *widths("hidden", hidden), classes)):
        layers += [nn.Linear(width, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn(
    inputs: Shape,
    classes: int,
    channels: Shape = (8, 16),
    hidden: Shape = (64,),
    kernel: int = 5,
    padding: str = "same",
    pool: Shape = (2, 2),
) -> nn.Module:
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
    widths("pool", pool, len(widths("channels", channels)))
    whole("kernel", kernel, 1, 100)
    one_of("padding", padding, ("same", "valid"))
    layers, depth = nn.Sequential(), inputs[0]
    for following, factor in zip(channels, pool, strict=True):
        layers.append(nn.Conv2d(depth, following, kernel, padding=padding)).append(nn.ReLU())
        if factor > 1:
            layers.append(nn.MaxPool2d(factor))
        depth = following
    left = layers(torch.zeros(1, *inputs)).shape[1:]
    return layers.append(mlp(left, classes, hidden))


class Block(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut (He et al. 2016, Figure 2)."""

    def __init__(self, depth: int, width: int, stride: int, groups: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(depth, width, 3, stride, padding=1, bias=False),
            nn.GroupNorm(groups, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.GroupNorm(groups, width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or depth != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(depth, width, 1, stride, bias=False), nn.GroupNorm(groups, width)
            )

    def forward(self, x: Tensor) -> Tensor:
        """relu(inner(x) + shortcut(x))."""
        return torch.relu(self.inner(x) + self.shortcut(x))


def resnet(
    inputs: Shape, classes: int, width: int = 8, blocks: Shape = (2, 2, 2, 2), groups: int = 2
) -> nn.Module:
    """Stages of `blocks`, each twice as wide as the one before, from `width` on; for 32 x 32 images.

    Width 64 and blocks (2, 2, 2, 2) are ResNet-18 for CIFAR, with 11,173,962 weights for ten classes;
    the default width is for one core. `groups` must divide the width.
    """
    depth = whole("width", width, 1, 10**4)
    stem = nn.Conv2d(inputs[0], width, 3, padding=1, bias=False)
    layers = nn.Sequential(stem, nn.GroupNorm(whole("groups", groups, 1), width), nn.ReLU())
    for stage, count in enumerate(widths("blocks", blocks)):
        for place in range(count):
            stride = 2 if stage and not place else 1
            layers.append(Block(depth, width << stage, stride, groups))
            depth = width << stage
    return layers.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(depth, classes)])


NETWORKS: dict[str, Callable[..., nn.Module]] = {"cnn": cnn, "mlp": mlp, "resnet": resnet}
