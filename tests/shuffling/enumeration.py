"""Shuffles enumerated: the law of the histogram of a few messages, from nothing but the randomiser's table.

No formula of the package is used: a randomiser is a list of rows (one per input) of probabilities of letters.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

Number = TypeVar("Number")
Histogram = tuple[int, ...]


def histogram(rows: Sequence[Sequence[Number]], letters: int) -> dict[Histogram, Number]:
    """The law of how often each letter is sent, one client per row."""
    laws: dict[Histogram, Number] = {}
    for i, row in enumerate(rows):
        following: dict[Histogram, Number] = {}
        before = laws.items() if i else [((0,) * letters, None)]
        for seen, chance in before:
            for letter, share in enumerate(row):
                if not share:
                    continue
                now = (*seen[:letter], seen[letter] + 1, *seen[letter + 1 :])
                mass = share if chance is None else chance * share  # type: ignore[operator]
                following[now] = following[now] + mass if now in following else mass
        laws = following
    return laws


def worse_delta(p: dict[Histogram, float], q: dict[Histogram, float], growth: float) -> float:
    """The larger of both directions' deltas, growth = e^epsilon."""

    def one_way(a: dict[Histogram, float], b: dict[Histogram, float]) -> float:
        return math.fsum(max(0.0, mass - growth * b.get(seen, 0.0)) for seen, mass in a.items())

    return max(one_way(p, q), one_way(q, p))


def delta(
    row: Sequence[float],
    other_row: Sequence[float],
    others: Sequence[Sequence[float]],
    epsilon: float,
) -> float:
    """Delta of a shuffle: the differing client sends by `row` or by `other_row`, the rest by `others`."""
    letters = len(row)
    first = histogram([*others, row], letters)
    second = histogram([*others, other_row], letters)
    return worse_delta(first, second, math.exp(epsilon))


def random_rows(rng: Random, inputs: int, letters: int, eps0: float) -> list[list[float]]:
    """A randomiser that is eps0-DP: weights within e^eps0 of each other per letter, put right to sum to 1.

    Extreme ones are as likely as others: mostly each weight is at one end or the other.
    """
    extreme = rng.random() < 0.7
    while True:
        rows = []
        for _ in range(inputs):
            weights = [
                (rng.choice((0.0, eps0)) if extreme else rng.uniform(0.0, eps0))
                for _ in range(letters)
            ]
            rows.append([math.exp(w) for w in weights])
        base = [math.exp(rng.gauss(0.0, 1.5)) for _ in range(letters)]
        rows = [[w * b for w, b in zip(row, base, strict=True)] for row in rows]
        # a common letter takes what is missing to the largest sum, so ratios stay in range
        most = max(math.fsum(row) for row in rows)
        spare = [most - math.fsum(row) for row in rows]
        floor = max(spare) / math.expm1(eps0) if max(spare) > 0.0 else 0.0
        whole = most + floor
        made = [
            [w / whole for w in row] + [(s + floor) / whole]
            for row, s in zip(rows, spare, strict=True)
        ]
        if all(_close(a, b, eps0) for a in made for b in made):
            return made


def _close(a: Sequence[float], b: Sequence[float], eps0: float) -> bool:
    return all(x <= y * math.exp(eps0) * (1.0 + 1e-12) for x, y in zip(a, b, strict=True))


def response(k: int, eps0: float) -> list[list[float]]:
    """Randomised response on k answers."""
    lie = 1.0 / (math.exp(eps0) + k - 1.0)
    return [[math.exp(eps0) * lie if i == j else lie for j in range(k)] for i in range(k)]
