"""A proof of a two-level epsilon: the mean over the number of rounds that took place, each delta proven.

Public coins make delta(eps) = sum over k of C(R,k) p^k (1-p)^{R-k} delta_k(eps), delta_k that of k rounds.
The engine's answer, moved outwards by a hair, is proven by one such sum above and one below: every delta_k is
enclosed by the certificate, weights are exact, and what is left out is charged, since delta_k grows with k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpacct.answer import Answer
from dpacct.citations import MEAN_OF_ROUNDS
from dpacct.errors import NotCertified
from dpacct.plan.node import Node
from dpacct.vocabulary import Strength

MOST_TERMS = 600
"""The most terms of one sum: each needs a proof for its number of rounds."""
_HAIR = Fraction(1, 10**8)
_LEFT_OUT = 1e-9  # of delta: what may be left out of a sum


@dataclass(frozen=True)
class Rounds:
    """So many rounds, each taking place by a coin of this rate; `plan(k)` is that of k that took place."""

    plan: Callable[[int], Node]
    rate: Fraction
    count: int

    @cached_property
    def _whole(self) -> int:
        return int(self.rate.denominator**self.count)

    def weight(self, k: int) -> Fraction:
        """The probability, exactly, that k rounds take place."""
        taken = self.rate.numerator**k
        rest = (self.rate.denominator - self.rate.numerator) ** (self.count - k)
        return Fraction(math.comb(self.count, k) * taken * rest, self._whole)

    def _ends(self, k: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        answer = self.plan(k).delta(epsilon=epsilon, method="certified")
        assert answer.lower is not None and answer.upper is not None
        return Fraction(answer.lower), Fraction(answer.upper)

    def above(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether delta at epsilon is proven to be at most `delta`."""
        small = delta * Fraction(_LEFT_OUT)
        # from above: all rounds beyond `k` are charged in full
        k, charged = self.count, Fraction(0)
        while k > 0 and charged + self.weight(k) <= small:
            charged += self.weight(k)
            k -= 1
        total, left = charged, 1 - charged
        for _ in range(MOST_TERMS):
            if total > delta:
                return False
            if k == 0:
                return True
            _, upper = self._ends(k, epsilon)
            if upper * left <= small:  # no smaller number of rounds loses more
                return total + upper * left <= delta
            weight = self.weight(k)
            total, left, k = total + weight * upper, left - weight, k - 1
        message = f"a proof takes more than {MOST_TERMS} numbers of rounds: it is withheld"
        raise NotCertified(message)

    def below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether delta at epsilon, of a pair that data sets have, is proven to be at least `delta`."""
        k, total = self.count, Fraction(0)
        while k > 0 and self.weight(k) <= delta * Fraction(_LEFT_OUT):
            k -= 1
        for _ in range(MOST_TERMS):
            if total >= delta or k == 0:
                return total >= delta
            lower, upper = self._ends(k, epsilon)
            total, k = total + self.weight(k) * lower, k - 1
            if total < delta and upper * 2 <= (delta - total) * Fraction(_LEFT_OUT):
                return False
        return False

    def proved_lower(self, lower: float | None, delta: Fraction) -> float | None:
        """A lower end of epsilon, moved a hair and proven; None stays None. Raises `NotCertified`."""
        if lower is None or lower <= 0.0:
            return lower
        moved = lower * (1.0 - float(_HAIR))
        if not self.below(Fraction(moved), delta):
            raise NotCertified(f"the lower end {moved:.9g} could not be proven: it is withheld")
        return moved

    def proved(self, answer: Answer, delta: Fraction) -> Answer:
        """The answer with its two ends proven, each moved outwards by a part in 10^8.

        Raises `NotCertified` where an end can't be proven.
        """
        if answer.strength is Strength.PROVED:
            return answer
        assert answer.upper is not None
        upper = float(answer.upper * (1.0 + float(_HAIR)))
        if not self.above(Fraction(upper), delta):
            raise NotCertified(f"epsilon {upper:.9g} could not be proven: it is withheld")
        return replace(
            answer,
            lower=self.proved_lower(answer.lower, delta),
            upper=upper,
            strength=Strength.PROVED,
            method="certified",
            basis=(*answer.basis, MEAN_OF_ROUNDS),
        )
