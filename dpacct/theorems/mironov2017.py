"""Mironov. Renyi Differential Privacy. CSF 2017."""

from __future__ import annotations

import math

from dpacct.theorems import canonne2020
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper("mironov2017", "Renyi Differential Privacy", "Mironov", 2017, "CSF")


def log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """Proposition 3, solved for delta: log delta = (order - 1)(rdp - eps), order = s + 1.

    `log_moment` = s * rdp is the log moment E_P[e^{sL}]; s > 0.

    >>> round(log_delta(1.0, 1.0, 3.0), 12)
    -2.0
    """
    return log_moment - s * epsilon


def epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """Proposition 3: eps = rdp + log(1/delta)/(order - 1), order = s + 1.

    >>> import math
    >>> round(epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.644703638
    """
    return (log_moment - log_delta) / s


@theorem(
    Entry(
        id="mironov2017.proposition3",
        locus="Proposition 3",
        claim="An (alpha, rho)-RDP mechanism is (rho + log(1/delta)/(alpha - 1), delta)-DP.",
        maths=r"\varepsilon=\rho+\frac{\log(1/\delta)}{\alpha-1}",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=canonne2020.CONVERSION,
        looseness="always above canonne2020.proposition12",
        relies_on=("canonne2020.proposition12",),
        vectors=(Vector(at(rho=1, alpha=8, delta="1e-5"), 2.644703637853),),
    )
)
def proposition3(alpha: float, rho: float, delta: float) -> float:
    """Epsilon at this delta.

    >>> round(proposition3(8.0, 1.0, 1e-5), 9)
    2.644703638
    """
    return epsilon(rho * (alpha - 1.0), alpha - 1.0, math.log(delta))
