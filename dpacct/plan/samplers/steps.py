"""The words of a plan that belong to no mechanism: how often, and on what share of the data."""

from __future__ import annotations

from fractions import Fraction

from dpacct.declare.domain import POSITIVE, STEPS, Integer, Real
from dpacct.declare.number import text
from dpacct.declare.record import Call, Exclusive, Parameter, Record, Usage
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Node
from dpacct.plan.samplers.sampled import SAMPLING, Sampler

_COUNT = Integer(1, 10**18)
_BELONGING = {"records_per_user": "records-per-user", "max_batch": "truncated-poisson"}
"""Words that are about one sampling, which they say."""


class Steps(Record):
    """The number of steps, and how each samples the data.

    >>> steps = Steps(batch_size=256, dataset_size=60000, epochs=3)
    >>> steps.share, steps.count(str)
    (Fraction(8, 1875), 705)
    """

    rate: Parameter[Fraction | None] = Parameter(
        Real(0, 1, "right", above=", which is no share: give batch size and dataset size"),
        "share of the data that a step samples",
        "Q",
        default=None,
    )
    batch_size: Parameter[int | None] = Parameter(
        _COUNT, "with dataset size, instead of the rate: B / N", "B", default=None
    )
    dataset_size: Parameter[int | None] = Parameter(
        _COUNT, "number of records (units)", "N", default=None
    )
    sampling: Parameter[str | None] = Parameter(
        SAMPLING,
        "how a step's sample is drawn; poisson by default if there is a rate",
        default=None,
    )
    records_per_user: Parameter[int | None] = Parameter(
        Integer(1, 1000),
        "records that a user has at most, each sampled by its own coin",
        "K",
        default=None,
    )
    max_batch: Parameter[int | None] = Parameter(
        Integer(1, 10**9),
        "records of the largest batch: more are cut to it at random",
        "M",
        default=None,
    )
    steps: Parameter[int | None] = Parameter(
        STEPS, "number of steps; default 1 without sampling", "T", default=None
    )
    epochs: Parameter[Fraction | None] = Parameter(
        POSITIVE,
        "passes over the data instead of steps: ceil(N / B) steps each, or 1 / rate",
        "E",
        default=None,
    )

    needing = (("batch_size", "dataset_size"),)

    def _together(self, call: Call) -> None:
        """Refuse words that do not go together."""
        if self.rate is not None and self.batch_size is not None:
            instead = f"{call('batch_size')} with {call('dataset_size')}"
            raise _exclusive(call("rate"), call("batch_size"), instead)
        if self.steps is not None and self.epochs is not None:
            raise _exclusive(call("steps"), call("epochs"), call("epochs"))
        if self.batch_size and self.dataset_size and self.batch_size > self.dataset_size:
            message = f"{call('batch_size')} must be at most {call('dataset_size')}"
            message += f" ({self.dataset_size}), got {self.batch_size}"
            raise InvalidArgument(message, argument=call("batch_size"))
        for name, word in _BELONGING.items():
            if name in self.settings and self.drawn != word:
                message = f"{call(name)} belongs to {call('sampling')} {word}, got {self.drawn}"
                raise Exclusive(message, argument=call("sampling"))
        if self.sampling == "none" and self.share is not None:
            message = f"{call('sampling')} none contradicts a sampling rate; leave one of them out"
            raise Exclusive(message, argument=call("sampling"))
        if self.share is None and (self.epochs is not None or self.drawn not in ("", "none")):
            needs = f"{call('rate')}, or {call('batch_size')} and {call('dataset_size')}"
            if self.drawn not in ("", "none"):
                raise Usage(f"{call('sampling')} {self.drawn} needs {needs}", argument=call("rate"))
            message = f"{call('epochs')} needs a sampling rate to become steps: {needs}"
            raise Usage(message, argument=call("epochs"))

    @property
    def share(self) -> Fraction | None:
        """The sampling rate, however it was given; None for a plan without sampling."""
        if self.batch_size is not None and self.dataset_size is not None:
            return Fraction(self.batch_size, self.dataset_size)
        return self.rate

    @property
    def drawn(self) -> str:
        """The word for how samples are drawn, said or following from what was; "" where nothing says it."""
        said = (word for name, word in _BELONGING.items() if name in self.settings)
        return self.sampling or next(said, "")

    @property
    def batches(self) -> int | None:
        """Steps that a data loader takes in an epoch: it keeps the last batch, however small."""
        if self.batch_size is None or self.dataset_size is None:
            return None
        return -(-self.dataset_size // self.batch_size)

    def count(self, call: Call) -> int:
        """The number of steps. Raises `Usage` where there is sampling, and nothing says how often."""
        share = self.share
        if self.steps is not None or share is None:
            return self.steps or 1
        if self.epochs is None:
            message = f"give the number of steps with {call('steps')}, or with {call('epochs')}"
            raise Usage(message, argument=call("steps"))
        count = -(-self.epochs * self.batches // 1) if self.batches else -(-self.epochs // share)
        if count > 10**15:
            message = f"{call('epochs')} must come to at most 1e15 steps, got {float(count):.4g}"
            raise InvalidArgument(message, argument=call("epochs"))
        return int(count)

    def of(
        self,
        release: Node,
        call: Call,
        count: int | None = None,
        *,
        adjacency: str | None = None,
        unit: str = "",
    ) -> Node:
        """The plan of these steps (or `count` of them) of a release, each sampled as stated."""
        share, times = self.share, self.count(call) if count is None else count
        if share is None:
            return (release * times).under(adjacency, unit=unit)
        sampler = Sampler.by_word[self.drawn or "poisson"].stated(share, self, call)
        if adjacency is not None and sampler.fixed_adjacency not in (None, adjacency):
            message = (
                f"{call('adjacency')} must be {sampler.fixed_adjacency} for {self.drawn} sampling"
            )
            raise InvalidArgument(f"{message}, got {adjacency}", argument=call("adjacency"))
        if count is None:
            sampler.check_count(times, call)
        return sampler.steps(release, times).under(adjacency, unit=unit or sampler.unit or "")

    @property
    def notes(self) -> list[str]:
        """A note on how the epochs determine the steps; none if the steps were given."""
        if self.epochs is None:
            return []
        said = f"{text(self.epochs)} epoch{'' if self.epochs == 1 else 's'} are {self.count(str)} steps"
        if self.batches is None:
            return [f"{said}, 1 / rate in each"]
        return [f"{said}: a data loader takes {self.batches} batches of {self.batch_size} in each"]


def _exclusive(one: str, other: str, instead: str) -> Exclusive:
    message = f"{one} and {other} do not go together: give {one} or {instead}"
    return Exclusive(message, argument=one)
