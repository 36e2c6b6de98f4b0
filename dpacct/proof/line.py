"""The proof: delta(eps) enclosed by a finite sum on Re s = c, and a bound for each thing left out.

    delta(eps) = S - aliasing + tail,   S = (h/pi) [F(c)/2 + sum_{k<=n} Re F(c + ikh)],
    F(s) = M(s) e^{-s eps} / (s (s+1)),   0 <= aliasing <= eq. (2),   |tail| <= eq. (3).

This module knows nothing of how c, h, n and the rules were found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from flint import acb, arb, ctx

from .balls import demand, disc, positive, real, whole
from .effort import RULE, spend_on, spend_once
from .moments import NormalProofMoments, ProofMoments
from .plan import Laws, Step
from .rule import QuadratureRule, Rules


@dataclass(frozen=True)
class Contour:
    """Every free choice of the outer integral; floats stand for their exact binary values."""

    c: float
    step: float
    count: int
    up: float  # a of eq. (2) for copies above eps
    down: float  # a of eq. (2) for copies below eps, less than c; 0: delta <= 1 instead
    doublings: int  # the tail is cut at tau, 2 tau, 4 tau, ...

    def __post_init__(self) -> None:
        """Refuse what (1) to (3) do not cover; raises `Unsound`."""
        demand(positive(self.c) and positive(self.step), "a line or a step that is not positive")
        demand(whole(self.count, 1), "this number of frequencies")
        demand(positive(self.up), "copies above without a shift upwards")
        demand(real(self.down) and 0 <= self.down < self.c, "a shift down to 0 or beyond")
        demand(whole(self.doublings, 0, 1000), "this number of cuts of the tail")


Prepared = ProofMoments | NormalProofMoments
Steps = Sequence[tuple[Prepared, int]]


Terms = dict[str, arb]
"""The sum of a line, and an upper bound of each error."""


def prepared(laws: Laws, rules: Rules, c: float) -> list[tuple[Prepared, int]]:
    """The laws that occur, ready for the line Re s = c; what that costs is charged."""
    ready = []
    for (law, count), rule in zip(laws, rules, strict=True):
        if count > 0:
            nodes = 1 if rule is None else rule.size
            spend_once((law, c, rule, ctx.prec), partial(spend_on, RULE, nodes))
            ready.append((_ready(law, c, rule, ctx.prec), count))
    return ready


@lru_cache(maxsize=16)
def _ready(law: Step, c: float, rule: QuadratureRule | None, bits: int) -> Prepared:
    """Kept, for a search looks at what it proves by."""
    return law.prepare(arb(c), rule)


def log_moment(steps: Steps) -> arb:
    """log M(c) of them all."""
    return sum((count * law.at_c.log() for law, count in steps), arb(0))


def payoff_peak(y: arb) -> arb:
    """sup_u (1 - e^{-u})_+ e^{-yu} = y^y/(1+y)^{1+y}, at e^u = (1+y)/y."""
    return (y * y.log() - (1 + y) * (1 + y).log()).exp()


def rotations(turn: acb, count: int) -> list[acb]:
    """turn^k, k = 0 .. count, each a product of two halves: in a chain the boxes would widen with each."""
    turns = [acb(1), turn]
    for k in range(2, count + 1):
        half = turns[k // 2]
        turns.append(half * turns[k - k // 2])
    return turns


def power(moment: acb, count: int) -> acb:
    """moment^count; where the logarithm would straddle its cut, only the modulus is kept."""
    if count <= 64:
        return moment**count
    # off the negative axis the logarithm is one analytic branch, and so M^T = e^{T log M}
    if moment.real > 0 or moment.imag > 0 or moment.imag < 0:
        return (count * moment.log()).exp()
    size = abs(moment).upper() ** count
    return acb(disc(size), disc(size))


class Aliased(ABC):
    """The copies of delta that a sum over the line Re s = c includes, `period` apart, eq. (2)."""

    def __init__(self, c: float, up: float, down: float, period: arb) -> None:
        self.c, self._up, self._down, self._period = arb(c), arb(up), arb(down), period
        self._ends = self._alias_factors()

    @abstractmethod
    def _moment(self, y: arb) -> arb:
        """M(y) of the whole composition, real y > 0."""

    def _alias_factors(self) -> tuple[arb, arb]:
        """The bounds of all copies above epsilon and of all below, but for e^{-y epsilon}."""

        def factor(y: arb, a: arb) -> arb:
            # eq. (2): B(y)/(e^{2 pi a/h} - 1), B(y) = M(y) y^y/(1+y)^{1+y} e^{-y eps} of eq. (10)
            return self._moment(y) * payoff_peak(y) / (a * self._period).expm1()

        above = factor(self.c + self._up, self._up)
        if self._down > 0:
            return above, factor(self.c - self._down, self._down)
        # a' = c: of the copies below, delta <= 1 is all that is used (theorem 3)
        return above, 1 / (self.c * self._period).expm1()

    def aliasing(self, epsilon: arb) -> Terms:
        """An upper bound of the copies at this epsilon."""
        above, below = self._ends
        if self._down > 0:
            below = below * (-(self.c - self._down) * epsilon).exp()
        above = above * (-(self.c + self._up) * epsilon).exp()
        return {"aliasing above": above.upper(), "aliasing below": below.upper()}


class TabulatedLine(Aliased):
    """The tabulated composition on Re s = c: good for every epsilon near the saddle's."""

    def __init__(self, steps: Steps, contour: Contour) -> None:
        """Tabulate M(s)/(s (s+1)), eps left out."""
        self.steps, self.contour = steps, contour
        c, self._step = arb(contour.c), arb(contour.step)
        points = (acb(c, k * self._step) for k in range(contour.count + 1))
        self._table = [m / (s * (s + 1)) for m, s in zip(self._fill(), points, strict=True)]
        self._decays = self._tail_factor()
        super().__init__(contour.c, contour.up, contour.down, 2 * arb.pi() / self._step)

    @property
    def node_count(self) -> int:
        """Frequencies that a reading adds up."""
        return self.contour.count

    def _fill(self) -> list[acb]:
        table = [acb(1)] * (self.contour.count + 1)
        for law, count in self.steps:
            row = law.row(self._step, self.contour.count)
            table = [a * power(b, count) for a, b in zip(table, row, strict=True)]
        return table

    def _tail_factor(self) -> arb:
        """(1/pi) M(c) sum over [t_i, t_{i+1}] of e^{-deficit(t_i)} int dt/t^2, eq. (3)."""
        t = self.contour.count * self._step
        total = arb(0)
        for i in range(self.contour.doublings + 1):
            lost = sum((count * law.deficit(t) for law, count in self.steps), arb(0))
            # int dt/t^2 from t_i to t_{i+1} = 2 t_i is 1/(2 t_i), and beyond t_J it is 1/t_J (theorem 4)
            share = 1 / (2 * t) if i < self.contour.doublings else 1 / t
            total += (-lost).exp() * share
            t = 2 * t
        return (total * log_moment(self.steps).exp() / arb.pi()).upper()

    def _moment(self, y: arb) -> arb:
        log = sum((count * law.moment(y).log() for law, count in self.steps), arb(0))
        return log.exp()

    def terms(self, epsilon: arb) -> Terms:
        """The sum, and an upper bound of each error, at this epsilon."""
        factor = (-self.c * epsilon).exp()
        turns = rotations(acb(0, -self._step * epsilon).exp(), self.contour.count)
        # the trapezoid rule for (1): both half-lines are conjugate, and the node at 0 counts once
        total = self._table[0].real / 2
        for value, turn in zip(self._table[1:], turns[1:], strict=True):
            total += (value * turn).real
        return {
            "sum": total * factor * self._step / arb.pi(),
            **self.aliasing(epsilon),
            "tail": (self._decays * factor).upper(),
        }

    def delta(self, epsilon: arb, terms: Terms | None = None) -> arb:
        """An enclosure of the value at one epsilon; `terms`: that epsilon's, where they are there."""
        terms = terms or self.terms(epsilon)
        aliasing = terms["aliasing above"] + terms["aliasing below"]
        # aliasing only adds to the sum (eq. (2) is one-sided): it widens the lower end alone
        high = terms["sum"] + disc(terms["tail"])
        return high.union(high - aliasing.upper())
