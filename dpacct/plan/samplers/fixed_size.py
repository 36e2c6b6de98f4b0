"""Sampling without replacement: a uniformly random subset of fixed size."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import RATE
from dpacct.declare.record import Parameter
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.plan.node import Node
    from dpacct.pld.pair import Pair, Pairs


class WithoutReplacement(Sampler, kind="without-replacement"):
    """A uniform subset of a fixed, public size: `rate` in (0, 1] is its share of all units.

    The size of the data set is public too, so the adjacency is replace-one. Raises
    `InvalidArgument`.

    >>> import dpacct as dp
    >>> WithoutReplacement(0.05)(dp.Gaussian(sigma=1)) * 200
    WithoutReplacement(0.05)(Gaussian(sigma=1)) * 200
    """

    rate: Parameter[Fraction] = Parameter(
        RATE, "share of all units that are in a step", "Q", kw_only=False
    )
    word = "uniform"
    drawn = "each on a random {rate} of the {unit}s, of fixed size"
    means = "a fixed size, without replacement"
    trust = (
        "every step draws a fresh random subset of fixed size (shuffling once an epoch does not)"
    )
    fixed_adjacency = Adjacency.REPLACE_ONE
    counts_units = True
    references = ("dong2022gaussian, Theorem 4.2",)
    drawing = "each sample is a uniformly random subset of the stated share, drawn afresh"

    def everyone(self, node: Node) -> Node:
        """The plan on all units: a sample of them only leaves some out."""
        return node

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """The dominating pair C_rate of the mechanism's trade-off function."""
        return base.without_replacement(float(self.rate), adjacency)
