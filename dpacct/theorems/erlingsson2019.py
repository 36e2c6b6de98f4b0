"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by Shuffling. SODA 2019."""

from __future__ import annotations

import math

from dpacct.domain import Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "erlingsson2019",
    "Amplification by Shuffling: From Local to Central Differential Privacy via Anonymity",
    "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta",
    2019,
    "SODA",
)


@theorem(
    Entry(
        id="erlingsson2019.closed",
        locus="Amplification by shuffling",
        claim="Shuffling n >= 1000 messages that are eps0-DP, eps0 < 1/2, is (eps, delta)-DP with this eps, "
        "delta < 1/100.",
        maths=r"\varepsilon=12\varepsilon_0\sqrt{\log(1/\delta)/n}",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            delta=Real(0, "0.01", typical=(1e-9, 0.009)),
            clients=Integer(1000, 10**15, typical=(1000, 5000)),
            eps0=Real(0, "0.5", typical=(0.01, 0.49)),
        ),
        looseness="5 or more",
        vectors=(
            Vector(
                at(delta="1e-6", clients=1000, eps0="0.4"),
                0.56418912011443191,
                source="mpmath, 40 digits",
            ),
        ),
        refuses=(
            at(delta="1e-6", clients=999, eps0="0.4"),
            at(delta="1e-6", clients=1000, eps0="0.51"),
            at(delta="0.0101", clients=1000, eps0="0.4"),
        ),
    )
)
def closed(delta: float, clients: int, eps0: float) -> float:
    """Epsilon after shuffling, at most.

    >>> round(closed(1e-6, 1000, 0.4), 6)
    0.564189
    """
    return 12.0 * eps0 * math.sqrt(-math.log(delta) / clients)
