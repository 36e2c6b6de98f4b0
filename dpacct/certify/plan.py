"""From a plan's saved form to laws in exact numbers: the plan is read again, from its JSON.

So a certificate is checked against the text that it carries, and no float of the fast engine's laws
enters a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpacct.declare.number import exact
from dpacct.errors import Unsupported
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency

from . import atomic, laplace
from .atomic import AtomicStep
from .gaussian import PlainGaussian
from .half_gaussian import SymmetricGaussian
from .laplace import LaplaceStep
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


def _remove_add(sigma_squared: Fraction, rate: Fraction) -> tuple[BallLaw, ...]:
    return SampledGaussian(sigma_squared, rate, True), SampledGaussian(sigma_squared, rate, False)


def _poisson_gaussian(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    square = _sigma_squared(fields, adjacency)
    if adjacency is Adjacency.REPLACE_ONE:
        # below: a unit that is absent or present, at half the distance of two that are exchanged
        return BallPairs((SymmetricGaussian(square, rate),), _remove_add(4 * square, rate))
    return BallPairs(_remove_add(square, rate))


def _uniform_gaussian(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    square = _sigma_squared(fields, adjacency)
    return BallPairs((SymmetricGaussian(square, rate),), _remove_add(square, rate))


def _b(fields: Mapping[str, Any], adjacency: Adjacency) -> Fraction:
    """Scale / sensitivity of Laplace noise: the clip factor is derived from the adjacency."""
    if "b" in fields:
        return _number(fields, "b")
    return _number(fields, "noise_multiplier") / adjacency.clip_factor


def _laplace(fields: Mapping[str, Any], adjacency: Adjacency) -> BallPairs:
    return BallPairs((LaplaceStep(_b(fields, adjacency), Fraction(1), laplace.PLAIN),))


def _two_laplace(b: Fraction, rate: Fraction) -> tuple[BallLaw, ...]:
    return LaplaceStep(b, rate, laplace.REMOVE), LaplaceStep(b, rate, laplace.ADD)


def _poisson_laplace(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    b = _b(fields, adjacency)
    if adjacency is Adjacency.REPLACE_ONE:
        return BallPairs((LaplaceStep(b, rate, laplace.SYMMETRIC),), _two_laplace(2 * b, rate))
    return BallPairs(_two_laplace(b, rate))


def _uniform_laplace(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    b = _b(fields, adjacency)
    return BallPairs((LaplaceStep(b, rate, laplace.SYMMETRIC),), _two_laplace(b, rate))


def _guarantee(fields: Mapping[str, Any], rate: Fraction, kind: str) -> AtomicStep:
    delta = _number(fields, "delta") if "delta" in fields else Fraction(0)
    return AtomicStep(_number(fields, "epsilon"), delta, rate, kind)


def _opaque(fields: Mapping[str, Any], adjacency: Adjacency) -> BallPairs:
    return BallPairs((_guarantee(fields, Fraction(1), atomic.PLAIN),))


def _poisson_opaque(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    if adjacency is Adjacency.REPLACE_ONE:
        upper = (_guarantee(fields, rate, atomic.SYMMETRIC),)
        return BallPairs(upper, (_guarantee(fields, rate, atomic.REMOVE),))
    kinds = (atomic.REMOVE, atomic.ADD)
    return BallPairs(tuple(_guarantee(fields, rate, kind) for kind in kinds))


def _uniform_opaque(fields: Mapping[str, Any], rate: Fraction, adjacency: Adjacency) -> BallPairs:
    upper = (_guarantee(fields, rate, atomic.SYMMETRIC),)
    kinds = (atomic.REMOVE, atomic.ADD)
    return BallPairs(upper, tuple(_guarantee(fields, rate, kind) for kind in kinds))


PLAIN: dict[str, Reader] = {
    "pure-dp": _opaque,
    "approx-dp": _opaque,
    "gaussian": _gaussian,
    "gaussian-statistic": _gaussian,
    "laplace": _laplace,
}
"""Kind of mechanism -> its laws."""
SAMPLED: dict[tuple[str, str], Amplifier] = {
    ("poisson", "gaussian"): _poisson_gaussian,
    ("poisson", "gaussian-statistic"): _poisson_gaussian,
    ("poisson", "laplace"): _poisson_laplace,
    ("poisson", "pure-dp"): _poisson_opaque,
    ("poisson", "approx-dp"): _poisson_opaque,
    ("without-replacement", "pure-dp"): _uniform_opaque,
    ("without-replacement", "approx-dp"): _uniform_opaque,
    ("without-replacement", "gaussian"): _uniform_gaussian,
    ("without-replacement", "gaussian-statistic"): _uniform_gaussian,
    ("without-replacement", "laplace"): _uniform_laplace,
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
