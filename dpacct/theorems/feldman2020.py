"""Feldman, McMillan, Talwar. Hiding Among the Clones. FOCS 2021 (2020)."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "feldman2020",
    "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by Shuffling",
    "Feldman, McMillan, Talwar",
    2020,
    "FOCS 2021",
)


PAIR = Where(
    epsilon=Real(0, 20, "left", typical=(1e-3, 3)),
    eps0=Real(0, 20, typical=(0.05, 5)),
    clients=Integer(1, 1000, typical=(2, 40)),
)
"""Where a pair of clones is summed coin by coin."""


def hidden(epsilon: float, eps0: float, messages: int) -> float:
    """Delta of an eps0-randomised response whose bit is seen in a sum with messages - 1 fair coins.

    >>> round(hidden(0.0, math.log(3), 1), 12)
    0.5
    """
    fall, total = math.exp(-eps0), []
    for ones in range(messages + 1):
        zeros = messages - ones
        logs = math.lgamma(messages + 1) - math.lgamma(ones + 1) - math.lgamma(zeros + 1)
        mass = 2.0 * math.exp(logs - messages * math.log(2.0)) / (messages * (1.0 + fall))
        total.append(
            mass * max(0.0, ones + fall * zeros - math.exp(epsilon) * (fall * ones + zeros))
        )
    return math.fsum(total)


def among(epsilon: float, eps0: float, clients: int, clone: float) -> float:
    """The same where every other client's message is a fair coin with probability `clone`.

    >>> round(among(0.0, math.log(3), 1, 0.5), 12)
    0.5
    """
    others, found = clients - 1, []
    for coins in range(others + 1):
        if 0.0 < clone < 1.0:
            logs = (
                math.lgamma(others + 1) - math.lgamma(coins + 1) - math.lgamma(others - coins + 1)
            )
            chance = math.exp(
                logs + coins * math.log(clone) + (others - coins) * math.log1p(-clone)
            )
        else:
            chance = float(coins == others * round(clone))
        if chance > 0.0:
            found.append(chance * hidden(epsilon, eps0, coins + 1))
    return math.fsum(found)


@theorem(
    Entry(
        id="feldman2020.clones",
        locus="Pair of clones",
        claim="Shuffling eps0-DP messages (whose randomisers may depend on the messages before "
        "them) tells no "
        "more than a randomised response among Bin(n - 1, e^-eps0) fair coins.",
        maths=(
            r"\delta\le "
            r"H_{e^\varepsilon}\big((A+\Delta,C-A+1-\Delta)\,\|\,(A+1-\Delta,C-A+\Delta)\big),\quad "
            r"C\sim\mathrm{Bin}(n-1,e^{-\varepsilon_0}),\ A\sim\mathrm{Bin}(C,\tfrac12),\ "
            r"\Delta\sim\mathrm{Bern}\big(\tfrac{e^{\varepsilon_0}}{e^{\varepsilon_0}+1}\big)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=PAIR,
        looseness="eps up to sqrt 2 above feldman2022.clones",
        vectors=(
            Vector(
                at(epsilon="0.25", eps0=1, clients=3),
                2.6032030789558971e-1,
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
    return among(epsilon, eps0, clients, math.exp(-eps0))


def most_eps0(clients: float, delta: float) -> float:
    """The largest eps0 of the closed form.

    >>> round(most_eps0(10**5, 1e-6), 3)
    6.066
    """
    return math.log(clients / (16.0 * math.log(2.0 / delta)))


@theorem(
    Entry(
        id="feldman2020.theorem3_1",
        locus="Theorem 3.1",
        claim="Shuffling n eps0-DP messages is (eps, delta)-DP with this eps, if eps0 <= log(n/(16 "
        "log(2/delta))).",
        maths=(
            r"\varepsilon=\log\Big(1+\tfrac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}\Big("
            r"\tfrac{8\sqrt{e^{\varepsilon_0}\log(4/\delta)}}{\sqrt "
            r"n}+\tfrac{8e^{\varepsilon_0}}n\Big)\Big),\quad"
            r"\varepsilon_0\le\log\tfrac n{16\log(2/\delta)}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            delta=Real(0, 1, typical=(1e-9, 0.1)),
            clients=Integer(12, 10**15, typical=(100, 3000)),
            eps0=Real(
                0,
                Bound("log(n/(16 log(2/delta)))", lambda delta, clients: most_eps0(clients, delta)),
                "right",
                typical=(0.05, 4),
            ),
        ),
        looseness="3 to 5 against feldman2022.clones",
        vectors=(
            Vector(
                at(delta="1e-6", clients=10**5, eps0=4),
                0.534633991651707623,
                source="mpmath, 40 digits; the authors' code prints 0.5378, from the refined form of its "
                "proof",
            ),
        ),
        refuses=(at(delta="1e-6", clients=10**5, eps0="6.1"),),
    )
)
def theorem3_1(delta: float, clients: int, eps0: float) -> float:
    """Epsilon after shuffling, at most.

    >>> round(theorem3_1(1e-6, 10**5, 4.0), 6)
    0.534634
    """
    growth = math.exp(eps0)
    spread = 8.0 * math.sqrt(growth * math.log(4.0 / delta) / clients) + 8.0 * growth / clients
    return math.log1p(math.expm1(eps0) / (growth + 1.0) * spread)
