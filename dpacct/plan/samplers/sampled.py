"""Sampler: how units get into a sample; Sampled: whatever runs while one sample is held."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpacct.declare.domain import Word
from dpacct.declare.number import literal
from dpacct.declare.record import Record
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan.node import READERS, Around, Fields, Leaf, Node, agree, know, nested, read, take
from dpacct.vocabulary import Adjacency, Assumption, Unit

if TYPE_CHECKING:
    from dpacct.citations import Citation
    from dpacct.declare.record import Call
    from dpacct.plan.samplers.steps import Steps
    from dpacct.pld.pair import Pair, Pairs, StatedPairs


SAMPLING = Word("poisson", "uniform", "none")
"""The sampling of a step; a sampler that states an assumption adds its word."""


class Sampler(Record, ABC):
    """A way to draw a sample, called on the plan that runs on it. `rate` lies in (0, 1]."""

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """The probability of being in the sample; each sampler declares it as a parameter."""

    kind: ClassVar[str]
    fixed_adjacency: ClassVar[Adjacency | None] = None
    counts_units: ClassVar[bool] = False
    """True if the pair takes the number of units as fixed, which a coin of the unit would change."""
    references: ClassVar[tuple[str, ...]] = ()
    drawing: ClassVar[str]  # how the sample is drawn: an assumption of every answer
    word: ClassVar[str] = ""
    """Its name on the command line and in plan files, where that is not `kind`."""
    means: ClassVar[str] = ""
    """The meaning of the sampling's word, for the help."""
    drawn: ClassVar[str] = "each on a sample of {rate} of the {unit}s"
    """The same in a line about a plan."""
    span: ClassVar[str] = "step"
    """The name of a release on a fresh sample: a step, or an epoch."""
    unit: ClassVar[Unit | None] = None
    """The unit of which the sample is taken, where it is not a record."""
    trust: ClassVar[str] = ""
    """The assumption about the data loader; a sampler that states one is offered to all users."""
    by_word: ClassVar[dict[str, type[Sampler]]] = {}
    """Those by their words."""

    def __init_subclass__(cls, kind: str, **more: Any) -> None:
        """Register the sampler under its name in JSON."""
        super().__init_subclass__(**more)

        def from_fields(fields: Fields) -> Node:
            drawn = cls(**{name: take(fields, name) for name in cls.parameters})
            return drawn(read(take(fields, "of")))

        if READERS.setdefault(kind, from_fields) is not from_fields:
            raise InvalidArgument(f"the kind of node {kind!r} is taken", argument="kind")
        cls.kind = kind
        if cls.trust:
            word = cls.word or kind
            Sampler.by_word[word] = cls
            if word not in SAMPLING.choices:  # "none" is the last of them
                SAMPLING.choices = (*SAMPLING.choices[:-1], word, SAMPLING.choices[-1])

    @classmethod
    def stated(cls, rate: Fraction, steps: Steps, call: Call) -> Sampler:
        """Make the sampler from the words of a plan; raises `InvalidArgument`, which names them as typed."""
        return cls(rate)

    def steps(self, node: Node, count: int) -> Node:
        """`count` steps of a release, each on a fresh sample."""
        return self(node) * count

    def check_count(self, count: int, call: Call) -> None:
        """Raise `InvalidArgument` for a number of steps that this sampler does not have."""
        return

    def citations(self) -> tuple[Citation, ...]:
        """The papers that prove the amplification."""
        from dpacct.bibliography import reference

        return tuple(map(reference, self.references))

    def __call__(self, node: Node) -> Node:
        """The plan on a sample that is drawn once, and held while all of it runs."""
        node = Node.checked(node, "a sampler must be given")
        return SampledRelease(self, node) if isinstance(node, Mechanism) else Sampled(self, node)

    @abstractmethod
    def pairs(self, base: Pair, adjacency: Adjacency) -> Pairs:
        """The pairs of one release of this base on a sample."""

    def together(self, parts: Sequence[tuple[Pairs, int]], adjacency: Adjacency) -> Pairs:
        """The pairs of several steps, each with its count, that all run on one sample."""
        from dpacct.pld.pair import Pair

        return self.pairs(Pair.together(parts), adjacency)

    def grouped(self, mechanism: Mechanism, size: int) -> Leaf | None:
        """One release on such a sample as a group of `size` units sees it; None where that is not known."""
        return None

    def everyone(self, node: Node) -> Node:
        """The plan without its sample; raises `Unsupported` where units are not merely left out."""
        raise Unsupported(f"{self} does not leave units out", argument="plan")

    def holding(self, mechanism: Mechanism) -> SampledRelease:
        """One release of a mechanism on a sample, as a leaf."""
        needs_pair(mechanism)
        return SampledRelease(self, mechanism)

    def within(self, outer: Sampler) -> Self | None:
        """The one sampler equal to this one on a sample of the other; None if there is none.

        A Poisson sample of a Poisson sample is one, and so for fixed sizes: the rates multiply
        (for one release; the same held sample is not drawn twice).
        """
        return type(self)(self.rate * outer.rate) if type(self) is type(outer) else None

    def check_inner(self, leaf: Leaf) -> None:
        """Raise `Unsupported` for a leaf that may not run, beside others, on a sample of this kind."""
        needs_pair(leaf)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(literal, self.settings.values()))})"


def needs_pair(leaf: Leaf) -> None:
    """Raise `Unsupported` for a leaf of which only moments are known: they give no bound for a sample.

    Also for noise that is correlated over steps: each step would have a sample of its own.
    """
    if not leaf.amplified:
        message = f"a release of kind {leaf.kind!r} is not sampled: amplification of its steps is not covered"
        raise Unsupported(message, argument="plan")
    if not leaf.has_pairs:
        message = f"{leaf!r} cannot be amplified by sampling: it has no dominating pair"
        raise Unsupported(message, argument="plan")


@dataclass(frozen=True, repr=False)
class OnSample(Around):
    """Base of the two nodes below: a sampler, and the plan on its sample."""

    sampler: Sampler
    node: Node

    def __post_init__(self) -> None:
        """One release, unless nothing is left out of the sample."""
        inner = self.node.facts
        if inner.group > 1:
            message = f"a group of {inner.group} is not sampled: form the group of the sampled plan"
            raise Unsupported(message, argument="plan")
        total = inner.total if self.sampler.rate == 1 else 1
        fixed = agree("adjacency", inner.fixed, self.sampler.fixed_adjacency)
        know(self, inner.above(total=total, fixed=fixed))

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The sampler's name: in JSON the sampler and what it wraps are one object."""
        return self.sampler.kind

    def __repr__(self) -> str:
        return f"{self.sampler!r}({self.node!r})"

    def fields(self) -> Fields:
        """The sampler's parameters, and what runs on the sample."""
        return {**self.sampler.written(), "of": nested(self.node)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """Samplers read themselves: under this name nothing is ever saved."""
        raise InvalidArgument(f"a sampled plan must name its sampler, got {fields!r}")


class Sampled(OnSample):
    """A plan on one sample that is drawn once, and held while all of it runs."""

    def gather(self) -> Mapping[Leaf, int]:
        """The releases: a single leaf, or those of the plan itself if the rate is 1.

        Gaussian releases of one sample are one sampled Gaussian; any other plan is composed first, and
        amplified as a whole. Raises `Unsupported` where neither is possible.
        """
        inner = self.node.releases()
        if self.sampler.rate == 1:
            return dict(inner)
        first, count = inner[0]
        leaf = first if len(inner) == 1 and count == 1 else first.fused(inner)
        if leaf is None:
            return {on_one_sample(self.sampler, self.node): 1}
        return {leaf.in_sample(self.sampler): 1}


class SampledRelease(OnSample, Leaf):
    """One release of one mechanism on a sample: a leaf."""

    node: Mechanism

    @property
    def counts_units(self) -> bool:  # type: ignore[override]
        """Return what the sampler says."""
        return self.sampler.counts_units

    def gather(self) -> Mapping[Leaf, int]:
        """This release, or the mechanism if the rate is 1."""
        if self.sampler.rate == 1:
            return {self.node: 1}
        needs_pair(self.node)
        return {self: 1}

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The mechanism's pair, amplified."""
        return self.sampler.pairs(self.node.pair(adjacency), adjacency)

    def grouped(self, size: int) -> Leaf | None:
        """The release as a group sees it, where its sampler knows that."""
        return self.sampler.grouped(self.node, size)

    def unsampled(self) -> Node:
        """The mechanism, on all units."""
        return self.sampler.everyone(self.node)

    def weighted(self, factor: int) -> Leaf:
        """The mechanism of the heavier unit, on the same sample."""
        return self.node.weighted(factor).in_sample(self.sampler)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """Above the largest loss of the pairs, far more than floats round it by."""
        if self.node.pure_epsilon(adjacency) is None:
            return None
        # 1e-12 is far above the rounding of a sampled loss, of losses of up to 500
        return Fraction(max(s.ceiling for s in self.pairs(adjacency).upper)) * (
            1 + Fraction(1, 10**12)
        )

    def in_sample(self, sampler: Sampler) -> Leaf:
        """This release on a sample of a sample; raises `Unsupported` for two kinds of sample."""
        both = self.sampler.within(sampler)
        if both is not None:
            return both.holding(self.node)
        return on_one_sample(sampler, self)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The mechanism's, and how the sample is drawn."""
        drawn = Assumption(self.sampler.drawing, id="sampling")
        return (*self.node.assumptions(adjacency), drawn)

    def citations(self) -> tuple[Citation, ...]:
        """The mechanism's, and the amplification's."""
        return (*self.node.citations(), *self.sampler.citations())


class NestedRelease(OnSample, Leaf):
    """Everything that a plan releases on one held sample.

    The law of the plan's composition is computed as one pair, and that is amplified: rates of samples
    that are held one inside the other are never multiplied over the steps.
    """

    @property
    def counts_units(self) -> bool:  # type: ignore[override]
        """Return whether any sample in it does."""
        inside = (leaf.counts_units for leaf, _ in self.node.releases())
        return self.sampler.counts_units or any(inside)

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The plan's pair, amplified; raises `Unsupported` where a leaf of it has none."""
        inner = [part for leaf, n in self.node.releases() for part in leaf.repeated(n, adjacency)]
        return self.sampler.together(inner, adjacency)

    def stated_parts(self, adjacency: Adjacency) -> Sequence[tuple[StatedPairs, int]]:
        """Raise `Unsupported`: what a sample makes of a composition is bracketed, and never proved."""
        message = "method 'certified' has no proof for a plan of several releases on one sample"
        raise Unsupported(f"{message}; method 'exact' has a bracket", argument="method")

    def unsampled(self) -> Node:
        """The plan, on all units."""
        return self.sampler.everyone(self.node.unsampled())

    def weighted(self, factor: int) -> Leaf:
        """The plan of the heavier unit, on the same sample."""
        return on_one_sample(self.sampler, self.node.weighted(factor))

    def in_sample(self, sampler: Sampler) -> Leaf:
        """Put the sample inside another sample: one more level, or one sampler worth both."""
        both = self.sampler.within(sampler)
        if both is not None:
            return NestedRelease(both, self.node)
        sampler.check_inner(self)
        return NestedRelease(sampler, self)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The plan's, and how the sample is drawn."""
        drawn = Assumption(
            f"{self.sampler.drawing}; it is held while {self.node!r} runs", id="sampling"
        )
        return (*self.node.assumptions(adjacency), drawn)

    def citations(self) -> tuple[Citation, ...]:
        """The plan's, and the amplification's."""
        return (*self.node.citations(), *self.sampler.citations())


def on_one_sample(sampler: Sampler, node: Node) -> NestedRelease:
    """The leaf for a plan on one sample.

    Raises `Unsupported` where the plan has a leaf without a pair, or a sampler that does not fit.
    """
    for leaf, _ in node.releases():
        sampler.check_inner(leaf)
    return NestedRelease(sampler, node)
