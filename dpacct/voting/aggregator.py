"""GNMax and LNMax: release which class has the most votes, after noise on each count.

Papernot et al. 2017 (Laplace noise, LNMax) and 2018 (Gaussian noise, GNMax, and its confident
form); Zhu et al. 2021 (AE-DPFL) at the level of agents and of instances, with voters that answer
for themselves (PATE-FL) or by their nearest neighbours (Private-kNN-FL).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpacct.declare.domain import Integer, Real, Word
from dpacct.declare.number import Number, text
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.plan.node import Fields, Leaf, Node, know, take
from dpacct.voting.argmax import CountNoise, GaussianNoise, LaplaceNoise, Screening
from dpacct.voting.votes import LEVELS, NEIGHBOURS, Histograms, Level, Votes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from dpacct.pld.stable import Floats
    from dpacct.voting.cost import VotingCost
    from dpacct.voting.exact import ExactLabels

QUERIES = Integer(1, 10**12)
NOISE = Real("0.001", 10**9, "both", typical=(0.5, 100))
"""Noise of a vote's count, in votes."""
ORDER = Real(1, 10**6, typical=(1.1, 64))
THRESHOLD = Real(-(10**9), 10**9, "both", as_float=False)


class Aggregator(Record, Node):
    """Base of GNMax and LNMax: the release of one query's label, and its cost at given votes.

    As a node of a plan it costs what its noisy counts cost, whatever the votes are: it composes, samples,
    and is saved like any other. What data-dependent accounting finds for given votes is `cost`.
    """

    level: Parameter[str] = Parameter(
        Word(*LEVELS),
        "instance: one record of one voter is exchanged, a vote may move; agent: a voter comes or goes",
        "NAME",
        default="instance",
    )
    neighbours: Parameter[int] = Parameter(
        NEIGHBOURS,
        "Private-kNN-FL: the votes are counts of labels of each voter's K nearest neighbours",
        "K",
        default=1,
    )

    def _fill(self, values: Mapping[str, Any], call: Callable[[str], str]) -> None:
        super()._fill(values, call)
        know(self, self.plan(1).facts.above())

    def gather(self) -> Mapping[Leaf, int]:
        """The noisy counts of one query."""
        return dict(self.plan(1).gathered)

    def fields(self) -> Fields:
        """The parameters that have a value, as exact text."""
        return {n: v if isinstance(v, str) else text(v) for n, v in self.settings.items()}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Build from the parameters that are there; the constructor checks them."""
        wanted = [n for n, each in cls.parameters.items() if n in fields or each.required]
        return cls(**{name: take(fields, name) for name in wanted})

    @property
    @abstractmethod
    def noise(self) -> CountNoise:
        """The noise on each count, in shares of a vote."""

    @property
    def screening(self) -> Screening | None:
        """The threshold step, in shares of a vote; None where every query is answered."""
        return None

    @property
    def neighbouring(self) -> Level:
        """The distance by which the protected unit can move the votes."""
        return Level(self.level, self.neighbours)

    def plan(self, queries: int) -> Node:
        """The noisy counts of `queries` queries, as a plan that does not depend on the votes.

        It dominates the labels, and holds for queries that are chosen as one goes along.

        >>> answer = GNMax(sigma=40, level="agent").plan(100).epsilon(delta=1e-5)
        >>> f"{answer.upper:.6f}"
        '0.926342'
        """
        count = int(QUERIES.check("queries", queries))
        result = self.noise.plan(self.neighbouring, count)
        if self.screening is not None:
            result = result + self.screening.plan(self.neighbouring, count)
        return result.under(self.neighbouring.adjacency, unit=self.neighbouring.unit)

    def cost(
        self,
        votes: Votes | ArrayLike,
        delta: Number,
        *,
        exact: bool = True,
        progress: Callable[[str], None] | None = None,
    ) -> VotingCost:
        """The cost of answering these queries at `delta`: bounds and the exact cost.

        `exact`: False leaves the exact cost out, as more than 5,000 different queries do.
        `progress` is told what is being done. Raises `InvalidArgument`.

        >>> votes = [[60, 5, 5], [20, 30, 20], [62, 4, 4]]
        >>> cost = GNMax(sigma=10, level="agent").cost(votes, 1e-5)
        >>> cost.exact.upper < cost.data_dependent.upper < cost.data_independent.upper
        True
        """
        from dpacct.voting.cost import voting_cost

        return voting_cost(self, self._ready(votes), delta, exact=exact, progress=progress)

    def renyi(self, votes: Votes | ArrayLike, order: Number) -> Floats:
        """The Renyi divergence of each query's label, exactly: the worst neighbour, either way.

        >>> GNMax(sigma=1, level="agent").renyi([[6, 0]], 6).round(9).tolist()
        [1.214017468]
        """
        at = float(ORDER.check("order", order))
        exact, which = self._within_reach(votes)
        return exact.renyi(at)[which]

    def wrong(self, votes: Votes | ArrayLike) -> Floats:
        """The exact probability that noise changes each query's label (of ties the first class counts).

        >>> GNMax(sigma=1).wrong([[2, 0, 0]]).round(9).tolist()
        [0.134232824]
        """
        exact, which = self._within_reach(votes)
        return np.asarray(exact.wrong()[which])

    def kinds(self, votes: Votes) -> tuple[ExactLabels, NDArray[np.intp], Floats]:
        """Exact laws at every kind of query, the kind of each query, and how many there are of each."""
        from dpacct.voting.exact import ExactLabels

        every = Histograms.of(votes.counts)
        first, which, count = every.alike()
        exact = ExactLabels(every.rows(first), self.neighbouring, self.noise, self.screening)
        return exact, which, count.astype(np.float64)

    def _within_reach(self, votes: Votes | ArrayLike) -> tuple[ExactLabels, NDArray[np.intp]]:
        """Exact laws and each query's kind; raises `OutsideDomain` where quadrature does not reach."""
        exact, which, _ = self.kinds(self._ready(votes))
        margins = exact.histograms.margins[:, -1]
        if int(margins.max()) <= exact.reach:
            return exact, which
        message = "the noise is too small to integrate"
        if exact.reach >= 0.0:
            limit = f"{exact.reach:.6g} shares of a vote to integrate this noise"
            query = int(np.argmax(margins[which])) + 1
            message = f"margins must be at most {limit}, query {query} has {int(margins.max())}"
        raise OutsideDomain(message, argument="votes")

    def _ready(self, votes: Votes | ArrayLike) -> Votes:
        counted = votes if isinstance(votes, Votes) else Votes(votes)
        loose = counted.counts.sum(axis=1) % self.neighbours != 0
        if loose.any():
            row = int(np.argmax(loose))
            message = f"votes must count {self.neighbours} neighbours of each voter, so a multiple of that"
            got = f"a row; got {int(counted.counts[row].sum())} in row {row + 1}"
            raise InvalidArgument(f"{message} {got}", argument="votes")
        return counted


class GNMax(Aggregator, kind="gnmax"):
    """The class with the most votes after normal noise on each count; confident with a threshold.

    `sigma`: standard deviation of the noise, in votes. `level`: who is protected, "instance" (one of a
    voter's records is exchanged, so one vote may move; it covers exchanging a whole voter) or "agent" (a
    voter comes or goes). `neighbours`: k, where a voter's vote is the mean of its k nearest neighbours'
    labels and counts are of neighbours (Private-kNN-FL). `threshold` and `threshold_sigma`, in votes: a
    query is answered only where the largest count plus noise of that deviation reaches the threshold.
    Raises `InvalidArgument`.

    >>> round(float((GNMax(sigma=40, level="agent") * 100).epsilon(delta=1e-5)), 6)
    0.926342
    >>> GNMax(sigma=40, threshold=150, threshold_sigma=50)
    GNMax(sigma=40, threshold=150, threshold_sigma=50, level='instance')
    """

    sigma: Parameter[Fraction] = Parameter(
        NOISE, "gaussian noise: its standard deviation, in votes", "S"
    )
    threshold: Parameter[Fraction | None] = Parameter(
        THRESHOLD,
        "confident GNMax: answer only where the largest count and noise reach T votes",
        "T",
        default=None,
    )
    threshold_sigma: Parameter[Fraction | None] = Parameter(
        NOISE, "standard deviation of that noise, in votes", "S1", default=None
    )

    needing = (("threshold", "threshold_sigma"),)

    @property
    def noise(self) -> CountNoise:
        """Normal noise, in shares of the votes."""
        return GaussianNoise(self.sigma * self.neighbouring.shares)

    @property
    def screening(self) -> Screening | None:
        """Normal noise of the threshold; None without one."""
        if self.threshold is None or self.threshold_sigma is None:
            return None
        shares = self.neighbouring.shares
        return Screening(self.threshold * shares, self.threshold_sigma * shares)

    def __repr__(self) -> str:
        return _call(self, "sigma", "threshold", "threshold_sigma")


class LNMax(Aggregator, kind="lnmax"):
    """The class with the most votes after Laplace noise of scale `b` (in votes) on each count.

    `level` and `neighbours` as in `GNMax`. Raises `InvalidArgument`.

    >>> LNMax(b=20, level="agent")
    LNMax(b=20, level='agent')
    """

    b: Parameter[Fraction] = Parameter(NOISE, "laplace noise: its scale, in votes", "B")

    @property
    def noise(self) -> CountNoise:
        """Laplace noise, in shares of the votes."""
        return LaplaceNoise(self.b * self.neighbouring.shares)

    def __repr__(self) -> str:
        return _call(self, "b")


def _call(aggregator: Aggregator, *names: str) -> str:
    settings = {name: getattr(aggregator, name) for name in names}
    shown = [f"{name}={_short(value)}" for name, value in settings.items() if value is not None]
    shown.append(f"level={aggregator.level!r}")
    if aggregator.neighbours > 1:
        shown.append(f"neighbours={aggregator.neighbours}")
    return f"{type(aggregator).__name__}({', '.join(shown)})"


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else repr(float(value))
