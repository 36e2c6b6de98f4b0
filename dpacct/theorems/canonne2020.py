"""Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.

Proposition 12 (the same as Balle, Barthe, Gaboardi, Hsu, Sato 2020, Theorem 21): from
(1 - e^{-y})_+ <= e^{sy} s^s/(1+s)^{1+s} for every s > 0.
"""

from __future__ import annotations

import math

from dpacct.domain import Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "canonne2020",
    "The Discrete Gaussian for Differential Privacy",
    "Canonne, Kamath, Steinke",
    2020,
    "NeurIPS",
)


CONVERSION = Where(
    alpha=Real(1, typical=(1.01, 300)),
    rho=Real(0, typical=(1e-6, 30)),
    delta=Real(0, 1, typical=(1e-12, 0.5)),
)
"""What a conversion of one Renyi order to epsilon takes, whoever states it."""


def log_peak(s: float) -> float:
    """log(s^s / (1+s)^{1+s}).

    >>> round(math.exp(log_peak(1.0)), 12)
    0.25
    """
    return -math.log1p(s) - s * math.log1p(1.0 / s)


def log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """delta <= M(s) e^{-s eps} s^s/(1+s)^{1+s}, M(s) = E_P[e^{sL}], order = s + 1.

    >>> round(log_delta(0.0, 1.0, 0.0), 9)
    -1.386294361
    """
    return log_moment - s * epsilon + log_peak(s)


def epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """eps = rdp + log(1 - 1/order) - (log delta + log order)/(order - 1), order = s + 1.

    >>> round(epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.214109168
    """
    return (log_moment - log_delta + log_peak(s)) / s


@theorem(
    Entry(
        id="canonne2020.proposition12",
        locus="Proposition 12",
        claim="An (alpha, rho)-RDP mechanism is (eps, delta)-DP with this eps.",
        maths=(
            r"\varepsilon=\rho+\log\left(1-\tfrac1\alpha\right)"
            r"-\frac{\log\delta+\log\alpha}{\alpha-1}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=CONVERSION,
        looseness="only the conversion of one order; the whole Renyi curve says more",
        derivation=(
            r"For every loss $l$ and $s>0$, $(1-e^{\varepsilon-l})_+\le e^{s(l-\varepsilon)}"
            r" s^s/(1+s)^{1+s}$: with $y=l-\varepsilon$ the right side minus the left is smallest"
            r" where $e^{-y}=s/(1+s)$, and zero there. Taking the mean under $P$ with $s=\alpha-1$"
            r" gives $\delta\le e^{s(\rho-\varepsilon)}s^s/(1+s)^{1+s}$; solve for $\varepsilon$,"
            " and replace a negative value by 0, since delta is at most its value at 0."
        ),
        vectors=(
            Vector(at(rho=1, alpha=8, delta="1e-5"), 2.2141091678455),
            Vector(at(rho="1e-6", alpha=2, delta="0.5"), 0.0),
        ),
    )
)
def proposition12(alpha: float, rho: float, delta: float) -> float:
    """Epsilon at this delta; at least 0.

    >>> round(proposition12(8.0, 1.0, 1e-5), 9)
    2.214109168
    """
    return max(0.0, epsilon(rho * (alpha - 1.0), alpha - 1.0, math.log(delta)))
