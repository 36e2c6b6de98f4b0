"""One sample used in several places of a plan: drawn once, held, and amplified once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.combine import composed
from dpacct.plan.node import Around, Fields, Leaf, Node, agree, know, nested, read, take
from dpacct.plan.samplers.sampled import OnSample, Sampled, Sampler
from dpacct.vocabulary import Adjacency


@dataclass(frozen=True)
class HeldSample:
    """A sample with a name, from `Sampler.draw`: all that is called on it runs on the same sample.

    It is held while its surroundings last: the whole plan, or the plan inside the sampler around it.
    Raises `InvalidArgument` where a plan would use it inside and outside another sample, or in itself.

    >>> import dpacct as dp
    >>> batch = dp.Poisson(0.1).draw("batch")
    >>> plan = batch(dp.Gaussian(sigma=2)) + dp.Laplace(b=3) + batch(dp.Gaussian(sigma=2))
    >>> plan.equivalent(dp.Poisson(0.1)(dp.Gaussian(sigma=2) * 2) + dp.Laplace(b=3))
    True
    """

    sampler: Sampler
    name: str

    def __call__(self, node: Node) -> Node:
        """The plan on the sample, one of its uses."""
        if self.name in names_within(Node.checked(node, "a sample must be given")):
            message = (
                f"the sample {self.name!r} is already held there, and cannot be drawn from itself"
            )
            raise InvalidArgument(message, argument="plan")
        return OnHeld(self.sampler, self.name, node)


@dataclass(frozen=True, repr=False)
class OnHeld(Around, Leaf, kind="held"):
    """A plan on a sample with a name: one of its uses, until all of them are put together."""

    sampler: Sampler
    name: str
    node: Node

    def __post_init__(self) -> None:
        """Check and set the facts, as for every sampler."""
        if not isinstance(self.name, str) or not self.name:
            message = f"name of a sample must be text that is not empty, got {shown(self.name)}"
            raise InvalidArgument(message, argument="name")
        inner = self.node.facts
        fixed = agree("adjacency", inner.fixed, self.sampler.fixed_adjacency)
        know(self, inner.above(fixed=fixed))

    def together(
        self, gathered: tuple[tuple[Leaf, int], ...], node: Node
    ) -> tuple[tuple[Leaf, int], ...]:
        """The plan with all uses of each held sample as one release."""
        outside, inside = _scopes(node)
        for name in sorted(outside & inside):
            message = f"the sample {name!r} is used inside another sample and outside it"
            raise InvalidArgument(message, argument="plan")
        uses: dict[str, tuple[Sampler, list[Node]]] = {}
        counts: dict[Leaf, int] = {}
        for leaf, count in gathered:
            if not isinstance(leaf, OnHeld):
                counts[leaf] = counts.get(leaf, 0) + count
                continue
            sampler, nodes = uses.setdefault(leaf.name, (leaf.sampler, []))
            if sampler != leaf.sampler:
                message = f"the sample {leaf.name!r} must be drawn in one way, got {sampler!r}"
                raise InvalidArgument(f"{message} and {leaf.sampler!r}", argument="plan")
            nodes.append(leaf.node * count)
        for sampler, nodes in uses.values():
            for leaf, count in Sampled(sampler, composed(*nodes)).releases():
                counts[leaf] = counts.get(leaf, 0) + count
        return tuple(counts.items())

    def pairs(self, adjacency: Adjacency) -> NoReturn:
        """Only all uses of a sample together have a pair: `together` puts them into one release."""
        raise Unsupported(f"{self!r} has a pair only with all its other uses", argument="plan")

    def in_sample(self, sampler: Sampler) -> NoReturn:
        """Fail: uses are put together before a plan is sampled, so none arrives here."""
        raise Unsupported(f"{self!r} has a pair only with all its other uses", argument="plan")

    def __repr__(self) -> str:
        return f"{self.sampler!r}.draw({self.name!r})({self.node!r})"

    def fields(self) -> Fields:
        """The name, and the sampler around the plan."""
        return {"name": self.name, "of": nested(Sampled(self.sampler, self.node))}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """A node from its JSON fields."""
        inner = read(take(fields, "of"))
        name = take(fields, "name")
        if not isinstance(inner, OnSample):
            message = f"a held sample must hold a sampler, got {shown(inner)}"
            raise InvalidArgument(message, argument="plan")
        return HeldSample(inner.sampler, name)(inner.node)


def names_within(node: Node) -> set[str]:
    """Names of the held samples used anywhere in a plan."""
    names = {node.name} if isinstance(node, OnHeld) else set()
    return names.union(*(names_within(part) for part in node.inside))


def _scopes(node: Node) -> tuple[set[str], set[str]]:
    """Names of held samples used in a plan itself, and inside other samples of it."""
    if isinstance(node, OnHeld):
        return {node.name}, names_within(node.node)
    if isinstance(node, OnSample):
        return set(), names_within(node.node)
    parts = [_scopes(part) for part in node.inside]
    return set().union(*(outside for outside, _ in parts)), set().union(
        *(inside for _, inside in parts)
    )
