"""Geng, Viswanath. The Optimal Mechanism in Differential Privacy. ISIT 2014: the staircase.

Sensitivity 1; lam is the pure epsilon, nu in [0, 1] the shape (gamma there).
"""

from __future__ import annotations

import math

from dpacct.domain import Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "geng2014", "The Optimal Mechanism in Differential Privacy", "Geng, Viswanath", 2014, "ISIT"
)


@theorem(
    Entry(
        id="geng2014.amplitude",
        locus="Cost of the staircase, l1",
        claim="E|X| of the one-dimensional staircase.",
        maths=(
            r"E|X|=\frac{a(\nu^2+e^{-\lambda}(1-\nu^2))+e^{-\lambda}}{1-e^{-\lambda}},\quad "
            r"a=\frac{1-e^{-\lambda}}{2(\nu+e^{-\lambda}(1-\nu))}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(lam=Real(0, 100, typical=(0.05, 12)), nu=Real(0, 1, "both")),
        derivation=(
            r"With $I=\int_0^\infty xf$ and $f(x+1)=e^{-\lambda}f(x)$, $I=\int_0^1xf+e^{-\lambda}I"
            r"+e^{-\lambda}/2$, and the first integral is $a(\nu^2+e^{-\lambda}(1-\nu^2))/2$ with the"
            r" normaliser $a$. Solve for $I$ and double it."
        ),
        vectors=(Vector(at(lam=1, nu="0.3775406687981454"), 0.959517375667472, 0.959517375667472),),
        refuses=(at(lam=1, nu="1.01"),),
    )
)
def amplitude(lam: float, nu: float) -> float:
    """Mean absolute value.

    >>> round(amplitude(1.0, 0.3775406687981454), 12)
    0.959517375667
    """
    b = math.exp(-lam)
    height = -math.expm1(-lam) / (2.0 * (nu + b * (1.0 - nu)))
    return (height * (nu * nu + b - b * nu * nu) + b) / -math.expm1(-lam)


def best_nu(lam: float) -> float:
    """The shape of least E|X|: 1/(1 + e^{lam/2}).

    >>> best_nu(0.0)
    0.5
    """
    return 1.0 / (1.0 + math.exp(0.5 * lam))


@theorem(
    Entry(
        id="geng2014.least_amplitude",
        locus="Optimal shape, l1",
        claim="nu = 1/(1 + e^{lam/2}) minimises E|X| of the staircase, at this value.",
        maths=r"\min_\nu E|X|=\frac{e^{\lambda/2}}{e^\lambda-1}",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.TWO_SIDED,
        domain=Where(lam=Real(0, 20, "right", typical=(0.05, 12))),
        vectors=(
            Vector(at(lam="0.1"), 9.995834548290839),
            Vector(at(lam=1), 0.959517375667472, 0.959517375667472),
            Vector(at(lam=3), 0.234821220297612),
        ),
    )
)
def least_amplitude(lam: float) -> float:
    """The least mean absolute value.

    >>> round(least_amplitude(1.0), 12)
    0.959517375667
    """
    return math.exp(-0.5 * lam) / -math.expm1(-lam)


@theorem(
    Entry(
        id="geng2014.least_variance",
        locus="Optimal shape, l2",
        claim="The nu that minimises the variance of the staircase.",
        maths=r"\nu=-\frac b{1-b}+\frac{(b-2b^2+2b^4-b^5)^{1/3}}{2^{1/3}(1-b)^2},\quad b=e^{-\lambda}",
        verdict=Verdict.HOLDS,
        status=Status.PROVED,
        side=Side.TWO_SIDED,
        domain=Where(lam=Real("0.05", 30, "both")),
        derivation=(
            r"The level is geometric and the place on a level has density 1 below $\nu$ and $b$ above, both"
            r" up to the factor $1/(\nu+b(1-\nu))$. The derivative of $E X^2$ in $\nu$ has the sign of"
            r" $2u^3-b(1+b)$ with $u=(1-b)\nu+b$, which increases in $\nu$ and is zero at the printed root,"
            r" as $b-2b^2+2b^4-b^5=b(1+b)(1-b)^3$."
        ),
        vectors=(
            Vector(at(lam=1), 0.41673743492888243, source="mpmath, 40 digits"),
            Vector(at(lam=3), 0.25990646441581841, source="mpmath, 40 digits"),
        ),
        refuses=(at(lam="0.049"),),
    )
)
def least_variance(lam: float) -> float:
    """The best shape for the variance.

    >>> 0.0 < least_variance(1.0) < 0.5
    True
    """
    b = math.exp(-lam)
    root = math.pow(b - 2.0 * b**2 + 2.0 * b**4 - b**5, 1.0 / 3.0)
    return -b / (1.0 - b) + root / (math.pow(2.0, 1.0 / 3.0) * (1.0 - b) ** 2)
