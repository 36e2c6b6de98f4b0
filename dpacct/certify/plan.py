"""From a plan's saved form to laws in exact numbers: the plan is read again, from its JSON.

So a certificate is checked against the text that it carries, and no float of the fast engine's laws
enters a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpacct.domain import exact
from dpacct.errors import Unsupported
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency

from .gaussian import PlainGaussian
from .line import BallLaw
from .sampled_gaussian import SampledGaussian

Laws = tuple[tuple[BallLaw, int], ...]


@dataclass(frozen=True)
class BallPairs:
    """One step's laws, one per direction; `lower` where the realised pairs are other ones."""

    upper: tuple[BallLaw, ...]
    lower: tuple[BallLaw, ...] | None = None


Reader = Callable[[Mapping[str, Any], Adjacency], BallPairs]
Amplifier = Callable[[Mapping[str, Any], Fraction, Adjacency], BallPairs]


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


def _gaussian(fields: Mapping[str, Any], adjacency: Adjacency) -> BallPairs:
    return BallPairs((PlainGaussian(1 / _sigma_squared(fields, adjacency)),))


def _poisson_gaussian(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    sigma_squared = _sigma_squared(fields, adjacency)
    if adjacency is Adjacency.REPLACE_ONE:
        raise Unsupported("Poisson sampling under replace-one has no certified form yet")
    return BallPairs(
        (
            SampledGaussian(sigma_squared, rate, True),
            SampledGaussian(sigma_squared, rate, False),
        )
    )


PLAIN: dict[str, Reader] = {"gaussian": _gaussian, "gaussian-statistic": _gaussian}
"""Kind of mechanism -> its laws."""
SAMPLED: dict[tuple[str, str], Amplifier] = {
    ("poisson", "gaussian"): _poisson_gaussian,
    ("poisson", "gaussian-statistic"): _poisson_gaussian,
}
"""(Kind of sampler, kind of mechanism) -> the laws of one release on a sample."""


def pairs(fields: Mapping[str, Any], adjacency: Adjacency) -> BallPairs:
    """The laws of one leaf; raises `Unsupported` where there is no certified form."""
    kind = str(fields["node"])
    if kind in PLAIN:
        return PLAIN[kind](fields, adjacency)
    inner = fields.get("of")
    if isinstance(inner, Mapping) and (kind, str(inner.get("node"))) in SAMPLED:
        return SAMPLED[kind, str(inner["node"])](inner, _number(fields, "rate"), adjacency)
    told = f"method 'certified' has no proof for a release of kind {kind!r}"
    raise Unsupported(told, argument="method")


@dataclass(frozen=True)
class Sides:
    """A plan as laws with counts, one list per direction."""

    upper: tuple[Laws, ...]
    lower: tuple[Laws, ...] | None


def read_plan(node: Node, adjacency: Adjacency) -> Sides:
    """The plan's laws, plain Gaussians merged into one."""
    found = [(pairs(leaf.to_dict(), adjacency), count) for leaf, count in node.releases()]
    upper = _directions([(one.upper, count) for one, count in found])
    if all(one.lower is None for one, _ in found):
        return Sides(upper, None)
    return Sides(upper, _directions([(one.lower or one.upper, count) for one, count in found]))


def _directions(steps: Sequence[tuple[tuple[BallLaw, ...], int]]) -> tuple[Laws, ...]:
    found = []
    for k in range(max(len(laws) for laws, _ in steps)):
        merged: dict[BallLaw, int] = {}
        mu_squared = Fraction(0)
        for laws, count in steps:
            law = laws[min(k, len(laws) - 1)]
            if isinstance(law, PlainGaussian):
                mu_squared += count * law.mu_squared
            else:
                merged[law] = merged.get(law, 0) + count
        if mu_squared:
            merged[PlainGaussian(mu_squared)] = 1
        found.append(tuple(merged.items()))
    return tuple(found)
