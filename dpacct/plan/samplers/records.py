"""RecordsPerUser: a user has several records, each of which is sampled by its own coin."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import Integer, Real
from dpacct.declare.record import Parameter, Usage
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from dpacct.declare.record import Call
    from dpacct.plan.samplers.steps import Steps
    from dpacct.pld.pair import Pair, Pairs


class RecordsPerUser(Sampler, kind="records-per-user"):
    """The unit is a user with at most `records` records; each is sampled with probability `rate` in (0, 1).

    The noise is Gaussian, and its sigma in units of what one record may add: with j records in a step the
    sum moves by up to j of them. Neighbours differ by a whole user, so the adjacency is add-remove. Of a
    group of units that come and go see `Group`.

    >>> import dpacct as dp
    >>> run = RecordsPerUser(5, "0.01")(dp.Gaussian(sigma="1.1")) * 1000
    >>> print(f"{run.epsilon(delta=1e-5, method='exact').value:.5f}")
    9.59963
    """

    means = "several records of a user, each by its own coin"
    unit = Unit.USER
    trust = "no {unit} has more records than stated, and each record is drawn by its own coin"
    drawn = "{records} records of each {unit}, each in a step with probability {rate}"
    records: Parameter[int] = Parameter(Integer(1, 1000), "records of a user", "K", kw_only=False)
    rate: Parameter[Fraction] = Parameter(
        Real(0, 1), "probability that a record is in a step", "Q", kw_only=False
    )
    fixed_adjacency = Adjacency.ADD_REMOVE
    references = ("ganesh2024tight",)
    drawing = "each record is sampled independently, with the stated rate, afresh at each release"

    @classmethod
    def stated(cls, rate: Fraction, steps: Steps, call: Call) -> RecordsPerUser:
        """Make the sampler with the number of records that was typed."""
        if steps.records_per_user is None:
            message = f"{call('sampling')} {cls.kind} needs {call('records_per_user')}"
            raise Usage(message, argument=call("records_per_user"))
        if rate == 1:
            message = f"{call('rate')} must be below 1 for {cls.kind} sampling, got 1"
            raise InvalidArgument(message, argument=call("rate"))
        return cls(steps.records_per_user, rate)

    def within(self, outer: Sampler) -> None:
        """None: a coin of the user is not equivalent to coins of its records."""
        return

    def check_inner(self, leaf: object) -> None:
        """Refuse several kinds of noise on one sample, for which no pair is implemented."""
        message = "records of a user are sampled for Gaussian noise alone: "
        message += "of other plans the pair is not known"
        raise Unsupported(message, argument="plan")

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """The mixture over how many of the records are in the sample."""
        return base.by_records(self.records, float(self.rate))
