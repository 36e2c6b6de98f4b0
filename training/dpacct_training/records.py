"""Records: noisy steps inside a client, on its own records sampled afresh."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import delta as probability
from dpacct_training.accept import one_of, positive, share, whole
from dpacct_training.accounts import rounds_within
from dpacct_training.keys import Stream
from dpacct_training.noise import Noise
from dpacct_training.sampling import SCHEMES, accounted, drawn


@dataclass(frozen=True, kw_only=True)
class Records:
    """The protection of one record of a client: `steps` releases of `noise`, each on a fresh sample.

    `rate`: share of the client's records in a step. `coin`: the client's public chance to take part
    in a round. `epsilon`: the client's own budget, beyond which it takes part no more; None: in all
    rounds. Raises `InvalidArgument`.
    """

    noise: Noise
    steps: int
    rate: Fraction
    scheme: str = "poisson"
    coin: Fraction = Fraction(1)
    epsilon: float | None = None
    delta: Fraction = Fraction(1, 10**5)

    def __post_init__(self) -> None:
        whole("steps", self.steps, 1)
        one_of("scheme", self.scheme, SCHEMES)
        object.__setattr__(self, "rate", share("rate", self.rate))
        object.__setattr__(self, "coin", share("coin", self.coin))
        object.__setattr__(self, "delta", probability("delta", self.delta, 1))
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)

    @cached_property
    def node(self) -> dp.Node | None:
        """The node of one round: `steps` releases, if the client's public coin selects it."""
        return self._round(self.noise.node)

    @cached_property
    def claimed(self) -> dp.Node | None:
        """The node that the paper accounts for a round, if its noise is drawn as printed; else `node`."""
        return self._round(self.noise.claimed)

    @property
    def _sampled_by(self) -> str:
        return "none" if self.rate == 1 else self.scheme

    def _round(self, release: dp.Node | None) -> dp.Node | None:
        if release is None:
            return None
        steps = accounted(release, self._sampled_by, self.rate) * self.steps
        node = steps if self.coin == 1 else dp.Participation(self.coin)(steps)
        return node.under(unit="record")

    def rounds(self, most: int) -> int:
        """In how many of `most` rounds the client may take part, by the accounting that it goes by."""
        if self.epsilon is None or self.claimed is None:
            return most
        return rounds_within(self.claimed, self.epsilon, self.delta, most)

    def batch(self, held: int, stream: Stream) -> NDArray[np.int64]:
        """The places of one step's records among the `held` ones: the coins that are accounted."""
        return drawn(self._sampled_by, held, self.rate, stream).clients
