"""From a plan's saved form to laws in exact numbers: the plan is read again, from its JSON.

So a certificate is checked against the text that it carries, and no float of the fast engine's laws
enters a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb

from dpacct.declare.number import exact
from dpacct.errors import Unsupported
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency

from . import stated
from .law import Law, add, exchange, remove
from .step import Step

Laws = tuple[tuple[Step, int], ...]


@dataclass(frozen=True)
class BallPairs:
    """One step's laws, one per direction; `lower` where the realised pairs are other ones."""

    upper: tuple[Step, ...]
    lower: tuple[Step, ...] | None = None


@dataclass(frozen=True)
class Base:
    """A dominating pair; `near`: that of an absent unit, at half the distance of two that are exchanged.

    `below`: a pair that is surely dominated, where the base is only a bound; None: the base itself.
    `reverse`: the pair with P and Q exchanged, where it is not its own mirror image.
    """

    pair: Step
    near: Step
    below: Step | None = None
    reverse: Step | None = None

    def plain(self) -> BallPairs:
        """One release."""
        both = (self.pair,) if self.reverse is None else (self.pair, self.reverse)
        return BallPairs(both, (self.below,) if self.below else None)

    def poisson(self, rate: Fraction, adjacency: Adjacency) -> BallPairs:
        """One release on a Poisson sample."""
        if adjacency is Adjacency.REPLACE_ONE:
            return BallPairs((self._on(self.pair, exchange, rate),), self._both(self.near, rate))
        lower = self._both(self.below, rate) if self.below else None
        return BallPairs(self._both(self.pair, rate), lower)

    def uniform(self, rate: Fraction, adjacency: Adjacency) -> BallPairs:
        """One release on a sample of fixed size; raises `Unsupported` where no unit is exchanged."""
        if self.reverse is not None:
            raise Unsupported("method 'certified' has no proof for such tables", argument="method")
        upper = (self._on(self.pair, exchange, rate),)
        return BallPairs(upper, self._both(self.below or self.pair, rate))

    def _both(self, step: Step, rate: Fraction) -> tuple[Step, ...]:
        return self._on(step, remove, rate), self._on(step, add, rate)

    @staticmethod
    def _on(step: Step, how: Callable[[Law, arb], Law], rate: Fraction) -> Step:
        return replace(step, sampled=how, rate=rate)


def _number(fields: Mapping[str, Any], name: str) -> Fraction:
    value = exact(fields[name])
    if value is None:
        raise Unsupported(f"{name} must be an exact number, got {fields[name]!r}", argument=name)
    return value


def _sigma_squared(fields: Mapping[str, Any], adjacency: Adjacency) -> Fraction:
    """(Standard deviation / sensitivity)^2: the clip factor is derived from the adjacency."""
    factor = adjacency.clip_factor**2
    if fields["node"] == "gaussian-statistic":
        per_clip = _number(fields, "per_clip")
        return 1 / (_number(fields, "per_sensitivity") + factor * per_clip)
    if "sigma" in fields:
        return _number(fields, "sigma") ** 2
    return _number(fields, "noise_multiplier") ** 2 / factor


def _gaussian(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    mu_squared = 1 / _sigma_squared(fields, adjacency)
    return Base(*(Step(stated.gaussian, (number,)) for number in (mu_squared, mu_squared / 4)))


def _b(fields: Mapping[str, Any], adjacency: Adjacency) -> Fraction:
    """Scale / sensitivity of Laplace noise: the clip factor is derived from the adjacency."""
    if "b" in fields:
        return _number(fields, "b")
    return _number(fields, "noise_multiplier") / adjacency.clip_factor


def _laplace(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    b = _b(fields, adjacency)
    return Base(*(Step(stated.laplace, (number,)) for number in (b, 2 * b)))


def _alike(pair: Step) -> Base:
    """A pair that is realised by a unit which looks as if it were absent."""
    return Base(pair, pair)


def _opaque(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    delta = _number(fields, "delta") if "delta" in fields else Fraction(0)
    return _alike(Step(stated.guarantee, (_number(fields, "epsilon"), delta)))


def _local(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    return _alike(Step(stated.guarantee, (_number(fields, "eps0"), Fraction(0))))


def _response(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    answers = _number(fields, "k") if "k" in fields else Fraction(2)
    return _alike(Step(stated.randomized_response, (_number(fields, "eps0"), answers)))


def _staircase(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    eps0 = _number(fields, "eps0")
    nu = (_number(fields, "nu"),) if "nu" in fields else ()
    whole = Step(stated.staircase, (eps0, Fraction(1), *nu))
    if "clip" in fields and adjacency.clip_factor == 2:
        return Base(Step(stated.staircase_two_steps, (eps0, *nu)), whole)
    return Base(whole, Step(stated.staircase, (eps0, Fraction(1, 2), *nu)))


def _discrete_laplace(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    scale = _number(fields, "scale")
    shift = _number(fields, "sensitivity") if "sensitivity" in fields else Fraction(1)
    half = Fraction(max(1, int(shift) // 2))
    return Base(*(Step(stated.discrete_laplace, (scale, moved)) for moved in (shift, half)))


def _exponential(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    eta = _number(fields, "eps0")
    middle = Step(stated.guarantee, (eta / 2, Fraction(0)))
    return Base(Step(stated.bounded_range, (eta,)), middle, middle)


def _tables(fields: Mapping[str, Any], adjacency: Adjacency) -> Base:
    if adjacency is Adjacency.REPLACE_ONE:
        message = "method 'certified' has no proof for tables of which either may be with the unit"
        raise Unsupported(message, argument="method")
    if len(fields["p"]) > _MOST_ROWS:
        message = f"method 'certified' takes tables of at most {_MOST_ROWS} rows"
        raise Unsupported(message, argument="method")
    rows = [_number({"p": x}, "p") for name in ("p", "q") for x in fields[name]]
    half = len(rows) // 2
    p, q = (sum(masses, Fraction(0)) for masses in (rows[:half], rows[half:]))
    masses = (*(x / p for x in rows[:half]), *(x / q for x in rows[half:]))
    pair = Step(stated.table, masses)
    return Base(pair, pair, reverse=Step(stated.table_reversed, masses))


_MOST_ROWS = 2000
BASES: dict[str, Callable[[Mapping[str, Any], Adjacency], Base]] = {
    "gaussian": _gaussian,
    "gaussian-statistic": _gaussian,
    "laplace": _laplace,
    "pure-dp": _opaque,
    "approx-dp": _opaque,
    "local-randomizer": _local,
    "randomized-response": _response,
    "staircase": _staircase,
    "discrete-laplace": _discrete_laplace,
    "exponential": _exponential,
    "custom-tables": _tables,
}
"""Kind of mechanism -> its base pair."""


def pairs(fields: Mapping[str, Any], adjacency: Adjacency) -> BallPairs:
    """The laws of one leaf; raises `Unsupported` where there is no certified form."""
    kind = str(fields["node"])
    if kind in BASES:
        return BASES[kind](fields, adjacency).plain()
    inner = fields.get("of")
    sampled = kind in ("poisson", "without-replacement")
    if sampled and isinstance(inner, Mapping) and str(inner.get("node")) in BASES:
        base, rate = BASES[str(inner["node"])](inner, adjacency), _number(fields, "rate")
        if kind == "poisson":
            return base.poisson(rate, adjacency)
        return base.uniform(rate, adjacency)
    message = f"method 'certified' has no proof for a release of kind {kind!r}"
    raise Unsupported(message, argument="method")


@dataclass(frozen=True)
class Sides:
    """A plan as laws with counts, one list per direction."""

    upper: tuple[Laws, ...]
    lower: tuple[Laws, ...] | None


def read_plan(node: Node, adjacency: Adjacency) -> Sides:
    """The plan's laws, plain Gaussians merged into one."""
    leaves = [(pairs(leaf.to_dict(), adjacency), count) for leaf, count in node.releases()]
    for (leaf, count), (pair, _) in zip(node.releases(), leaves, strict=True):
        first = pair.upper[0]
        if first.stated is not stated.bounded_range:
            continue
        if len(leaves) == count == 1 and first.sampled is not exchange:
            # at each epsilon one choice attains the bound
            return Sides(_directions([(pair.upper, 1)]), None)
        if count > 1 and first.rate == 1:
            message = "method 'certified' has no proof for choices that may depend on earlier ones"
            raise Unsupported(f"{message}: {leaf!r:.80} repeated", argument="method")
    upper = _directions([(pair.upper, count) for pair, count in leaves])
    if any(_failing_beside_noise(laws) for laws in upper):
        message = "method 'certified' has no proof for open failures beside noise"
        raise Unsupported(message, argument="method")
    if all(pair.lower is None for pair, _ in leaves):
        return Sides(upper, None)
    return Sides(upper, _directions([(pair.lower or pair.upper, count) for pair, count in leaves]))


def _failing_beside_noise(laws: Laws) -> bool:
    stated_laws = [step.law() for step, _ in laws]
    failing = any(not law.infinite.is_zero() for law in stated_laws)
    return failing and any(law.branches for law in stated_laws)


def _directions(steps: Sequence[tuple[tuple[Step, ...], int]]) -> tuple[Laws, ...]:
    directions = []
    for k in range(max(len(laws) for laws, _ in steps)):
        merged: dict[Step, int] = {}
        mu_squared = Fraction(0)
        for laws, count in steps:
            law = laws[min(k, len(laws) - 1)]
            if law.normal:
                mu_squared += count * law.mu_squared
            else:
                merged[law] = merged.get(law, 0) + count
        if mu_squared:
            merged[Step(stated.gaussian, (mu_squared,))] = 1
        directions.append(tuple(merged.items()))
    return tuple(directions)
