"""A branch after any operators, in balls: nothing about the operators is known but their statement.

Plain losses z from start to end have Q-density e^W, W concave on the axis. The operators of the chain make of
(z, W) a loss L(z), monotone, and a log Q-density V(z) (`pld.operators`), so that

    E[e^{sL}] = int e^{V + (s+1) L} dz.

On complex boxes the same statement, evaluated by ball arithmetic, bounds the integrand off the axis; where a
logarithm may cross its cut it is no number, and the bound is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, arb, ctx

from dpacct.pld.loss import Branch
from dpacct.pld.operators import Chain, Functions

from .balls import Exact, ball, demand
from .effort import PIECE, spend

_AROUND = arb(2) ** -40
"""Half of the interval of plain losses around a crossing, relative."""


class Balls(Functions):
    """The arithmetic of operators in balls, real or complex."""

    def number(self, value: Any, /) -> arb:
        """An exact number as a ball."""
        return value if isinstance(value, arb) else ball(value)

    def exp(self, value: Any, /) -> Any:
        """e^value."""
        return value.exp()

    def log(self, value: Any, /) -> Any:
        """The logarithm, no number where a complex value may lie on its cut."""
        return value.log(analytic=True) if isinstance(value, acb) else value.log()

    def mixed_loss(self, rate: Exact, loss: Any, /) -> Any:
        """log(1 - r + r e^loss)."""
        if isinstance(loss, acb):
            return self.log(1 + self.number(rate) * loss.expm1())
        return (self.number(rate) * loss.expm1()).log1p()

    def blended_loss(self, terms: Any, loss: Any, /) -> Any:
        """log sum_j w_j e^{k_j loss - d_j}."""
        mixed = 0 * loss
        for weight, multiple, drop in terms:
            moved = self.number(multiple) * loss - self.number(drop)
            mixed += self.number(weight) * moved.exp()
        return self.log(mixed)


BALLS = Balls()


@dataclass(frozen=True)
class Box:
    """Upper bounds over one box: of Re V, of Re L and -Re L, and of |Im L|."""

    log_q: arb
    high: arb
    low: arb
    turn: arb


@dataclass(frozen=True)
class OperatedBranch:
    """Plain losses from start to end (None: infinite), their weight W, and the operators since."""

    start: arb | None
    end: arb | None
    weight: Any
    chain: Chain

    # -- loss and density ----------------------------------------------------------------------

    def at(self, z: Any) -> tuple[Any, Any]:
        """(loss, log Q-density) at a real or complex plain loss."""
        loss, log_q = z, self.weight(z)
        for operator in self.chain:
            loss, log_q = operator.apply(loss, log_q, BALLS)
        return loss, log_q

    @property
    def sign(self) -> float:
        """1 where the loss rises along the axis, -1 where it falls."""
        return math.prod(operator.sign for operator in self.chain)

    def steep(self, z: arb) -> arb:
        """|dL/dz| over a ball of plain losses."""
        slope, loss = arb(1), z
        for operator in self.chain:
            slope *= abs(operator.slope(loss, BALLS))
            loss = operator.apply(loss, arb(0), BALLS)[0]
        return slope

    @property
    def steepest(self) -> arb:
        """A bound of |dL/dz|; a float's hair above what the operators state."""
        return arb(math.prod(operator.steepest for operator in self.chain) * (1.0 + 1e-9))

    @property
    def drift(self) -> arb:
        """A bound of |d(V - W)/dz|."""
        total, steep = 0.0, 1.0
        for operator in self.chain:
            total += steep * operator.drift
            steep *= operator.steepest
        return arb(total * (1.0 + 1e-9))

    def largest(self) -> arb:
        """Supremum of the loss."""
        end = self.end if self.sign > 0.0 else self.start
        if end is None:
            end = arb.pos_inf() if self.sign > 0.0 else arb.neg_inf()
        value = end
        for operator in self.chain:
            value = operator.apply(value, arb(0), BALLS)[0]
        return arb.pos_inf() if value.is_nan() else value

    @property
    def floats(self) -> Branch:
        """The same branch in floats, for the search."""
        w = self.weight
        low, high = (
            (-math.inf if self.start is None else float(self.start.mid())),
            (math.inf if self.end is None else float(self.end.mid())),
        )
        base, linear, square = (float(x.mid()) for x in (w.constant, w.linear, 2 * w.square))
        return Branch(low, high, base, linear, square, 1.0, 0.0, self.chain)

    # -- bounds of integrals ---------------------------------------------------------------------

    def beyond(self, power: arb, z: arb, side: int) -> arb:
        """Bound of int e^{V + power L} beyond z on one side, power >= 0, eq. (34).

        Outwards W falls at least as fast as at z, V - W rises at most by `drift`, and power L at most by
        `steepest` times the power where L rises that way.
        """
        loss, log_q = self.at(z)
        fall = -side * (self.weight.linear - 2 * self.weight.square * z) - self.drift
        if side * self.sign > 0:
            fall -= power * self.steepest
        return (log_q + power * loss).exp() / fall if fall > 0 else arb.pos_inf()

    def boxes(self, middle: arb, half: arb, rho: arb) -> list[Box]:
        """Bounds over boxes that cover the upper half of an ellipse around a panel."""
        # Boxes that cover an ellipse.
        strips = 8
        spend(strips * PIECE)
        wide, tall = half * (rho + 1 / rho) / 2, half * (rho - 1 / rho) / 2
        results = []
        for k in range(strips):
            left = middle + wide * (arb(2 * k) / strips - 1)
            right = middle + wide * (arb(2 * k + 2) / strips - 1)
            # the ellipse is no higher over a strip than over the end that is nearer to its middle
            near = abs(arb(2 * k + 1) / strips - 1) - arb(1) / strips
            height = tall * (1 - near.max(arb(0)) ** 2).sqrt()
            loss, log_q = self.at(acb(left.union(right), arb(0).union(height)))
            turn = abs(loss.imag).upper()
            ends = log_q.real.upper(), loss.real.upper(), (-loss.real).upper(), turn
            if not all(end.is_finite() for end in ends):
                ends = (arb.pos_inf(),) * 4
            results.append(Box(*ends))
        return results

    # -- one step ------------------------------------------------------------------------------------

    def ends(self) -> tuple[arb, arb]:
        """Two finite ends, outside of which next to nothing is."""
        reach = 40 / (2 * self.weight.square).sqrt() if self.start is None else arb(0)
        centre = self.weight.linear / (2 * self.weight.square) if self.start is None else arb(0)
        shift = 2 * (self.steepest + 1) / (2 * self.weight.square) if self.start is None else arb(0)
        low = centre - reach - shift if self.start is None else self.start
        high = centre + reach + shift if self.end is None else self.end
        return low.mid() if self.start is None else low, high.mid() if self.end is None else high

    def masses(self, low: arb | None, high: arb | None) -> tuple[arb, arb]:
        """(P-mass, Q-mass) of the plain losses from low to high; None for an end of the branch."""
        first, last = self.ends()
        first, last = (first if low is None else low), (last if high is None else high)
        both = []
        for power in (1, 0):

            def height(z: acb, analytic: bool, power: int = power) -> Any:
                loss, log_q = self.at(z)
                return (log_q + power * loss).exp()

            total = acb.integral(height, acb(first), acb(last), rel_tol=arb(2) ** -ctx.prec).real
            for end, own, side in ((low, self.start, -1), (high, self.end, 1)):
                if end is None and own is None:
                    cut = first if side < 0 else last
                    total += arb(0).union(self.beyond(arb(power), cut, side).upper())
            both.append(total)
        return both[0], both[1]

    def one_step(self, epsilon: arb) -> arb:
        """The branch's share of delta, the largest P - e^eps Q of the plain losses beyond a place.

        Floats find a short interval that holds the place where the loss is epsilon. Either end gives a lower
        bound; the upper one adds e^eps Q of the interval times the largest |e^{L - eps} - 1| on it.
        """
        first, last = self.ends()
        growth, rises = epsilon.exp(), self.sign > 0.0
        if self.largest() <= epsilon:
            return arb(0)
        about = float(self.floats.where(np.array(float(epsilon.mid()))))
        at = arb(min(max(about, float(first.mid())), float(last.mid())))
        hair = _AROUND * (1 + abs(at))
        # at a finite end of the branch all losses, or none, are beyond
        edges = [self.start is not None and not at - hair > first]
        edges += [self.end is not None and not at + hair < last]
        low, high = (first if edges[0] else at - hair), (last if edges[1] else at + hair)
        gaps = [self.at(z)[0] - epsilon for z in (low, high)]
        below, above = gaps if rises else gaps[::-1]
        starts, stops = edges if rises else edges[::-1]
        demand(starts or bool(below <= 0), "a crossing that floats did not find")
        demand(stops or bool(above >= 0), "a crossing that floats did not find")
        ends = [(z, None) if rises else (None, z) for z in (low, high)]
        masses = [self.masses(*interval) for interval in ends]
        value = arb(0)
        for p, q in masses:
            value = value.max(p - growth * q)
        between = abs(masses[0][1] - masses[1][1])
        steep = abs(gaps[0].expm1()).max(abs(gaps[1].expm1()))
        return value.union(value + growth * between * steep)


def exponents(boxes: Sequence[Box], y: arb, frequency: arb) -> arb:
    """Bound of Re(V + (y+1+it) L) over all boxes, y > -1."""
    most = arb.neg_inf()
    for box in boxes:
        most = most.max(box.log_q + (y + 1) * box.high + frequency * box.turn)
    return most
