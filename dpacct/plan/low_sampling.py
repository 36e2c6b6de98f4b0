"""Low sampling: directions whose delta is expanded in the number of large losses (dpacct.pld.rare)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpacct.pld.loss import Sampled
from dpacct.pld.moments import Part
from dpacct.pld.rare_law import Counted, SampledLaw
from dpacct.pld.stable import cached_property

if TYPE_CHECKING:
    from dpacct.pld.rare import Question

# expected number of sampled steps below which this comes before any contour, and up to which after them
FEW_HITS, MOST_HITS = 1.0, 40.0
# different laws in one plan, at most: terms are counted by how many large losses each has
_MOST_LAWS = 3


def expected_hits(parts: list[Part]) -> float:
    """How many steps are expected to touch a record; inf where some law has no branches that are sampled."""
    hits = 0.0
    for law, n in parts:
        chain = law.branches[0].chain if law.branches else ()
        hits += n * (float(chain[0].rate) if chain and isinstance(chain[0], Sampled) else math.inf)
    return hits


@dataclass(frozen=True)
class LowSampling:
    """One direction of a plan in which a record is rarely sampled."""

    laws: Counted
    hits: float
    exchanged: bool

    @classmethod
    def of(cls, parts: list[Part]) -> LowSampling | None:
        """The expansion of a direction; None if it does not apply."""
        if not 0 < len(parts) <= _MOST_LAWS or (len(parts) == 1 and parts[0][1] == 1.0):
            return None
        if not expected_hits(parts) < MOST_HITS:
            return None
        counted = [(SampledLaw.of(law), n) for law, n in parts]
        laws = [(law, n) for law, n in counted if law is not None]
        ways = {law.exchanged for law, _ in laws}
        if len(laws) < len(parts) or len(ways) > 1:
            return None
        return cls(laws, expected_hits(parts), ways.pop())

    @cached_property
    def question(self) -> Question:
        """The expansion in counts of large losses (imported late: most plans do not need it)."""
        from dpacct.pld.rare import Question

        return Question(self.laws, reverse=self.exchanged)

    @property
    def steps(self) -> float:
        """The number of steps of all laws together."""
        return sum(n for _, n in self.laws)

    @property
    def log_touched(self) -> float:
        """log of the probability that the record is in any step, an upper bound of delta."""
        return math.log(-math.expm1(sum(n * math.log1p(-law.rate) for law, n in self.laws)))
