"""What is asked of an accountant, in a form that travels to a worker process as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Mechanism = Literal["gaussian", "laplace", "pure"]
Want = Literal["epsilon", "delta", "sigma", "profile"]


class NotOffered(Exception):
    """The accountant has no way to answer this kind of question."""


@dataclass(frozen=True)
class Part:
    """``count`` releases of one mechanism, each under its own Poisson coin of probability
    ``rate``.

    ``parameter`` is sigma (std / sensitivity), b (scale / sensitivity) or eps0 (pure DP, met by
    randomized response).
    """

    mechanism: Mechanism
    parameter: float
    rate: float
    count: int


@dataclass(frozen=True)
class Question:
    """One question: what is wanted, of which plan, at which delta or epsilons."""

    want: Want
    plan: tuple[Part, ...]
    delta: float | None = None
    epsilons: tuple[float, ...] = ()

    def nudged(self, k: int) -> Question:
        """The same question with its free number moved by k parts in 10^9, so that no cache can
        answer a repetition.
        """
        scale = 1 + k * 1e-9
        if self.want == "sigma":
            return replace(self, epsilons=tuple(e * scale for e in self.epsilons))
        plan = tuple(replace(part, parameter=part.parameter * scale) for part in self.plan)
        return replace(self, plan=plan)

    @property
    def single(self) -> Part:
        """The plan's only part; a plan of several is not offered by whoever asks for this."""
        if len(self.plan) != 1:
            raise NotOffered("one mechanism only")
        return self.plan[0]

    @property
    def target_delta(self) -> float:
        """The delta of an epsilon or sigma question."""
        if self.delta is None:
            raise ValueError("the question has no delta")
        return self.delta

    def gaussians(self) -> tuple[Part, ...]:
        """The parts, if all are Gaussian."""
        if any(part.mechanism != "gaussian" for part in self.plan):
            raise NotOffered("Gaussian only")
        return self.plan

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``from_json`` reads back."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Question:
        """Read what ``to_json`` wrote."""
        plan = tuple(Part(**part) for part in data["plan"])
        return Question(data["want"], plan, data["delta"], tuple(data["epsilons"]))
