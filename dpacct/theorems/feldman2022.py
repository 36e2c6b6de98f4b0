"""Feldman, McMillan, Talwar. Stronger Privacy Amplification by Shuffling. SODA 2023 (2022)."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.feldman2020 import PAIR, among
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "feldman2022",
    "Stronger Privacy Amplification by Shuffling for Renyi and Approximate Differential Privacy",
    "Feldman, McMillan, Talwar",
    2022,
    "SODA 2023",
)


@theorem(
    Entry(
        id="feldman2022.clones",
        locus="Pair of clones",
        claim="Shuffling the messages of one eps0-DP randomiser tells no more than a randomised "
        "response among "
        "Bin(n - 1, 2/(e^eps0 + 1)) fair coins.",
        maths=(
            r"\delta\le "
            r"H_{e^\varepsilon}\big((A+\Delta,C-A+1-\Delta)\,\|\,(A+1-\Delta,C-A+\Delta)\big),\quad "
            r"C\sim\mathrm{Bin}\big(n-1,\tfrac2{e^{\varepsilon_0}+1}\big),\ A\sim\mathrm{Bin}(C,\tfrac12),\ "
            r"\Delta\sim\mathrm{Bern}\big(\tfrac{e^{\varepsilon_0}}{e^{\varepsilon_0}+1}\big)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=PAIR,
        derivation=(
            r"Give away every message of the others but a share "
            r"$M=e^{-\varepsilon_0}\max(R_0,R_1)$ of each, which "
            r"every $R(x_i)$ contains. Then $\delta=\frac1n\mathbb E(\sum_{i\le n}Z_i)_+$ with "
            r"$Z_i$ independent, "
            r"$Z=(R_0-e^\varepsilon R_1)/M$ where a message is drawn from $M$ and 0 elsewhere "
            r"(Balle et al. 2019). "
            r"This grows in the convex order of $Z$; under $e^{-\varepsilon_0}\le R_0/R_1\le "
            r"e^{\varepsilon_0}$ "
            r"the largest law has $e^{\varepsilon_0}-e^\varepsilon$ and "
            r"$1-e^{\varepsilon_0+\varepsilon}$ with "
            r"probability $1/(e^{\varepsilon_0}+1)$ each, which is the pair (docs/theory/shuffling.md)."
        ),
        looseness="eps 1 to 2 % above 3-ary randomised response at large n",
        relies_on=("feldman2020.clones",),
        vectors=(
            Vector(
                at(epsilon="0.25", eps0=1, clients=3),
                2.1350892626297003e-1,
                source="outcomes enumerated in exact fractions of e, mpmath 40 digits",
            ),
        ),
        refuses=(at(epsilon="0.25", eps0=1, clients=0),),
    )
)
def clones(epsilon: float, eps0: float, clients: int) -> float:
    """Delta at epsilon after shuffling, at most.

    >>> clones(0.5, 1.0, 30) < clones(0.5, 1.0, 20)
    True
    """
    fall = math.exp(-eps0)
    return among(epsilon, eps0, clients, 2.0 * fall / (1.0 + fall))


def most_eps0(clients: float, delta: float) -> float:
    """The largest eps0 of the closed form.

    >>> round(most_eps0(10**5, 1e-6), 3)
    6.758
    """
    inside = clients / (8.0 * math.log(2.0 / delta)) - 1.0
    return math.log(inside) if inside > 1.0 else 0.0


@theorem(
    Entry(
        id="feldman2022.closed",
        locus="Closed form",
        claim="Shuffling n eps0-DP messages is (eps, delta)-DP with this eps, if "
        "eps0 <= log(n/(8 log(2/delta)) - 1).",
        maths=(
            r"\varepsilon=\log\Big(1+(e^{\varepsilon_0}-1)\Big(\tfrac{4\sqrt{2\log(4/\delta)}}"
            r"{\sqrt{(e^{\varepsilon_0}+1)n}}+\tfrac4n\Big)\Big),\quad"
            r"\varepsilon_0\le\log\Big(\tfrac n{8\log(2/\delta)}-1\Big)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            delta=Real(0, 1, typical=(1e-9, 0.1)),
            clients=Integer(12, 10**15, typical=(100, 3000)),
            eps0=Real(
                0,
                Bound(
                    "log(n/(8 log(2/delta)) - 1)", lambda delta, clients: most_eps0(clients, delta)
                ),
                "right",
                typical=(0.05, 4),
            ),
        ),
        looseness="3 to 4 against feldman2022.clones",
        vectors=(
            Vector(
                at(delta="1e-6", clients=10**5, eps0=4),
                0.40779258716111256,
                source="mpmath, 40 digits",
            ),
        ),
        refuses=(at(delta="1e-6", clients=10**5, eps0="6.8"),),
    )
)
def closed(delta: float, clients: int, eps0: float) -> float:
    """Epsilon after shuffling, at most.

    >>> round(closed(1e-6, 10**5, 4.0), 6)
    0.407793
    """
    spread = math.sqrt(2.0 * math.log(4.0 / delta) / ((math.exp(eps0) + 1.0) * clients))
    return math.log1p(math.expm1(eps0) * (4.0 * spread + 4.0 / clients))
