"""What an algorithm is: four pure pieces, with no files, no processes and no engine in sight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpacct_training.aggregate import Release, Turn, Updates, Vector
from dpacct_training.calibration import Target
from dpacct_training.local_sgd import LocalSGD, Train
from dpacct_training.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Cohort:
    """Who takes part, how often, and what must hold for each of them."""

    clients: int
    rate: Fraction
    scheme: str
    rounds: int
    clip: float | None
    target: Target | None


@dataclass(frozen=True)
class Algorithm(ABC):
    """`plan`, then in every round `client_step`, `aggregate` and `server_step`.

    Subclasses are frozen dataclasses: their fields are the algorithm's own settings, which an
    experiment sets under [algorithm].
    """

    local: LocalSGD

    name: ClassVar[str]
    source: ClassVar[str]
    """Paper and locus."""

    @abstractmethod
    def plan(self, cohort: Cohort) -> Plan:
        """Everything that privacy rests on."""

    @abstractmethod
    def client_step(self, train: Train, weights: Vector, turn: Turn, plan: Plan) -> Updates:
        """What the clients of this round send."""

    @abstractmethod
    def aggregate(self, updates: Updates, turn: Turn, plan: Plan) -> Release:
        """What is published of it: noise is added exactly once."""

    @abstractmethod
    def server_step(self, weights: Vector, release: Release) -> Vector:
        """The next model; sees nothing but the release."""
