"""The interface of federated plans: tree, wording, and a row per accounting method."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from dpacct.answer import Answer
from dpacct.answer.calibration import calibrate
from dpacct.citations import Citation, statement
from dpacct.declare.number import Number
from dpacct.declare.record import Record
from dpacct.errors import DpacctError
from dpacct.plan.node import Node
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

Notion = Literal["weak", "strong", "client", "record", "message"]
"""The adversary: `weak` is one other client, `strong` all others together.

Both protect a record from those who know the released models; `client` and `record` protect that unit from
anyone who sees the released models, `message` from who sees single messages to the server.
"""


@dataclass(frozen=True)
class Printed:
    """The value of a paper's formula.

    `status`: `published`, `corrected`, `refuted` (the statement is false) or `misapplied` (it is about
    something else); the latter two are no answers, and `told` says why.
    """

    theorem: str
    value: float
    status: str
    told: str = ""

    @property
    def holds(self) -> bool:
        """Return whether the number may be used for what it claims to be."""
        return self.status not in ("refuted", "misapplied")


@dataclass(frozen=True)
class Row:
    """One way to account for a plan. Where `printed` is refuted, `answer` is the truth in its place."""

    name: str
    notion: Notion
    answer: Answer
    printed: Printed | None = None
    about: str = ""
    who: str = ""  # the client it is about, where clients differ


class FederatedPlan(Record, ABC):
    """A plan of federated learning; the notes of its paper's algorithm are in its class."""

    algorithm: ClassVar[str]
    paper: ClassVar[str]
    unit: ClassVar[Unit]
    notions: ClassVar[tuple[Notion, ...]]

    @abstractmethod
    def tree(self) -> Node:
        """The plan as it is accounted: what is released, how often, and under which coins."""

    @abstractmethod
    def with_sigma(self, sigma: float) -> Self:
        """Return the plan with this noise: standard deviation / sensitivity."""

    @property
    @abstractmethod
    def sensitivity(self) -> str:
        """The sensitivity in words."""

    @abstractmethod
    def promises(self) -> tuple[str, ...]:
        """The assumptions about the run that the plan cannot show."""

    @abstractmethod
    def rows(self, *, delta: Number) -> Iterator[Row]:
        """Every way to account for the plan, the paper's own included."""

    def proved_rows(self, *, delta: Number) -> Iterator[Row]:
        """The rows with a proved answer where `rows` has a computed one; may take seconds.

        Raises `NotCertified` where there is no proof.
        """
        return self.rows(delta=delta)

    @abstractmethod
    def sigma_rows(self, *, epsilon: Number, delta: Number) -> Iterator[Row]:
        """The smallest noise for a target, by every way that answers."""

    @property
    @abstractmethod
    def mu_clt(self) -> float:
        """mu of the Gaussian limit, no bound on anything; infinite where there is none."""

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self.tree().fixed_adjacency or Adjacency.ADD_REMOVE

    def epsilon(self, *, delta: Number) -> Answer:
        """Epsilon of the plan, with all that it rests on. Raises `InvalidArgument`."""
        return self.with_promises(self.tree().epsilon(delta=delta))

    def sigma_for(self, *, epsilon: Number, delta: Number) -> Answer:
        """The smallest noise (standard deviation / sensitivity) that meets a target.

        Raises `Unreachable` where none does, and `InvalidArgument`.
        """
        return self._calibrated(lambda sigma: self.with_sigma(sigma).tree(), epsilon, delta)

    def _calibrated(self, build: Callable[[float], Node], epsilon: Number, delta: Number) -> Answer:
        answer = calibrate(
            build, epsilon=epsilon, delta=delta, method="exact", name="sigma", bounds=(0.01, 1e9)
        )
        return self.with_promises(answer)

    def with_promises(self, answer: Answer) -> Answer:
        """An answer with this plan's unit and promises."""
        return replace(promised(answer, self.promises(), self.paper), unit=self.unit)


def promised(answer: Answer, texts: tuple[str, ...], paper: str) -> Answer:
    """The answer, resting on these promises of a paper's algorithm too."""
    more = (Assumption(text, source=paper) for text in texts)
    return replace(answer, assumptions=tuple(dict.fromkeys((*answer.assumptions, *more))))


def published(answer: Answer, theorem: str, value: float | None = None) -> Answer:
    """A number by a theorem as printed: an upper bound that was searched for counter-examples only.

    `value`: what a bound that was verified gives; it stands in for the answer's, rounded up.
    """
    if value is None:
        upper = answer.value if answer.upper is None else answer.upper
        strength = Strength.weakest((answer.strength, Strength.PUBLISHED))
    else:
        upper, strength = value * (1.0 + 1e-9), Strength.BOUND
    return replace(
        answer,
        value=upper,
        lower=None,
        upper=upper,
        side=Side.UPPER,
        strength=strength,
        method=theorem,
        basis=(statement(theorem), *answer.basis),
    )


def estimate(answer: Answer, method: str, *basis: Citation) -> Answer:
    """A number that bounds nothing."""
    return replace(
        answer,
        lower=None,
        upper=None,
        side=Side.NONE,
        strength=Strength.ESTIMATE,
        method=method,
        basis=basis,
    )


def attempted(*makes: Callable[[], Row]) -> Iterator[Row]:
    """The rows, but those whose formula does not apply to the plan."""
    for make in makes:
        try:
            row = make()
        except (DpacctError, OverflowError):
            continue
        if math.isfinite(row.answer.value):
            yield row
