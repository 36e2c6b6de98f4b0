"""Kairouz, Oh, Viswanath. The Composition Theorem for Differential Privacy. ICML 2015."""

from __future__ import annotations

import math

from dpacct.domain import Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "kairouz2015",
    "The Composition Theorem for Differential Privacy",
    "Kairouz, Oh, Viswanath",
    2015,
    "ICML, arXiv:1311.0776",
)


def coins_delta(step: float, steps: int, epsilon: float) -> float:
    """Delta at `epsilon` of `steps` answers that are true with odds e^step : 1.

    >>> round(coins_delta(1.0, 1, 0.0), 12)
    0.46211715726
    """
    log_true, log_lie = -math.log1p(math.exp(-step)), -math.log1p(math.exp(step))
    terms = []
    for lies in range(steps + 1):
        gain = (steps - 2 * lies) * step - epsilon
        if gain <= 0.0:
            break
        log_weight = math.lgamma(steps + 1) - math.lgamma(lies + 1) - math.lgamma(steps - lies + 1)
        log_weight += (steps - lies) * log_true + lies * log_lie
        terms.append(-math.exp(log_weight) * math.expm1(-gain))
    return math.fsum(terms)


@theorem(
    Entry(
        id="kairouz2015.theorem3_3",
        locus="Theorem 3.3",
        claim="The exact delta of k-fold adaptive composition of (eps_0, delta_0)-DP mechanisms.",
        maths=(
            r"\delta=1-(1-\delta_0)^k\left(1-\sum_{l}\binom kl\frac{\left(e^{(k-l)\varepsilon_0}"
            r"-e^{\varepsilon+l\varepsilon_0}\right)_+}{(1+e^{\varepsilon_0})^k}\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            step=Real(0, typical=(0.01, 2)),
            failure=Real(0, 1, "left", typical=(0, 0.01)),
            steps=Integer(1, 10**5, typical=(1, 200)),
            epsilon=Real(0, closed="left", typical=(0, 15)),
        ),
        derivation=(
            r"Any $(\varepsilon_0,\delta_0)$-DP pair is a randomised image of: fail openly with probability"
            r" $\delta_0$, else answer a coin with odds $e^{\varepsilon_0}$. Of $k$ such, with probability"
            r" $(1-\delta_0)^k$ none fails, and the loss is $(k-2l)\varepsilon_0$ with $l$ binomial."
        ),
        vectors=(
            Vector(
                at(step=1, failure=0, steps=3, epsilon="1.5"), 0.30353221732510309, source="mpmath"
            ),
            Vector(
                at(step="0.1", failure=0, steps=100, epsilon="5.298109661767"),
                6.248616407670e-8,
                6.248616407670e-8,
                within=1e-8,
            ),
            Vector(
                at(step="0.5", failure="0.1", steps=1, epsilon=0),
                0.3204267961633382,
                source="mpmath",
            ),
        ),
        refuses=(at(step=1, failure=1, steps=1, epsilon=0),),
    )
)
def theorem3_3(step: float, failure: float, steps: int, epsilon: float) -> float:
    """Delta at `epsilon`; `step` = eps_0, `failure` = delta_0, `steps` = k.

    >>> round(theorem3_3(1.0, 0.0, 3, 1.5), 9)
    0.303532217
    """
    coins = coins_delta(step, steps, epsilon)
    if coins >= 1.0:  # to rounding
        return 1.0
    return -math.expm1(steps * math.log1p(-failure) + math.log1p(-coins))
