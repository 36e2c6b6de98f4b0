"""The privacy loss of one step in balls: point masses and branches; sampling, once for every mechanism.

A base pair (P, Q) is stated as data: atoms (loss, P-mass), branches (start, end, W) on the axis of the plain
loss z itself, W(z) the log Q-density there (so P has e^{W + z}), the P-mass that Q misses and the Q-mass that
P misses. Sampling at rate q turns e^z into r = 1 - q + q e^z. After it every branch is one of

    favoured:  P-density e^W r, loss log r;       mirrored:  P-density e^W, loss -log r,

so that E[e^{sL}] over it is int e^W r^kappa dz, kappa = s + 1 or -s, and no proof needs to know more.
Equation numbers are those of docs/theory/certificate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flint import arb, ctx

from dpacct.pld.loss import LossDistribution
from dpacct.pld.operators import Chain, Exchanged, Operator, Reversed

from .balls import ball, demand
from .operated import BALLS, OperatedBranch
from .outcomes import Point, stick


def normal_tail(x: arb) -> arb:
    """P(N(0, 1) > x).

    >>> bool(abs(normal_tail(arb(2)) - 0.0227501319481792) < 1e-15)
    True
    """
    if x > 200.0:  # where the library's erfc gives up in the end
        return mills_ratio(x) * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
    return (x / arb(2).sqrt()).erfc() / 2


def mills_ratio(x: arb) -> arb:
    """e^{x^2/2} int_x^inf e^{-u^2/2} du, x > 0: 1/x - 1/x^3 + 3/x^5 - ... (DLMF 7.12.1).

    The series alternates around the value, so what is left out is between 0 and its next term.
    """
    total, term, k, falling = arb(0), 1 / x, 0, True
    while falling and k < ctx.prec and abs(term) > abs(total) * arb(2) ** -ctx.prec:
        total += term
        k += 1
        following = -term * (2 * k - 1) / (x * x)
        falling = bool(abs(following) < abs(term))
        term = following
    return total + term.union(arb(0))


@dataclass(frozen=True)
class Weight:
    """W(z) = constant + linear z - square z^2, square >= 0: concave on the real axis."""

    constant: arb
    linear: arb
    square: arb

    @property
    def growth(self) -> arb:
        """Re W(x + iy) = W(x) + square y^2."""
        return self.square

    def __call__(self, z: Any) -> Any:
        """W(z), real or complex."""
        return self.constant + z * (self.linear - self.square * z)

    def bell(self, power: Any) -> Any:
        """int e^{W(z) + power z} dz over all z, power real or complex."""
        top = self.constant + (self.linear + power) ** 2 / (4 * self.square)
        return top.exp() * (arb.pi() / self.square).sqrt()

    def mass(self, low: arb | None, high: arb | None, power: int) -> arb:
        """int e^{W(z) + power z} dz from low to high; None for an end at infinity."""
        slope = self.linear + power
        if self.square.is_zero():
            assert low is not None and high is not None
            width = high - low
            if slope.is_zero():
                return self.constant.exp() * width
            return (self.constant + slope * low).exp() * (slope * width).expm1() / slope
        deviation = 1 / (2 * self.square).sqrt()
        mean = slope * deviation * deviation
        whole: arb = self.bell(power)

        def tail(end: arb, sign: int) -> arb:
            return normal_tail(sign * (end - mean) / deviation)

        if low is None:
            return whole * (tail(high, -1) if high is not None else arb(1))
        if high is None:
            return whole * tail(low, 1)
        if low > mean:
            return whole * (tail(low, 1) - tail(high, 1))
        return whole * (tail(high, -1) - tail(low, -1))


@dataclass(frozen=True)
class ProofBranch:
    """Plain losses from start to end (None: infinite); `rate` is None where nothing is sampled."""

    start: arb | None
    end: arb | None
    weight: Weight
    rate: arb | None = None
    favoured: bool = True
    chain: ClassVar[Chain] = ()

    @property
    def share(self) -> arb:
        """The rate, 1 where nothing is sampled."""
        return arb(1) if self.rate is None else self.rate

    def mass(self, low: arb | None, high: arb | None, power: int) -> arb:
        """int e^{W + power z} dz over part of the branch, in closed form."""
        return self.weight.mass(low, high, power)

    def log_r(self, z: arb) -> arb:
        """log(1 - q + q e^z)."""
        return z if self.rate is None else (self.rate * z.expm1()).log1p()

    def slope(self, z: arb) -> arb:
        """The slope of log r, which increases from 0 to 1."""
        if self.rate is None:
            return arb(1)
        growth = self.rate * z.exp()
        return growth / (1 - self.rate + growth)

    def power(self, y: arb) -> arb:
        """kappa at a real tilt y."""
        return y + 1 if self.favoured else -y

    def one_step(self, epsilon: arb) -> arb:
        """The branch's share of delta, eq. (9): r - e^eps = (1 - q - e^eps) + q e^z, so two closed masses."""
        q, mass = self.share, self.mass
        level = epsilon.exp() if self.favoured else (-epsilon).exp()
        turn = (level - 1 + q) / q  # e^z at which the loss is epsilon
        if not (turn > 0 or turn <= 0):
            return arb(0).union(arb(1))
        crossing = turn.log() if turn > 0 else None  # None: all losses are beyond it
        low, high = self.start, self.end
        if self.favoured:
            if crossing is not None:
                if high is not None and crossing >= high:
                    return arb(0)
                low = _between(crossing, low, high)
            return (1 - q - level) * mass(low, high, 0) + q * mass(low, high, 1)
        if crossing is None or (low is not None and crossing <= low):
            return arb(0)
        high = _between(crossing, low, high)
        growth = epsilon.exp()
        return (1 - growth * (1 - q)) * mass(low, high, 0) - growth * q * mass(low, high, 1)

    def masses(self, low: arb | None, high: arb | None) -> Point:
        """(P-mass, Q-mass) of the plain losses from low to high."""
        first, second = self.mass(low, high, 0), self.mass(low, high, 1)
        mixed = (1 - self.share) * first + self.share * second
        return (mixed, first) if self.favoured else (first, mixed)

    def place(self, level: arb) -> arb | None:
        """The plain loss at which the loss is `level`, or an end; None where there may be none."""
        q, growth = self.share, level.exp() if self.favoured else (-level).exp()
        turn = (growth - 1 + q) / q
        return _between(turn.log(), self.start, self.end) if turn > 0 else None

    def loss(self, z: arb) -> arb:
        """The loss at a plain loss z."""
        return self.log_r(z) if self.favoured else -self.log_r(z)

    def largest(self) -> arb:
        """Supremum of the loss."""
        end = self.end if self.favoured else self.start
        if end is not None:
            return self.loss(end)
        if self.favoured or self.rate is None:
            return arb.pos_inf()
        return -(-self.rate).log1p()


def _between(value: arb, low: arb | None, high: arb | None) -> arb:
    """The value, moved to the nearer end where it lies outside; a ball around it where that is open."""
    value = value if low is None else value.max(low)
    return value if high is None else value.min(high)


_NOTHING = arb(0)


@dataclass(frozen=True)
class Law:
    """One step in one direction: P-masses of finite losses, and what only P or only Q yields."""

    atoms: tuple[Point, ...] = ()
    branches: tuple[Any, ...] = ()  # ProofBranch or OperatedBranch
    infinite: arb = _NOTHING
    lost: arb = _NOTHING

    def one_step(self, epsilon: arb) -> arb:
        """Delta of a single step in closed form, any real epsilon."""
        total = self.infinite + sum((m * stick(epsilon - x) for x, m in self.atoms), arb(0))
        return total + sum((branch.one_step(epsilon) for branch in self.branches), arb(0))

    def ceiling(self) -> arb:
        """The largest finite loss, possibly +infinity."""
        losses = [loss for loss, _ in self.atoms] + [branch.largest() for branch in self.branches]
        largest: arb = losses[0]
        for loss in losses[1:]:
            largest = loss if loss > largest else largest if loss <= largest else loss.max(largest)
        return largest

    def top(self) -> arb:
        """P-mass of the atoms at the largest loss; a lower bound of it is enough."""
        highest = self.ceiling()
        masses = (mass for loss, mass in self.atoms if loss.overlaps(highest))
        return sum(masses, arb(0)) if highest.is_finite() else arb(0)


def read(pair: LossDistribution) -> Law:
    """A base pair whose numbers are balls; its branches are on the axis of the loss itself."""
    branches: list[Any] = []
    for b in pair.branches:
        demand(b.slope == 1 and b.offset == 0 and not b.chain and not b.curve, "this branch")
        start, end = (None if abs(x) == math.inf else arb(x) for x in (b.low, b.high))
        branches.append(
            ProofBranch(start, end, Weight(arb(b.base), arb(b.linear), arb(b.square) / 2))
        )
    points = zip(pair.losses.tolist(), pair.log_q.tolist(), strict=True)
    atoms = tuple((arb(x), (x + log_q).exp()) for x, log_q in points)
    return Law(atoms, tuple(branches), arb(pair.infinite), arb(pair.lost))


# --- sampling, once for all ---------------------------------------------------------------------


def plain(base: Law, rate: arb) -> Law:
    """Nothing is sampled."""
    return base


def remove(base: Law, rate: arb) -> Law:
    """(1 - q) Q + q P against Q."""
    atoms = [((rate * x.expm1()).log1p(), m * (-x).exp()) for x, m in base.atoms]
    if not base.lost.is_zero():  # outcomes that P misses are merely unlikely under the mixture
        atoms.append(((-rate).log1p(), base.lost))
    p_atoms = tuple((x, m * x.exp()) for x, m in atoms)
    branches = tuple(replace(branch, rate=rate) for branch in base.branches)
    return Law(p_atoms, branches, rate * base.infinite)


def add(base: Law, rate: arb) -> Law:
    """Q against (1 - q) Q + q P."""
    atoms = [(-(rate * x.expm1()).log1p(), m * (-x).exp()) for x, m in base.atoms]
    if not base.lost.is_zero():
        atoms.append((-(-rate).log1p(), base.lost))
    branches = tuple(replace(branch, rate=rate, favoured=False) for branch in base.branches)
    return Law(tuple(atoms), branches, arb(0), rate * base.infinite)


@dataclass(frozen=True)
class Through:
    """The pair after any operator, of which it needs nothing but the statement."""

    operator: Operator

    def __call__(self, base: Law, rate: arb) -> Law:
        """The law in balls."""
        return through(base, self.operator)


def through(base: Law, operator: Operator) -> Law:
    """A law after an operator; nothing may be infinite or lost."""
    demand(base.infinite.is_zero() and base.lost.is_zero(), "this operator on open failures")
    atoms = [operator.apply(x, m.log() - x, BALLS) for x, m in base.atoms]
    branches = []
    for b in base.branches:
        demand(b.rate is None and b.favoured, "an operator on a law that is sampled")
        branches.append(OperatedBranch(b.start, b.end, b.weight, operator.after(())))
    return Law(tuple((x, (x + log_q).exp()) for x, log_q in atoms), tuple(branches))


@dataclass(frozen=True)
class OneForAnother:
    """One record exchanged for another, of the pair (with a record, without)."""

    operator: Exchanged

    def __call__(self, base: Law, rate: arb) -> Law:
        """The law in balls."""
        if self.operator.turn:
            return through(base, self.operator)
        least = -ball(self.operator.level)
        top = tuple((x, m) for x, m in base.atoms if x > least)
        half = through(Law(top, base.branches), self.operator)
        atoms = [*half.atoms, *((-x, m * (-x).exp()) for x, m in half.atoms)]
        if (
            not base.branches
        ):  # at 0 both records have their least loss: what is on neither side of it
            beside = 1 - 2 * sum((m * (-x).exp() for x, m in top), arb(0))
            still = self.operator.favoured.apply(least, arb(0), BALLS)[0]
            atoms.append((arb(0), beside * still.exp()))
        turned = [replace(b, chain=Reversed().after(b.chain)) for b in half.branches]
        return Law(tuple(atoms), (*half.branches, *turned))


def exchange(base: Law, rate: arb) -> Law:
    """C_q (Dong, Roth, Su 2022, Theorem 4.2) of a pair that is its own mirror image.

    What favours P after `remove`, its mirror image, and at 0 the mass that favours neither:
    P(L = 0) and a share 1 - q of P(L > 0) - Q(L > 0).
    """
    up = [(x, m) for x, m in base.atoms if x > 0]
    level = sum((m for x, m in base.atoms if x.is_zero()), arb(0))
    apart = base.infinite + sum((m * -(-x).expm1() for x, m in up), arb(0))
    atoms: list[Point] = []
    for x, m in up:
        loss, q_mass = (rate * x.expm1()).log1p(), m * (-x).exp()
        atoms += [(loss, q_mass * loss.exp()), (-loss, q_mass)]
    branches: list[ProofBranch] = []
    for branch in base.branches:
        half = replace(branch, start=arb(0), rate=rate)
        branches += [half, replace(half, favoured=False)]
        apart += half.mass(half.start, half.end, 1) - half.mass(half.start, half.end, 0)
    rest = (arb(0), level + (1 - rate) * apart)
    return Law((*atoms, rest), tuple(branches), rate * base.infinite, rate * base.infinite)
