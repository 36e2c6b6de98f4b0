"""The words of a plan that belong to no mechanism: how often, on what share of the data, for whom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpacct.declare.domain import POSITIVE, STEPS, Integer, Real, Word
from dpacct.declare.number import text
from dpacct.declare.record import Call, Exclusive, Parameter, Record, Usage
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Adjacency, Unit

COUNT = Integer(1, 10**18)
"""A number of records, clients or coordinates."""
SAMPLING = Word("poisson", "uniform", "none")
"""The sampling of a step; a sampler that declares its own assumption adds its word."""
BY_RECORDS = "records-per-user"
"""The word of the sampling that takes the number of a user's records."""


class Steps(Record):
    """The number of steps, and how each samples the data.

    >>> steps = Steps(batch_size=256, dataset_size=60000, epochs=3)
    >>> steps.share, steps.count(str)
    (Fraction(8, 1875), 705)
    """

    rate: Parameter[Fraction | None] = Parameter(
        Real(
            0,
            1,
            "right",
            above="which is no share: for so many in a batch give batch size and dataset size",
        ),
        "share of the data that a step samples",
        "Q",
        default=None,
    )
    batch_size: Parameter[int | None] = Parameter(
        COUNT, "with dataset size, instead of the rate: B / N", "B", default=None
    )
    dataset_size: Parameter[int | None] = Parameter(
        COUNT, "number of records (units)", "N", default=None
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

    def _fill(self, values: Mapping[str, Any], call: Call) -> None:
        sized = f"{call('batch_size')} with {call('dataset_size')}"
        for one, others, instead in (
            ("rate", ("batch_size", "dataset_size"), sized),
            ("steps", ("epochs",), call("epochs")),
        ):
            for other in others:
                if values.get(one) is not None and values.get(other) is not None:
                    text = f"{call(one)} and {call(other)} do not go together: give {call(one)} or"
                    raise Exclusive(f"{text} {instead}", argument=call(one))
        super()._fill(values, call)
        sampling = call("sampling")
        share = f"{call('rate')}, or {call('batch_size')} and {call('dataset_size')}"
        if self.batch_size and self.dataset_size and self.batch_size > self.dataset_size:
            message = f"{call('batch_size')} must be at most {call('dataset_size')}"
            message += f" ({self.dataset_size}), got {self.batch_size}"
            raise InvalidArgument(message, argument=call("batch_size"))
        if self.records_per_user is not None and self.drawn != BY_RECORDS:
            message = f"{call('records_per_user')} belongs to {sampling} {BY_RECORDS},"
            raise Exclusive(f"{message} got {self.sampling}", argument=sampling)
        if self.sampling == "none" and self.share is not None:
            message = f"{sampling} none contradicts a sampling rate; leave one of them out"
            raise Exclusive(message, argument=sampling)
        if self.drawn not in ("", "none") and self.share is None:
            raise Usage(f"{sampling} {self.drawn} needs {share}", argument=call("rate"))
        if self.epochs is not None and self.share is None:
            message = f"{call('epochs')} needs a sampling rate to become steps: {share}"
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
        return self.sampling or (BY_RECORDS if self.records_per_user is not None else "")

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

    @property
    def notes(self) -> list[str]:
        """A note on how the epochs determine the steps; none if the steps were given."""
        if self.epochs is None:
            return []
        passes = text(self.epochs)
        each = "1 / rate in each"
        if self.batches is not None:
            each = f"a data loader takes {self.batches} batches of {self.batch_size} in each"
        said = f"{passes} epoch{'' if passes == '1' else 's'} are {self.count(str)} steps"
        return [f"{said}{', ' if self.batches is None else ': '}{each}"]


class Meaning(Record):
    """The adjacency and the unit of privacy."""

    adjacency: Parameter[str | None] = Parameter(
        Word(*(str(word) for word in Adjacency)),
        "which data sets are neighbours; default: replace-one for uniform sampling, else add-remove",
        default=None,
    )
    unit: Parameter[str | None] = Parameter(
        Word(*(str(word) for word in Unit)),
        "whose data is protected; default: record; for the statement only, the number stays the same",
        default=None,
    )


# --- how an answer is looked for

EFFORT = 0.3
"""Seconds of CPU, estimated and never measured, that a proof may cost before auto takes another way."""
METHODS = Word(
    "auto",
    "certified",
    "exact",
    "rdp",
    "rdp-mironov",
    "clt",
    "balle_wang.theorem8",
    "bracket",
    "bracket@1e-6",
    "dp_fed_ls.theorem1",
    "dp_fed_ls.theorem2",
)
"""The methods that can be asked for by name."""
MOST_EFFORT = Real(0, math.inf, "left")
"""An effort, in seconds."""
PROOF_DIGITS = Integer(3, 300)
"""Digits that a proof may be asked for."""
DIGITS = 12
"""Digits of a proof, unless more are asked for: a relative width of 1e-12."""
