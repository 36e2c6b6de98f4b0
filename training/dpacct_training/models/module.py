"""Any `torch.nn.Module`: a network by its name, or what "package.module:function" returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from dpacct import InvalidArgument
from dpacct_training.data.own import imported_function
from dpacct_training.models.model import Model
from dpacct_training.models.networks import NETWORKS

_MIXES = (torch.nn.modules.batchnorm._BatchNorm,)
_STACKS = (torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU, torch.nn.Flatten)


@dataclass(frozen=True)
class Module(Model):
    """`function` is called with `keywords` and returns a module: samples in, class scores out.

    It starts from the weights that the function gives it, under a seed of the run. Dropout is off: its
    coins would be keyed by nothing. Raises `InvalidArgument` for a module whose records cannot be clipped
    one by one, or whose scores are others than the data's classes.
    """

    function: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.net  # refuses what cannot be trained

    @property
    def name(self) -> str:
        """The network's name, or "package.module:function"."""
        return self.function

    @cached_property
    def stacks(self) -> bool:
        """Return whether gradients of many clients are one program; measured: convolutions lose by it."""
        return all(isinstance(layer, _STACKS) for layer in self.net.modules())

    def module(self) -> torch.nn.Module:
        """The module that the function returns."""
        if self.function in NETWORKS:
            return NETWORKS[self.function](self.inputs, self.classes, **self.keywords)
        module = imported_function(self.function, "model")(**self.keywords)
        if not isinstance(module, torch.nn.Module):
            message = f"{self.function} must return a torch.nn.Module"
            raise InvalidArgument(f"{message}, got a {type(module).__name__}", argument="model")
        return module.eval()

    @cached_property
    def net(self) -> torch.nn.Module:
        """The module, checked."""
        try:
            module = super().net
            with torch.no_grad():
                scores = module(torch.zeros(2, *self.inputs, device=self.place))
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            message = f"the model {self.function} must take samples of the shape {self.inputs}"
            raise InvalidArgument(f"{message} ({error})"[:300], argument="model") from None
        for name, layer in module.named_modules():
            if isinstance(layer, _MIXES):
                message = (
                    f"the model cannot be clipped per record: {name} is a {type(layer).__name__}"
                )
                why = "which mixes the records of a batch; GroupNorm or LayerNorm do not"
                raise InvalidArgument(f"{message}, {why}", argument="model")
        if not isinstance(scores, torch.Tensor) or scores.shape != (2, self.classes):
            shape = (
                tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
            )
            message = f"the model must give {self.classes} scores for each sample of {self.inputs}"
            raise InvalidArgument(f"{message}, got {shape} for two", argument="model")
        return module
