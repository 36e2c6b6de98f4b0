"""A law of finitely many outcomes, read as it stands: delta is a sum.

No grid and no transform. Every logarithm is off by no more than a stated slack, every loss by no more than a
stated amount, and both are charged to the end that is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .pieces import Pieces, Source, Sources, ever
from .stable import Floats

# relative rounding of a sum of many positive terms, and of its terms
_SUM = 1e-14
# rounding of one logarithm, relative to 1 and its size
_UNIT = 4e-16
# of the mass at infinity: of each step's, and of the product
_INFINITE = 2e-15


@dataclass(frozen=True, eq=False)
class Outcomes:
    """P-masses (logs) at losses in increasing order, each off by no more than its slack and `unsure`."""

    losses: Floats
    log_p: Floats
    slack: Floats
    unsure: Floats
    infinite: float

    @classmethod
    def points(cls, pieces: Pieces) -> Outcomes:
        """The outcomes of a pair that has nothing else."""
        order = np.argsort(pieces.loss)
        shape = pieces.loss.shape
        slack, unsure = (
            np.broadcast_to(error, shape)[order] for error in (pieces.slack, pieces.unsure)
        )
        return cls(pieces.loss[order], pieces.log_p[order], slack, unsure, pieces.infinite)

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log delta: sum of masses (1 - e^{eps - loss}) over losses above epsilon."""
        sign = 1.0 if upper else -1.0
        start = int(np.searchsorted(self.losses, epsilon - float(self.unsure.max(initial=0.0))))
        gap = self.losses[start:] + sign * self.unsure[start:] - epsilon
        gain = -np.expm1(-np.maximum(gap, 0.0))
        with np.errstate(divide="ignore"):
            level = self.log_p[start:] + sign * self.slack[start:] + np.log(gain)
        peak = float(level.max(initial=-math.inf))
        total = -math.inf
        if peak > -math.inf:
            total = peak + math.log(float(np.exp(level - peak).sum())) + sign * _SUM
        if self.infinite > 0.0:
            # a sum of two, each rounded to its side: log(a + b) within a rounding of either
            total = float(np.logaddexp(total, math.log(self.infinite) + sign * _INFINITE))
        if total == -math.inf:
            return total
        return min(total + sign * 4e-16 * (1.0 + abs(total)), 0.0)

    def log_deltas(self, epsilons: Floats) -> Floats:
        """Upper ends of log delta at many epsilons.

        From the largest loss down, delta(l_k) = delta(l_{k+1}) + Q(L > l_k) (e^{l_{k+1}} - e^{l_k}), and so
        between two losses: every term is positive.
        """
        losses = self.losses + self.unsure
        order = np.argsort(losses)
        losses, log_q = losses[order], (self.log_p + self.slack - losses)[order]
        with np.errstate(divide="ignore"):
            above, missed = _summed(log_q, np.zeros(log_q.shape))
            steps = above[1:] + losses[1:] + np.log(-np.expm1(-np.diff(losses)))
            infinite = math.log(self.infinite) + _INFINITE if self.infinite > 0.0 else -math.inf
            before = np.append(missed[1:] + _UNIT * (np.abs(above[1:]) + np.abs(losses[1:])), 0.0)
            at, error = _summed(np.append(steps, infinite), before)
            k = np.searchsorted(losses, epsilons, side="right")
            past, k = k == losses.size, np.minimum(k, losses.size - 1)
            gap = np.where(past, 0.0, np.minimum(epsilons - losses[k], 0.0))
            inside = np.logaddexp(at[k], above[k] + losses[k] + np.log(-np.expm1(gap)))
        last = missed[k] + _UNIT * (np.abs(above[k]) + np.abs(losses[k]))
        rounding = (
            _SUM + np.maximum(error[k], last) + _UNIT * (2.0 + np.where(past, 0.0, np.abs(inside)))
        )
        result: Floats = np.where(past, infinite, inside + rounding)
        margin = np.where(np.isfinite(result), 4e-16 * (1.0 - result), 0.0)
        return np.minimum(result + margin, 0.0)

    def about(self, log_target: float, floor: float) -> tuple[float, float]:
        """About the epsilon >= floor where log delta is the target, and what log delta falls by there."""
        losses = self.losses
        p = np.exp(np.minimum(self.log_p - log_target, 300.0))
        rest = self.infinite * math.exp(min(-log_target, 300.0))
        # in units of the target: all above, and what they lose per e^epsilon, of the uppermost loss
        above = np.append(np.cumsum(p[::-1])[::-1], 0.0)[1:] + rest
        top = float(losses[-1]) if losses.size else 0.0
        fallen = p * np.exp(np.minimum(top - losses, 300.0))
        lost = np.append(np.cumsum(fallen[::-1])[::-1], 0.0)[1:]
        at = above - lost * np.exp(np.maximum(losses - top, -745.0))
        k = int(np.argmax(at <= 1.0)) if (at <= 1.0).any() else losses.size - 1
        # between the loss before and this one: above - lost e^{eps - top} with this one's share too
        a, b = (above[k] + p[k], lost[k] + p[k] * math.exp(min(top - losses[k], 300.0)))
        if not (a > 1.0 and b > 0.0):
            return max(float(losses[k]), floor), 1.0
        epsilon = top + math.log((a - 1.0) / b)
        return max(min(epsilon, float(losses[k])), floor), max(a - 1.0, 1e-12)


def _summed(logs: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Log of the sum of all terms from each on, and what it is off by: `errors` of the terms, and rounding.

    A sum further on counts as much as it is part of this one, whatever its own logarithm is off by.
    """
    total = np.logaddexp.accumulate(logs[::-1])[::-1]
    size = np.where(np.isfinite(total), np.abs(total), 0.0)
    charged = np.logaddexp(logs + np.log(errors), total + np.log(_UNIT * (1.0 + size)))
    some = np.isfinite(total)
    value = np.logaddexp.accumulate(charged[::-1])[::-1] - np.where(some, total, 0.0)
    return total, np.where(some, np.exp(value), 0.0)


def outcomes(sources: Sources) -> tuple[Outcomes, Outcomes] | None:
    """(lower, upper) of one source, asked once, that has atoms alone; None where it is anything else."""
    if len(sources) != 1 or sources[0][1] != 1.0:
        return None
    source, _ = sources[0]
    if not source.pointed:
        return None
    sides = [source.pieces(np.empty(0), upper=upper) for upper in (False, True)]
    if not all((side.low == side.high).all() for side in sides):
        return None
    below, above = (Outcomes.points(side.where(side.log_p > -math.inf)) for side in sides)
    return below, above


# -- all outcomes of a composition: how often each falls is multinomial ----------------------------


def ways(kinds: int, count: int) -> Floats:
    """List the ways in which `count` draws fall on the kinds: a row of multiplicities for each."""
    rows, left = np.zeros((1, 0)), np.array([count])
    for _ in range(kinds - 1):
        size = left + 1
        drawn = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        rows, left = np.repeat(rows, size, axis=0), np.repeat(left, size) - drawn
        rows = np.column_stack((rows, drawn))
    return np.column_stack((rows, left))


def log_ways(often: Floats, count: int) -> Floats:
    """Log multinomial coefficient of each row."""
    if often.shape[1] == 1:
        return np.zeros(1)
    table = log_factorials(count)
    return np.asarray(table[-1] - table[often.astype(int)].sum(axis=1))


def log_factorials(n: int) -> Floats:
    """log k! for k = 0 .. n, summed in long doubles: n log n of them would leave 1e-16 n log n."""
    logs = np.log(np.arange(1, n + 1, dtype=np.longdouble))
    return np.concatenate((np.zeros(1), np.cumsum(logs).astype(float)))


@dataclass(frozen=True)
class Listed(Source):
    """The composition of sources (each with its count) of which `may_be_listed` is true."""

    parts: tuple[tuple[Source, int], ...]

    @property
    def pointed(self) -> bool:
        """Return whether there are atoms alone."""
        return True

    @cached_property
    def points(self) -> Pieces:
        """Every outcome; those of one loss together."""
        total: Pieces | None = None
        for source, count in self.parts:
            pieces = source.pieces(np.empty(0), upper=True)
            power = _power(pieces, count)
            total = power if total is None else _product(total, power)
        assert total is not None
        result = _together(total)
        return Pieces(
            result.log_p,
            result.loss,
            result.low,
            result.high,
            result.slack,
            result.unsure,
            result.slip,
            self.infinite,
            self.lost,
        )

    @property
    def least(self) -> float:
        """The least loss."""
        return -math.inf if self.points.lost > 0.0 else float(self.points.low[0])

    @property
    def infinite(self) -> float:
        """P-mass of an infinite loss."""
        return ever((source.infinite, n) for source, n in self.parts)

    @property
    def lost(self) -> float:
        """Q-mass that P does not have."""
        return ever((source.lost, n) for source, n in self.parts)

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which no outcome has e^log_mass."""
        points = self.points
        kept = points.low[points.log_p > log_mass]
        if not kept.size:
            kept = points.low[[int(np.argmax(points.log_p))]]
        return float(kept[0]), float(kept[-1])

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """All outcomes."""
        return self.points


def may_be_listed(sources: Sources) -> bool:
    """Return whether the outcomes of all steps together are few."""
    total = 1.0
    for source, count in sources:
        if not source.pointed or source.bracketed or count != round(count):
            return False
        points = source.pieces(np.empty(0), upper=True)
        kinds = points.log_p.size
        if not (0 < kinds <= 64 and np.isfinite(points.log_p).all()):
            return False
        ways = math.lgamma(count + kinds) - math.lgamma(count + 1.0) - math.lgamma(kinds)
        total *= math.exp(min(ways, 100.0))
        if total > (1 << 15):
            return False
    return True


def _together(points: Pieces) -> Pieces:
    """Outcomes in the order of losses, those that differ by rounding alone as one."""
    points = points.where(np.argsort(points.low, kind="stable"))
    losses, widest = points.loss, float(np.max(points.unsure))
    near = np.diff(losses) <= 4.0 * widest
    if not near.any():
        return points
    starts = np.flatnonzero(np.append(True, ~near))
    counts = np.diff(np.append(starts, losses.size))
    most = np.maximum.reduceat(points.log_p, starts)
    total = np.add.reduceat(np.exp(points.log_p - np.repeat(most, counts)), starts)
    spread = np.maximum.reduceat(losses, starts) - losses[starts]
    middle = losses[starts] + 0.5 * spread
    slack = float(np.max(points.slack)) + 1.2e-16 * float(counts.max())
    unsure = widest + spread
    return Pieces(most + np.log(total), middle, middle, middle, slack, unsure, unsure)


def _power(pieces: Pieces, count: int) -> Pieces:
    """The outcomes of so many steps; infinite losses are left to the caller."""
    unsure = np.broadcast_to(pieces.unsure, pieces.loss.shape)
    if count == 1:
        return Pieces(
            pieces.log_p, pieces.loss, pieces.low, pieces.high, pieces.slack, unsure, unsure
        )
    often = ways(pieces.loss.size, count)
    many = log_ways(often, count)
    log_p, losses = (often @ values for values in (pieces.log_p, pieces.loss))
    slack = count * float(np.max(pieces.slack)) + 1e-15 * (
        math.lgamma(count + 1.0) + pieces.loss.size
    )
    slack += 1e-15 * float(np.abs(log_p).max())
    rounding = often @ unsure + 1e-15 * (often @ np.abs(pieces.loss))
    return Pieces(many + log_p, losses, losses, losses, slack, rounding, rounding)


def _product(pieces: Pieces, others: Pieces) -> Pieces:
    """The outcomes of both."""

    def outer(a: Floats, b: Floats) -> Floats:
        return np.add.outer(a, b).ravel()

    losses, log_p = outer(pieces.loss, others.loss), outer(pieces.log_p, others.log_p)
    first = np.broadcast_to(pieces.unsure, pieces.loss.shape)
    second = np.broadcast_to(others.unsure, others.loss.shape)
    rounding = outer(first, second) + 2e-16 * np.abs(losses)
    slack = float(np.max(pieces.slack)) + float(np.max(others.slack))
    slack += 2e-16 * float(np.abs(log_p).max())
    return Pieces(log_p, losses, losses, losses, slack, rounding, rounding)
