"""A publishable data-dependent cost, with Gaussian noise scaled to its smooth sensitivity.

Papernot et al. 2018, Appendix B (the GNSS mechanism), at one Renyi order that is fixed beforehand. What the
publication itself costs is added; the published value is raised so that it hides the private one with the
asked confidence.

They bound the local sensitivity at a distance under two conditions on the cost as a function of q (their C5
and C6), which must be checked for each noise and order. Here no condition is needed: the cost is made a step
function of log q that never falls, so what a neighbour can change is read off from the steps that its q can
lie in (docs/theory/voting.md).

With a threshold the cost depends on the largest of n - b as well: the steps are a table, of log q by cells of
that count, each with the most that the bound is anywhere in it. A neighbour's largest n - b is at most one
step away. Counts far above the threshold are charged the most that a query can cost; far below it, what the
last cell's edge costs, beyond which less and less is left. Without a threshold the table has one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import CONVERSION, statement
from dpacct.declare.domain import DELTA, POSITIVE, Real
from dpacct.declare.number import Number, ln
from dpacct.errors import InvalidArgument
from dpacct.pld.roots import halved
from dpacct.pld.stable import Floats
from dpacct.vocabulary import Assumption, Side, Strength
from dpacct.voting.argmax import CountNoise, Screening
from dpacct.voting.cost import FIXED, Bounds
from dpacct.voting.exact import converted
from dpacct.voting.published import log_sum, publication
from dpacct.voting.votes import Histograms, Level, Votes

if TYPE_CHECKING:
    from dpacct.voting.aggregator import Aggregator


_LOWEST = -2000.0
_NEGLIGIBLE = 1e-9  # of the largest sensitivity: what lies farther is not followed, but added
_MANY = 200_000
_BEND = 64.0  # below e^-64 steps grow in proportion to log q
_BEYOND = 10.0  # deviations of the threshold's noise
_MOST_ROWS = 4000  # cells of whole counts; more counts than so share cells
_REAL_ROWS = 1000  # where a baseline makes n - b any number
_PARTS = 6  # of such a cell, each bounded by its ends

Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


@dataclass(frozen=True)
class QueryCosts:
    """The cost of one query at one order: by log q (column), and by the largest of n - b (row).

    q bounds the chance of any other label, at the votes and at every neighbour. `whole`: there is no
    baseline, so the largest count is a whole number of shares. With a threshold row 0 is what lies below
    `first`, the last row what lies above all cells.
    """

    noise: CountNoise
    level: Level
    order: float
    classes: int
    fineness: float = 0.01
    screening: Screening | None = None
    whole: bool = True

    @cached_property
    def edges(self) -> Floats:
        """Upper edges of the steps, increasing to 0; the first step reaches down to q = 0."""
        fine = np.arange(0.0, _BEND, self.fineness)
        growth = 1.0 + 8.0 * self.fineness / _BEND
        count = math.ceil(math.log(-_LOWEST / _BEND) / math.log(growth))
        return np.asarray(-np.concatenate((fine, _BEND * growth ** np.arange(count)))[::-1])

    @cached_property
    def _answer(self) -> Floats:
        """The cost of a label, by column: the best bound at its upper edge, made non-decreasing."""
        orders = np.array([self.order])
        tables = self.noise.tables(self.edges, orders, self.level).values()
        return np.asarray(np.maximum.accumulate(np.minimum.reduce(list(tables))[:, 0]))

    def at(self, log_q: Floats) -> Places:
        """The step that each log q lies in."""
        return np.minimum(np.searchsorted(self.edges, log_q), self.edges.size - 1)

    def _moved(self, log_q: Floats, shares: float) -> Floats:
        """The largest q of a data set whose margins are all that much smaller than one of this q.

        q is a sum of C - 1 tails; the tail at a smaller margin is concave in the tail (log-concave
        densities), so the sum is largest where all are equal.
        """
        others = math.log(self.classes - 1)
        half = math.log(0.5)
        margin = self.noise.margin_of(np.minimum(log_q - others, half))
        result = np.minimum(self.noise.log_tail(margin - shares) + others, 0.0)
        # beyond an even chance each: anything above, and for what lies below this is low enough
        return np.asarray(np.where((log_q - others >= half) & (shares > 0.0), 0.0, result))

    def alike(self, log_q: Floats) -> Floats:
        """One margin for each q, which C - 1 classes would all have (at the votes, not at a neighbour)."""
        others = math.log(self.classes - 1)
        near = self.noise.margin_of(np.minimum(log_q - others, math.log(0.5)))
        return (near + self.level.margin)[:, None]

    @cached_property
    def reached(self) -> tuple[Places, Places]:
        """The highest and the lowest step in which a neighbour of each step can lie."""
        margin = float(self.level.margin)
        up = self.at(self._moved(self.edges, margin))
        lower = np.append(-math.inf, self.edges[:-1])
        fallen = self._moved(np.maximum(lower, _LOWEST), -margin)
        down = np.where(lower < _LOWEST, 0, self.at(np.nextafter(fallen, -math.inf)))
        return up, np.asarray(down)

    # -- the threshold's rows --------------------------------------------------------------------

    @cached_property
    def first(self) -> float:
        """The start of the first cell."""
        assert self.screening is not None
        sigma, step = float(self.screening.sigma), self.level.step
        # so far out that the bound falls with the count (docs/theory/voting.md)
        below = float(self.screening.threshold) - max(_BEYOND * sigma, self.order * step * 1.01)
        return float(max(0, math.floor(below))) if self.whole else below

    @cached_property
    def _span(self) -> float:
        assert self.screening is not None
        return float(self.screening.threshold) + _BEYOND * float(self.screening.sigma) - self.first

    @cached_property
    def width(self) -> float:
        """The width of a cell, in shares."""
        if self.whole:
            return float(max(1, math.ceil(self._span / _MOST_ROWS)))
        return self._span / _REAL_ROWS

    @cached_property
    def rows(self) -> int:
        """The number of cells, with what is below and above them."""
        return max(1, math.ceil(self._span / self.width)) + 2

    @cached_property
    def least(self) -> int:
        """The lowest row there is: no whole count is below 0."""
        return 1 if self.screening is not None and self.whole and self.first == 0.0 else 0

    def row(self, top: Floats) -> Places:
        """The row of each largest count."""
        if self.screening is None:
            return np.zeros(top.shape, dtype=np.intp)
        cell = np.floor((top - self.first) / self.width) + 1.0
        return np.asarray(np.clip(cell, self.least, self.rows - 1), dtype=np.intp)

    @cached_property
    def cost(self) -> Floats:
        """The cost of each row and column; no column is below the one before it."""
        if self.screening is None:
            return self._answer[None, :]
        orders, answer = np.array([self.order]), self._answer[:, None]
        independent = self.noise.data_independent(orders, self.level)
        plain = float((independent + self.screening.data_independent(orders, self.level))[0])
        table = np.full((self.rows, answer.size), plain)
        parts = min(int(self.width), _PARTS) if self.whole else _PARTS
        for i in range(1, self.rows - 1):
            ends = self.first + self.width * (i - 1 + np.linspace(0.0, 1.0, parts + 1))
            worst = np.zeros(answer.size)
            for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if self.whole:
                    low, high = math.ceil(low), math.ceil(high) - 1
                tops = np.full(answer.size, float(low))
                both = self.screening.with_answer(tops, answer, orders, self.level, high - low)
                worst = np.maximum(worst, both[:, 0])
            table[i] = np.minimum(worst, plain)
        table[0] = np.minimum(self._below(self.screening, self._answer), plain)
        return np.asarray(np.maximum.accumulate(table, axis=1))

    def _below(self, screening: Screening, answer: Floats) -> Floats:
        """Return the cost of counts below the first cell, an answer's chance taken at its edge."""
        order, step = self.order, float(self.level.step)
        tops = np.array([self.first - step, self.first, self.first + step])
        no, yes = screening.log_passes(tops)
        passes = max(
            order * yes[1] - (order - 1.0) * yes[0], order * yes[2] - (order - 1.0) * yes[1]
        )
        silent = np.full(answer.shape, -(order - 1.0) * no[2])
        result = log_sum(silent, passes + (order - 1.0) * answer)
        return np.asarray(np.maximum(result, 0.0) * (1.0 + 1e-12) + 2e-15) / (order - 1.0)

    @cached_property
    def local(self) -> Floats:
        """The local sensitivity of each cell: the largest change of cost to a neighbour."""
        up, down = self.reached
        away = 0 if self.screening is None else math.ceil(self.level.step / self.width)
        result, last = np.zeros(self.cost.shape), self.cost.shape[0] - 1
        for move in range(-away, away + 1):
            other = np.clip(np.arange(last + 1) + move, self.least, last)
            more, less = self.cost[other][:, up], self.cost[other][:, down]
            result = np.maximum(result, np.maximum(more - self.cost, self.cost - less))
        return result


def smooth_sensitivity(
    steps: QueryCosts, histograms: Histograms, count: Floats, beta: float
) -> float:
    """The largest e^{-beta t} times the local sensitivity of the sum of costs t neighbours away.

    `local` never falls with the distance. The search ends where nothing farther can matter by more than a
    billionth, which is added. Of very many queries without a threshold only q is followed, as if all margins
    were equal: that reaches a little farther.
    """
    margins: Floats = histograms.margins.astype(np.float64)
    # by what is public: which way is taken must not depend on the votes
    if steps.screening is None and float(count.sum()) * margins.shape[1] > _MANY:
        margins = steps.alike(steps.noise.log_mismatch(margins - steps.level.margin))
    top, table = histograms.top, steps.local[steps.least :]
    windows, most = _Windows(table), float(table.max())
    ceiling = float(count.sum()) * most
    best, distance, full, active = 0.0, 0, 0.0, np.arange(count.size)
    while math.exp(-beta * distance) * ceiling > max(best, _NEGLIGIBLE * ceiling):
        low, high = map(steps.at, reach(steps, margins[active], distance))
        far = float(distance * steps.level.step)
        first, last = (steps.row(top[active] + far * way) - steps.least for way in (-1.0, 1.0))
        each = windows.largest(first, last, low, high)
        best = max(best, math.exp(-beta * distance) * (full + float(count[active] @ each)))
        # what reaches the largest of all stays there
        done = each >= most
        full += most * float(count[active[done]].sum())
        active = active[~done]
        if not active.size:
            return best
        distance += 1
    return max(best, math.exp(-beta * distance) * ceiling)


def reach(steps: QueryCosts, margins: Floats, distance: int) -> tuple[Floats, Floats]:
    """The least and largest log q (at the worst neighbour) that many neighbours away."""
    level, noise = steps.level, steps.noise
    taken = float(distance * level.step)
    near = margins - level.margin
    if level.is_agent or margins.shape[1] < steps.classes - 1:
        moved = float(distance * level.margin)
        low, high = near + moved, near - moved
    else:
        # the leader loses one a step, all of them to the class behind it: the sum of convex tails is
        # largest so; or it wins one a step from the nearest class, as water fills the margins
        high = near - taken
        high[:, 0] -= taken
        low = np.maximum(near + taken, _filled(near, taken) + taken)
    # one margin may stand for those of all other classes
    more = math.log((steps.classes - 1) / margins.shape[1])
    lowest, highest = (np.minimum(noise.log_mismatch(ends) + more, 0.0) for ends in (low, high))
    crossed = high.min(axis=1) <= 0.0
    return lowest, np.where(crossed, 0.0, highest)


def _filled(margins: Floats, amount: float) -> Floats:
    """The level to which the smallest margins (each row increasing) rise when so much is shared out."""
    count = np.arange(1, margins.shape[1] + 1)
    sums = np.cumsum(margins, axis=1)
    needed = count * margins - sums  # to fill up to this margin
    full = (needed <= amount).sum(axis=1)
    rows = np.arange(margins.shape[0])
    return np.asarray(((amount + sums[rows, full - 1]) / full)[:, None])


class _Windows:
    """The largest entry between two rows and two columns, for runs of rows that grow from call to call."""

    def __init__(self, table: Floats) -> None:
        # largest of so many rows from each on, and of one row fewer
        self._run, self._before, self._length = table, table, 1
        self._head = np.maximum.accumulate(table, axis=0)
        self._tail = np.maximum.accumulate(table[::-1], axis=0)[::-1]
        # of one row the largest of 1, 2, 4, ... columns from each on
        self._spans = [table[0]]
        while table.shape[0] == 1 and 2 ** len(self._spans) <= table.shape[1]:
            width, last = 2 ** (len(self._spans) - 1), self._spans[-1]
            self._spans.append(np.maximum(last[:-width], last[width:]))

    def largest(self, first: Places, last: Places, low: Places, high: Places) -> Floats:
        """Return the maximum over each rectangle: rows first to last, columns low to high, all included."""
        final, result = self._tail.shape[0] - 1, np.empty(first.shape)
        if final == 0:
            level = np.log2(high - low + 1.0).astype(int)
            for each in np.unique(level).tolist():
                chosen, span = level == each, self._spans[each]
                result[chosen] = np.maximum(span[low[chosen]], span[high[chosen] - 2**each + 1])
            return result
        head, tail = first == 0, (first > 0) & (last == final)
        cases = [(head, self._head, last), (tail, self._tail, first)]
        lengths = np.where(head | tail, 0, last - first + 1)
        for length in np.unique(lengths[lengths > 0]).tolist():
            cases.append((lengths == length, self._of(length), first))
        for chosen, table, row in cases:
            if chosen.any():
                result[chosen] = _between(table, row[chosen], low[chosen], high[chosen])
        return result

    def _of(self, length: int) -> Floats:
        while self._length < length:
            self._before, self._length = self._run, self._length + 1
            self._run = np.concatenate((np.maximum(self._run[:-1], self._run[1:]), self._run[-1:]))
        return self._run if length == self._length else self._before


def _between(table: Floats, row: Places, first: Places, last: Places) -> Floats:
    """The largest entry of each row between two columns, both included."""
    rows, row = np.unique(row, return_inverse=True)
    level = np.log2(last - first + 1.0).astype(int)
    result, width = np.empty(first.shape), table[rows]
    for each in range(int(level.max()) + 1):
        chosen = level == each
        if chosen.any():
            result[chosen] = np.maximum(
                width[row[chosen], first[chosen]], width[row[chosen], last[chosen] - 2**each + 1]
            )
        if width.shape[1] > 2**each:
            width = np.maximum(width[:, : -(2**each)], width[:, 2**each :])
    return result


# --- the release

RELEASE_ORDER = Real(1, 10**5, "right", typical=(2, 64))
CONFIDENCE = Real("0.5", 1, "left")
_SANITIZED_ORDERS = 1.0 + np.geomspace(0.05, 3000.0, 400)
_FINENESS, _COARSER = 0.01, 0.05  # of steps of log q; with a threshold there are rows of them
_SHARE = 0.3  # of 1/(2 order), which beta must stay below


@dataclass(frozen=True)
class Sanitized:
    """A publishable result: `answer`, and parameters that do not depend on the votes.

    `answer` covers the labels and its own publication. `order`, `beta` and `noise` are those of the
    release, `publication` its Renyi cost, `confidence` the chance that the published value is no less
    than the private one. `seeded`: a repeatable seed was used, so the noise protects nothing.
    """

    answer: Answer
    order: float
    beta: float
    noise: float
    confidence: float
    publication: float
    seeded: bool

    @property
    def private(self) -> bool:
        """False: this result may be published."""
        return False


def sanitized(
    aggregator: Aggregator,
    votes: Votes,
    baseline: Floats | None,
    delta: Number,
    *,
    order: Number | None,
    beta: Number | None,
    noise: Number | None,
    confidence: Number,
    seed: int | None,
) -> Sanitized:
    """See `Aggregator.sanitized`."""
    screening = aggregator.screening
    from scipy.special import ndtri

    target = DELTA.check("delta", delta)
    log_delta = ln(target)
    level = aggregator.neighbouring
    histograms = Histograms.of(votes.counts, baseline, level.shares)
    bounds = Bounds(histograms, level, aggregator.noise, screening)
    if order is None:
        each = votes.queries * bounds.plain(_SANITIZED_ORDERS)
        chosen = float(
            _SANITIZED_ORDERS[int(np.argmin(converted(each, _SANITIZED_ORDERS, log_delta)))]
        )
    else:
        chosen = float(RELEASE_ORDER.check("order", order))
    decay = _SHARE * 0.5 / chosen if beta is None else float(POSITIVE.check("beta", beta))
    if 2.0 * chosen * decay >= 1.0:
        message = f"beta must be below 1/(2 order) = {0.5 / chosen:.6g}, got {decay:.6g}"
        raise InvalidArgument(message, argument="beta")
    raised = float(ndtri(float(CONFIDENCE.check("confidence", confidence))))
    spread = _default_noise(chosen, decay, raised, log_delta)
    if noise is not None:
        spread = float(POSITIVE.check("noise", noise))
    price = publication(chosen, decay, spread, raised)
    private, smooth = _private(bounds, chosen, decay)
    value = private + smooth * spread * (_draw(seed) + raised)
    most = votes.queries * float(bounds.plain(np.array([chosen]))[0])
    rate = np.array([min(max(value, 0.0), most) + price])
    epsilon = float(converted(rate, np.array([chosen]), log_delta)[0])
    answer = Answer(
        quantity="epsilon",
        value=epsilon,
        upper=epsilon,
        side=Side.UPPER,
        strength=Strength.BOUND,
        method="smooth-sensitivity",
        basis=(*bounds.theorems, statement("papernot2018.theorem23_corrected"), CONVERSION),
        assumptions=(
            Assumption(level.sentence, source=f"{aggregator.level} level"),
            FIXED,
            Assumption(
                f"the noise of the publication is above its {1.0 - float(confidence):.6g} quantile, which"
                f" has probability {float(confidence):.6g}"
            ),
            Assumption("order, beta and noise were chosen without a look at the votes"),
        ),
        adjacency=level.adjacency,
        unit=level.unit,
    )
    return Sanitized(answer, chosen, decay, spread, float(confidence), price, seed is not None)


def _private(bounds: Bounds, order: float, beta: float) -> tuple[float, float]:
    """The cost of the run at this order as a sum of steps, and its smooth sensitivity."""
    first, _, many = bounds.histograms.alike()
    kinds, count = bounds.histograms.rows(first), many.astype(np.float64)
    steps = QueryCosts(
        bounds.noise,
        bounds.level,
        order,
        kinds.counts.shape[1],
        _FINENESS if bounds.screening is None else _COARSER,
        bounds.screening,
        whole=kinds.residual is None,
    )
    near = steps.noise.log_mismatch((kinds.margins - steps.level.margin).astype(np.float64))
    cost = steps.cost[steps.row(kinds.top), steps.at(np.minimum(near, 0.0))]
    return float(count @ cost), smooth_sensitivity(steps, kinds, count, beta)


def _default_noise(order: float, beta: float, raised: float, log_delta: float) -> float:
    """Noise whose publication costs a tenth of what delta costs at this order; needs no look at the votes."""
    budget = publication(order, beta, 1e12) - 0.1 * log_delta / (order - 1.0)

    def too_dear(log_noise: float) -> bool:
        return publication(order, beta, math.exp(log_noise), raised) > budget

    return math.exp(halved(too_dear, math.log(1e-3), math.log(1e9))[1])


def _draw(seed: int | None) -> float:
    """One standard normal number; from the system's own randomness unless a seed is given."""
    import secrets

    source = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
    return float(source.standard_normal())
