"""Mechanism: a leaf of a plan with declared parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpacct.declare.record import Record
from dpacct.errors import Unsupported
from dpacct.plan.node import Facts, Fields, Leaf, take
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.citations import Citation
    from dpacct.pld.pair import Pair, Pairs, Stated, StatedPairs


class Mechanism(Record, Leaf):
    """Base of the mechanisms: a subclass declares its parameters and `pair`, the rest follows.

    Values are exact: a `Fraction`, or an int for what is counted, and None for a form that is not used.
    """

    references: ClassVar[tuple[str, ...]] = ()
    facts = Facts()
    in_files: ClassVar[bool] = True
    """True if a step of a plan file may name it, with its parameters as keys."""
    sought: ClassVar[str] = ""
    """The parameter that says how much noise there is, which a search looks for; "" for none: such a
    mechanism is for plan files, and has no options on the command line."""
    between: ClassVar[tuple[float, float] | None] = None
    """The range in which calibration searches."""
    trust: ClassVar[str] = ""
    """The assumption about the data; {unit} is the unit, {how} how much is clipped."""

    def pair(self, adjacency: Adjacency) -> Pair:
        """The dominating pair of one release, before any sampling.

        Raises `Unsupported` where none is known.
        """
        if not self.has_pairs:
            message = f"{self!r} has no dominating pair: use only method='rdp'"
            raise Unsupported(message, argument="method")
        return self.stated(adjacency).pair()

    def stated(self, adjacency: Adjacency) -> Stated:
        """The pair as a formula of exact numbers; raises `Unsupported` where it has no such form."""
        message = f"method 'certified' has no proof for a release of kind {self.kind!r}"
        raise Unsupported(message, argument="method")

    def stated_parts(self, adjacency: Adjacency) -> list[tuple[StatedPairs, int]]:
        """One pair, and what is realised where that is another one."""
        from dpacct.pld.pair import StatedPairs

        pair = self.stated(adjacency)
        upper = (pair,) if pair.back is None else (pair, pair.back)
        return [(StatedPairs(upper, None if pair.below is None else (pair.below,)), 1)]

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The pairs of one release without sampling."""
        return self.pair(adjacency).plain()

    def largest_loss(self, adjacency: Adjacency) -> Fraction | None:
        """The largest loss: `pure_epsilon` if the mechanism is purely private; else None."""
        return self.pure_epsilon(adjacency)

    def in_sample(self, sampler: Any) -> Leaf:
        """One release on a sample."""
        leaf: Leaf = sampler.holding(self)
        return leaf

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumptions of an answer about it; none unless a subclass states some."""
        return ()

    def citations(self) -> tuple[Citation, ...]:
        """The papers that introduce the mechanism."""
        from dpacct.bibliography import reference

        return tuple(map(reference, self.references))

    def fields(self) -> Fields:
        """The parameters that have a value, as exact text."""
        return self.written()

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Build from the parameters that are there; the constructor checks them."""
        wanted = [n for n, each in cls.parameters.items() if n in fields or each.required]
        return cls(**{name: take(fields, name) for name in wanted})
