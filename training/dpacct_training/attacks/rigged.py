"""A model with the attacker's initial weights and canary gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from dpacct_training.algorithm import Array
from dpacct_training.models.model import Model

if TYPE_CHECKING:
    from dpacct_training.local import Local
    from dpacct_training.noise import Noise
    from dpacct_training.site import Site

_LOUD = 1000.0  # canaries shout: the clip has to do its work


@dataclass(frozen=True, kw_only=True)
class Rigged(Model):
    """`inner`, beginning where the attacker says, with records whose gradients are theirs to choose.

    A record of class `classes` + i has the gradient `directions[i]`, loudly; it is bounded like any.
    """

    inner: Model
    begin: Array | None = None
    directions: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    name: ClassVar[str] = "rigged"

    @classmethod
    def of(cls, inner: Model, **more: Any) -> Rigged:
        """A rigged model with the shape of `inner`."""
        return cls(inner=inner, inputs=inner.inputs, classes=inner.classes, **more)

    def modules(self) -> dict[str, torch.nn.Module]:
        """Those of the inner model."""
        return self.inner.modules()

    def apply(self, call: Any, x: Any) -> Any:
        """The same as the inner model's."""
        return self.inner.apply(call, x)

    def scores(self, flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The same as the inner model's."""
        return self.inner.scores(flat, x)

    def initial(self, generator: np.random.Generator) -> Array:
        """The attacker's start, or the inner model's."""
        return self.inner.initial(generator) if self.begin is None else self.begin

    @property
    def dimension(self) -> int:
        """As the inner model's."""
        return self.inner.dimension

    def gradient(self, w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The same as the inner model's."""
        return self.inner.gradient(w, x, y)

    def fit_in_span(
        self, site: Site, start: Array, local: Local, within: float | None
    ) -> NDArray[np.float32] | None:
        """The same as the inner model's."""
        return self.inner.fit_in_span(site, start, local, within)

    def bounded_sum(
        self,
        w: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        taken: torch.Tensor,
        noises: Sequence[Noise],
    ) -> torch.Tensor:
        """The inner model's, and the canaries' gradients."""
        loud = (y >= self.classes) & (taken > 0)
        sums = self.inner.bounded_sum(w, x, y.clamp(max=self.classes - 1), taken * ~loud, noises)
        for row, noise in enumerate(noises if len(self.directions) else ()):
            who = (y[row][loud[row]] - self.classes).numpy()
            rows = noise.bound(self.directions[who] * (_LOUD * noise.clip))
            sums[row] += torch.from_numpy(rows.sum(axis=0).astype(np.float32))
        return sums
