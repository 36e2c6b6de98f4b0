"""PoissonGroup: several units that change together, each sampled by its own coin."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import Integer, Real
from dpacct.declare.record import Parameter
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.pld.pair import Pair, Pairs

MOST = 64
"""Units of a group whose mixtures are composed; of more the profile is bounded."""


class PoissonGroup(Sampler, kind="poisson-group"):
    """A Poisson sample as seen by a group of `size` units (`Group` makes it); the noise is Gaussian."""

    size: Parameter[int] = Parameter(Integer(1, MOST), "units of the group")
    rate: Parameter[Fraction] = Parameter(Real(0, 1), "probability that a unit is in a step")
    references = ("zhu2022optimal",)
    drawing = "each unit is sampled independently, with the stated rate, afresh at each release"

    def within(self, outer: Sampler) -> None:
        """None: a group of a sample inside another sample is not formed."""
        return

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """One pair for each split of the group between the two data sets."""
        return base.of_group(self.size, float(self.rate), adjacency)
