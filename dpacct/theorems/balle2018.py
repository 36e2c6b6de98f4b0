"""Balle, Barthe, Gaboardi. Privacy Amplification by Subsampling. NeurIPS 2018."""

from __future__ import annotations

import math

from dpacct.domain import Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "balle2018",
    "Privacy Amplification by Subsampling: Tight Analyses via Couplings and Divergences",
    "Balle, Barthe, Gaboardi",
    2018,
    "NeurIPS",
)
_DERIVATION = (
    r"The subsampled outputs on neighbours are $(1-q)R+qP$ and $(1-q)R+qQ$ (Poisson: $Q=R$). With"
    r" $e^{\varepsilon'}=1+q(e^\varepsilon-1)$, advanced joint convexity gives"
    r" $H_{e^{\varepsilon'}}=q\,H_{e^\varepsilon}(P\|(1-\beta)R+\beta Q)$,"
    r" $\beta=e^{\varepsilon'-\varepsilon}$, and both $P,R$ and $P,Q$ are $(\varepsilon,\delta)$-close."
)


@theorem(
    Entry(
        id="balle2018.epsilon",
        locus="Theorems 8 and 9",
        claim="Sampling with rate q (Poisson under add/remove, or a fixed size under replace-one) turns "
        "(eps, delta)-DP into (log(1 + q(e^eps - 1)), q delta)-DP: the epsilon.",
        maths=r"\varepsilon'=\log(1+q(e^\varepsilon-1))",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(epsilon=Real(0, 500, typical=(1e-3, 10)), rate=Real(0, 1, "right")),
        derivation=_DERIVATION,
        vectors=(
            Vector(at(epsilon=1, rate="0.1"), 0.1585650787404),
            Vector(at(epsilon=300, rate="0.1"), 297.69741490700595, source="eps + log q"),
        ),
    )
)
def epsilon(epsilon: float, rate: float) -> float:
    """The amplified epsilon: exact for randomised response.

    >>> round(epsilon(1.0, 0.1), 12)
    0.15856507874
    """
    if epsilon > 30.0:
        return epsilon + math.log(rate - rate * math.exp(-epsilon) + math.exp(-epsilon))
    return math.log1p(rate * math.expm1(epsilon))


@theorem(
    Entry(
        id="balle2018.delta",
        locus="Theorems 8 and 9",
        claim="The delta of the same statement, q delta, at the amplified epsilon.",
        maths=r"\delta'=q\delta",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=Where(
            epsilon=Real(0, 500, typical=(1e-3, 10)),
            delta=Real(0, 1, typical=(1e-9, 0.5)),
            rate=Real(0, 1, "right"),
        ),
        derivation=_DERIVATION,
        relies_on=("balle2018.epsilon",),
        vectors=(Vector(at(epsilon=1, delta="1e-5", rate="0.1"), 1e-6, source="by hand"),),
    )
)
def delta(epsilon: float, delta: float, rate: float) -> float:
    """The amplified delta.

    >>> delta(1.0, 0.5, 0.5)
    0.25
    """
    return rate * delta
