"""The laws of a plan in balls: the mechanisms' base pairs, from exact numbers, and their sampling.

A certificate's plan is read from the text that it carries. A base pair is the formula that the float engine
evaluates too (`Mechanism.stated`), here in balls; no float of the engine enters a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from dpacct.errors import Unsupported
from dpacct.mechanisms.laws.bounded_range import bounded_range_loss
from dpacct.plan.node import Leaf, Node
from dpacct.plan.samplers.sampled import SampledRelease
from dpacct.pld.loss import LossDistribution, normal
from dpacct.pld.operators import exchanged_coins
from dpacct.pld.pair import Stated, StatedPairs
from dpacct.vocabulary import Adjacency

from .balls import ball, demand
from .effort import spend
from .law import Law, OneForAnother, add, exchange, plain, read, remove
from .moments import NormalProofMoments, ProofMoments
from .rule import QuadratureRule


@dataclass(frozen=True)
class Step:
    """A base pair in exact numbers, and how it is sampled. Equal steps hash alike: a plan adds their counts.

    `unit`: of which every loss is a whole multiple where nothing is sampled.
    """

    stated: Callable[..., LossDistribution]
    numbers: tuple[Fraction | int, ...]
    sampled: Callable[[Law, arb], Law] = plain
    rate: Fraction = Fraction(1)
    unit: Fraction | None = None

    @classmethod
    def of(cls, pair: Stated) -> Step:
        """One release without sampling."""
        return cls(pair.formula, pair.numbers, unit=pair.unit)

    def base(self) -> Law:
        """The base pair in balls, at the working precision."""
        return read(Stated(self.stated, self.numbers).of(ball))

    def law(self) -> Law:
        """The step in balls, at the working precision."""
        return _law(self, ctx.prec)

    @property
    def normal(self) -> bool:
        """Return whether it is an unsampled Gaussian step, whose moments are closed."""
        return self.stated is normal and self.sampled is plain

    @property
    def symmetric(self) -> bool:
        """Return whether it is a pair of a sample of fixed size, and its own mirror image."""
        return self.sampled is exchange

    @property
    def mu_squared(self) -> Fraction:
        """The squared shift of Gaussian noise: (sensitivity / standard deviation)^2."""
        demand(self.stated is normal, "a step without Gaussian noise")
        return Fraction(self.numbers[0])

    def one_step(self, epsilon: arb) -> arb:
        """Delta of a single step in closed form, any real epsilon."""
        return self.law().one_step(epsilon)

    def ceiling(self) -> arb:
        """The largest loss; none where an outcome is impossible under Q."""
        law = self.law()
        return law.ceiling() if law.infinite.is_zero() else arb.pos_inf()

    def top(self) -> arb:
        """P-mass of the largest loss, where that is finite; a lower bound of it is enough."""
        return self.law().top() if self.ceiling().is_finite() else arb(0)

    def prepare(self, c: arb, rule: QuadratureRule | None) -> ProofMoments | NormalProofMoments:
        """The step ready for the line Re s = c."""
        if rule is None:
            demand(self.normal, "a law without nodes")
            return NormalProofMoments(ball(self.mu_squared), c)
        return ProofMoments(self.law(), c, rule)


@lru_cache(maxsize=256)
def _law(step: Step, bits: int) -> Law:
    return step.sampled(step.base(), ball(step.rate))


Laws = tuple[tuple[Step, int], ...]


@dataclass(frozen=True)
class BallPairs:
    """One step's laws, one per direction; `lower` if the attained pairs differ."""

    upper: tuple[Step, ...]
    lower: tuple[Step, ...] | None = None

    @classmethod
    def of(cls, stated: StatedPairs) -> BallPairs:
        """The laws of one release without sampling."""
        lower = None if stated.lower is None else tuple(map(Step.of, stated.lower))
        return cls(tuple(map(Step.of, stated.upper)), lower)


def _both(pair: Stated, rate: Fraction) -> tuple[Step, ...]:
    step = replace(Step.of(pair), rate=rate)
    return replace(step, sampled=remove), replace(step, sampled=add)


def _exchanged(pair: Stated, rate: Fraction, realised: Stated) -> BallPairs:
    """C_rate above, the mixtures of what is realised below."""
    upper = replace(Step.of(pair), sampled=exchange, rate=rate)
    return BallPairs((upper,), _both(realised, rate))


def _poisson(pair: Stated, rate: Fraction, adjacency: Adjacency) -> BallPairs:
    """One release on a Poisson sample."""
    if adjacency is Adjacency.REPLACE_ONE:
        facing = None if pair.near is None else pair.near.facing
        if pair.near is not None and facing is not None and rate < 1:
            operator = exchanged_coins(rate, facing.turn, facing.level)
            step = replace(Step.of(pair.near), sampled=OneForAnother(operator), rate=rate)
            return BallPairs((step,))
        return _exchanged(pair, rate, pair.near or pair)
    lower = None if pair.below is None else _both(pair.below, rate)
    return BallPairs(_both(pair, rate), lower)


def _uniform(pair: Stated, rate: Fraction, adjacency: Adjacency) -> BallPairs:
    """One release on a sample of fixed size; raises `Unsupported` where no unit is exchanged."""
    if pair.back is not None:
        raise Unsupported("method 'certified' has no proof for such tables", argument="method")
    return _exchanged(pair, rate, pair.below or pair)


_SCHEMES: Mapping[str, Callable[[Stated, Fraction, Adjacency], BallPairs]] = {
    "poisson": _poisson,
    "without-replacement": _uniform,
}


def pairs(leaf: Leaf, adjacency: Adjacency) -> list[tuple[BallPairs, int]]:
    """The laws of one leaf; raises `Unsupported` where there is no certified form."""
    if isinstance(leaf, SampledRelease) and leaf.kind in _SCHEMES:
        way = _SCHEMES[leaf.kind]
        return [(way(leaf.node.stated(adjacency), leaf.sampler.rate, adjacency), 1)]
    parts = leaf.stated_parts(adjacency)
    spend(sum(part.seconds for part, _ in parts))
    return [(BallPairs.of(part), count) for part, count in parts]


@dataclass(frozen=True)
class Sides:
    """A plan as laws with counts, one list per direction."""

    upper: tuple[Laws, ...]
    lower: tuple[Laws, ...] | None


def read_plan(node: Node, adjacency: Adjacency) -> Sides:
    """The plan's laws, plain Gaussians merged into one."""
    leaves: list[tuple[BallPairs, int]] = []
    for leaf, count in node.releases():
        leaves += [(pair, count * many) for pair, many in pairs(leaf, adjacency)]
        pair = leaves[-1][0]
        first = pair.upper[0]
        if first.stated is not bounded_range_loss:
            continue
        if len(node.releases()) == count == 1 and first.sampled is not exchange:
            # at each epsilon one choice attains the bound
            return Sides(_directions([(pair.upper, 1)]), None)
        if count > 1 and first.rate == 1:
            message = "method 'certified' has no proof for choices that may depend on earlier ones"
            raise Unsupported(f"{message}: {leaf!r:.80} repeated", argument="method")
    upper = _directions([(pair.upper, count) for pair, count in leaves])
    lower = None
    if any(pair.lower is not None for pair, _ in leaves):
        lower = _directions([(pair.lower or pair.upper, count) for pair, count in leaves])
    return Sides(upper, lower)


def _directions(steps: Sequence[tuple[tuple[Step, ...], int]]) -> tuple[Laws, ...]:
    directions = []
    for k in range(max(len(laws) for laws, _ in steps)):
        merged: dict[Step, int] = {}
        mu_squared = Fraction(0)
        for laws, count in steps:
            law = laws[k % len(laws)]
            if law.normal:
                mu_squared += count * law.mu_squared
            else:
                merged[law] = merged.get(law, 0) + count
        if mu_squared:
            merged[Step(normal, (mu_squared,))] = 1
        directions.append(tuple(merged.items()))
    return tuple(directions)
