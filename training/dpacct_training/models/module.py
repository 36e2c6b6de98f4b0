"""Any `torch.nn.Module`: what the function "package.module:function" returns for the keywords of [model]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import torch

from dpacct import InvalidArgument
from dpacct_training.data.own import imported_function
from dpacct_training.models.model import Model

_MIXES = (torch.nn.modules.batchnorm._BatchNorm,)


@dataclass(frozen=True)
class Module(Model):
    """`function` is called with `keywords` and returns a module: samples in, class scores out.

    It starts from the weights that the function gives it, under a seed of the run. Dropout is off: its
    coins would be keyed by nothing. Raises `InvalidArgument` for a module whose records cannot be clipped
    one by one, or whose scores are others than the data's classes.
    """

    function: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)

    name: ClassVar[str] = "package.module:function"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._layout  # refuses what cannot be trained

    def modules(self) -> dict[str, torch.nn.Module]:
        """The module that the function returns."""
        module = imported_function(self.function, "model")(**self.keywords)
        if not isinstance(module, torch.nn.Module):
            message = f"{self.function} must return a torch.nn.Module"
            raise InvalidArgument(f"{message}, got a {type(module).__name__}", argument="model")
        return {"net": module.eval()}

    @cached_property
    def _layout(self) -> tuple[dict[str, torch.nn.Module], list[tuple[str, str, torch.Size]]]:
        """The module itself, with what it keeps besides its weights, on its device."""
        module = self.modules()["net"]
        for name, layer in module.named_modules():
            if isinstance(layer, _MIXES):
                message = (
                    f"the model cannot be clipped per record: {name} is a {type(layer).__name__}"
                )
                why = "which mixes the records of a batch; GroupNorm or LayerNorm do not"
                raise InvalidArgument(f"{message}, {why}", argument="model")
        with torch.no_grad():
            scores = module(torch.zeros(2, *self.inputs))
        if not isinstance(scores, torch.Tensor) or scores.shape != (2, self.classes):
            shape = (
                tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
            )
            message = f"the model must give {self.classes} scores for each sample of {self.inputs}"
            raise InvalidArgument(f"{message}, got {shape} for two", argument="model")
        module = module.to(self.place)
        shapes = [("net", name, value.shape) for name, value in module.named_parameters()]
        return {"net": module}, shapes
