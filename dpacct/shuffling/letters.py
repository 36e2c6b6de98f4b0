"""The letters of a shuffle's messages: two that reveal the sender's value, and others that hide it.

After the reduction of docs/theory/shuffling.md every client sends, independently,

    letter 0 or 1, each with probability `share`     (the differing client: e^eps0 share for its own one)
    another letter, with probability `other`         (the differing client as well)
    anything else                                    (the differing client: `rest_weight` times that)

and what is left of the shuffle is how often each was sent. With m messages of the letters 0 and 1 and o' =
(other letters) + rest_weight (rest), the differing client is among the m with a known probability, and its
letter is a randomised response of odds (e^eps0 m + o') : (m + o') hidden among m - 1 fair coins. Fewer
messages or larger odds tell more, which is what rounding to the safe side means here.

A mixture is of such randomised responses hidden among fair coins. One entry: the number a of ones among m
messages, of which m - 1 are fair coins and one is a response that is
one with probability 1/(1 + fall) under P and fall/(1 + fall) under Q. With b = m - a,

    P[a] / Q[a] = (a + fall b) / (fall a + b),      P[a] + Q[a] = 2 Bin(m, 1/2)[a],

increasing in a, so that the best test for any epsilon is a threshold.

What the table of a mixture leaves out (`leftover`) are points that tell at least as much. A table follows
each binomial law to e^LOG_CUT. Beyond, tails are cut into levels; a level's probability is bounded at its
near end (Bernstein, Hoeffding), and its loss at its far end. So moments of high order stay what they are,
which one point at eps0 for everything would spoil.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpacct.pld.binomial import (
    LOG_CUT,
    ROUNDING,
    log_pmf,
    log_pmf_half,
    reach,
    reaches,
    tail_half,
    tail_rounding,
    tails,
)
from dpacct.pld.stable import Floats

# one part in 10^15, in either direction: more than the rounding of a share
_PART = Fraction(1, 10**15)


@dataclass(frozen=True)
class Letters:
    """The letters of `clients` messages; `eps0` is the privacy loss of the letter 0.

    `answers` = 0: any eps0-DP randomiser, at its worst; k >= 2: randomised response on k answers, the others
    arbitrary (`realised` False: an upper bound) or all holding one third answer (`realised`: k >= 3). A
    client takes part with probability `rate`, in secret. `clones` > 0 replaces all this by letters 0 and 1
    with probability clones / 2 each and no others (Feldman, McMillan, Talwar 2020: e^-eps0).
    """

    clients: int
    eps0: float
    answers: int = 0
    rate: float = 1.0
    realised: bool = False
    clones: bool = False

    @property
    def largest_loss(self) -> float:
        """The largest loss: no outcome reveals more than one unshuffled message."""
        return self.eps0

    @property
    def _fall(self) -> float:
        return math.exp(-self.eps0)

    @property
    def share(self) -> float:
        """The probability of each of the two letters from a client other than the differing one."""
        fall = self._fall
        if self.clones:
            return 0.5 * fall
        k = self.answers if self.answers else (3 if self.realised else 2)
        return self.rate * fall / (1.0 + (k - 1) * fall)

    @property
    def other(self) -> float:
        """The probability of letters that the differing client sends as often as the others do."""
        absent = 1.0 - self.rate
        if not self.answers or self.clones:
            return absent
        hiding = self.answers - (3 if self.realised else 2)
        fall = self._fall
        return absent + self.rate * hiding * fall / (1.0 + (self.answers - 1) * fall)

    @property
    def rest_weight(self) -> float:
        """The likelihood ratio of the remaining letters, between the differing client and the others."""
        return self._fall if self.realised else 0.0

    @property
    def telling(self) -> float:
        """The probability that the differing client sends a telling letter."""
        if self.clones:
            return 1.0
        rest = max(1.0 - 2.0 * self.share - self.other, 0.0)
        return max(0.0, min(1.0, 1.0 - self.other - self.rest_weight * rest))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of hidden randomised responses, known one by one: the pair that bounds a shuffle.

    Entry i has probability `weights[i]`: a response of odds 1 : `falls[i]` among `messages[i]` - 1 fair
    coins; `gaps` is 1 - falls, not rounded away. `log_left` is the log of what the weights leave out;
    `rounding` bounds the relative error of a weight.
    """

    weights: Floats
    messages: Floats
    falls: Floats
    gaps: Floats
    log_left: float
    rounding: float


def _edges(first: int, last: int, centre: float, width: float, count: int) -> Floats:
    """Divide the whole numbers from first to last into at most `count` blocks, narrow around the centre."""
    if last - first < count:
        return np.arange(first, last + 2, dtype=np.float64)
    low, high = math.asinh((first - centre) / width), math.asinh((last + 1 - centre) / width)
    inner = centre + width * np.sinh(np.linspace(low, high, count + 1)[1:-1])
    return np.unique(np.concatenate(([first], np.round(inner), [last + 1.0])))


@lru_cache(maxsize=32)
def mixture(letters: Letters, upper: bool, blocks: int) -> Mixture:
    """The mixture of a shuffle, of `blocks` entries or few more, each rounded to the safe side.

    `upper`: what it tells is at least what the shuffle tells; else at most.
    """
    others, telling = letters.clients - 1, letters.telling
    share = 2 * Fraction(letters.share) * (1 - _PART if upper else 1 + _PART)
    share = min(share, 1 - _PART)
    first, last = reach(others, share)
    counts = np.arange(first, last + 1, dtype=np.float64)
    clones = np.exp(log_pmf(counts, others, share))
    # the differing client's own message is one of the m, or it is not
    weights = np.zeros(counts.size + 1)
    weights[1:] = telling * clones
    weights[:-1] += (1.0 - telling) * clones
    deviation = math.sqrt(float(others * share * (1 - share))) + 1.0
    other_blocks = 1
    if letters.other > 0.0:
        other_blocks, blocks = _shared(letters, float(others * share), deviation, blocks)
    edges = _edges(first, last + 1, float(others * share), deviation, blocks)
    starts = (edges[:-1] - first).astype(np.int64)
    weights = np.add.reduceat(weights, starts)
    low, high = edges[:-1], edges[1:] - 1.0
    log_left = LOG_CUT + math.log(2.0)
    rounding = 1e-12 + 1.2e-16 * float(np.diff(edges).max())
    if letters.other > 0.0:
        return _with_others(letters, upper, weights, low, high, log_left, rounding, other_blocks)
    rest = letters.clients - (high if upper else low)
    beside = letters.rest_weight * np.maximum(rest, 0.0)
    return _mixed(letters, upper, weights, low, high, beside, log_left, rounding)


def _shared(letters: Letters, clones: float, deviation: float, blocks: int) -> tuple[int, int]:
    """Divide `blocks` between the others and the messages, by the information in either spread."""
    n = letters.clients
    beside = n * (letters.other + letters.rest_weight) + 1.0
    messages = (clones + 1.0) / (1.0 + math.exp(-letters.eps0))  # in units of e^eps0
    spread = math.sqrt(n * letters.other * (1.0 - letters.other)) + 1.0
    ratio = spread * (clones + 1.0) / (deviation * (beside * math.exp(-letters.eps0) + messages))
    ratio *= math.exp(-letters.eps0)
    others = round(min(max(math.sqrt(blocks * ratio), 2.0), 48.0))
    return others, max(blocks // others, 8)


def _mixed(
    letters: Letters,
    upper: bool,
    weights: Floats,
    low: Floats,
    high: Floats,
    beside: Floats,
    log_left: float,
    rounding: float,
) -> Mixture:
    """Entries for blocks of messages beside `beside` others."""
    messages = low if upper else high
    odds = high if upper else low  # more of them, and the differing client is likelier among them
    fall = math.exp(-letters.eps0)
    # (m + o') / (e^eps0 m + o'), both divided by e^eps0
    top, bottom = odds + beside, odds + fall * beside
    silent = (odds == 0.0) | (messages == 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        falls = np.where(silent, 1.0, fall * top / bottom)
        gaps = np.where(silent, 0.0, -math.expm1(-letters.eps0) * odds / bottom)
    kept = weights > 0.0
    return Mixture(
        weights[kept], np.maximum(messages, 1.0)[kept], falls[kept], gaps[kept], log_left, rounding
    )


def _with_others(
    letters: Letters,
    upper: bool,
    weights: Floats,
    low: Floats,
    high: Floats,
    log_left: float,
    rounding: float,
    count: int,
) -> Mixture:
    """Return the law where others hide the differing client: o given m is binomial, or one more.

    Fewer others tell more. Given m, their number is stochastically between Bin(n - m, c) and 1 + Bin(n - m
    - 1, c), c = other / (1 - 2 share); the ends of a block of m are taken on the safe side.
    """
    n = letters.clients
    chance = Fraction(letters.other) / (1 - 2 * Fraction(letters.share))
    chance = min(
        max(chance * (1 - 4 * _PART if upper else 1 + 4 * _PART), Fraction(0)), Fraction(1)
    )
    results: list[tuple[Floats, ...]] = []
    for weight, m_low, m_high in zip(weights.tolist(), low.tolist(), high.tolist(), strict=True):
        if weight == 0.0:
            continue
        extra = 0 if upper else 1
        trials = max(n - int(m_high), 0) if upper else max(n - int(m_low) - 1, 0)
        first, last = reach(trials, chance)
        deviation = math.sqrt(float(trials * chance * (1 - chance))) + 1.0
        edges = _edges(first, last, float(trials * chance), deviation, count)
        below, above = tails(edges, trials, float(chance))
        # differences of the smaller tail, whose digits are its own
        upward = 0.5 * (edges[1:] + edges[:-1]) > float(trials * chance)
        masses = np.where(upward, above[:-1] - above[1:], below[1:] - below[:-1])
        others = edges[:-1] if upper else edges[1:] - 1.0 + extra
        rest = np.maximum((m_high if upper else m_low) * -1.0 + n - others, 0.0)
        beside = others + letters.rest_weight * rest
        size = others.size
        results.append((weight * masses, np.full(size, m_low), np.full(size, m_high), beside))
    masses, lows, highs, besides = (np.concatenate(column) for column in zip(*results, strict=True))
    # each entry leaves out two tails of the others' number
    left = log_left + math.log(3.0)
    return _mixed(letters, upper, masses, lows, highs, besides, left, rounding + 1e-8)


# --- a mixture's delta and outcomes

_AT_ONCE = 1 << 17  # outcomes of one table


def hidden_log_delta(mixture: Mixture, epsilon: float, *, upper: bool) -> float:
    """log of a bound of delta(epsilon), epsilon >= 0, on the asked side, rounding included."""
    coins, fall = mixture.messages - 1.0, mixture.falls
    growth = math.expm1(epsilon)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # of the response alone: its P-mass less e^epsilon times its Q-mass, times 1 + fall
        alone = -np.expm1(epsilon + np.log(fall))
        # P[a] > e^epsilon Q[a] where b = m - a is below this
        zeros = np.where(
            alone > 0.0, mixture.messages * alone / (mixture.gaps * (growth + 2.0)), 0.0
        )
        reached = zeros > 0.0
        threshold = mixture.messages - np.where(reached, np.ceil(zeros) - 1.0, 0.0)
        last = np.exp(log_pmf_half(threshold - 1.0, coins))
        beyond = tail_half(threshold, coins)
    gained, paid = last * np.maximum(alone, 0.0) / (1.0 + fall), growth * beyond
    off = (ROUNDING + tail_rounding(float(coins.max(initial=0.0)))) * (gained + paid)
    value = np.maximum(gained - paid + (off if upper else -off), 0.0)
    total = float(np.where(reached, value, 0.0) @ mixture.weights)
    charge = mixture.rounding + 1e-15 * math.sqrt(mixture.weights.size) + 1e-14
    if upper:
        total = total * (1.0 + charge) + math.exp(mixture.log_left)
    else:
        total *= 1.0 - charge
    return math.log(total) if total > 0.0 else -math.inf


def outcomes(mixture: Mixture) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(losses, P-masses, Q-masses) of some entries at a time, in no order.

    Each leaves out at most e^LOG_CUT of its own at either end. As many ones as zeros, or more, and the mirror
    image of that: the mass under both together is the same, and P and Q change places.
    """
    first, last = np.ceil(0.5 * mixture.messages), reaches(mixture.messages)[1]
    ends = np.cumsum(last - first + 1.0)
    chunks = np.searchsorted(ends, np.arange(_AT_ONCE, ends[-1], _AT_ONCE), side="left")
    for part in np.split(np.arange(ends.size), np.unique(chunks)):
        size = (last[part] - first[part] + 1.0).astype(np.int64)
        entry = np.repeat(part, size)
        a = np.arange(entry.size) - np.repeat(np.cumsum(size) - size, size) + first[entry]
        m, fall = mixture.messages[entry], mixture.falls[entry]
        b = m - a
        mass = mixture.weights[entry] * np.exp(log_pmf_half(a, m))
        scale = 2.0 * mass / (m * (1.0 + fall))
        scale[a == b] *= 0.5  # it is its own mirror image
        losses, p, q = loss(a, b, fall, mixture.gaps[entry]), a + fall * b, fall * a + b
        both = np.concatenate
        yield both((losses, -losses)), both((scale * p, scale * q)), both((scale * q, scale * p))


def loss(a: Floats, b: Floats, fall: float | Floats, gap: float | Floats) -> Floats:
    """log((a + fall b)/(fall a + b)) without cancellation; gap is 1 - fall.

    >>> float(loss(np.array([1.0]), np.array([0.0]), math.exp(-3.0), -math.expm1(-3.0))[0])
    3.0
    """
    size = np.log1p(gap * np.abs(a - b) / (fall * np.maximum(a, b) + np.minimum(a, b)))
    return np.copysign(size, a - b)


# --- beyond the table

_SPREAD = 1.25  # of one level of deviations to the next
_SHRINK = 0.6
_LEVELS = 12

Level = tuple[float, float, float]  # (first, last, log of a bound of its probability)


def _log_beyond(gap: float, trials: float, chance: float) -> float:
    """Bernstein's bound on log Pr of a count this far from its mean."""
    variance = trials * chance * (1.0 - chance)
    return -0.5 * gap * gap / (variance + gap / 3.0) if gap > 0.0 else 0.0


def _levels(trials: int, chance: Fraction, *, above: bool) -> list[Level]:
    """The window of a count, then what is below it and (if asked) above it, level by level."""
    first, last = reach(trials, chance)
    share, mean = float(chance), float(trials * chance)
    results: list[Level] = [(float(first), float(last), 0.0)]
    end = first
    for i in range(_LEVELS):
        if end <= 0:
            break
        start = 0 if i == _LEVELS - 1 else math.floor(_SHRINK * end)
        results.append((float(start), float(end), _log_beyond(mean - end, trials, share)))
        end = start
    end = last
    while above and end < trials:
        stop = min(trials, math.ceil(end / _SHRINK))
        results.append((float(end), float(stop), _log_beyond(end - mean, trials, share)))
        end = stop
    return results


def _deviations(messages: float) -> list[float]:
    """Standard deviations of the ones among the messages at which a level begins; from the window's end."""
    third = -LOG_CUT / 3.0
    wide = third + math.sqrt(third * third - 0.5 * messages * LOG_CUT)
    results, at = [], 2.0 * wide / math.sqrt(messages)
    while at * math.sqrt(messages) < messages:
        results.append(at)
        at *= _SPREAD
    return results


def leftover(letters: Letters) -> tuple[Floats, Floats]:
    """(losses, logs of bounds of P-masses) of points beside the upper table of these letters."""
    n, fall = letters.clients, math.exp(-letters.eps0)
    many = letters.other > 0.0
    chance = Fraction(letters.other) / (1 - 2 * Fraction(letters.share)) if many else Fraction(0)
    losses, logs = [], []
    messages = _levels(n - 1, min(2 * Fraction(letters.share), Fraction(1)), above=True)
    for i, (first, last, log_messages) in enumerate(messages):
        others = [(0.0, 0.0, 0.0)]
        if many:
            others = _levels(max(n - int(last) - 1, 0), min(chance, Fraction(1)), above=False)
        for j, (beside, _, log_others) in enumerate(others):
            m, odds = max(first, 1.0), last + 1.0
            gap = -math.expm1(-letters.eps0) * odds / (odds + fall * beside)
            log_mass = min(log_messages, log_others)
            starts = _deviations(m)
            if i or j:  # the middle of this entry is in no table either
                losses.append(_loss(m, starts[0] if starts else math.inf, gap))
                logs.append(log_mass)
            for at in starts:
                losses.append(_loss(m, _SPREAD * at, gap))
                # the low ones, whose losses are below 0, are added to the high ones
                logs.append(log_mass - 0.5 * max(at - 2.0 / math.sqrt(m), 0.0) ** 2 + math.log(2.0))
    return np.array(losses), np.array(logs)


def _loss(messages: float, deviations: float, gap: float) -> float:
    """The loss of so many standard deviations more ones than half of the messages."""
    tilt = min(1.0, (deviations + 2.0 / math.sqrt(messages)) / math.sqrt(messages))
    # log((a + fall b)/(fall a + b)) with a, b = (1 +- tilt)/2
    return math.log1p(gap * tilt / (1.0 - gap * 0.5 * (1.0 + tilt))) if gap < 1.0 else math.inf
