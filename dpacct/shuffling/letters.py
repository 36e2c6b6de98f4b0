"""The letters of a shuffle's messages: two that reveal the sender's value, and others that hide it.

After the reduction of docs/theory/shuffling.md every client sends, independently,

    letter 0 or 1, each with probability `share`     (the differing client: e^eps0 share for its own one)
    another letter, with probability `other`         (the differing client as well)
    anything else                                    (the differing client: `rest_weight` times that)

and what is left of the shuffle is how often each was sent. With m messages of the letters 0 and 1 and o' =
(other letters) + rest_weight (rest), the differing client is among the m with a known probability, and its
letter is a randomised response of odds (e^eps0 m + o') : (m + o') hidden among m - 1 fair coins. Fewer
messages or larger odds tell more, which is what rounding to the safe side means here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpacct.pld.binomial import LOG_CUT, log_pmf, reach, tails
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
    """At most `count` blocks of whole numbers, from first to last: narrow around the centre."""
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
    """How `blocks` are shared out between the others and the messages: by what either spread tells."""
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
    """The same where others hide the differing client: o given m is binomial, or one more than that.

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
