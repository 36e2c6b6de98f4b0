"""Girgis, Data, Diggavi, Suresh, Kairouz. On the Renyi Differential Privacy of the Shuffle Model. 2021."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "girgis2021",
    "On the Renyi Differential Privacy of the Shuffle Model",
    "Girgis, Data, Diggavi, Suresh, Kairouz",
    2021,
    "CCS",
)


def simple_upper(alpha: int, epsilon: float, clients: int) -> float:
    """log(1 + C(alpha, 2) 4 (e^eps - 1)^2/N)/(alpha - 1), whatever the arguments.

    >>> round(simple_upper(8, 1.0, 2), 9)
    0.730575906
    """
    pairs = alpha * (alpha - 1) / 2.0
    return math.log1p(pairs * 4.0 * math.expm1(epsilon) ** 2 / clients) / (alpha - 1)


def fewest(alpha: int, epsilon: float) -> float:
    """The number of clients above which the simple upper bound is proved.

    >>> round(fewest(2, 0.0))
    144
    """
    return 9.0 * alpha**4 * math.exp(5.0 * epsilon)


@theorem(
    Entry(
        id="girgis2021.upper",
        locus="Simplified upper bound",
        claim="Shuffling N eps0-LDP clients has at most this Renyi divergence, for whole alpha >= 2 and "
        "N > 9 alpha^4 e^{5 eps0}.",
        maths=(
            r"\frac1{\alpha-1}\log\left(1+\binom\alpha2\frac{4(e^{\varepsilon_0}-1)^2}N\right),\quad "
            r"N>9\alpha^4e^{5\varepsilon_0}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            alpha=Integer(2, 8),
            epsilon=Real(0, 3, typical=(0.01, 1.2)),
            clients=Integer(
                Bound(
                    "9 alpha^4 e^(5 epsilon)", lambda alpha, epsilon: fewest(alpha, epsilon) + 1.0
                ),
                10**12,
            ),
        ),
        looseness="4 or more against randomised response",
        vectors=(
            Vector(
                at(alpha=2, epsilon=1, clients=30000),
                3.93588192939297e-4,
                source="mpmath, 30 digits",
            ),
        ),
        refuses=(at(alpha=2, epsilon=1, clients=21000), at(alpha=7, epsilon=1, clients=5000)),
    )
)
def upper(alpha: int, epsilon: float, clients: int) -> float:
    """Renyi divergence of whole order alpha, at most.

    >>> upper(2, 0.1, 1000) < 1e-4
    True
    """
    return simple_upper(alpha, epsilon, clients)


@theorem(
    Entry(
        id="girgis2021.lower",
        locus="Lower bound",
        claim="Some eps0-LDP mechanism, shuffled, has at least this Renyi divergence.",
        maths=(
            r"\frac1{\alpha-1}\log\left(1+\binom\alpha2"
            r"\frac{(e^{\varepsilon_0}-1)^2}{Ne^{\varepsilon_0}}\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.LOWER,
        domain=Where(
            alpha=Integer(2, 64),
            epsilon=Real(0, 10, typical=(0.05, 5)),
            clients=Integer(1, 10**9, typical=(1, 2000)),
        ),
        reason="Randomised response attains it at alpha = 2; other mechanisms may leak less.",
        vectors=(Vector(at(alpha=7, epsilon=3, clients=10), 0.6109529652195),),
    )
)
def lower(alpha: int, epsilon: float, clients: int) -> float:
    """Renyi divergence of whole order alpha, at least, of shuffled randomised response.

    >>> round(lower(7, 3.0, 10), 9)
    0.610952965
    """
    pairs = alpha * (alpha - 1) / 2.0
    # (e^g - 1)^2/e^g = 4 sinh(g/2)^2
    return math.log1p(pairs * 4.0 * math.sinh(0.5 * epsilon) ** 2 / clients) / (alpha - 1)
