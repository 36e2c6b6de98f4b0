"""Participation: one coin decides whether a plan runs at all, whichever of two neighbours it runs on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import RATE
from dpacct.declare.record import Parameter
from dpacct.plan.samplers.sampled import Sampler

if TYPE_CHECKING:
    from dpacct.pld.pair import Pair, Pairs
    from dpacct.vocabulary import Adjacency


class Participation(Sampler, kind="participation"):
    """The plan runs with probability `rate` in (0, 1]; the coin is not about the unit that is protected.

    A client of federated learning takes part in a round with this probability, and the unit is one of
    its records: whether the client runs says nothing about the record, and what is seen when it does
    not is the same for both neighbours, but need not look like the plan without the record. So delta
    falls by about `rate`, and epsilon hardly; the coin may be public. Where the unit is the client
    itself, its coin is `Poisson`. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> local = dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1)) * 10
    >>> Participation("0.5")(local) * 20
    Participation(0.5)(WithoutReplacement(0.05)(Gaussian(sigma=1)) * 10) * 20
    """

    rate: Parameter[Fraction] = Parameter(
        RATE, "probability that the plan runs", "Q", kw_only=False
    )
    references = ()
    drawn = "run with probability {rate}"
    drawing = "whether the plan runs is decided by a coin that does not depend on the data"

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """The pair itself with probability `rate`, and else no evidence."""
        return base.participation(float(self.rate))
