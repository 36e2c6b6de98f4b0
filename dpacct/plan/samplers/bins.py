"""BallsInBins: each unit in one of the steps of an epoch, drawn at random (random allocation)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import Integer
from dpacct.declare.number import text
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.declare.record import Call
    from dpacct.plan.node import Node
    from dpacct.plan.samplers.steps import Steps
    from dpacct.pld.pair import Pair, Pairs


_MOST = 1_000_000


class BallsInBins(Sampler, kind="balls-in-bins"):
    """Whole epochs of `bins` steps: each unit is in one random step of each epoch.

    `BallsInBins(t)(noise)` is one epoch of t steps; with `epochs`, the bins are kept for so many passes over
    them, and `* n` draws them afresh n times. The noise of each step is Gaussian. Neighbours differ by a
    unit that is absent, so the adjacency is add-remove. The law of the loss, a mean of lognormals, is
    integrated numerically to about 13 digits: answers are computed, never proved. Raises
    `InvalidArgument`, and `OutsideDomain` where sigma / sqrt(epochs) is below 0.1.

    >>> import dpacct as dp
    >>> epoch = BallsInBins(100)(dp.Gaussian(sigma=1))
    >>> print(f"{epoch.epsilon(delta=1e-6, method='exact').value:.9f}")
    0.857985977
    """

    means = "each record in one of the 1 / rate steps of an epoch"
    span = "epoch"
    trust = (
        "each epoch assigns every {unit} independently to one random step (cutting a shuffled list"
    )
    trust += " into batches of equal size does not)"
    drawn = "each {unit} in one of the {bins} steps of an epoch, at random"
    bins: Parameter[int] = Parameter(Integer(2, _MOST), "steps of an epoch", "T", kw_only=False)
    epochs: Parameter[int] = Parameter(
        Integer(1, 1_000_000), "passes over the same bins", default=1, kw_only=False
    )
    fixed_adjacency = Adjacency.ADD_REMOVE
    references = ("chua2025balls", "feldman2025privacy")
    drawing = "each unit is put into one of the bins, uniformly and independently of all others"

    @property
    def rate(self) -> Fraction:
        """The sampling rate of one step."""
        return Fraction(1, self.bins)

    @classmethod
    def stated(cls, rate: Fraction, steps: Steps, call: Call) -> BallsInBins:
        """The sampler with as many bins as an epoch has steps: a loader's batches, or 1 / rate."""
        if steps.batches is not None:
            rate = Fraction(1, steps.batches)
        if rate.numerator != 1 or not 2 <= rate.denominator <= _MOST:
            message = (
                f"{call('rate')} must be 1 / the steps of an epoch for {cls.kind} sampling, a whole"
            )
            message += f" number from 2 to {_MOST:,}, got {text(rate)}"
            raise InvalidArgument(message, argument=call("rate"))
        return cls(rate.denominator)

    def steps(self, node: Node, count: int) -> Node:
        """The plan of as many epochs as hold these steps; a started epoch counts in full."""
        return self(node) * -(-count // self.bins)

    def check_count(self, count: int, call: Call) -> None:
        """Refuse a number of steps that is not a whole number of epochs."""
        if count % self.bins:
            message = f"{call('steps')} must be whole epochs of {self.bins:,} steps for {self.kind} sampling"
            raise InvalidArgument(f"{message}, got {count:,}", argument=call("steps"))

    def within(self, outer: Sampler) -> None:
        """None: Poisson sampling inside an epoch has no equivalent single sampler."""
        return

    def check_inner(self, leaf: object) -> None:
        """Refuse several kinds of noise in one bin, for which no pair is implemented."""
        message = "bins are for Gaussian noise alone: of other plans the pair is not known"
        raise Unsupported(message, argument="plan")

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """A normal vector with one of its means shifted, at random, against none shifted."""
        return base.in_bins(self.bins, self.epochs)
