"""Fifty-digit truths of pairs of finitely many outcomes: every composition is a multinomial sum."""

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

from mpmath import mp, mpf

mp.dps = 50
Table = tuple[Sequence[mpf], Sequence[mpf]]


def multinomial(counts: Sequence[int]) -> mpf:
    total = mp.factorial(sum(counts))
    for n in counts:
        total /= mp.factorial(n)
    return total


def delta(table: Table, steps: int, epsilon: mpf) -> mpf:
    """E_P[(1 - e^{eps - L})_+] of `steps` independent draws, outcome by outcome."""
    p, q = table
    growth, result = mp.exp(mpf(epsilon)), mpf(0)
    for chosen in combinations_with_replacement(range(len(p)), steps):
        counts = [chosen.count(i) for i in range(len(p))]
        weight = multinomial(counts)
        high = mp.fprod(x**n for x, n in zip(p, counts, strict=True))
        low = mp.fprod(x**n for x, n in zip(q, counts, strict=True))
        result += weight * max(mpf(0), high - growth * low)
    return result


def two_sided(table: Table, steps: int, epsilon: mpf) -> mpf:
    """The worse of both directions."""
    return max(delta(table, steps, epsilon), delta(table[::-1], steps, epsilon))


def poisson(table: Table, rate: mpf) -> Table:
    """(mixture, Q): the unit is sampled with this probability."""
    p, q = table
    return [rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True)], q


def renyi(table: Table, order: mpf) -> mpf:
    p, q = table
    total = mp.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True) if a)
    return mp.log(total) / (order - 1)


def symmetric_thinned(table: Table, rate: mpf) -> Table:
    """C_rate of a symmetric pair, from its definition: the conjugate twice of two tilted curves.

    Its profile is that of ((1-q) Q + q P, Q) for eps >= 0; as a pair: the outcomes that favour P, their
    mirror images, and one outcome without evidence for the rest.
    """
    p, q = table
    favoured = [(rate * a + (1 - rate) * b, b) for a, b in zip(p, q, strict=True) if a > b]
    rest = 1 - mp.fsum(a + b for a, b in favoured)
    outcomes = [*favoured, *((b, a) for a, b in favoured), (rest, rest)]
    return [a for a, _ in outcomes], [b for _, b in outcomes]


def agrees(value: float | None, truth: mpf, relative: float) -> bool:
    assert value is not None
    return abs(mpf(value) - truth) <= relative * abs(truth)


Density = Callable[[mpf], mpf]
