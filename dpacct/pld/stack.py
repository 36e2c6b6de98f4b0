"""Many small laws released together, as one law of a composition.

A voting run is thousands of different laws of a few atoms each. To a contour a law is nothing but log M(s):
so a stack of rows is one law whose log M is the sum of the rows', evaluated as a table. Nothing is put on
a lattice, and one more row costs its atoms at each node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .moments import Cumulants, Moments
from .stable import (
    Complexes,
    Floats,
    TooFine,
    expm1_linear,
    log1p,
    log_peak,
    quiet,
    sin_linear,
)

if TYPE_CHECKING:
    from .loss import Branch


@dataclass(frozen=True, eq=False)
class Stack:
    """Rows of atoms (loss, log P-mass; -inf fills a row up), P-mass at infinity, and how often each comes.

    >>> coin = Stack.of([(np.array([1.0, -1.0]), np.log([0.75, 0.25]), 0.0)], np.array([3]))
    >>> coin.range, coin.infinite
    ((-3.0, 3.0), 0.0)
    """

    rows: Floats
    masses: Floats
    endless: Floats
    count: Floats

    # no atom of the sum is worth listing
    losses: Floats = field(default_factory=lambda: np.empty(0))
    log_q: Floats = field(default_factory=lambda: np.empty(0))
    log_p: Floats = field(default_factory=lambda: np.empty(0))
    branches: tuple[Branch, ...] = ()
    lost: float = 0.0
    before: float = 0.0
    gaussian: float | None = None
    round: None = None

    @classmethod
    def of(cls, laws: Sequence[tuple[Floats, Floats, float]], count: Floats) -> Stack:
        """Stack rows of different lengths: (losses, log P-masses, P-mass at infinity)."""
        width = max(losses.size for losses, _, _ in laws)
        rows = np.zeros((len(laws), width))
        masses = np.full((len(laws), width), -math.inf)
        for row, (losses, log_p, _) in enumerate(laws):
            rows[row, : losses.size] = losses
            masses[row, : losses.size] = log_p
        return cls(rows, masses, np.array([law[2] for law in laws]), np.asarray(count, dtype=float))

    @cached_property
    def infinite(self) -> float:
        """P-mass where Q is 0."""
        return 0.0 - math.expm1(float(self.count @ np.log1p(-np.minimum(self.endless, 0.999))))

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the largest finite loss."""
        real = self.masses > -np.inf
        low = np.where(real, self.rows, np.inf).min(axis=1)
        high = np.where(real, self.rows, -np.inf).max(axis=1)
        return float(self.count @ low), float(self.count @ high)

    @cached_property
    def variances(self) -> Floats:
        """E[L^2] of each row."""
        return np.asarray((np.exp(self.masses) * np.square(self.rows)).sum(axis=1))

    @cached_property
    def variance(self) -> float:
        """About that of the sum, for the width of a grid."""
        return float(self.count @ self.variances)

    def profile(self, eps: Floats, atoms: bool = True) -> tuple[Floats, Floats]:
        """Raise `TooFine`: there is no closed form."""
        raise TooFine

    def chosen(self, rows: npt.NDArray[np.intp]) -> Stack:
        """Return the chosen rows."""
        return replace(
            self,
            rows=self.rows[rows],
            masses=self.masses[rows],
            endless=self.endless[rows],
            count=self.count[rows],
        )

    def together(self, most: int) -> Stack:
        """Merge rows, as long as their joint outcomes are at most so many.

        >>> coin = Stack.of([(np.array([1.0, -1.0]), np.log([0.75, 0.25]), 0.0)], np.array([3]))
        >>> coin.together(10).rows.tolist()
        [[3.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -3.0]]
        """
        real = self.masses > -np.inf
        each = np.repeat(np.arange(self.count.size), self.count.astype(int))
        laws: list[tuple[Floats, Floats, float]] = []
        # an order that is the rows' own: what they come to does not depend on how they were listed
        order = np.lexsort((self.variances[each], real.sum(axis=1)[each]))
        for row in each[order].tolist():
            losses, log_p = self.rows[row][real[row]], self.masses[row][real[row]]
            endless = float(self.endless[row])
            if laws and laws[-1][0].size * losses.size <= most:
                before = laws.pop()
                losses = np.add.outer(before[0], losses).ravel()
                log_p = np.add.outer(before[1], log_p).ravel()
                endless += before[2] * (1.0 - endless)
            laws.append((losses, log_p, endless))
        return Stack.of(laws, np.ones(len(laws)))

    def log_moments(self, tilts: Floats) -> Floats:
        """log M of every row at real tilts (rows x tilts), to rounding also where it is tiny."""
        return np.stack([self.log_moment_of_each(c) for c in tilts.tolist()], axis=1)

    def log_moment(self, c: float) -> float:
        """log M of all of them at a real tilt."""
        return float(self.count @ self.log_moment_of_each(c))

    @cached_property
    def _paid(self) -> tuple[Floats, Floats]:
        """P-masses p, and E[e^{-L} - 1 + L] of each row: what no tilt changes."""
        p = np.exp(self.masses)
        return p, _risen(p, self.masses, -self.rows).sum(axis=1)

    @quiet()
    def log_moment_of_each(self, c: float) -> Floats:
        """log M of every row at a real tilt, both of whose masses are one.

        M - 1 = E[e^{cL} - 1 - cL] + c E[e^{-L} - 1 + L], whose terms are all positive.
        """
        p, paid = self._paid
        result = _risen(p, self.masses, c * self.rows).sum(axis=1) + c * paid
        large = ~(result < 1e250)  # of which the logarithm is summed
        result = np.log1p(np.maximum(result, 0.0))
        if large.any():
            tilted = self.masses[large] + c * self.rows[large]
            peak = tilted.max(axis=1)
            result[large] = peak + np.log(np.exp(tilted - peak[:, None]).sum(axis=1))
        return np.asarray(result)

    def tilt_for_epsilon(self, log_delta: float, guess: float = 3.0) -> float:
        """About the c > 0 at which `conversions.epsilon` is least, at this log delta: Newton in log c."""
        moments, x, low, high = StackMoments(self), math.log(guess), -7.0, 14.0
        for _ in range(60):
            c = math.exp(x)
            k = moments.cumulants(c)
            # the sign of d/dc (K + log_peak - log_delta)/c, and how it rises with log c
            slope = c * (k.mean - math.log1p(1.0 / c)) - k.log_moment - log_peak(c) + log_delta
            low, high = (low, x) if slope > 0.0 else (x, high)
            step = min(max(-slope / (c * c * k.variance + c / (1.0 + c)), -1.5), 1.5)
            following = x + step if low < x + step < high else 0.5 * (low + high)
            if abs(following - x) < 0.003:
                return math.exp(following)
            x = following
        return math.exp(x)

    @property
    def stacked(self) -> Stack:
        """The stack itself: its rows are what a contour sums."""
        return self

    def prepare(self) -> StackMoments:
        """M at any tilt."""
        return StackMoments(self)

    def portions(self, c: float) -> Iterator[StackMoments]:
        """Some rows at a time, the widest first."""
        widest = np.argsort(-StackMoments(self).variance_of_each(c))
        for rows in np.array_split(widest, math.ceil(widest.size / 200)):
            yield StackMoments(self.chosen(rows))


def _risen(p: Floats, log_p: Floats, u: Floats) -> Floats:
    """p (e^u - 1 - u) of every atom, 0 where it has no mass."""
    # an atom that rises far is rare: e^u p is exact by itself, also where p is below all floats
    risen = np.where(u < 1.0, p * expm1_linear(np.minimum(u, 1.0)), np.exp(log_p + u) - p - p * u)
    return np.where(log_p > -np.inf, risen, 0.0)


class StackMoments(Moments):
    """M of a stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._tilted: dict[float, tuple[Floats, Floats, Floats]] = {}

    def _at(self, c: float) -> tuple[Floats, Floats, Floats]:
        """Tilted masses, their means, and the losses about these."""
        if c not in self._tilted:
            s = self.stack
            tilted = s.masses + c * s.rows
            w = np.exp(tilted - tilted.max(axis=1, keepdims=True))
            w /= w.sum(axis=1, keepdims=True)
            mean = (w * s.rows).sum(axis=1)
            self._tilted = {c: (w, mean, s.rows - mean[:, None])}
        return self._tilted[c]

    def variance_of_each(self, c: float) -> Floats:
        """Tilted variances of the rows, each as often as it comes."""
        w, _, gap = self._at(c)
        return np.asarray(self.stack.count * (w * gap * gap).sum(axis=1))

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """`cumulants` of each tilt: a stack's sums are no dearer to rounding."""
        results = [self.cumulants(c) for c in cs.tolist()]
        log_moment, mean, variance = np.array(
            [(f.log_moment, f.mean, f.variance) for f in results]
        ).T
        return log_moment, mean, variance

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Sums over the laws, each so often."""
        s, (w, mean, gap) = self.stack, self._at(c)
        square = gap * gap
        return Cumulants(
            float(s.count @ s.log_moment_of_each(c)),
            float(s.count @ mean),
            float(self.variance_of_each(c).sum()),
            float(s.count @ (w * square * gap).sum(axis=1)),
        )

    def log_moments(self, cs: Floats) -> Floats:
        """Sums over the laws, each so often."""
        return np.asarray(self.stack.count @ self.stack.log_moments(cs))

    def turned(self, c: float, t: Floats) -> Complexes:
        """The sum of the laws' logs."""
        s, (w, _, gap) = self.stack, self._at(c)
        ratio = np.empty(t.size, complex)
        step = max(1, 400_000 // gap.size)
        for a in range(0, t.size, step):
            u = t[a : a + step, None, None] * gap
            half = np.sin(0.5 * u)
            real = -2.0 * np.einsum("tij,tij,ij->ti", half, half, w)
            imag = np.einsum("tij,ij->ti", sin_linear(u), w)
            ratio[a : a + step] = log1p(real + 1j * imag) @ s.count
        return ratio
