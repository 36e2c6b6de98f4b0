"""Adaptively chosen bounded-range steps: the worst sequence, bounded from both sides.

Let f_k(x) be the largest E_P[(1 - e^{x - L})_+] of k steps of range eta, L their summed loss. The worst
step of a given t has the two losses t and t - eta (`bounded_range`), and the next one may depend on which
it was, so (Dong, Durfee, Rogers 2020, the adaptive recursion)

    f_k(x) = max over t of  P_t(t) f_{k-1}(x - t) + P_t(t - eta) f_{k-1}(x - t + eta),   f_0 = (1 - e^x)_+.

In e^x every f_k is convex, so values on the lattice x = j h, h = eta / n, and the chords between them
bound it from above. On t = i h both terms are lattice values; for t between two of these both stay in one
cell, where the chords make the sum c + l u + w / u, u = e^t, and with w < 0 it exceeds its larger end by at
most |w| (u_i^{-1/2} - u_{i+1}^{-1/2})^2. What is chosen on the lattice is a strategy that somebody can
follow: what it gets is the lower end. f is its own mirror image (exchanging P and Q turns t into eta - t),
so only x >= 0 is kept.

One pair with the profile f_m stands for m steps also among other releases, in any order: if
V_{B s} = sup_t E[V_s(x - L_t)] <= sup_t E[(f_{a-1} (x) g)(x - L_t)], the supremum may be taken inside the
expectation over g, which makes it larger: (f_a (x) g)(x), with (x) the composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dpacct.citations import ADAPTIVE_RANGE, BLOCKS
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pair import Pair, Pairs
from dpacct.pld.pieces import Cut
from dpacct.pld.stable import Floats

from .bounded_range import bounded_range_pair, log_worst_moment, two_points, worst_place
from .knots import above_profile

LONGEST = 512
"""Steps of one block; a longer sequence is blocks of about this many."""


class _MomentBound:
    """f_k(x) <= e^{log M - s x} s^s / (1 + s)^{1+s} for every s > 0 (Canonne, Kamath, Steinke 2020).

    M is the largest moment of one step to the power of k: moments multiply, whoever chooses the steps.
    """

    def __init__(self, eta: float) -> None:
        self._tilts = np.geomspace(1e-3, 1e5, 160) / eta
        s = self._tilts
        self._log_moment = log_worst_moment(eta, s) + 1e-15 * (1.0 + s * eta)
        self._share = s * np.log(s) - (1.0 + s) * np.log1p(s)

    def __call__(self, steps: int, x: Floats) -> Floats:
        exponent = (steps * self._log_moment + self._share)[:, None] - np.multiply.outer(
            self._tilts, x
        )
        return np.asarray(np.exp(np.minimum(exponent.min(axis=0), 0.0)))


def _mirrored(values: Floats, x: Floats, rounding: float) -> Floats:
    """Ends of f at -x from those at x > 0."""
    value = (-np.expm1(-x) + np.exp(-x) * values) * rounding
    return np.asarray(np.minimum(value, 1.0))


@dataclass(frozen=True)
class RangeLattice:
    """Nodes 0, h, 2h, ... and the two-point steps with t = 0, h, ..., eta = cells h."""

    eta: float
    steps: int
    cells: int
    nodes: int

    @classmethod
    def of(cls, eta: float, steps: int) -> RangeLattice:
        """The finest lattice that the work limit allows."""
        deviation = 0.5 * eta * math.sqrt(steps)
        # deviations of the summed loss up to which the recursion runs; beyond, the moment bound is taken
        reach = min(14.0 * deviation + 0.5 * deviation**2 + eta, steps * eta)
        # 1e8 cells of the recursion, (cells per eta) * nodes * steps, take about half a second
        affordable = math.sqrt(1e8 * eta / (steps * reach))
        cells = math.ceil(min(max(12, affordable), 400))
        return cls(eta, steps, cells, 1 + min(math.ceil(reach / eta * cells), steps * cells))

    @property
    def step(self) -> float:
        """Distance of neighbouring nodes."""
        return self.eta / self.cells

    @property
    def chances(self) -> tuple[Floats, Floats]:
        """P-masses of the losses t and t - eta, for each t."""
        t, eta = self.step * np.arange(self.cells + 1), self.eta
        high = np.expm1(t - eta) / math.expm1(-eta)
        return high, np.expm1(-t) / math.expm1(-eta) * np.exp(t - eta)


@dataclass(frozen=True)
class Worst:
    """Upper and lower ends of f at the nodes."""

    lattice: RangeLattice
    upper: Floats
    lower: Floats

    @classmethod
    def of(cls, lattice: RangeLattice) -> Worst:
        """Both ends by the recursion over steps."""
        # what rounding may add in one step, relative to f
        rounding = 4e-15
        n, nodes, h = lattice.cells, lattice.nodes, lattice.step
        x = h * np.arange(nodes + n)
        bound, behind = _MomentBound(lattice.eta), x[n:0:-1]
        above, below = np.zeros(nodes + n), np.zeros(nodes + n)
        for steps in range(1, lattice.steps + 1):
            high = np.concatenate((_mirrored(above[n:0:-1], behind, 1.0 + rounding), above))
            low = np.concatenate((_mirrored(below[n:0:-1], behind, 1.0 - rounding), below))
            upper, lower = _next(lattice, high, low)
            upper = np.minimum(upper * (1.0 + rounding), 1.0)
            past = np.minimum(bound(steps, x[nodes:]), upper[-1])
            past[x[nodes:] >= steps * lattice.eta * (1.0 + 1e-12)] = 0.0
            above = np.concatenate((upper, past))
            below = np.concatenate((lower * (1.0 - rounding), np.zeros(n)))
        return cls(lattice, above[:nodes], below[:nodes])

    def profile(self) -> tuple[Floats, Floats]:
        """Upper ends of f at the nodes, continued to where f is 0."""
        # what rounding may add in all steps, relative to f
        summed = 1e-11
        lattice, last = self.lattice, self.lattice.steps * self.lattice.eta
        x = lattice.step * np.arange(lattice.nodes)
        values = self.upper * (1.0 + summed)
        if x[-1] >= last * (1.0 - 1e-12):
            return x, np.append(values[:-1], 0.0)
        # beyond, the moment bound is taken
        beyond = np.linspace(x[-1], last, 200 + 1)[1:]
        tail = _MomentBound(lattice.eta)(lattice.steps, beyond) * (1.0 + summed)
        tail[-1] = 0.0
        # moved up to nodes, as f falls: compositions find all losses on one lattice
        further = lattice.step * np.ceil(beyond / lattice.step - 1e-9)
        return np.append(x, further), np.append(values, np.minimum(tail, values[-1]))

    def below(self, x: float) -> float:
        """A lower end of f at any x >= 0: f is convex in e^x, so above the chords beside it, drawn out."""
        h, lower, upper = self.lattice.step, self.lower, self.upper
        j = math.floor(x / h)
        if j + 2 >= lower.size:
            return 0.0
        share = math.expm1(x - (j + 1) * h) / -math.expm1(h)
        result = lower[j + 1] + share * max(0.0, float(lower[j + 1] - upper[j + 2]))
        if j > 0:
            share = math.expm1(x - j * h) / -math.expm1(-h)
            result = max(result, lower[j] - share * (upper[j - 1] - lower[j]))
        return float(result)


def _next(lattice: RangeLattice, high: Floats, low: Floats) -> tuple[Floats, Floats]:
    """Both ends with one step more, from those at the nodes -n, ..., nodes + n - 1."""
    n, nodes, (first, second) = lattice.cells, lattice.nodes, lattice.chances
    slopes = np.diff(high) / math.expm1(lattice.step)
    weight = math.expm1(0.5 * lattice.step) ** 2 / -math.expm1(-lattice.eta)
    hump = weight * np.maximum(math.exp(-lattice.eta) * slopes[n:] - slopes[:-n], 0.0)
    best, upper, before = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
    chosen = np.zeros(nodes, dtype=np.intp)
    for i in range(n + 1):
        value = first[i] * high[n - i : n - i + nodes]
        value += second[i] * high[2 * n - i : 2 * n - i + nodes]
        np.copyto(chosen, i, where=value > best)
        np.maximum(best, value, out=best)
        if i:  # t between the last one and this one
            np.maximum(before, value, out=before)
            before += hump[n - i : n - i + nodes]
            np.maximum(upper, before, out=upper)
        before = value
    places = n + np.arange(nodes) - chosen
    return upper, first[chosen] * low[places] + second[chosen] * low[places + n]


@lru_cache(maxsize=16)
def _worst(eta: float, steps: int) -> Worst:
    return Worst.of(RangeLattice.of(eta, steps))


@dataclass(frozen=True, eq=False)
class BestStrategy(LossDistribution):
    """One strategy's law; asked by itself, the best strategy for each epsilon."""

    eta: float = 0.0
    steps: int = 1

    @property
    def stated_profile(self) -> Callable[[Floats], Floats] | None:
        """The larger delta of both strategies: no one is the best at every epsilon."""
        return lambda epsilons: self.profile(epsilons)[0]

    def profile(self, eps: Floats, atoms: bool = True) -> tuple[Floats, Floats]:
        """Return the larger of both strategies' deltas at each epsilon, and this strategy's slope."""
        value, slope = super().profile(eps, atoms)
        worst = _worst(self.eta, self.steps)
        best = [worst.below(e) if e >= 0.0 else 0.0 for e in eps.tolist()]
        return np.maximum(value, best), slope

    @cached_property
    def range(self) -> tuple[float, float]:
        """The largest loss is that of the worst strategy."""
        return -self.steps * self.eta, self.steps * self.eta


def _below(eta: float, steps: int, count: int) -> tuple[LossDistribution, ...]:
    """Laws of one two-point step taken so many times, good where `count` are taken."""
    laws = []
    # one step repeated: that of the largest moment at these tilts, in deviations of the summed loss
    for tilt in (1e-3, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0, 400.0):
        t = worst_place(eta, 2.0 * tilt / (eta * math.sqrt(count)))
        first, second = np.exp(two_points(eta, t).log_p).tolist()
        chances = [math.comb(steps, i) * first ** (steps - i) * second**i for i in range(steps + 1)]
        losses = [steps * t - i * eta for i in range(steps + 1)]
        kept = [(loss, p) for loss, p in zip(losses, chances, strict=True) if p > 0.0]
        laws.append(LossDistribution.of_outcomes(*zip(*kept, strict=True)))
    return tuple(laws)


@lru_cache(maxsize=16)
def _block(eta: float, steps: int) -> Pairs:
    """`steps` steps as one."""
    if steps == 1:
        upper = bounded_range_pair(eta).ways
    else:
        x, deltas = _worst(eta, steps).profile()
        upper = Pair.of(above_profile(x.tolist(), deltas.tolist())).ways
    first, *others = _below(eta, steps, steps)
    best = BestStrategy(first.losses, first.log_q, eta=eta, steps=steps)
    return Pairs(upper, (ADAPTIVE_RANGE,), (Cut(best), *map(Cut, others)))


def adaptive_pairs(eta: float, count: int) -> tuple[tuple[Pairs, int], ...]:
    """Pairs, each with how often it is repeated, of `count` adaptively chosen steps of range `eta`."""
    # a block's largest loss: its odds must be doubles
    longest = max(1, min(LONGEST, int(600.0 / eta)))
    if count <= longest:
        return ((_block(eta, count), 1),)
    # a range beyond which long sequences are taken step by step
    if eta > 6.0:
        plain = bounded_range_pair(eta).plain()
        return ((replace(plain, lower=tuple(map(Cut, _below(eta, 1, count)))), count),)
    blocks = -(-count // longest)
    size, more = divmod(count, blocks)
    results = []
    for steps, times in ((size, blocks - more), (size + 1, more)):
        if times:
            (whole,) = _block(eta, steps).upper
            assert isinstance(whole, Cut)
            # thousands of atoms: for the lattice, not for contours
            law = Cut(whole.of, contour=False)
            lower = tuple(map(Cut, _below(eta, steps, count)))
            limit = _block(eta, steps).clt_mu_squared
            results.append((Pairs((law,), (ADAPTIVE_RANGE, BLOCKS), lower, limit), times))
    return tuple(results)
