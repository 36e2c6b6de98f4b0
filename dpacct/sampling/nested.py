"""A whole plan on one sample, as a single leaf: composed first, then amplified once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpacct.sampling.sampled import OnSample, Sampler
from dpacct.tree.node import Leaf, Node
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.pld.pair import Pairs


@dataclass(frozen=True, repr=False)
class NestedRelease(OnSample, Leaf):
    """All that a plan releases on one sample that is drawn once and held.

    The law of the plan's composition is computed as one pair, and that is amplified: rates of samples
    that are held one inside the other are never multiplied over the steps.
    """

    sampler: Sampler
    node: Node

    def gather(self) -> Mapping[Leaf, int]:
        """Itself."""
        return {self: 1}

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The plan's pair, amplified; raises `Unsupported` where a leaf of it has none."""
        inner = [part for leaf, n in self.node.releases() for part in leaf.repeated(n, adjacency)]
        return self.sampler.together(inner, adjacency)

    def in_sample(self, sampler: Sampler) -> Leaf:
        """On a sample of the sample's: one more level, or one sampler worth both."""
        if sampler.rate == 1:
            return self
        both = self.sampler.within(sampler)
        if both is not None:
            return NestedRelease(both, self.node)
        sampler.check_inner(self)
        return NestedRelease(sampler, self)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The plan's, and how the sample is drawn."""
        drawn = Assumption(f"{self.sampler.drawing}; it is held while {self.node!r} runs")
        return (*self.node.assumptions(adjacency), drawn)

    def citations(self) -> tuple[str, ...]:
        """The plan's, and the amplification's."""
        return (*self.node.citations(), *self.sampler.references)


def nested(sampler: Sampler, node: Node) -> NestedRelease:
    """The leaf for a plan on one sample.

    Raises `Unsupported` where the plan has a leaf without a pair, or a sampler that does not fit.
    """
    for leaf, _ in node.releases():
        sampler.check_inner(leaf)
    return NestedRelease(sampler, node)
