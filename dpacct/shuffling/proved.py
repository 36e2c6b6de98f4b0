"""Shuffles in balls, for proofs: how much of either law lies beyond a loss.

After the reduction of docs/theory/shuffling.md a shuffle is a mixture of randomised responses, each hidden
among fair coins: a ones among m messages, a - 1 or a of them of B ~ Bin(m - 1, c), c = 1/2, so that

    P(a >= t) = p Pr[B >= t-1] + (1-p) Pr[B >= t],    Q(a >= t) = (1-p) Pr[B >= t-1] + p Pr[B >= t].

The count of ones for named inputs is one such response with another c. The loss grows with a, and is at least
u from

    t = m c (g p - (1-p)) / ((1-c)(p - g (1-p)) + c (g p - (1-p))),    g = e^u    (theorem 18).

Rare numbers m are left out: their probability counts as an infinite loss above, and as nothing below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from dpacct.errors import NotCertified
from dpacct.pld.loss import LossDistribution, Tabled
from dpacct.pld.pair import Stated, StatedPairs

if TYPE_CHECKING:
    from flint import arb

_CUT = 0.55  # of the working precision, in bits: what is left out of a sum of chances
_BLOCKS = 400  # responses of a law that is tabulated
_WIDE, _READINGS = 15.0, 30  # deviations that a number of messages spans; readings of a question
# seconds of one message more, of a term of a tail, of a level of a response
_STEP, _TERM, _LEVEL = 4e-6, 1e-6, 3e-6


Masses = tuple["arb", "arb"]
"""(P-mass, Q-mass)."""


def upper_pair(clients: int, eps0: arb) -> LossDistribution:
    """Any randomiser, or a response with two answers: one response among 1 + Bin(n-1, 2/(e^eps0+1))."""
    return _law(Hidden(clients, eps0, realised=False))


def lower_pair(clients: int, eps0: arb) -> LossDistribution:
    """Responses with three answers, where all others hold the third."""
    return _law(Hidden(clients, eps0, realised=True))


def count_pair(clients: int, eps0: arb, back: int) -> LossDistribution:
    """The ones of one client that holds a one among zeros, against none; or `back`."""
    return _law(ProofCount(clients, eps0, bool(back)))


def _law(tabled: Tabled) -> LossDistribution:
    return LossDistribution(branches=(tabled,), infinite=tabled.left_out)  # type: ignore[arg-type]


def directions(clients: int, eps0: Fraction, answers: int) -> StatedPairs:
    """State the dominating and the realised pairs of a shuffle, any randomiser or a two-answer response."""
    numbers = clients, eps0
    seconds = _READINGS * _STEP * min(clients, _WIDE * math.sqrt(clients)) + 0.05
    lower = tuple(Stated(count_pair, (*numbers, back), tabled=True) for back in (0, 1))
    if answers != 2:
        lower = (Stated(lower_pair, numbers, seconds=seconds, tabled=True), *lower)
    return StatedPairs((Stated(upper_pair, numbers, seconds=seconds, tabled=True),), lower)


@dataclass(frozen=True, eq=False)
class Response:
    """So many messages, the telling one a one with probability `first` under P; the others with `chance`.

    `top`: the loss of messages that are all ones, log(first/(1 - first)), where that is known exactly.
    """

    messages: int
    chance: arb
    first: arb
    top: arb | None = None

    def starts(self, growth: arb, level: arb) -> int:
        """The least number of ones at which the loss is at least the level, growth = e^level."""
        m, c, p = self.messages, self.chance, self.first
        if level.is_zero():
            share = c
        elif self.top is not None and (level - self.top).is_zero():
            return m
        elif self.top is not None and (level + self.top).is_zero():
            return 0
        else:
            rise, fall = growth * p - (1 - p), p - growth * (1 - p)
            if rise <= 0:
                return 0
            if fall < 0:
                return m + 1
            share = c * rise / ((1 - c) * fall + c * rise)
        start = (m * share).ceil().unique_fmpz()
        if start is None:
            raise NotCertified("a loss cannot be told from a level: the value is withheld")
        return int(start)

    def both(self, last: arb, beyond: arb) -> Masses:
        """P- and Q-mass of at least t ones, from Pr[B = t-1] and Pr[B >= t]."""
        p, more = self.first, beyond + last
        return p * more + (1 - p) * beyond, (1 - p) * more + p * beyond

    def tails(self, starts: Sequence[int], cut: arb) -> list[tuple[arb, arb]]:
        """(Pr[B = t-1], Pr[B >= t]) at each of some t, rising."""
        from flint import arb

        trials, c = self.messages - 1, self.chance
        odds = c / (1 - c)
        mode = min(trials, math.floor(float(self.messages * c.mid())))
        top = _binomial(trials, mode, c)
        chances: dict[int, arb] = {mode: top}
        value = top
        for k in range(mode + 1, trials + 1):
            value = value * (trials - k + 1) / k * odds
            chances[k] = value
            if value < cut:
                break
        highest = max(chances)
        rest = arb(0)
        if highest < trials:  # ratios fall: a geometric series
            ratio = odds * (trials - highest) / (highest + 1)
            rest = (chances[highest] * ratio / (1 - ratio)).union(arb(0))
        value = top
        for k in range(mode - 1, max(min(starts, default=0) - 2, -1), -1):
            value = value * (k + 1) / (trials - k) / odds
            chances[k] = value
            if value < cut:
                break
        lowest = min(chances)
        below = arb(0)
        if lowest > 0:
            ratio = arb(lowest) / (trials - lowest + 1) / odds
            below = (chances[lowest] * ratio / (1 - ratio)).union(arb(0)) if ratio < 1 else arb(1)
        at, total, results = highest, rest, list[tuple[arb, arb]]()
        nothing = arb(0)
        for t in reversed(starts):
            while at >= max(t, lowest):
                total += chances[at]
                at -= 1
            if t > highest + 1:
                results.append((nothing.union(rest), nothing.union(rest)))
            elif t <= lowest:
                last = nothing if t <= 0 else nothing.union(below)
                results.append((last, total + nothing.union(below) if t > 0 else arb(1)))
            else:
                results.append((chances[t - 1], total))
        return results[::-1]


def _binomial(trials: int, k: int, chance: arb) -> arb:
    """Pr[Bin(trials, chance) = k]."""
    from flint import arb

    log = arb(trials + 1).lgamma() - arb(k + 1).lgamma() - arb(trials - k + 1).lgamma()
    return (log + k * chance.log() + (trials - k) * (-chance).log1p()).exp()


class ProofCount(Tabled):
    """One client answers one and all others zero, against all zero."""

    def __init__(self, clients: int, eps0: arb, back: bool) -> None:
        from flint import arb

        lie = 1 / (eps0.exp() + 1)
        self._response, self._back, self._eps0 = Response(clients, lie, 1 - lie, eps0), back, eps0
        self.left_out = arb(0)

    def largest(self) -> arb:
        """No outcome tells more than one answer does."""
        return self._eps0

    def seconds(self, levels: int) -> float:
        """About what so many levels cost."""
        return 2.0 * _WIDE * _TERM * math.sqrt(self._response.messages) + levels * _LEVEL

    def beyond(self, levels: Sequence[arb]) -> list[Masses]:
        """Masses of the losses of at least each level, which rise."""
        from flint import arb, ctx

        if self._back:
            levels = [-level for level in reversed(levels)]
        starts = [self._response.starts(level.exp(), level) for level in levels]
        tails = self._response.tails(starts, arb(2) ** -math.floor(_CUT * ctx.prec))
        masses = [self._response.both(*tail) for tail in tails]
        if not self._back:
            return masses
        # what is at least -u one way is less than u the other way, but for a mass at u
        return [(1 - q, 1 - p) for p, q in reversed(masses)]


class Hidden(Tabled):
    """A mixture over the number of messages that hide a response."""

    def __init__(self, clients: int, eps0: arb, realised: bool) -> None:
        self._clients, self._eps0, self._realised = clients, eps0, realised
        self._fall = (-eps0).exp()

    def largest(self) -> arb:
        """No outcome tells more than one message does."""
        return self._eps0

    def seconds(self, levels: int) -> float:
        """About what so many levels cost."""
        wide = min(self._clients, _WIDE * math.sqrt(self._clients))
        return min(wide, _BLOCKS) * (_TERM * wide + levels * _LEVEL)

    @cached_property
    def _weights(self) -> tuple[int, list[arb], arb]:
        """The least number of messages, the chances of it and of more, and what these leave out at most."""
        from flint import arb, ctx

        others = self._clients - 1
        share = 2 * self._fall / (1 + (2 if self._realised else 1) * self._fall)
        cut = arb(2) ** -math.floor(_CUT * ctx.prec)
        mode = min(others, math.floor(float(self._clients * share.mid())))
        top, odds = _binomial(others, mode, share), share / (1 - share)
        up, down, left = [top], list[arb](), arb(0)
        for k in range(mode + 1, others + 1):
            up.append(up[-1] * (others - k + 1) / k * odds)
            if up[-1] < cut:
                ratio = odds * (others - k) / (k + 1)
                left += up[-1] * ratio / (1 - ratio)
                break
        value = top
        for k in range(mode - 1, -1, -1):
            value = value * (k + 1) / (others - k) / odds
            down.append(value)
            if value < cut:
                ratio = arb(k) / (others - k + 1) / odds
                left += value * ratio / (1 - ratio)
                break
        first, clones = mode - len(down), [*down[::-1], *up]
        if not self._realised:
            return first + 1, clones, left
        # the third answer says e^-eps0 of the differing client: it is among the m with the rest
        telling = 1 - self._fall * (1 - share)
        weights = [
            telling * a + (1 - telling) * b
            for a, b in zip([arb(0), *clones], [*clones, arb(0)], strict=True)
        ]
        return first, weights, left

    @cached_property
    def left_out(self) -> arb:
        """The mass left out: anything from nothing to an infinite loss."""
        from flint import arb

        return arb(0).union(self._weights[2])

    def _response(self, messages: int, odds: int) -> Response:
        """Return the response of so many messages, with the odds of another number of them."""
        from flint import arb

        fall, top = self._fall, None if self._realised else self._eps0
        if self._realised:
            beside = fall * (self._clients - odds)
            fall = fall * (odds + beside) / (odds + fall * beside) if odds else arb(1)
            if odds == self._clients:
                top = self._eps0
        return Response(max(messages, 1), arb(0.5), 1 / (1 + fall), top)

    def beyond(self, levels: Sequence[arb]) -> list[Masses]:
        """Masses of the losses of at least each level, which rise; numbers of messages in blocks.

        Fewer messages and larger odds tell more: above the fewest of a block are taken, below the most, and
        the odds of the fewest.
        """
        from flint import arb, ctx

        first, weights, _ = self._weights
        size = -(-len(weights) // _BLOCKS)
        cut, growths = arb(2) ** -math.floor(_CUT * ctx.prec), [level.exp() for level in levels]
        sums = [(arb(0), arb(0))] * len(levels)
        for at in range(0, len(weights), size):
            block = weights[at : at + size]
            least, most = first + at, first + at + len(block) - 1
            weight = sum(block, arb(0))
            response = self._response(most if self._realised else least, least)
            starts = [response.starts(g, u) for g, u in zip(growths, levels, strict=True)]
            for i, tail in enumerate(response.tails(starts, cut)):
                p, q = response.both(*tail)
                sums[i] = sums[i][0] + weight * p, sums[i][1] + weight * q
        return sums

    def one_step(self, epsilon: arb) -> arb:
        """Delta of a single shuffle, number by number of the messages, by Pascal's rule."""
        from flint import arb

        first, weights, _ = self._weights
        growth, total = epsilon.exp(), arb(0)
        for weight, (response, tail) in zip(
            weights, self._swept(first, len(weights), epsilon), strict=True
        ):
            p, q = response.both(*tail)
            total += weight * (p - growth * q)
        return total

    def _swept(
        self, first: int, count: int, level: arb
    ) -> Iterator[tuple[Response, tuple[arb, arb]]]:
        """Each number of messages, with (Pr[B = t-1], Pr[B >= t]) at the level's t."""
        from flint import arb, ctx

        cut, growth = arb(2) ** -ctx.prec, level.exp()
        last = beyond = arb(0)
        at = -1  # of the number of ones that both are about; none yet
        for m in range(first, first + count):
            response = self._response(m, m)
            t = response.starts(growth, level)
            if not 1 <= t < m:
                at = -1
                yield response, response.tails([t], cut)[0]
                continue
            if at < 0:
                last, beyond = response.tails([t], cut)[0]
                at = t
            else:  # one coin more: Pr[B' >= t] = Pr[B >= t] + Pr[B = t-1]/2
                before = last * (at - 1) / (m - at)  # Pr[B = t-2] of m - 2 coins
                last, beyond = (last + before) / 2, beyond + last / 2
            while at < t:
                last = last * (m - at) / at
                beyond, at = beyond - last, at + 1
            while at > t:
                beyond, last, at = beyond + last, last * (at - 1) / (m - at + 1), at - 1
            yield response, (last, beyond)
