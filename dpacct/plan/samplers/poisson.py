"""Poisson sampling: each unit tosses its own coin."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import RATE
from dpacct.declare.number import shown
from dpacct.declare.record import Parameter
from dpacct.errors import Unsupported
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.mechanisms.mechanism import Mechanism
    from dpacct.plan.node import Leaf, Node
    from dpacct.pld.pair import Pair, Pairs


class Poisson(Sampler, kind="poisson"):
    """Each unit is in the sample with probability `rate` in (0, 1], independently of all others.

    Every adjacency is possible. The coin covers all that runs while the sample is held: 50 steps
    under one coin, in 20 rounds, are `Poisson(0.1)(step * 50) * 20`. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    Poisson(0.01)(Gaussian(sigma=1.1)) * 1000
    """

    rate: Parameter[Fraction] = Parameter(
        RATE, "probability that a unit is in a step", "Q", kw_only=False
    )
    references = ("zhu2022optimal",)
    drawn = "each {unit} in a step with probability {rate}"
    means = "each record by its own coin"
    trust = (
        "each {unit} is sampled by its own coin (Opacus: poisson_sampling=True, not shuffle=True)"
    )
    drawing = "each unit is sampled independently, with the stated rate, afresh at each release"

    def check_inner(self, leaf: Leaf) -> None:
        """A sample of fixed size changes its size with the unit's coin: its pair does not cover that."""
        super().check_inner(leaf)
        if leaf.counts_units or leaf.fixed_adjacency is Adjacency.REPLACE_ONE:
            message = f"Poisson around {shown(leaf)} has no known pair: the unit's coin changes the number"
            message += (
                " of units, which the sample inside takes as fixed; Participation(rate) is a coin"
            )
            raise Unsupported(f"{message} that is not the unit's own", argument="plan")

    def everyone(self, node: Node) -> Node:
        """The plan on all units: a sample of them only leaves some out."""
        return node

    def grouped(self, mechanism: Mechanism, size: int) -> Leaf | None:
        """The group's own pairs, of noise whose moves add up."""
        from dpacct.plan.samplers.group import MOST, PoissonGroup

        if size > MOST or mechanism.grouped(size) is None:
            return None
        return PoissonGroup(size=size, rate=self.rate).holding(mechanism)

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """The mixture with weight `rate` on the differing unit being sampled."""
        return base.poisson(float(self.rate), adjacency)
