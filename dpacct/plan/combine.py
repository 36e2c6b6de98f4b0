"""Repeat, Compose and Under, and the two functions that build the first two in one canonical form.

Loops that grow a plan stay cheap: equal neighbours merge, so a thousand `plan + step` is one
`step * 1000`, and doubling a plan (`plan + plan`) repeats it instead of copying it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import STEPS
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Around, Facts, Fields, Leaf, Node, agree, know, nested, read, take
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from dpacct.answer import Answer


def bracketed(node: Node, binds: int) -> str:
    """`node` as text, in parentheses where its operator binds less tightly than the surrounding one."""
    return repr(node) if node.binds >= binds else f"({node!r})"


@dataclass(frozen=True, repr=False)
class Repeat(Around, kind="repeat"):
    """`steps` independent releases of the same plan."""

    node: Node
    steps: int
    binds = 2

    def __post_init__(self) -> None:
        """Check the count, in total."""
        inner = self.node.facts
        know(self, inner.above(total=inner.total * self.steps))

    def gather(self) -> Mapping[Leaf, int]:
        """Every leaf with its count inside, times the steps."""
        return {leaf: count * self.steps for leaf, count in self.node.gathered}

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """A sharper answer from the repeated plan, if it has one."""
        return self.node.sharper_repeated(self.steps, quantity, at, method, adjacency)

    def __repr__(self) -> str:
        return f"{bracketed(self.node, 3)} * {self.steps}"

    def fields(self) -> Fields:
        """The count, and the plan inside."""
        return {"steps": self.steps, "of": nested(self.node)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """A repetition from its JSON fields."""
        return repeated(read(take(fields, "of")), take(fields, "steps"))


@dataclass(frozen=True, repr=False)
class Compose(Node, kind="compose"):
    """Several plans, one after the other."""

    parts: tuple[Node, ...]
    binds = 1

    @staticmethod
    def of(parts: tuple[Node, ...], facts: Facts) -> Compose:
        """The node for parts already in canonical form, whose facts are known."""
        node = Compose(parts)
        know(node, facts)
        return node

    def gather(self) -> Mapping[Leaf, int]:
        """Counts of equal leaves add up."""
        counts: dict[Leaf, int] = {}
        for part in self.parts:
            for leaf, count in part.gathered:
                counts[leaf] = counts.get(leaf, 0) + count
        return counts

    @property
    def inside(self) -> tuple[Node, ...]:
        """The parts."""
        return self.parts

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    def fields(self) -> Fields:
        """The JSON fields: the parts, in order."""
        return {"parts": [nested(part) for part in self.parts]}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """Read the parts."""
        parts = take(fields, "parts")
        if not isinstance(parts, list) or not parts:
            raise InvalidArgument(
                "parts of a compose node must be a list of plans", argument="plan"
            )
        return composed(*map(read, parts))


@dataclass(frozen=True, repr=False)
class Under(Around, kind="under"):
    """A plan whose adjacency, or unit of privacy, is declared."""

    node: Node
    adjacency: Adjacency | None = None
    whose: Unit | None = None  # `unit` is what every plan answers

    def __post_init__(self) -> None:
        """Refuse a second, different declaration."""
        inner = self.node.facts
        declared = agree("adjacency", inner.declared, self.adjacency)
        know(self, inner.above(declared=declared, unit=agree("unit", inner.unit, self.whose)))

    def gather(self) -> Mapping[Leaf, int]:
        """Return the leaves of the plan inside, with their counts."""
        return dict(self.node.gathered)

    def __repr__(self) -> str:
        words = [repr(str(self.adjacency))] if self.adjacency else []
        words += [f"unit={str(self.whose)!r}"] if self.whose else []
        return f"{bracketed(self.node, 3)}.under({', '.join(words)})"

    def fields(self) -> Fields:
        """The declared words, and the plan inside."""
        words = {"adjacency": self.adjacency, "unit": self.whose}
        declared = {name: str(word) for name, word in words.items() if word}
        return {**declared, "of": nested(self.node)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """A node from its JSON fields."""
        adjacency, unit = fields.pop("adjacency", None), fields.pop("unit", "")
        return read(take(fields, "of")).under(adjacency, unit=unit)


def _base(node: Node) -> tuple[Node, int]:
    """A plan as (repeated plan, count)."""
    return (node.node, node.steps) if isinstance(node, Repeat) else (node, 1)


def repeated(node: Node, steps: Any) -> Node:
    """`node` released `steps` times; a repetition of a repetition is one, and once is `node`.

    >>> import dpacct as dp
    >>> 2 * (3 * dp.Gaussian(sigma=1))
    Gaussian(sigma=1) * 6
    """
    times = STEPS.check("steps", steps)
    base, already = _base(node)
    return node if times == 1 else Repeat(base, times * already)


def composed(first: Node, *others: Node) -> Node:
    """Plans one after the other, flat, with equal neighbours merged.

    >>> import dpacct as dp
    >>> step = dp.Gaussian(sigma=1)
    >>> composed(step, step * 2, dp.Laplace(b=3))
    Gaussian(sigma=1) * 3 + Laplace(b=3)
    """
    plan = first
    for other in others:
        plan = _append(plan, other)
    return plan


def _append(left: Node, right: Node) -> Node:
    """Two plans, joined in time that does not grow with their lengths (but for copying)."""
    base, times = _base(left)
    other, more = _base(right)
    if base == other:
        return repeated(base, times + more)
    front = left.parts if isinstance(left, Compose) else (left,)
    back = right.parts if isinstance(right, Compose) else (right,)
    facts = left.facts.join(right.facts)
    inner = [plan.facts.depth - isinstance(plan, Compose) for plan in (left, right)]
    base, times = _base(front[-1])
    other, more = _base(back[0])
    if base == other:
        seam = repeated(base, times + more)
        front, back = front[:-1], (seam, *back[1:])
        inner.append(seam.facts.depth)
    return Compose.of(front + back, facts._replace(depth=1 + max(inner)).checked())
