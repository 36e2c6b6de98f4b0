"""Setting: what a run is about: a model, who holds what, what is public, what it is judged on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import torch

from dpacct import InvalidArgument
from dpacct_training.algorithm import Array
from dpacct_training.data.dataset import Dataset, Federation
from dpacct_training.keys import Keys
from dpacct_training.models.model import Model

Chance = Callable[[str, int], np.random.Generator]
_AT_ONCE = 2000  # samples per evaluation
Samples = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Setting:
    """`rate`: share of clients asked in a round.

    `chance` gives generators for what is public anyway (the start, masks that are the same for all);
    it comes from the run's key, and no noise can be told from it. Hosts have none.
    """

    model: Model
    federation: Federation
    rate: Fraction = Fraction(1)
    chance: Chance | None = field(default=None, compare=False)

    def keyed(self, keys: Keys) -> Setting:
        """The same with public random numbers of this run."""

        def chance(purpose: str, round: int) -> np.random.Generator:
            return keys.generator(f"public {purpose}", round=round)

        return replace(self, chance=chance)

    def for_hosts(self) -> Setting:
        """What engines may send to other processes: nothing that comes from the run's key."""
        return replace(self, chance=None, federation=replace(self.federation, read={}))

    def generator(self, purpose: str, round: int = 0) -> np.random.Generator:
        """Public random numbers for a purpose and round."""
        if self.chance is None:
            raise InvalidArgument("only a run has public random numbers", argument="setting")
        return self.chance(purpose, round)

    def initial(self) -> Array:
        """The weights that the run starts from."""
        return self.model.initial(self.generator("start"))

    def samples(self, data: Dataset) -> Samples:
        """A data set as the model reads it."""
        read = self.federation.read
        if id(data) not in read:  # the data are kept, so the id stays theirs
            x = torch.from_numpy(data.scaled(self.federation.scaling))
            read[id(data)] = (data, (x, torch.from_numpy(data.y)))
        samples: Samples = read[id(data)][1]
        return samples

    def open(self) -> Samples:
        """The public samples. Raises `InvalidArgument` where there are none."""
        public = self.federation.public
        if public is None or not len(public):
            message = '[data] public must be given ("validation"), got none'
            raise InvalidArgument(message, argument="public")
        return self.samples(public)

    def evaluate(self, weights: Array, data: Dataset) -> tuple[float, float]:
        """(mean loss, share classified rightly) over a data set."""
        x, y = self.samples(data)
        flat = torch.from_numpy(weights.astype(np.float32))
        loss, right = 0.0, 0
        with torch.no_grad():
            for first in range(0, len(y), _AT_ONCE):
                scores = self.model.scores(flat, x[first : first + _AT_ONCE])
                truth = y[first : first + _AT_ONCE]
                loss += float(torch.nn.functional.cross_entropy(scores, truth, reduction="sum"))
                right += int((scores.argmax(dim=1) == truth).sum())
        return loss / len(y), right / len(y)
