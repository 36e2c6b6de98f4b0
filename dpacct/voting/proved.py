"""The label of one query in balls, for proofs: chances at the votes and at every neighbour, and their hull.

Gaussian noise: the trapezoidal rule of step h on the whole line. In units of sigma the integrand is a product
of C factors, phi and C - 1 times Phi, each at most e^{y^2/2} times its size on the axis at distance y from it
(Phi is an integral of phi's), so both edges of a strip hold at most e^{C y^2/2} P_j and

    |sum - P_j| <= 2 P_j e^{C y^2/2} / (e^{2 pi y/h} - 1)        (theorem 17; least near y = 2 pi/(C h)).

The integrand is log-concave: beyond the last term its terms fall at least as fast as there.

Laplace noise: between two counts, with x = e^{-t/b}, the integrand is x^m times a polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pair import Stated, StatedPairs
from dpacct.voting.argmax import NOBODY, CountNoise, GaussianNoise, LaplaceNoise, Screening, moves
from dpacct.voting.votes import Level

if TYPE_CHECKING:
    from flint import arb, arb_poly

    from dpacct.voting.aggregator import Aggregator

_SHARE = 0.35  # of the working precision that the rule's error is below, in nats for each bit
_SPARE = 8.0  # nats below that error at which a sum ends
_MOST_NODES = 200_000
JOINS, LEAVES, MOVES = "joins", "leaves", "moves"

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Label:
    """The pair of one query's label: the votes' law against a neighbour's, or back, as exact data.

    `counts` in shares of a vote, the largest first; `change`: what a neighbour does. `tilt` None: the pair
    that dominates all such neighbours; else the neighbour whose moment at that tilt is the largest, which is
    realised.
    """

    noise: CountNoise
    screening: Screening | None
    level: Level
    counts: Counts
    change: str
    votes_first: bool
    tilt: Fraction | None = None

    def __call__(self) -> LossDistribution:
        """The pair, at the working precision of balls."""
        stated = self._law(self.counts)
        laws = [
            (stated, there) if self.votes_first else (there, stated)
            for there in map(self._law, self.neighbours)
        ]
        if not laws:  # no unit can do that
            laws = [(stated, stated)]
        if self.tilt is None:
            return dominating(laws)
        c = float(self.tilt)
        p, q = max(laws, key=lambda law: float(_log_moment(law[0], law[1], c)))
        return _pair([*zip(p, q, strict=True)])

    @cached_property
    def neighbours(self) -> tuple[Counts, ...]:
        """The counts that a unit makes of these, those of equal shape once."""
        changed = moves(np.array([self.counts]), self.level)
        results = dict[Counts, None]()
        for source, target in zip(changed.source.tolist(), changed.target.tolist(), strict=True):
            change = JOINS if source == NOBODY else LEAVES if target == NOBODY else MOVES
            if change == self.change:
                counts = list(self.counts)
                for place, step in ((source, -self.level.step), (target, self.level.step)):
                    if place != NOBODY:
                        counts[place] += step
                results[tuple(counts)] = None
        return tuple(results)

    @property
    def seconds(self) -> float:
        """About what its laws cost in balls."""
        classes = len(self.counts)
        sets = 1 + (classes if self.level.is_agent else classes * (classes - 1))
        return 2e-3 + 3e-6 * sets * classes * (20 + 3 * classes)

    def _law(self, counts: Counts) -> tuple[arb, ...]:
        """Chances of each class, and of no answer where there is a threshold."""
        from flint import ctx

        order = sorted(range(len(counts)), key=lambda i: -counts[i])
        ranked = chances(self.noise, tuple(counts[i] for i in order), ctx.prec)
        law = [ranked[order.index(i)] for i in range(len(counts))]
        if self.screening is None:
            return tuple(law)
        from flint import arb

        z = (_ball(counts[order[0]]) - _ball(self.screening.threshold)) / _ball(
            self.screening.sigma
        )
        no, yes = (_normal_tail(sign * z / arb(2).sqrt()) for sign in (1, -1))
        return (no, *(yes * chance for chance in law))


def directions(aggregator: Aggregator, counts: Counts, tilts: Sequence[float]) -> StatedPairs:
    """Both orders of the data sets, with the unit against without it first, for every sort of change.

    `tilts`: at which the neighbour of each order is chosen that the lower end counts.
    """
    agent = aggregator.neighbouring.is_agent
    sorts = [(JOINS, False), (JOINS, True), (LEAVES, True), (LEAVES, False)]
    ways = sorts if agent else [(MOVES, True), (MOVES, False)]
    settings = aggregator.noise, aggregator.screening, aggregator.neighbouring, counts

    def stated(change: str, votes_first: bool, tilt: Fraction | None) -> Stated:
        label = Label(*settings, change, votes_first, tilt)
        return Stated(label, (), seconds=label.seconds)

    # in steps of a fifth: no last digit of a float decides which neighbour it is
    chosen = [Fraction(f"{1.2 ** round(math.log(tilt, 1.2)):.3g}") for tilt in tilts]
    upper = tuple(stated(*way, None) for way in ways)
    lower = tuple(stated(*way, tilt) for way, tilt in zip(ways, chosen, strict=True))
    return StatedPairs(upper, lower)


def _ball(value: Fraction | int) -> arb:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _normal_tail(x: arb) -> arb:
    """P(N(0, 1/2) > x)."""
    value: arb = x.erfc() / 2
    return value


def _log_moment(p: Sequence[arb], q: Sequence[arb], c: float) -> arb:
    """log E_P e^{cL}."""
    return sum((a * (c * (a / b).log()).exp() for a, b in zip(p, q, strict=True)), 0 * p[0]).log()


def _pair(outcomes: Sequence[tuple[arb, arb]], lost: Any = 0.0) -> LossDistribution:
    """Outcomes by their chances under both laws."""
    losses = np.array([(p / q).log() for p, q in outcomes])
    return LossDistribution(losses, np.array([q.log() for _, q in outcomes]), lost=lost)


# -- chances of each class -------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def chances(noise: CountNoise, counts: Counts, bits: int) -> tuple[arb, ...]:
    """Return each class's chance of the largest noisy count, counts falling; `bits`: the precision."""
    if isinstance(noise, GaussianNoise):
        return _of_normal(noise.sigma, counts, bits)
    assert isinstance(noise, LaplaceNoise)
    return _of_laplace(noise.b, counts)


class _Table:
    """Phi, and phi over Phi, at nodes of a rule's step; counts are whole multiples of `unit`."""

    def __init__(self, sigma: Fraction, classes: int, bits: int) -> None:
        from flint import arb

        self.nats = _SHARE * bits
        aimed = float(sigma) * math.pi * math.sqrt(2.0 / (self.nats * classes))
        self.parts = math.ceil(1.0 / aimed) if aimed < 1.0 else 1
        self.stride = max(1, math.floor(aimed * self.parts))
        self._scale, self._root = 1 / (self.parts * _ball(sigma)), arb(2).sqrt()
        self.step = self.stride * self._scale  # in deviations
        y = 2 * arb.pi() / (classes * self.step)
        growth = (classes * y * y / 2).exp()
        self.error = 2 * growth / ((2 * arb.pi() * y / self.step).exp() - 1)
        self._peak = 1 / (2 * arb.pi()).sqrt()
        self._values: dict[int, tuple[arb, arb]] = {}

    def at(self, place: int) -> tuple[arb, arb]:
        """Evaluate at so many parts of a share above a count."""
        if place not in self._values:
            z = place * self._scale
            below = _normal_tail(-z / self._root)
            self._values[place] = below, self._peak * (-z * z / 2).exp() / below
        return self._values[place]


@lru_cache(maxsize=32)
def _table(sigma: Fraction, classes: int, bits: int) -> _Table:
    return _Table(sigma, classes, bits)


def _of_normal(sigma: Fraction, counts: Counts, bits: int) -> tuple[arb, ...]:
    """Sums of the trapezoidal rule, each from about its top outwards."""
    from flint import arb

    table, every = _table(sigma, len(counts), bits), dict[int, arb]()
    places = [n * table.parts for n in counts]
    products = dict[int, arb]()

    def term(k: int, place: int) -> arb:
        at = k * table.stride
        if k not in products:
            products[k] = math.prod((table.at(at - n)[0] for n in places), start=arb(1))
        return products[k] * table.at(at - place)[1]

    def beyond(k: int, place: int, way: int, top: arb) -> tuple[arb, arb]:
        """The sum of all terms from k on, and the largest."""
        least, total, before = -table.nats - _SPARE, arb(0), None
        for _ in range(_MOST_NODES):
            value = term(k, place)
            total, top = total + value, value if value > top else top
            if before is not None and value < before and (value / top).log() < least:
                return total + _rest(before, value).union(arb(0)), top
            before, k = value, k + way
        raise NotCertified("the noise is too small to integrate: the value is withheld")

    for n, place in zip(counts, places, strict=True):
        if n not in every:
            start = round((place + places[0]) / (2 * table.stride))
            right, top = beyond(start, place, 1, arb(0))
            left, _ = beyond(start - 1, place, -1, top)
            total = (left + right) * table.step
            every[n] = total / (1 + arb(0, table.error.upper()))
    return tuple(every[n] for n in counts)


def _rest(before: arb, last: arb) -> arb:
    """Bound the rest of a falling log-concave sequence after two terms: at most a geometric series."""
    ratio = last / before
    return last * ratio / (1 - ratio)


def _of_laplace(b: Fraction, counts: Counts) -> tuple[arb, ...]:
    """Integrals of x^m times a polynomial over each piece between counts, in closed form."""
    from flint import arb, arb_poly

    ends = sorted(set(counts))
    scale, many = 1 / _ball(b), {n: counts.count(n) for n in ends}
    # below all counts: the product of C growing exponentials, of which each class has a C-th part
    first = [((ends[0] - n) * scale).exp() / 2 for n in counts]
    totals = dict.fromkeys(ends, math.prod(first, start=arb(1)) / len(counts))
    for i, start in enumerate(ends):
        up, low = ends[: i + 1], ends[i + 1 :]
        width = (low[0] - start) * scale if low else arb.pos_inf()
        shrunk = (-width).exp() if low else arb(0)
        falls = {n: ((n - start) * scale).exp() / 2 for n in up}
        rises = [((start - n) * scale).exp() / 2 for n in low for _ in range(many[n])]
        scaled = math.prod(rises, start=arb(1))
        whole = arb_poly([1])
        for n in up:
            whole *= arb_poly([1, -falls[n]]) ** many[n]

        if low:
            common = scaled * _integral(whole, -len(rises) - 1, shrunk, width)
            for n in low:
                totals[n] += common
        for n in up:
            others = arb_poly([1])
            for other in up:
                others *= arb_poly([1, -falls[other]]) ** (many[other] - (other == n))
            totals[n] += scaled * falls[n] * _integral(others, -len(rises), shrunk, width)
    return tuple(totals[n] for n in counts)


def _integral(poly: arb_poly, power: int, start: arb, log: arb) -> arb:
    """Integrate poly x^power from `start` to 1, log = -log start, infinite only where power >= 0."""
    terms = enumerate(poly.coeffs(), power + 1)
    return sum(
        (coefficient * ((1 - start**e) / e if e else log) for e, coefficient in terms), 0 * start
    )


# -- the pair that dominates several -----------------------------------------------------------------


def dominating(laws: Sequence[tuple[Sequence[arb], Sequence[arb]]]) -> LossDistribution:
    """A pair whose tests reach at least what those of each of these pairs reach.

    Corners (x, y) are midpoints of the points (Q(S), P(S)), x a little less and y a little more; that no
    point lies above the line through them is shown in balls. Raises `NotCertified` where it is not.
    """
    from flint import arb, ctx

    points: list[tuple[arb, arb]] = []
    for p, q in laws:
        order = sorted(range(len(p)), key=lambda i: -float((p[i] / q[i]).log().mid()))
        x = y = arb(0)
        for i in order[:-1]:
            x, y = x + q[i], y + p[i]
            points.append((x, y))
    points.sort(key=lambda point: (point[0].mid(), -point[1].mid()))
    top, slack = arb(1), arb(2) ** -math.floor(_SHARE * 1.2 * ctx.prec)
    corners = _upper([(x.mid(), y.mid()) for x, y in points])
    line = [(arb(0), arb(0))]
    for x, y in corners:
        line.append(((x * (1 - slack)).mid(), (y * (1 + slack)).mid().min(top)))
        if line[-1][1] >= 1:
            break
    else:
        line.append((top, top))
    pieces = [*pairwise(line)]
    for x, y in points:
        for (x0, y0), (x1, y1) in pieces:
            apart = x < x0 or x > x1
            if not apart and not (y - y0) * (x1 - x0) <= (y1 - y0) * (x - x0):
                message = "the neighbours' laws are too close to bound: the value is withheld"
                raise NotCertified(message)
    masses = [(b[1] - a[1], b[0] - a[0]) for a, b in pieces]
    return _pair([(p, q) for p, q in masses if p > 0], lost=1 - line[-1][0])


def _upper(points: Sequence[tuple[arb, arb]]) -> list[tuple[arb, arb]]:
    """Corners of the upper hull of these, rising, and of (0, 0) and (1, 1), which are left out."""
    from flint import arb

    chain = [(arb(0), arb(0))]
    for x, y in [*points, (arb(1), arb(1))]:
        while len(chain) > 1:
            (x0, y0), (x1, y1) = chain[-2:]
            if (y1 - y0) * (x - x1) > (y - y1) * (x1 - x0):
                break
            chain.pop()
        chain.append((x, y))
    return chain[1:-1]
