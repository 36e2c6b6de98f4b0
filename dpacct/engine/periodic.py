"""Losses on a lattice: the integrand is periodic, and one period is enough at any number of steps.

With x0 the first lattice point above eps and d the spacing, sum_n e^{-s(x0 + nd)} (1 - e^{eps - x0 - nd}) is

    e^{-s x0} (1/(1 - e^{-sd}) - e^{eps - x0}/(1 - e^{-(s+1)d})),

which takes the place of e^{-s eps}/(s(s+1)) in an integral over |t| <= pi/d.

One more atom off the lattice (the sample that could only have come from one side) is expanded: with
M = B + m e^{sy}, M^T = sum_j C(T,j) m^j e^{sjy} B^{T-j}, and each term lies on a shifted lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .contour import Line, Reading, Totals
from .law import Atoms
from .stable import Complexes, Floats, log1p_complex, sine_minus_identity

# nodes at most, of the line over one period
MOST_NODES = 4096
# numbers of steps at the odd atom, of which each has a lattice of its own
_MOST_SHIFTS = 600
_MOST_ODD = 20_000
# what is below e^{-45} of the largest is left out
_NEGLIGIBLE = 45.0


@dataclass(frozen=True)
class _Split:
    """The atoms on a lattice, and the odd one out."""

    regular: Atoms
    spacing: float
    odd: tuple[float, float] | None  # its loss and log mass


def _split(atoms: Atoms, c: float) -> _Split | None:
    """All atoms but at most one on a lattice; the one left out is a light one under the tilt c."""
    order = np.argsort(atoms.losses)
    losses, masses = atoms.losses[order], atoms.log_masses[order]
    spacing = _spacing(losses)
    if spacing is not None:
        return _Split(Atoms(losses, masses), spacing, None)
    odd = int((masses + c * losses).argmin())
    rest = np.arange(losses.size) != odd
    spacing = _spacing(losses[rest])
    if spacing is None:
        return None
    kept = Atoms(losses[rest], masses[rest])
    return _Split(kept, spacing, (float(losses[odd]), float(masses[odd])))


def _spacing(losses: Floats) -> float | None:
    """The spacing of which all differences are multiples, if it is the smallest of them."""
    gaps = np.diff(losses)
    if not gaps.size or not gaps.min() > 0.0:
        return None
    steps = gaps / gaps.min()
    if np.abs(steps - np.round(steps)).max() > 1e-13:
        return None
    return float(np.ptp(losses) / np.round(steps).sum())


class PeriodicLine(Line):
    """The integral over one period; see the module."""

    def __init__(self, atoms: Atoms, count: float, split: _Split, total: Totals) -> None:
        c = total.c
        losses, spacing = split.regular.losses, split.spacing
        tilted = split.regular.log_masses + c * losses
        peak = float(tilted.max())
        weights = np.exp(tilted - peak)
        share = 0.0
        if split.odd is not None:
            odd = math.exp(split.odd[1] + c * split.odd[0] - peak)
            share = odd / (odd + float(weights.sum()))
        weights /= weights.sum()
        self._mean = float(weights @ losses)
        self._variance = float(weights @ np.square(losses - self._mean))
        self._j, self._log_weights = _shifts(count, share)
        self._steps = count - self._j
        self._odd_loss = 0.0 if split.odd is None else split.odd[0]
        self._first = self._steps * float(losses[0]) + self._j * self._odd_loss
        self._spacing = spacing
        self.affordable = self._j.size > 0
        fewest = float(self._steps.min(initial=count))
        spread = max(math.sqrt(fewest * self._variance), 1e-300)
        period = 2.0 * math.pi / spacing

        def log_ratio(t: Floats) -> Complexes:
            u = np.multiply.outer(t, losses - self._mean)
            half = np.sin(0.5 * u)
            return log1p_complex(-2.0 * half * half @ weights, sine_minus_identity(u) @ weights)

        # Gaussian decay of B^T: 9 deviations, if nothing comes back before the period ends
        reach = min(9.5 / spread, 0.5 * period)
        rest = np.linspace(reach, 0.5 * period, 65)
        if fewest * float(log_ratio(rest).real.max()) > -40.0:
            reach = 0.5 * period
        # and the pole at s = 0, of residue 1, must be e^{-36} away: the rule is off by e^{-2 pi c/h}
        nodes = math.ceil(reach * max(6.0 * spread, 60.0 / period, 36.0 / (2.0 * math.pi * c)))
        self.affordable &= nodes <= MOST_NODES
        nodes = min(nodes, MOST_NODES)
        t = (np.arange(nodes) + 0.5) * (reach / nodes)
        line = np.full(nodes, spacing * reach / nodes / math.pi, dtype=np.complex128)
        error = 1e-15 * spacing / max(math.sqrt(total.variance), 1e-300)
        super().__init__(total, 1j * t, line, log_ratio(t), error)

    def read(self, epsilons: Floats) -> Reading:
        total, d = self.total, self._spacing
        c, z = total.c, self._z
        s = c + z
        front, back = 1.0 / -np.expm1(-s * d), 1.0 / -np.expm1(-(s + 1.0) * d)
        rows = []
        for epsilon in epsilons.tolist():
            above = np.floor((epsilon - self._first) / d) + 1.0
            gap = self._first + above * d - epsilon
            drift = self._steps * self._mean + self._j * self._odd_loss - epsilon - gap
            # the tilt of the lattice's first point, and the mean of what is left out
            log_size = self._log_weights - c * gap
            phase = np.multiply.outer(self._steps, self._log_integrand) + np.multiply.outer(
                drift, z
            )
            common = self._weights * np.exp(phase + log_size[:, None])
            behind = common * np.exp(-gap)[:, None] * back
            ahead = common * front
            rows.append(
                (
                    float((ahead - behind).real.sum()),
                    float(behind.real.sum()),
                    float(np.abs(ahead).sum()),
                )
            )
        value, moment, size = np.array(rows).T
        return self._reading(epsilons, total.log_moment - c * epsilons, value, moment, size)


def _shifts(count: float, share: float) -> tuple[Floats, Floats]:
    """How often the odd atom may occur, and the binomial log weight of each; empty if too often."""
    if share == 0.0:
        return np.zeros(1), np.zeros(1)
    mean = count * share
    most = min(count, math.ceil(mean + 10.0 * math.sqrt(mean) + 30.0))
    if most > _MOST_ODD:
        return np.zeros(0), np.zeros(0)
    j = np.arange(most + 1.0)
    steps = np.log((count - j[:-1]) / (j[:-1] + 1.0))
    log_choose = np.concatenate(([0.0], np.cumsum(steps)))
    weights = log_choose + j * math.log(share) + (count - j) * math.log1p(-share)
    kept = weights > float(weights.max()) - _NEGLIGIBLE
    if int(kept.sum()) > _MOST_SHIFTS or bool((count - j[kept] < 1.0).any()):
        return np.zeros(0), np.zeros(0)
    return j[kept], weights[kept]


def periodic_line(atoms: Atoms, count: float, total: Totals) -> PeriodicLine | None:
    """The line over one period, where the losses of one law allow it and it is worth its nodes."""
    split = _split(atoms, total.c)
    if split is None:
        return None
    # so far below the mean delta is 1, to rounding
    line = PeriodicLine(atoms, count, split, total)
    return line if line.affordable else None
