"""Whose data is protected, and how far it can move the votes.

AE-DPFL, Theorem 11 with the sensitivities it should have (docs/theory/voting.md). All is counted in
shares of a vote: whole votes where each voter has one, k-th parts where an agent's vote is the mean of its
k nearest neighbours' labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.declare.domain import Integer
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Adjacency, Unit

LEVELS = ("agent", "instance")
NEIGHBOURS = Integer(1, 10**6, typical=(1, 100))
"""k of Private-kNN-FL."""


@dataclass(frozen=True)
class Level:
    """Who is protected: "agent" (a voter comes or goes) or "instance" (one of its records is exchanged).

    `shares` is k: how many equal shares a voter's vote has, 1 for PATE. Raises `InvalidArgument`.

    >>> [round(Level(name, 10).l2, 6) for name in LEVELS]
    [10.0, 1.414214]
    """

    name: str
    shares: int = 1

    def __post_init__(self) -> None:
        if self.name not in LEVELS:
            message = f"level must be agent or instance, got {self.name!r}"
            raise InvalidArgument(message, argument="level")
        NEIGHBOURS.check("neighbours", self.shares)

    @property
    def is_agent(self) -> bool:
        """Whether an agent comes or goes, with all its votes."""
        return self.name == "agent"

    @property
    def step(self) -> int:
        """Shares that leave a class, or come to one, in a neighbour."""
        return self.shares if self.is_agent else 1

    @property
    def l2_squared(self) -> int:
        """Squared L2 distance of neighbours: k^2 for an agent, and 2 for one share that moves."""
        return self.shares**2 if self.is_agent else 2

    @property
    def l2(self) -> float:
        """L2 distance of neighbours."""
        return math.sqrt(self.l2_squared)

    @property
    def changed(self) -> int:
        """How many counts a neighbour changes, by `step` each."""
        return 1 if self.is_agent else 2

    @property
    def margin(self) -> int:
        """The most by which a margin between two classes can change."""
        return self.step * self.changed

    @property
    def proven(self) -> bool:
        """Whether the enumerated neighbours include the worst one.

        An agent of kNN voting may spread its vote over classes. That a vote for one class is the worst is
        shown for Renyi divergences in one order only; what bounds all others is in `spread`.
        """
        return not self.is_agent or self.shares == 1

    @property
    def adjacency(self) -> Adjacency:
        """Add-remove of agents; replace-one of records."""
        return Adjacency.ADD_REMOVE if self.is_agent else Adjacency.REPLACE_ONE

    @property
    def unit(self) -> Unit:
        """Whose data is protected."""
        return Unit.CLIENT if self.is_agent else Unit.RECORD

    @property
    def sentence(self) -> str:
        """The neighbouring relation in a sentence."""
        if self.is_agent:
            return (
                "neighbours differ in one voter, with all its votes: one vote more or fewer a query"
            )
        if self.shares == 1:
            return "neighbours differ in one voter's data: in each query one vote may move to another class"
        return (
            "neighbours differ in one record: in each query one of a voter's"
            f" {self.shares} nearest neighbours may have another label"
        )
