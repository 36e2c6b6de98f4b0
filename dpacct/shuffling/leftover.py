"""Points that dominate the part of a mixture that its table leaves out.

A table follows each binomial law to e^LOG_CUT. Beyond, tails are cut into levels; a level's probability is
bounded at its near end (Bernstein, Hoeffding), and its loss at its far end. So moments of high order stay
what they are, which one point at eps0 for everything would spoil.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpacct.pld.binomial import LOG_CUT, reach
from dpacct.pld.stable import Floats

from .letters import Letters

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
