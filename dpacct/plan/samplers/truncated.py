"""Poisson sampling whose largest batches are cut to a fixed size."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import Integer, Real
from dpacct.declare.number import literal, shown
from dpacct.declare.record import Parameter, Usage
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.samplers.sampled import Sampler

if TYPE_CHECKING:
    from dpacct.declare.record import Call
    from dpacct.plan.node import Leaf, Node
    from dpacct.plan.samplers.steps import Steps
    from dpacct.pld.pair import Pair, Pairs
    from dpacct.vocabulary import Adjacency


class TruncatedPoisson(Sampler, kind="truncated-poisson"):
    """Poisson sampling at `rate`; of a batch above `max_batch` so many records, drawn at random, are kept.

    This is how batches get a fixed shape (JAX Privacy's `truncated_batch_size`). `dataset_size`: the number
    of records, the unit's among them. The noise is Gaussian, and clip or sensitivity is that of one record:
    a full batch exchanges one record for another, which moves the sum by twice as much. Raises
    `InvalidArgument`.

    >>> import dpacct as dp
    >>> run = TruncatedPoisson(0.01, max_batch=16, dataset_size=1000)(dp.Gaussian(noise_multiplier=1)) * 128
    >>> print(f"{float(run.epsilon(1e-6)):.3f}")
    5.084
    """

    rate: Parameter[Fraction] = Parameter(
        Real(0, 1), "probability that a record is drawn", "Q", kw_only=False
    )
    max_batch: Parameter[int] = Parameter(Integer(1, 10**9), "records of the largest batch", "B")
    dataset_size: Parameter[int] = Parameter(Integer(2, 10**12), "records of the data set", "N")
    counts_units = True
    means = "as poisson, and batches above a size are cut to it"
    trust = "each {unit} is drawn by its own coin, and a batch that is too large is cut at random"
    references = ("chua2024scalable", "ganesh2025tighter")
    drawn = "each {unit} in a step with probability {rate}, in batches of at most {max_batch}"
    drawing = (
        "each record is drawn by its own coin; of a batch that is too large a random part is kept"
    )

    @classmethod
    def stated(cls, rate: Fraction, steps: Steps, call: Call) -> TruncatedPoisson:
        """Make the sampler with the sizes that were typed."""
        for name in ("max_batch", "dataset_size"):
            if name not in steps.settings:
                message = f"{call('sampling')} {cls.kind} needs {call(name)}"
                raise Usage(message, argument=call(name))
        return cls(rate, max_batch=steps.max_batch, dataset_size=steps.dataset_size)

    def _complaint(self) -> InvalidArgument | None:
        if self.max_batch < self.dataset_size:
            return None
        message = f"max_batch must be below dataset_size, {self.dataset_size}, got {self.max_batch}"
        return InvalidArgument(f"{message}: no batch would be cut", argument="max_batch")

    def within(self, outer: Sampler) -> None:
        """None: a cut batch of a sample is not the batch of another sampler."""
        return

    def check_inner(self, leaf: Leaf) -> None:
        """Refuse several releases on one batch, for which no pair is known."""
        message = f"{self!r} is for one release of Gaussian noise, got {shown(leaf)} on its sample"
        raise Unsupported(message, argument="plan")

    def everyone(self, node: Node) -> Node:
        """The noise at twice the distance: who knows a full batch sees one record in another's place."""
        return node.weighted(2)

    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """A Poisson sample of the unit, or of twice its distance where the batch is full."""
        from dpacct.pld.truncated import truncated

        return truncated(base, float(self.rate), self.max_batch, self.dataset_size, adjacency)

    def __repr__(self) -> str:
        sizes = f"max_batch={self.max_batch}, dataset_size={self.dataset_size}"
        return f"TruncatedPoisson({literal(self.rate)}, {sizes})"
