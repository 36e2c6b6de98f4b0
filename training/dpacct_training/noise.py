"""Noise: a clipping bound, the noise for the clipped sum, and the node that accounts for both.

One object for all three, so that they cannot disagree. Nothing else in the package draws noise, and
nothing else is accounted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import Settings, one_of, positive, real, setting, whole
from dpacct_training.keys import Stream

Vector = NDArray[np.float64]
Rows = NDArray[np.float64]
"""One row for each client or record."""

INWARD = 1.0 - 2.0**-50
"""Rows are scaled to this part of the clip, so that rounding leaves a norm at most the clip."""


# --- what was drawn, measured on what came out

STANDARD_ERRORS = 8.0
"""A measured variance further from the accounted one is refused; an honest one is, with chance 1e-15."""
ENOUGH = 30
"""Fewer numbers are judged at the end of the run only, all rounds together."""


@dataclass
class NoiseMeter:
    """`bounded`: rows that were clipped. `squares`: sum of (noise / its accounted std)^2."""

    bounded: int = 0
    vectors: int = 0
    numbers: int = 0
    squares: float = 0.0

    @property
    def ratio(self) -> float:
        """Measured variance over the accounted one; 1 where nothing was drawn."""
        return self.squares / self.numbers if self.numbers else 1.0

    def measure(self, noise: NDArray[np.float64], variance: float, kurtosis: float) -> None:
        """Count a noise that was just added, unless it cannot be the accounted one.

        Raises `AssumptionViolated`, before anything is released.
        """
        drawn = noise.ravel()
        fresh = NoiseMeter(0, 1, drawn.size, float(np.dot(drawn, drawn)) / variance)
        fresh.check(kurtosis)
        self.take(fresh)

    def take(self, other: NoiseMeter) -> None:
        """Add what another meter measured."""
        self.bounded += other.bounded
        self.vectors += other.vectors
        self.numbers += other.numbers
        self.squares += other.squares

    def check(self, kurtosis: float) -> None:
        """Raise `AssumptionViolated` where the variance is not the accounted one.

        The variance of n numbers with E z^4 = kurtosis has a standard error of
        sqrt((kurtosis - 1) / n).
        """
        if self.numbers < ENOUGH:
            return
        tolerance = STANDARD_ERRORS * math.sqrt((kurtosis - 1.0) / self.numbers)
        if not abs(self.ratio - 1.0) <= tolerance:  # nan fails too
            message = f"noise of {self.ratio:.6g} times the accounted variance was drawn"
            raise dp.AssumptionViolated(message, argument="noise")


class Meters(dict[str, NoiseMeter]):
    """Meters by the name of what the noise hides; a new name has an empty meter."""

    def __missing__(self, name: str) -> NoiseMeter:
        return self.setdefault(name, NoiseMeter())

    def add(self, others: Meters) -> None:
        """Take in what another site measured."""
        for name, meter in others.items():
            self[name].take(meter)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return JSON values, sorted by name."""
        return {name: dict(vars(self[name])) for name in sorted(self)}

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> Meters:
        """Read what `to_dict` returned."""
        meters = cls()
        for name, meter in values.items():
            bounded, vectors, numbers = (int(meter[k]) for k in ("bounded", "vectors", "numbers"))
            meters[name] = NoiseMeter(bounded, vectors, numbers, float(meter["squares"]))
        return meters


# --- the noises


@dataclass(frozen=True)
class Noise(Settings, ABC):
    """`size`: how many numbers are hidden; `clip`: how far one unit moves them, in the noise's norm."""

    size: int
    clip: float

    kurtosis: ClassVar[float]
    """E z^4 / (E z^2)^2 of the noise: how well its variance can be measured."""
    exact: ClassVar[bool] = False
    """True if sums and noise are whole multiples of a step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("size", self.size, 1)
        positive("clip", self.clip)

    @property
    def order(self) -> float:
        """The order of the norm that `clip` bounds; infinite where each number is clipped by itself."""
        return 2.0

    @property
    def protects(self) -> str:
        """The unit that the node protects: a "client" with all its data, or one "record"."""
        return "client"

    @property
    def bounds(self) -> bool:
        """Return whether rows are bounded at all."""
        return self.clip < math.inf

    @abstractmethod
    def stated(self, clip: float | None) -> dp.Node | None:
        """The accounted node, said with this clip; None where it moves from round to round."""

    @cached_property
    def node(self) -> dp.Node | None:
        """The node that dpacct accounts, the same at every clip; None without a guarantee."""
        return self.stated(1.0)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise on one number, from `node` and `clip`, never from `unit`."""

    def as_printed(self) -> Noise:
        """The noise as the paper draws it, if the paper's bound differs."""
        return self

    def without(self) -> Noise:
        """Return the bound without noise ([privacy] noise = "none")."""
        return Unprotected(self.size, self.clip)

    @property
    def claimed(self) -> dp.Node | None:
        """The node that the paper accounts, if different from `node`."""
        return self.node

    @abstractmethod
    def unit(self, count: int, stream: Stream) -> Vector:
        """`count` numbers of noise for a clip of 1, in double precision."""

    def norms(self, rows: Rows) -> Vector:
        """The norm of each row that `clip` bounds."""
        if self.order == 2.0:
            return l2_norms(rows)
        norms: Vector = np.linalg.norm(rows, self.order, axis=1)
        return norms

    def at(self, clip: float) -> Self:
        """Return the mechanism at another clip, at the same cost (adaptive clipping)."""
        return replace(self, clip=clip)

    def bound(self, rows: Rows) -> Rows:
        """Each row scaled back into the ball of radius `clip` (a cube is clipped); in double precision."""
        if self.order == math.inf:
            clipped: Rows = np.clip(rows, -self.clip, self.clip)
            return clipped
        norms = self.norms(rows)
        over = norms > self.clip * INWARD
        factor = np.ones(len(rows))
        factor[over] = self.clip * INWARD / norms[over]
        return rows * factor[:, None]

    def settled(self, total: Vector) -> Vector:
        """The sum, rounded so that it does not depend on the order of addition."""
        return total

    def add(self, total: Vector, stream: Stream, meter: NoiseMeter, part: float = 1.0) -> Vector:
        """`total` with this noise, or with `part` of its variance where the rest is drawn elsewhere.

        What was added is measured on what came out. Raises `AssumptionViolated`.
        """
        if part <= 0.0:
            return total
        noisy = self.noisy(total, part, stream)
        meter.measure(noisy - total, self.variance_of(part), self.kurtosis)
        return noisy

    def noisy(self, total: Vector, part: float, stream: Stream) -> Vector:
        """`total` with `part` of the noise's variance."""
        drawn = self.unit(total.size, stream).reshape(total.shape)
        return total + drawn * (self.clip * math.sqrt(part))

    def variance_of(self, part: float) -> float:
        """The variance of `part` of the noise, on one number."""
        return self.variance * part

    def publish(self, noisy: Vector, denominator: float) -> NDArray[Any]:
        """The released value: the mean over a public number of clients."""
        return noisy / denominator


@dataclass(frozen=True)
class Gaussian(Noise):
    """l2; `multiplier`: standard deviation over clip."""

    multiplier: float = setting(1.0, positive)
    kurtosis: ClassVar[float] = 3.0

    def stated(self, clip: float | None) -> dp.Node:
        """A Gaussian of this noise multiplier and clip."""
        return dp.Gaussian(noise_multiplier=self.multiplier, clip=clip)

    @property
    def variance(self) -> float:
        """(multiplier x clip)^2."""
        return (self.multiplier * self.clip) ** 2

    def unit(self, count: int, stream: Stream) -> Vector:
        """Normal numbers, in clips."""
        return stream.normals(count) * self.multiplier


@dataclass(frozen=True)
class Laplace(Noise):
    """l1, the sensitivity of `size` Laplace variables together; `b`: scale over clip.

    `printed`: clipped in l2, with the noise that an l1 norm of one clip would ask for (UDP-FL, Section
    5.1). A row of l2 norm `clip` has an l1 norm of up to sqrt(size) clips: `node` accounts for that.
    """

    b: float = setting(1.0, positive)
    printed: bool = False
    kurtosis: ClassVar[float] = 6.0

    @property
    def order(self) -> float:
        """1, or 2 as printed."""
        return 2.0 if self.printed else 1.0

    def stated(self, clip: float | None) -> dp.Node:
        """A Laplace release of this scale over this clip in l1."""
        if self.printed:  # rounded down: the scale is at most b / sqrt(size) of what it has to hide
            return dp.Laplace(noise_multiplier=self.b * self.size**-0.5 * (1.0 - 1e-12), clip=1)
        return dp.Laplace(noise_multiplier=self.b, clip=clip)

    @property
    def claimed(self) -> dp.Node:
        """The scale over a clip in l1."""
        return dp.Laplace(noise_multiplier=self.b, clip=1)

    @property
    def variance(self) -> float:
        """2 (b x clip)^2."""
        return 2.0 * (self.b * self.clip) ** 2

    def unit(self, count: int, stream: Stream) -> Vector:
        """Laplace numbers, in clips."""
        return stream.signs(count) * -np.log(stream.uniforms(count)) * self.b

    def as_printed(self) -> Noise:
        """Return the scale beside an l2 clip, as the paper has it."""
        return replace(self, printed=True)


@dataclass(frozen=True)
class Staircase(Noise):
    """Each of `size` numbers clipped and hidden by itself: so many mechanisms, accounted as that.

    `eps0`: the epsilon of one number that moves by one clip (Geng and Viswanath 2016). `printed`: clipped
    in l2, and claimed to be one staircase in all (UDP-FL, Section 5.1); the ball of l2 radius `clip` lies
    in the cube that is accounted.
    """

    eps0: float = setting(1.0, positive)
    printed: bool = False
    kurtosis: ClassVar[float] = 9.0

    @property
    def order(self) -> float:
        """Each number by itself, or 2 as printed."""
        return 2.0 if self.printed else math.inf

    @cached_property
    def step(self) -> dp.Staircase:
        """The mechanism of one number, at a clip of 1."""
        return dp.Staircase(eps0=self.eps0, clip=1)

    def stated(self, clip: float | None) -> dp.Node:
        """A staircase of this clip for each coordinate."""
        return dp.Staircase(eps0=self.eps0, clip=clip) * self.size

    @property
    def claimed(self) -> dp.Node | None:
        """One staircase in all, as printed."""
        return self.step if self.printed else self.node

    @property
    def variance(self) -> float:
        """The variance of the staircase noise at this clip."""
        return float(self.step.std * self.clip) ** 2

    def unit(self, count: int, stream: Stream) -> Vector:
        """Staircase numbers, in clips."""
        # Geng and Viswanath 2016, Algorithm 1: a geometric step, its inner part of width nu or its
        # outer part of width 1 - nu, and a uniform place within that
        nu, decay = self.step.step_at, math.exp(-self.eps0)
        steps = np.floor(-np.log(stream.uniforms(count)) / self.eps0)
        inner = stream.uniforms(count) <= nu / (nu + (1.0 - nu) * decay)
        place = stream.uniforms(count)
        within = np.where(inner, nu * place, nu + (1.0 - nu) * place)
        drawn: Vector = stream.signs(count) * (steps + within)
        return drawn

    def as_printed(self) -> Noise:
        """One staircase taken for all coordinates, as the paper has it."""
        return replace(self, printed=True)


@dataclass(frozen=True)
class Votes(Noise):
    """One vote of 1 for each query, whatever was sent; the labels of noisy majorities leave (GNMax).

    `neighbours`: k, where a vote is the mean of k neighbours' labels, in k-th parts. `level`: who is
    protected, "agent" or "instance". `clear`: counted without noise, so that nothing is guaranteed.
    """

    sigma: float = setting(1.0, positive)
    classes: int = setting(10, whole, 2)
    level: str = setting("agent", one_of, ("agent", "instance"))
    neighbours: int = setting(1, whole, 1, 10**6)
    clear: bool = False
    kurtosis: ClassVar[float] = 3.0

    @property
    def protects(self) -> str:
        """The client at agent level, one record at instance level."""
        return "client" if self.level == "agent" else "record"

    def stated(self, clip: float | None) -> dp.Node | None:
        """The queries of this aggregator."""
        if self.clear:
            return None
        query = dp.GNMax(sigma=self.sigma, level=self.level, neighbours=self.neighbours)
        return query.plan(self.size // self.classes)

    @property
    def variance(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def unit(self, count: int, stream: Stream) -> Vector:
        """Normal numbers, in votes."""
        return stream.normals(count) * self.sigma

    def norms(self, rows: Rows) -> Vector:
        """The l1 norm of each query's votes."""
        votes = np.abs(rows).reshape(len(rows), -1, self.classes).sum(axis=2)
        longest: Vector = votes.max(axis=1)
        return longest

    def bound(self, rows: Rows) -> Rows:
        """One vote a query."""
        scores = rows.reshape(len(rows), -1, self.classes)
        plurality = np.eye(self.classes)[scores.argmax(axis=2)]
        shares = np.clip(np.round(scores * self.neighbours), 0, self.neighbours)
        spread = shares.sum(axis=2, keepdims=True) == self.neighbours
        votes: Rows = np.where(spread, shares / self.neighbours, plurality)
        return votes.reshape(len(rows), -1)

    def without(self) -> Noise:
        """The votes without noise."""
        return replace(self, clear=True)

    def add(self, total: Vector, stream: Stream, meter: NoiseMeter, part: float = 1.0) -> Vector:
        """The noisy counts, or the counts."""
        return total if self.clear else super().add(total, stream, meter, part)

    def publish(self, noisy: Vector, denominator: float) -> NDArray[Any]:
        """The winning class of each query."""
        labels: NDArray[np.int64] = noisy.reshape(-1, self.classes).argmax(axis=1)
        return labels


@dataclass(frozen=True)
class Unprotected(Noise):
    """No noise, and with an infinite clip no bound either: nothing is guaranteed."""

    clip: float = math.inf
    kurtosis: ClassVar[float] = 3.0

    def __post_init__(self) -> None:
        whole("size", self.size, 1)
        if self.clip != math.inf:
            real("clip", self.clip, 0.0)

    def stated(self, clip: float | None) -> None:
        """None: nothing is guaranteed."""
        return None

    @property
    def variance(self) -> float:
        """0."""
        return 0.0

    def unit(self, count: int, stream: Stream) -> Vector:
        """Zeros."""
        return np.zeros(count)

    def add(self, total: Vector, stream: Stream, meter: NoiseMeter, part: float = 1.0) -> Vector:
        """The sum without noise."""
        return total


def l2_norms(rows: Rows) -> Vector:
    """Euclidean norms, of rows whose squares overflow too."""
    scale = np.abs(rows).max(axis=1, initial=0.0)
    safe = np.where(scale > 0.0, scale, 1.0)
    norms: Vector = safe * np.linalg.norm(rows / safe[:, None], axis=1)
    return norms
