"""Strategies of correlated noise: matrices C whose inverses shape the noise of a run of many steps.

With the contributions of the steps as the rows of G and normal noise Z, all that is released follows from
C G + Z: one Gaussian release, of the sensitivity of C for a unit that takes part in several steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from dpacct.declare.domain import POSITIVE, Domain, Integer, Real, Text
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter, Record
from dpacct.errors import DpacctError, InvalidArgument, Unsupported
from dpacct.mechanisms.custom import listed
from dpacct.mechanisms.gaussian import Normal, square_root
from dpacct.mechanisms.mixture import NumberList, Numbers
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair, Stated

    Floats: TypeAlias = NDArray[np.float64]

_STEPS = Integer(1, 50_000)
_MOST_ROWS = 1000


class Sensitivity(NamedTuple):
    """The square of how far one unit moves C G, per clip: at most `squared`, at least `realised`.

    Both are one number, rounded up by up to 2e-9 of it, where the sensitivity is known exactly.
    """

    squared: Fraction
    realised: Fraction

    def __float__(self) -> float:
        return math.nextafter(square_root(self.squared), math.inf)


class PrefixError(NamedTuple):
    """Mean and largest variance, over the steps, of the sum of all steps so far: a coordinate, clip 1."""

    mean: float
    largest: float


class _Pattern(NamedTuple):
    """A unit takes part in at most `times` steps that are `apart` steps apart: at least, or exactly."""

    times: int
    apart: int
    exactly: bool

    def __str__(self) -> str:
        gap = f"{'exactly' if self.exactly else 'at least'} {self.apart} apart"
        return f"at most {self.times} steps, {gap}" if self.times > 1 else "at most one step"

    def regular(self, steps: int) -> Iterator[slice]:
        """The patterns that are exactly `apart`, without those that are parts of others."""
        length = (self.times - 1) * self.apart
        for first in range(max(min(self.apart, steps), steps - length)):
            yield slice(first, first + length + 1, self.apart)


class CorrelatedGaussian(Normal, kind="correlated-gaussian"):
    """A run with noise that is correlated by a strategy, as one release: see `Strategy.mechanism`."""

    label = "correlated Gaussian noise"
    in_files = False
    amplified = False
    noise_multiplier: Parameter[Fraction] = Parameter(
        POSITIVE, "standard deviation of the noise before it is correlated / clip", "Z"
    )
    squared_sensitivity: Parameter[Fraction] = Parameter(
        POSITIVE, "squared l2 sensitivity of the strategy for a clip of 1"
    )
    realised: Parameter[Fraction] = Parameter(
        POSITIVE, "what some units attain of it: less where it is an upper end"
    )
    words: Parameter[str] = Parameter(Text(), "the strategy, and when a unit takes part")
    references = ("choquette2023multi", "denisov2022improved", "kairouz2021practical")

    def _complaint(self) -> DpacctError | None:
        most, got = float(self.squared_sensitivity), float(self.realised)
        message = f"realised must be at most the squared sensitivity {most}, got {got}"
        wrong = self.realised > self.squared_sensitivity
        return InvalidArgument(message, argument="realised") if wrong else None

    def precision(self) -> tuple[Fraction, Fraction]:
        """The noise is given per clip."""
        return Fraction(0), self.squared_sensitivity / self.noise_multiplier**2

    def stated(self, adjacency: Adjacency) -> Stated:
        """One Gaussian release; raises `Unsupported` where its sensitivity is only bounded."""
        if self.realised < self.squared_sensitivity:
            message = (
                "method 'certified' has no proof where a strategy's sensitivity is only bounded"
            )
            raise Unsupported(message, argument="method")
        return super().stated(adjacency)

    def pair(self, adjacency: Adjacency) -> Pair:
        """One Gaussian release; below, with the sensitivity that some units attain."""
        above = super().pair(adjacency)
        if self.realised == self.squared_sensitivity:
            return above
        return replace(above, below=self.but(squared_sensitivity=self.realised).pair(adjacency).at)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The steps in which a unit takes part, which the accountant cannot see."""
        text = f"{self.words}, whatever the others do, and each contribution is clipped"
        return (Assumption(text, id="sensitivity"),)


class Strategy(Record, ABC):
    """Base of the strategies of a run of `steps` steps.

    A unit takes part in at most `times` steps that are at least `apart` steps apart, or `exactly` (epochs
    of a fixed order). Its contributions are clipped vectors, which may depend on all earlier releases.

    >>> round(float(Tree(1600).mechanism("1.13").epsilon("1e-6")), 3)
    17.667
    """

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of steps; all but `Matrix` declare it as a parameter."""

    @abstractmethod
    def _ends(self, pattern: _Pattern) -> tuple[float, float]:
        """The squared sensitivity from below (some units attain it) and above: equal where it is exact."""

    @abstractmethod
    def _variances(self) -> Floats:
        """The variance of each prefix sum at noise of variance 1."""

    def _pattern(self, times: Number, apart: Number, exactly: bool) -> _Pattern:
        most, gap = _STEPS.check("times", times), _STEPS.check("apart", apart)
        return _Pattern(min(most, -(-self.steps // gap)), gap, bool(exactly))

    def sensitivity(
        self, *, times: Number = 1, apart: Number = 1, exactly: bool = False
    ) -> Sensitivity:
        """Bound how far one unit moves C G; raises `InvalidArgument`, and `Unsupported` without a bound.

        >>> round(float(Banded([1, 2], steps=100).sensitivity(times=4, apart=10)), 6)
        4.472136
        """
        lower, upper = self._ends(self._pattern(times, apart, exactly))
        # 1e-9 is above the rounding of sums of 5e4 squares, and of 1e6 products of columns of 1,000
        up = Context(prec=12, rounding=ROUND_CEILING)
        squared = Fraction(
            up.create_decimal(upper if isinstance(upper, int) else upper * (1 + 1e-9))
        )
        down = Context(prec=12, rounding=ROUND_FLOOR)
        least = Fraction(down.create_decimal(lower * (1 - 1e-9))) if lower < upper else squared
        return Sensitivity(squared, least)

    def mechanism(
        self,
        noise_multiplier: Number,
        *,
        times: Number = 1,
        apart: Number = 1,
        exactly: bool = False,
    ) -> CorrelatedGaussian:
        """The run as a plan: noise of standard deviation noise_multiplier * clip, before it is correlated.

        Raises as `sensitivity`.
        """
        squared, realised = self.sensitivity(times=times, apart=apart, exactly=exactly)
        pattern, bound = self._pattern(times, apart, exactly), "at most " * (realised < squared)
        return CorrelatedGaussian(
            noise_multiplier=noise_multiplier,
            squared_sensitivity=squared,
            realised=realised,
            words=f"noise is correlated by {self.label} over {self.steps} steps (squared sensitivity "
            f"{bound}{float(squared):.6g}), each unit takes part in {pattern}",
        )

    def error(self, noise_multiplier: Number = 1) -> PrefixError:
        """Mean and largest variance of the prefix sums at this noise.

        Raises `InvalidArgument`, and `Unsupported` where the inverse of the matrix overflows.

        >>> Tree(2).error()
        PrefixError(mean=0.8333333333333333, largest=1.0)
        """
        scale = float(POSITIVE.check("noise_multiplier", noise_multiplier)) ** 2
        variances = self._variances()
        mean, largest = float(variances.mean()) * scale, float(variances.max()) * scale
        if not math.isfinite(mean + largest):
            message = (
                "error must be within the range of floats: the inverse of the matrix is too large"
            )
            raise Unsupported(message, argument="steps")
        return PrefixError(mean, largest)


class Tree(Strategy):
    """Sums at the nodes of a binary tree whose leaves are the steps, each once it is complete.

    A prefix sum is estimated from all complete nodes by least squares (DP-FTRL: Kairouz et al. 2021).

    >>> Tree(1600).sensitivity()
    Sensitivity(squared=Fraction(11, 1), realised=Fraction(11, 1))
    """

    label = "a binary tree"
    steps: Parameter[int] = Parameter(_STEPS, "steps of the run", kw_only=False)

    def _ends(self, pattern: _Pattern) -> tuple[float, float]:
        """The sum of squared counts at the nodes: at its largest, or with each level at its own largest."""
        import numpy as np

        heights = range(self.steps.bit_length())
        if pattern.times == 1:
            return len(heights), len(heights)
        places = np.arange(self.steps)
        if self.steps <= _MOST_ROWS:
            nodes = [places >> h == k for h in heights for k in range(self.steps >> h)]
            return _of_matrix(np.array(nodes, dtype=float), pattern)
        upper, best = 0, 0
        for h in heights:
            most = -(-(1 << h) // pattern.apart)  # participations that a node holds
            full, rest = divmod(pattern.times, most)
            upper += most**2 * min(full, self.steps >> h) + rest**2 * (full < self.steps >> h)
        regular = [*pattern.regular(self.steps)]
        exact = pattern.exactly and len(regular) * pattern.times <= 2 * 10**7
        for chosen in (
            regular if exact else regular[:1]
        ):  # the first is among those that are allowed
            counts = [np.bincount(places[chosen] >> h)[: self.steps >> h] for h in heights]
            best = max(best, sum(int(count @ count) for count in counts))
        return best, best if exact else upper

    def _variances(self) -> Floats:
        """1/(2 - 2^-h) of each node of height h on the way, as 1/v = 1 + 1/(2 v') for children of v'."""
        import numpy as np

        ends = np.arange(1, self.steps + 1)
        bits = [(ends >> h & 1) / (2.0 - 0.5**h) for h in range(self.steps.bit_length())]
        return np.asarray(np.sum(bits, axis=0), dtype=float)


class _Toeplitz(Strategy):
    """A lower-triangular matrix with equal entries along its diagonals."""

    @abstractmethod
    def _column(self) -> list[float]:
        """The first column, up to its last entry that is not 0 or longer."""

    def _ends(self, pattern: _Pattern) -> tuple[float, float]:
        """The squared norm of the sum of the columns 0, apart, 2 apart, ...: the earliest, densest pattern.

        The product of columns i and j is the sum over t < n - max(i, j) of c_t c_(t + |i - j|). If c is
        nonnegative and never rises, it falls in max(i, j) and in |i - j|, and that pattern has the least of
        both. If c has at most `apart` bands, only the norms of the columns count, and they fall, too.
        """
        import numpy as np
        from scipy.linalg import toeplitz

        column = np.trim_zeros(np.array(self._column()), "b")
        falls = bool(column[-1] >= 0.0 and np.all(np.diff(column) <= 0.0))
        if pattern.times == 1 or column.size <= pattern.apart or falls:
            total = np.zeros(self.steps)
            for first in range(0, pattern.times * pattern.apart, pattern.apart):
                total[first : first + column.size] += column[: self.steps - first]
            return (squared := float(total @ total)), squared
        if self.steps > _MOST_ROWS:
            message = f"steps must be at most {_MOST_ROWS} if a unit is back within the bands and"
            message += f" coefficients rise or are negative, got {self.steps}"
            raise Unsupported(message, argument="steps")
        column = np.pad(column, (0, self.steps - column.size))
        return _of_matrix(toeplitz(column, np.zeros(self.steps)), pattern)

    def _variances(self) -> Floats:
        import numpy as np
        from scipy.signal import lfilter

        decoder = lfilter([1.0], self._column(), np.ones(self.steps))
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.cumsum(decoder**2), dtype=float)


class Banded(_Toeplitz):
    """A Toeplitz matrix of up to 1,000 bands, with `coefficients` from the diagonal down.

    Raises `InvalidArgument`.

    >>> Banded.square_root(bands=3, steps=1000).coefficients
    (Fraction(1, 1), Fraction(1, 2), Fraction(3, 8))
    >>> Banded.square_root(bands=3, steps=1000)
    Banded(coefficients=[1, 0.5, 0.375], steps=1000)
    """

    label = "a banded Toeplitz matrix"
    coefficients: NumberList = NumberList(
        Numbers(Real(-(10**6), 10**6, "both")), "first column of the matrix", kw_only=False
    )
    steps: Parameter[int] = Parameter(_STEPS, "steps of the run", kw_only=False)

    def _complaint(self) -> DpacctError | None:
        first = float(self.coefficients[0])
        message = f"coefficients must begin with a number of at least 1e-6, got {first}"
        return None if first >= 1e-6 else InvalidArgument(message, argument="coefficients")

    @classmethod
    def square_root(cls, bands: int, steps: int) -> Self:
        """The first bands of the square root of the matrix of prefix sums."""
        entries = [1.0]
        for k in range(1, Integer(1, _MOST_ROWS).check("bands", bands)):
            entries.append(entries[-1] * (1.0 - 0.5 / k))
        return cls(coefficients=entries, steps=steps)

    def _column(self) -> list[float]:
        return [float(entry) for entry in self.coefficients[: self.steps]]


class BLT(_Toeplitz):
    """A buffered linear Toeplitz matrix: on its diagonal 1, t below it the sum of scale * decay^(t - 1).

    `decay` and `scale` are lists of one number for each buffer. Raises `InvalidArgument`.

    >>> BLT(decay=["0.9"], scale=["0.5"], steps=2).error()
    PrefixError(mean=1.125, largest=1.25)
    """

    label = "a buffered linear Toeplitz matrix"
    decay: NumberList = NumberList(
        Numbers(Real(0, 1, "both")), "decay of each buffer", kw_only=False
    )
    scale: NumberList = NumberList(Numbers(Real(0, 1000, "both")), "scale of each", kw_only=False)
    steps: Parameter[int] = Parameter(_STEPS, "steps of the run", kw_only=False)

    def _complaint(self) -> DpacctError | None:
        wanted, got = len(self.decay), len(self.scale)
        message = f"scale must be {wanted} numbers, one for each decay, got {got}"
        return None if wanted == got else InvalidArgument(message, argument="scale")

    def _column(self) -> list[float]:
        pairs = [(float(d), float(s)) for d, s in zip(self.decay, self.scale, strict=True)]
        return [1.0, *(sum(s * d**t for d, s in pairs) for t in range(self.steps - 1))]


class _Rows(Domain[tuple[tuple[float, ...], ...]]):
    """The rows of a square matrix, 0 above its diagonal and positive on it."""

    words = (
        f"a lower-triangular matrix of at most {_MOST_ROWS} rows of numbers up to 1e6, of at least 1e-6 "
        "on its diagonal"
    )

    def check(self, name: str, value: object) -> tuple[tuple[float, ...], ...]:
        """The rows as floats; raises `InvalidArgument`."""
        import numpy as np

        try:
            matrix = np.array([listed(row) for row in listed(value) or ()], dtype=float)
        except (TypeError, ValueError):
            raise self.refusal(name, value) from None
        fits = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] <= _MOST_ROWS
        if not fits or not np.all(np.abs(matrix) <= 1e6) or np.triu(matrix, 1).any():
            raise self.refusal(name, value)
        if np.diag(matrix).min() < 1e-6:
            raise self.refusal(name, value)
        return tuple(map(tuple, matrix.tolist()))


class Matrix(Strategy):
    """Any lower-triangular matrix, of at most 1,000 steps, by its rows. Raises `InvalidArgument`.

    >>> Matrix([[1, 0], ["0.5", 1]]).error()
    PrefixError(mean=1.125, largest=1.25)
    """

    label = "a lower-triangular matrix"
    rows: Parameter[Any] = Parameter(_Rows(), "the rows of the matrix", kw_only=False)

    @property
    def steps(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def _ends(self, pattern: _Pattern) -> tuple[float, float]:
        import numpy as np

        return _of_matrix(np.array(self.rows), pattern)

    def _variances(self) -> Floats:
        import numpy as np
        from scipy.linalg import solve_triangular

        sums = np.tri(self.steps)
        decoder = solve_triangular(np.array(self.rows), sums.T, trans="T", lower=True)
        return np.asarray((decoder**2).sum(axis=0), dtype=float)


def _of_matrix(matrix: Floats, pattern: _Pattern) -> tuple[float, float]:
    """The largest sum of products of columns over regular patterns, and of |products| over all of them.

    For vectors u_i of norm 1, |sum c_i u_i|^2 = sum over i and j of (c_i c_j)(u_i u_j): the first for equal
    u_i, and at most the second (Choquette-Choo et al. 2023, section 2).
    """
    import numpy as np

    products, places = matrix.T @ matrix, np.arange(matrix.shape[1])
    gaps = np.abs(np.subtract.outer(places, places))
    met = gaps % pattern.apart == 0 if pattern.exactly else (gaps == 0) | (gaps >= pattern.apart)
    if pattern.times == 1:
        met = gaps == 0
    gram, signed = np.where(met, np.abs(products), 0.0), bool(np.any(products[met] < 0.0))
    reach = int(np.max(gaps[gram > 0.0]))
    if pattern.exactly:
        upper: float | None = max(float(gram[p, p].sum()) for p in pattern.regular(places.size))
    elif reach < pattern.apart:
        upper = float(_separated(gram.diagonal(), pattern))
    else:
        upper = _programme(gram.tolist(), reach, pattern)
    if upper is not None and not signed:
        return upper, upper
    lower = max(float(products[p, p].sum()) for p in pattern.regular(places.size))
    lower = max(lower, float(gram.diagonal().max()))
    bound = float(_separated(_separated(gram, pattern), pattern)) if upper is None else upper
    return min(lower, bound), bound


def _separated(weights: Floats, pattern: _Pattern) -> Floats:
    """The largest sum of weights >= 0 at places that are at least `apart`: of each row."""
    import numpy as np

    count = weights.shape[-1]
    best = np.zeros((*weights.shape[:-1], count + pattern.apart))  # of the places from here on
    for _ in range(pattern.times):
        best[..., :count] = weights + best[..., pattern.apart :]
        best = np.maximum.accumulate(best[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(best[..., 0])


def _programme(gram: list[list[float]], reach: int, pattern: _Pattern) -> float | None:
    """The largest sum of products over places that are at least `apart`; None after a million states.

    A state of the dynamic programme is the places within `reach`, and the number of all places so far.
    """
    states: dict[tuple[tuple[int, ...], int], float] = {((), 0): 0.0}
    work = 0
    for i, row in enumerate(gram):
        after: dict[tuple[tuple[int, ...], int], float] = {}
        for (recent, used), value in states.items():
            recent = recent[1:] if recent and i - recent[0] > reach else recent
            after[recent, used] = max(value, after.get((recent, used), 0.0))
            if used < pattern.times and (not recent or i - recent[-1] >= pattern.apart):
                key, gain = ((*recent, i), used + 1), row[i] + 2.0 * sum(row[j] for j in recent)
                after[key] = max(value + gain, after.get(key, 0.0))
        states, work = after, work + len(after)
        if work > 10**6:
            return None
    return max(states.values())
