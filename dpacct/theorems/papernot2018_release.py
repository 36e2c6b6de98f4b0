"""Papernot et al. 2018, Appendix B: publishing a data-dependent cost by its smooth sensitivity (GNSS)."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.papernot2018 import PAPER as PAPER
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"
_DOMAIN = Where(
    order=Real(1, typical=(1.2, 60)),
    beta=Real(0, Bound("1/(2 order)", lambda order: 0.5 / order)),
    sigma=Real(0, typical=(0.3, 60)),
)


@theorem(
    Entry(
        id="papernot2018.theorem23",
        locus="Theorem 23, as tensorflow/privacy evaluates it",
        claim="F(D) + S(D) N(0, sigma^2), S a beta-smooth bound on F's sensitivity, has this Renyi cost.",
        maths=(
            r"\frac{\lambda e^{2\beta}}{\sigma^2}+\frac{\beta\lambda-\tfrac12\log(1-2\lambda\beta)}"
            r"{\lambda-1},\quad1<\lambda<\tfrac1{2\beta}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_DOMAIN,
        reason=(
            "If the neighbour has the smaller noise, sigma S e^{-beta}, the means' share of the Gaussian"
            " divergence is lambda Delta^2/(2 sigma_*^2) with sigma_*^2 = sigma^2 S^2 (1 - lambda + lambda"
            " e^{-2 beta}), which goes to 0 as 2 lambda beta goes to 1; here it stays at twice that of"
            " equal noise. At lambda = 25, 2 lambda beta = 0.8, sigma = 20, as one would choose them, the"
            " cost is 0.158 and not 0.115. With much noise the last term is too large, and the bound holds."
            " Read from the released code (research/pate_2018), not from the paper."
        ),
        corrected_by="papernot2018.theorem23_corrected",
        witness=Witness(
            at(order=25, beta="0.016", sigma=20),
            "N(0, 20^2) against N(e^{-0.016}, (20 e^{-0.016})^2): 0.158 against 0.115.",
        ),
        vectors=(
            Vector(
                at(order=25, beta="0.016", sigma=20),
                0.11472896725728033,
                0.15790138403054781,
                source=_MPMATH,
            ),
            Vector(
                at(order=10, beta="0.04", sigma=1),
                10.966728338551480,
                20.003668014815548,
                source=_MPMATH,
            ),
        ),
    )
)
def theorem23(order: float, beta: float, sigma: float) -> float:
    """The Renyi cost as the released code has it.

    >>> round(theorem23(25.0, 0.016, 20.0), 9)
    0.114728967
    """
    spread = -0.5 * math.log1p(-2.0 * order * beta) + beta * order
    return order * math.exp(2.0 * beta) / sigma**2 + spread / (order - 1.0)


def publication(order: float, beta: float, sigma: float, raised: float = 0.0) -> float:
    """Renyi cost of F + S (raised sigma + N(0, sigma^2)); inf where the order is too large for beta.

    `raised` lifts the published value by so many standard deviations.

    >>> round(publication(25.0, 0.016, 20.0), 9)
    0.157901384
    >>> round(publication(10.0, 0.04, 5.0, 1.6448536269514722), 9)
    1.461695547
    """
    power = order - 1.0
    rest = 1.0 + order * math.expm1(-2.0 * beta)  # 1 - lambda + lambda e^{-2 beta}
    if rest <= 0.0:
        return math.inf
    distance = 1.0 + raised * sigma * math.expm1(beta)
    means = order * distance**2 * math.exp(-2.0 * beta) / (2.0 * sigma**2 * rest)
    shrunk = -order / power * beta - math.log(rest) / (2.0 * power)
    grown = order / power * beta - math.log1p(order * math.expm1(2.0 * beta)) / (2.0 * power)
    return means + max(shrunk, grown)


@theorem(
    Entry(
        id="papernot2018.theorem23_corrected",
        locus="Theorem 23, corrected",
        claim="F(D) + S(D) N(0, sigma^2) has this Renyi cost, which a pair of neighbours can attain.",
        maths=(
            r"\frac{\lambda e^{-2\beta}}{2\sigma^2\theta}+\max_{r=e^{\pm\beta}}\left(\tfrac\lambda{\lambda-1}"
            r"\log r-\tfrac{\log(1-\lambda+\lambda r^2)}{2(\lambda-1)}\right),\quad"
            r"\theta=1-\lambda+\lambda e^{-2\beta}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_DOMAIN,
        derivation=(
            r"Let $r=S'/S\in[e^{-\beta},e^\beta]$; the values differ by at most $S\min(1,r)$, since $S$ and"
            r" $S'$ both bound the difference. The divergence of two normal laws is"
            r" $\frac{\lambda\min(1,r)^2}{2\sigma^2\theta_r}+T(r)$, $\theta_r=1-\lambda+\lambda r^2$,"
            r" $T(r)=\frac\lambda{\lambda-1}\log r-\frac{\log\theta_r}{2(\lambda-1)}$. The first term falls"
            r" with $r$ for $r\le1$ ($r^2/\theta_r=1/(\lambda-(\lambda-1)r^{-2})$) and for $r\ge1$, so it is"
            r" largest at $e^{-\beta}$; $T'(r)=\lambda(r^2-1)/(r\theta_r)$, so $T$ is largest at an end. It"
            r" is infinite where $\theta\le0$. A value that is raised by $z$ deviations moves by"
            r" $z\sigma|S-S'|$ more, so $\min(1,r)$ becomes at most $\min(1,r)(1+z\sigma(e^\beta-1))$."
        ),
        vectors=(
            Vector(
                at(order=10, beta="0.04", sigma=1),
                20.003668014815548,
                20.003668014815548,
                source=_MPMATH,
            ),
            Vector(at(order=25, beta="0.016", sigma=20), 0.15790138403054781, source=_MPMATH),
            Vector(at(order=2, beta="0.05", sigma=3), 0.12973148006607281, source=_MPMATH),
        ),
        refuses=(at(order=10, beta="0.051", sigma=1),),
    )
)
def theorem23_corrected(order: float, beta: float, sigma: float) -> float:
    """Renyi cost of publishing a value with noise sigma times its smooth sensitivity.

    >>> round(theorem23_corrected(10.0, 0.04, 1.0), 9)
    20.003668015
    """
    return publication(order, beta, sigma)
