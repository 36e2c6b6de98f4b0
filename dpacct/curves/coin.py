"""The law of a round that takes place with some probability, decided by a coin that everyone may see.

With M(s) the moments of what runs in a round, those of the round are 1 - p + p M(s): a mixture of no
evidence and of the round's own loss (`federated_fdp.theorem1_corrected`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.curves.nested_pair import composed
from dpacct.engine import invert
from dpacct.engine.contour import totals
from dpacct.engine.law import Atoms, Bend, Cumulants, Family, Law, TooFine
from dpacct.engine.stable import Complexes, Floats, exp_minus_linear_complex, log1p_complex
from dpacct.pld.derived import thinned
from dpacct.pld.pieces import Source

from .pairs import Pairs

# error of a log delta that is no answer
_UNKNOWN = 1e-3
# samples of the unit in a round, about, below which the contours of the steps themselves are poor
_FEW_HITS = 1.0
COIN = "joint convexity: one coin for both neighbours, in the open or not"


@dataclass(frozen=True)
class CoinFamily:
    """Moments of a round, from prepared moments of what runs in it."""

    inner: tuple[tuple[Family, float], ...]
    rate: float

    def _share(self, log_moment: float) -> tuple[float, float]:
        """log of 1 - p + p e^{log_moment}, and the share of the second part."""
        if log_moment < 1.0:
            level = math.log1p(self.rate * math.expm1(log_moment))
        else:
            rest = math.log1p(-self.rate) if self.rate < 1.0 else -math.inf
            level = float(np.logaddexp(rest, math.log(self.rate) + log_moment))
        return level, math.exp(math.log(self.rate) + log_moment - level)

    def cumulants(self, c: float) -> Cumulants:
        run = totals(self.inner, c)
        level, share = self._share(run.log_moment)
        spread = share * (1.0 - share) * run.mean * run.mean
        return Cumulants(level, share * run.mean, share * run.variance + spread)

    def log_moments(self, cs: Floats) -> Floats:
        logs = np.zeros(cs.shape)
        for family, count in self.inner:
            logs = logs + count * family.log_moments(cs)
        return np.array([self._share(float(one))[0] for one in logs])

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        """About the mean m: (1-w) e^{-zm} + w e^{y - zm} - 1 without cancelling, w the round's share."""
        run = totals(self.inner, c)
        _, share = self._share(run.log_moment)
        ratio = np.zeros(z.shape, dtype=np.complex128)
        for family, count in self.inner:
            ratio += count * family.centred_log_ratio(c, z)
        # the linear parts of the two exponentials add up to w times the ratio
        idle = exp_minus_linear_complex(-share * run.mean * z)
        busy = exp_minus_linear_complex(ratio + (1.0 - share) * run.mean * z)
        total = (1.0 - share) * idle + share * (busy + ratio)
        return log1p_complex(total.real, total.imag)

    def bend(self, c: float) -> Bend | None:
        """Away from the rounds without a loss, which lie below every epsilon."""
        bends = [family.bend(c) for family, _ in self.inner]
        if any(bend is None or bend.sign < 0.0 for bend in bends):
            return None
        return Bend(1.0, min(bend.slope for bend in bends if bend is not None))

    def cut_weight(self, c: float) -> float:
        run = totals(self.inner, c)
        cut = sum(count * family.cut_weight(c) for family, count in self.inner)
        return self._share(run.log_moment)[1] * cut


@dataclass(frozen=True)
class CoinLaw:
    """Loss law of a round: with probability `rate` that of all the `laws` together, and else 0.

    The laws have moments on a contour, and neither infinite losses nor lost mass.
    """

    laws: tuple[tuple[Law, float], ...]
    rate: float

    loss = None
    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    largest_loss = math.inf

    @cached_property
    def atoms(self) -> Atoms:
        """The rounds without a loss: idle ones, and those whose own law has a mass there."""
        silent = sum(count * getattr(law, "log_rest", -math.inf) for law, count in self.laws)
        return Atoms(
            np.zeros(1), np.log(np.array([1.0 - self.rate + self.rate * math.exp(silent)]))
        )

    @cached_property
    def variance_hint(self) -> float:
        inner = sum(count * law.variance_hint for law, count in self.laws)
        return self.rate * (inner + 0.25 * inner * inner)

    @cached_property
    def tilt_hint(self) -> float:
        return min(law.tilt_hint for law, _ in self.laws)

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> CoinFamily:
        # the reach was made for as many rounds as there are, and a round has so many steps
        steps = sum(count for _, count in self.laws)
        inside = math.sqrt(reach * reach + 2.0 * math.log(max(steps, 1.0)))
        prepared = [(law.prepare(c_low, c_high, inside), count) for law, count in self.laws]
        return CoinFamily(tuple(prepared), self.rate)

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        """p delta(eps) of what runs, for eps >= 0; below, idle rounds count as well."""
        solved = invert.log_delta(self.laws, epsilon)
        error = max(0.5 * (solved.upper - solved.lower), 1e-15) if solved.resolved else math.inf
        if not error < _UNKNOWN:
            return None
        value = math.log(self.rate) + solved.value
        if epsilon < 0.0:
            idle = (1.0 - self.rate) * -math.expm1(epsilon)
            value = math.log(idle + math.exp(value))
        return value, error

    def epsilon_one_step(self, log_target: float) -> tuple[float, float]:
        solved = invert.epsilon(self.laws, log_target - math.log(self.rate))
        return solved.value, max(solved.upper - solved.value, solved.value - solved.lower)

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """p delta of what runs: the point mass at 0 adds nothing above epsilon 0."""
        if float(epsilons.min()) < 0.0:
            raise TooFine
        values, slopes = np.zeros(epsilons.shape), np.zeros(epsilons.shape)
        for i, epsilon in enumerate(epsilons.tolist()):
            near = [self._run(epsilon + shift) for shift in (0.0, -1e-5, 1e-5)]
            values[i], slopes[i] = near[0], (near[2] - near[1]) / 2e-5
        return self.rate * values, self.rate * slopes

    def _run(self, epsilon: float) -> float:
        solved = invert.log_delta(self.laws, epsilon)
        if not solved.upper - solved.lower < 1e-9:
            raise TooFine
        return math.exp(solved.value)

    def source(self) -> Source:
        sides = [((law,), int(count)) for law, count in self.laws]
        return thinned(composed(sides)[0], self.rate)


def coin_pairs(parts: Sequence[tuple[Pairs, int]], rate: float) -> Pairs | None:
    """The pairs of all steps under one coin; None where a law has no contour, or has point masses."""
    upper = _directions([(pair.upper, count) for pair, count in parts], rate)
    if upper is None:
        return None
    lower = None
    if any(pair.lower is not None for pair, _ in parts):
        lower = _directions([(pair.lower or pair.upper, count) for pair, count in parts], rate)
        if lower is None:
            return None
    basis = tuple(dict.fromkeys(line for pair, _ in parts for line in pair.basis))
    return Pairs(upper, (*basis, COIN), lower, math.inf)


def _directions(
    sides: Sequence[tuple[tuple[Law, ...], int]], rate: float
) -> tuple[CoinLaw, ...] | None:
    found = []
    for k in range(max(len(laws) for laws, _ in sides)):
        merged: dict[Law, float] = {}
        for laws, count in sides:
            law = laws[min(k, len(laws) - 1)]
            merged[law] = merged.get(law, 0.0) + count
        if not all(_smooth(law, count) for law, count in merged.items()):
            return None
        found.append(CoinLaw(tuple(merged.items()), rate))
    return tuple(found)


def _smooth(law: Law, count: float) -> bool:
    """Whether the contour of a coin around so many steps is known to be good."""
    whole = law.infinite_mass == 0.0 == law.lost_mass
    often = count * float(getattr(law, "rate", 1.0)) >= _FEW_HITS
    return whole and often and getattr(law, "has_contour", True) and not law.atoms.losses.size
