"""Sums of independent losses that are atoms: lists (losses, log P-masses), convolved, to powers, listed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .binomial import log_pmf
from .stable import Floats, TooFine

Atoms = tuple[Floats, Floats]

_MOST_POINTS = 20_000
_MOST_LISTED = 60_000
_NATS = 60.0  # below the tilted peak, what does not matter


def convolved(a: Atoms, b: Atoms, c: float) -> Atoms:
    """The sum of two: what matters under the tilt c, coinciding losses merged. Raises `TooFine`."""
    if a[0].size * b[0].size > 40 * _MOST_POINTS:
        raise TooFine
    losses = np.add.outer(a[0], b[0]).ravel()
    logs = np.add.outer(a[1], b[1]).ravel()
    tilted = logs + c * losses
    kept = tilted > tilted.max() - _NATS
    losses, logs = losses[kept], logs[kept]
    order = np.argsort(losses)
    losses, logs = losses[order], logs[order]
    near = 1e-13 * max(1e-300, float(np.abs(losses).max()))
    fresh = np.concatenate(([True], np.diff(losses) > near))
    starts = np.flatnonzero(fresh)
    if starts.size > _MOST_POINTS:
        raise TooFine
    peak = np.maximum.reduceat(logs, starts)
    total = np.add.reduceat(np.exp(logs - peak[np.cumsum(fresh) - 1]), starts)
    return losses[starts], peak + np.log(total)


def power(atoms: Atoms, count: int, c: float) -> Atoms:
    """The count-fold sum: what matters under the tilt c. Raises `TooFine`."""
    losses, logs = atoms
    if count == 0:
        return np.zeros(1), np.zeros(1)
    if losses.size == 0 or count == 1:
        return atoms
    if losses.size == 1:
        return count * losses, count * logs
    if losses.size == 2:
        return _binomial(atoms, count, c)
    if (
        math.comb(count + losses.size - 1, losses.size - 1) <= _MOST_LISTED
        and spacing(losses) is None
    ):
        return listed(atoms, count)
    half = power(atoms, count // 2, c)
    even = convolved(half, half, c)
    return convolved(even, atoms, c) if count % 2 else even


def _binomial(atoms: Atoms, count: int, c: float) -> Atoms:
    """The outcomes of `count` draws from two atoms, with binomial weights."""
    (first, second), (log_first, log_second) = atoms
    gap = float(log_second - log_first + c * (second - first))
    tilted = 1.0 / (1.0 + math.exp(min(gap, 700.0)))
    reach = math.sqrt(2.0 * _NATS * count * tilted * (1.0 - tilted)) + 2.0 * _NATS
    least, most = max(0, int(count * tilted - reach)), min(count, int(count * tilted + reach) + 1)
    if most - least > _MOST_LISTED:
        raise TooFine
    k = np.arange(least, most + 1.0)
    log_total = float(np.logaddexp(log_first, log_second))
    # by the rarer of the two, whose probability keeps its digits
    log_rare, falls = (log_first, k) if log_first <= log_second else (log_second, count - k)
    logs = log_pmf(falls, count, Fraction(math.exp(float(log_rare) - log_total)))
    return k * first + (count - k) * second, count * log_total + logs


def draws(kinds: int, count: int) -> NDArray[np.intp]:
    """The kinds of `count` draws in order, 0 <= k_1 <= k_2 <= ... < kinds: one row for each way."""
    rows = np.arange(kinds)[:, None]
    for _ in range(count - 1):
        size = kinds - rows[:, -1]
        place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        rows = np.repeat(rows, size, axis=0)
        rows = np.column_stack((rows, rows[:, -1] + place))
    return rows


def ways(kinds: int, count: int) -> Floats:
    """List the ways in which `count` draws fall on the kinds: a row of multiplicities for each."""
    if kinds > count:
        chosen = draws(kinds, count)
        cells = (kinds * np.arange(len(chosen))[:, None] + chosen).ravel()
        often = np.bincount(cells, minlength=kinds * len(chosen))
        return np.asarray(often.reshape(-1, kinds), float)
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


def listed(atoms: Atoms, count: int) -> Atoms:
    """All outcomes of the count-fold sum: how often each atom falls is multinomial."""
    kinds = atoms[0].size
    if kinds <= count:
        often = ways(kinds, count)
        return often @ atoms[0], often @ atoms[1] + log_ways(often, count)
    chosen = draws(kinds, count)
    # of many kinds each draw is named: count! over the m! of each run of m equal ones
    run, logs = np.ones(len(chosen)), np.full(len(chosen), math.lgamma(count + 1))
    for before, now in pairwise(chosen.T):
        run = np.where(now == before, run + 1.0, 1.0)
        logs -= np.log(run)
    return atoms[0][chosen].sum(axis=1), atoms[1][chosen].sum(axis=1) + logs


def log_factorials(n: int) -> Floats:
    """log k! for k = 0 .. n, summed in long doubles: n log n of them would leave 1e-16 n log n."""
    logs = np.log(np.arange(1, n + 1, dtype=np.longdouble))
    return np.concatenate((np.zeros(1), np.cumsum(logs).astype(float)))


def spacing(losses: Floats) -> float | None:
    """The distance of which all differences of losses are multiples; None where none is."""
    gaps = np.diff(np.sort(losses))
    if not gaps.size or gaps.min() <= 0.0:
        return None
    steps = gaps / gaps.min()
    # thousands of close losses: each gap carries the rounding of the losses beside it
    rounding = 4.0 * float(np.finfo(float).eps) * float(np.abs(losses).max()) / float(gaps.min())
    if np.abs(steps - np.round(steps)).max() > max(1e-12 * steps.max(), min(rounding, 1e-8)):
        return None
    return float(np.ptp(losses) / np.round(steps).sum())
