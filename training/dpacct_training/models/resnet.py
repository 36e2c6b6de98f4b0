"""Residual networks with group norm in place of batch norm, whose statistics mix the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.accept import whole, widths
from dpacct_training.models.model import Model


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

    width: int = 8
    blocks: tuple[int, ...] = (2, 2, 2, 2)
    groups: int = 2

    name: ClassVar[str] = "resnet"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("width", self.width, 1, 10**4)
        widths("blocks", self.blocks)
        whole("groups", self.groups, 1)
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
