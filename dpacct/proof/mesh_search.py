"""The search for a nested plan's grid, in floats: every grid gives a bound, a bad one a wide bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpacct.pld.saddle import Totals
from dpacct.pld.stable import Floats

from .balls import precision
from .effort import CELL, PRODUCT, SEARCH, foresee, spend
from .floats import FloatLaw, saddle_for_epsilon, saddle_for_log_delta
from .law import Law
from .mesh import Cells, Mesh, table_seconds, unrounded
from .plan import Laws, NestedPlan, Step
from .search import searching

_MOST, _COARSE = 12_000, 500  # cells of one law, and where only a saddle is sought
_FAR = 60.0  # nats that may matter where delta is not known
_TILTS = np.geomspace(1e-2, 1e3, 120)
_BITS, _BALLS = 128, 192
_SPARE = 18.0  # nats below delta of what may be beyond the cells
_FINE = 1e-5  # of epsilon: what the grid may add to it


@dataclass(frozen=True)
class _Points:
    """A law's losses, rising, and the logs of their P-masses."""

    losses: Floats
    log_p: Floats

    @classmethod
    def of(cls, losses: Floats, log_p: Floats) -> _Points:
        order = np.argsort(losses)
        return cls(losses[order], log_p[order])

    @classmethod
    def listed(cls, law: Law) -> _Points:
        """A law that has atoms alone."""
        atoms = [(float(x.mid()), float(m.log().mid())) for x, m in law.atoms if m > 0]
        losses, logs = (np.array(column) for column in zip(*atoms, strict=True))
        return cls.of(losses, logs)

    def log_moments(self, tilts: Floats) -> Floats:
        terms = np.multiply.outer(tilts, self.losses) + self.log_p
        top = terms.max(axis=1)
        return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))

    def ends(self, log_rest: float) -> tuple[float, float]:
        """Losses below which Q, and above which P, has no more than this."""
        rest = math.exp(max(log_rest, -700.0))
        below = np.cumsum(np.exp(np.minimum(self.log_p - self.losses, 50.0)))
        above = np.cumsum(np.exp(self.log_p[::-1]))[::-1]
        low = min(int(np.searchsorted(below, rest)), self.losses.size - 1)
        high = max(self.losses.size - 1 - int(np.searchsorted(above[::-1], rest)), 0)
        return float(self.losses[low]), float(self.losses[high])


@dataclass(frozen=True)
class Rough:
    """A plan on a coarse grid, and where its saddle is for a question."""

    laws: Laws
    mesh: Mesh
    total: Totals[float]
    log_delta: float

    def finer(self, *, up: bool) -> Mesh:
        """A grid that adds about a share of epsilon; raises `NotCertified`."""
        c, at = self.total.c, max(self.total.saddle_epsilon, 1.0 / self.total.c)
        # where a loss is split between points u apart its mean rises by about u^2/6 times the tilt
        steps = sum(count for _, count in self.laws)
        wanted = math.sqrt(6.0 * _FINE * at / ((c + 1.0) * steps))
        foresee(2.0 * _seconds(self.mesh, self.laws, wanted))  # from above and from below
        with searching():
            return _fitted(self.laws, wanted, self.log_delta - _SPARE, _MOST, up=up)


def rough(laws: Laws, log_delta: float | None, epsilon: Fraction | None) -> Rough:
    """A coarse version, rounded up, of a plan known only on a grid, at this delta or epsilon."""
    with searching():
        rest = (-_FAR if log_delta is None else log_delta) - _SPARE
        mesh = _fitted(laws, 0.0, rest, _COARSE, up=True)
        floats = [(FloatLaw(step), count) for step, count in mesh.of(laws)]
        if log_delta is not None:
            return Rough(laws, mesh, saddle_for_log_delta(floats, log_delta), log_delta)
        at = float(epsilon or 0)
        total = saddle_for_epsilon(floats, at)
        return Rough(laws, mesh, total, total.log_delta(at))


def _seconds(mesh: Mesh, laws: Laws, wanted: float) -> float:
    """The estimated seconds of a grid with another unit."""
    finer = mesh.unit / max(wanted, *((c.high - c.low) * mesh.unit / _MOST for c in mesh.cells))
    total = 0.0
    for cells, (step, _) in zip(mesh.cells, laws, strict=True):
        total += (cells.high - cells.low) * finer * CELL.seconds
        if step.tabled:
            total += table_seconds(step, (cells.high - cells.low) * finer)
        if cells.inner is not None and isinstance(step, NestedPlan):
            unit = mesh.unit / finer / math.sqrt(sum(n for _, n in step.parts))
            total += _seconds(cells.inner, step.parts, unit)
            products = sum(2 * n.bit_length() - 1 for _, n in step.parts)
            window = (cells.inner.high - cells.inner.low) * cells.inner.unit / unit
            total += window * (CELL.seconds + 2.0 * products * PRODUCT.seconds)
    return total


def _fitted(laws: Laws, wanted: float, log_rest: float, most: int, *, up: bool) -> Mesh:
    """A grid of about this unit, or of so many cells for a law, with no more than the rest beyond it."""
    spend(SEARCH)
    steps = sum(count for _, count in laws)
    prepared: list[tuple[Mesh | None, _Points, tuple[float, float]]] = []
    atoms: list[float] = []
    for step, count in laws:
        inner = None
        if isinstance(step, NestedPlan) and not step.listed:
            runs, rest = sum(n for _, n in step.parts), log_rest - math.log(count)
            inner = _fitted(step.parts, wanted / math.sqrt(runs), rest, most, up=up)
        points = _points(step, inner)
        prepared.append((inner, points, points.ends(log_rest - math.log(steps))))
        if inner is None:
            with precision(_BALLS):
                atoms += [float(x.mid()) for x, _ in step.law().atoms if x > 0]
    unit = max(wanted, *((high - low) / most for _, _, (low, high) in prepared))
    if atoms:  # the outermost ones lie on it, and none above its loss
        unit = max(atoms) / math.ceil(max(atoms) / unit) * (1.0 - 2.0**-52)
    cells = tuple(
        Cells(math.floor(low / unit) - 1, math.ceil(high / unit) + 1, inner)
        for inner, _, (low, high) in prepared
    )
    parts = [(points, count) for (_, points, _), (_, count) in zip(prepared, laws, strict=True)]
    low, high = _window(parts, log_rest)
    return Mesh(
        up, unit, _BITS, min(math.floor(low / unit), 0), max(math.ceil(high / unit), 1), cells
    )


def _points(step: Step, inner: Mesh | None) -> _Points:
    if inner is None and not isinstance(step, NestedPlan):
        return _Points.of(*FloatLaw(step).nodes(np.ones(1)))
    with precision(_BALLS):
        return _Points.listed(unrounded(inner, step) if inner else step.law())


def _window(parts: Sequence[tuple[_Points, int]], log_rest: float) -> tuple[float, float]:
    """Chernoff's bounds of where Q's sum ends below, and P's above."""
    rises = sum(count * points.log_moments(_TILTS) for points, count in parts)
    falls = sum(count * points.log_moments(-1.0 - _TILTS) for points, count in parts)
    low, high = (((x - log_rest) / _TILTS).min() for x in (falls, rises))
    least = sum(count * points.losses[0] for points, count in parts)
    most = sum(count * points.losses[-1] for points, count in parts)
    return max(-float(low), float(least)), min(float(high), float(most))
