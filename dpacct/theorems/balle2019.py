"""Balle, Bell, Gascon, Nissim. The Privacy Blanket of the Shuffle Model. CRYPTO 2019."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "balle2019",
    "The Privacy Blanket of the Shuffle Model",
    "Balle, Bell, Gascon, Nissim",
    2019,
    "CRYPTO",
)
_BELOW = Bound("eps0", lambda eps0: eps0)
_DOMAIN = Where(
    eps0=Real(0, 20, typical=(0.05, 4)),
    epsilon=Real(0, _BELOW, typical=(1e-3, 3)),
    clients=Integer(1, 10**15, typical=(2, 3000)),
)
_ANSWERS = Where(
    eps0=Real(0, 20, typical=(0.05, 4)),
    epsilon=Real(0, _BELOW, typical=(1e-3, 3)),
    clients=Integer(1, 10**15, typical=(2, 3000)),
    answers=Integer(2, 10**6, typical=(2, 20)),
)
_LOOSE = "a factor of a few in eps against the pair of feldman2022.clones"


def from_hoeffding(epsilon: float, clients: int, blanket: float, width: float) -> float:
    """(b^2/(4 a g n)) (1 - g (1 - e^{-2 a^2/b^2}))^n, a = e^eps - 1, b = width, g = blanket.

    >>> round(from_hoeffding(math.log(2), 1, 1.0, 2.0), 9)
    0.60653066
    """
    a = math.expm1(epsilon)
    lost = -blanket * math.expm1(-2.0 * a * a / (width * width))
    power = math.exp(clients * math.log1p(-lost)) if lost < 1.0 else 0.0
    return min(1.0, width * width / (4.0 * a * blanket * clients) * power)


def from_bennett(epsilon: float, clients: int, blanket: float, most: float, square: float) -> float:
    """(b/(g n log(1 + u))) ((1 - g + g e^{-c phi(u)/b^2})^n - (1 - g)^n), u = a b/c.

    a = e^eps - 1, b = `most` bounds the variable, c = `square` its mean square, phi(u) = (1+u) log(1+u) - u.

    >>> round(from_bennett(math.log(2), 1, 1.0, 1.0, 1.0), 9)
    0.980412928
    """
    a = math.expm1(epsilon)
    u = a * most / square
    bent = (1.0 + u) * math.log1p(u) - u if u > 1e-4 else 0.5 * u * u * (1.0 - u / 3.0)
    lost = -blanket * math.expm1(-square / (most * most) * bent)
    power = math.exp(clients * math.log1p(-lost)) if lost < 1.0 else 0.0
    none = math.exp(clients * math.log1p(-blanket)) if blanket < 1.0 else 0.0
    return min(1.0, most / (blanket * clients * math.log1p(u)) * max(power - none, 0.0))


@theorem(
    Entry(
        id="balle2019.hoeffding",
        locus="Hoeffding bound, any randomiser",
        claim="Shuffling n messages of one eps0-DP randomiser has at most this delta: Hoeffding's "
        "inequality on "
        "the blanket that all its laws share, of weight at least e^-eps0.",
        maths=(
            r"\delta=\frac{b^2}{4a\gamma n}\big(1-\gamma(1-e^{-2a^2/b^2})\big)^n,\quad a=e^\varepsilon-1,\ "
            r"b=(e^\varepsilon+1)(e^{\varepsilon_0}-e^{-\varepsilon_0}),\ \gamma=e^{-\varepsilon_0}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=_DOMAIN,
        looseness=_LOOSE,
        vectors=(
            Vector(
                at(eps0=1, epsilon="0.5", clients=1000),
                1.4544668941886647e-5,
                source="mpmath, 40 digits",
            ),
        ),
        refuses=(at(eps0=1, epsilon="1.01", clients=1000),),
    )
)
def hoeffding(eps0: float, epsilon: float, clients: int) -> float:
    """Delta after shuffling, at most.

    >>> hoeffding(1.0, 0.5, 10**5) < 1e-10
    True
    """
    width = (math.exp(epsilon) + 1.0) * 2.0 * math.sinh(eps0)
    return from_hoeffding(epsilon, clients, math.exp(-eps0), width)


@theorem(
    Entry(
        id="balle2019.bennett",
        locus="Bennett bound, any randomiser",
        claim="The same with Bennett's inequality.",
        maths=(
            r"\delta=\frac b{\gamma n\log(1+u)}\Big(\big(1-\gamma+\gamma e^{-c\varphi(u)/b^2}\big)^n"
            r"-(1-\gamma)^n\Big),\quad u=\tfrac{(e^\varepsilon-1)b}c,\ "
            r"b=e^{\varepsilon_0}(1-e^{\varepsilon-2\varepsilon_0}),\ "
            r"c=e^{\varepsilon_0}(e^{2\varepsilon}+1)-2\gamma e^{\varepsilon-2\varepsilon_0}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=_DOMAIN,
        looseness=_LOOSE,
        vectors=(
            Vector(
                at(eps0=1, epsilon="0.5", clients=1000),
                2.7108611162281373e-5,
                source="mpmath, 40 digits",
            ),
        ),
        refuses=(at(eps0=1, epsilon="1.01", clients=1000),),
    )
)
def bennett(eps0: float, epsilon: float, clients: int) -> float:
    """Delta after shuffling, at most.

    >>> bennett(1.0, 0.5, 10**5) < 1e-10
    True
    """
    blanket = math.exp(-eps0)
    most = math.exp(eps0) - math.exp(epsilon - eps0)
    square = math.exp(eps0) * (math.exp(2.0 * epsilon) + 1.0)
    square -= 2.0 * blanket * math.exp(epsilon - 2.0 * eps0)
    return from_bennett(epsilon, clients, blanket, most, square)


def _share(eps0: float, answers: int) -> float:
    """The weight of the uniform blanket of randomised response."""
    return answers / (math.exp(eps0) + answers - 1.0)


@theorem(
    Entry(
        id="balle2019.hoeffding_rr",
        locus="Hoeffding bound, randomised response",
        claim="For randomised response on k answers, Hoeffding's inequality on its uniform blanket.",
        maths=(r"\gamma=\frac k{e^{\varepsilon_0}+k-1},\quad b=(1-\gamma)k(e^\varepsilon+1)"),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=_ANSWERS,
        looseness=_LOOSE,
        vectors=(
            Vector(
                at(eps0=1, epsilon="0.5", clients=1000, answers=4),
                6.8798971857954401e-28,
                source="mpmath, 40 digits",
            ),
            Vector(
                at(eps0=1, epsilon="0.01", clients=2, answers=4), 1.0, source="above 1 as printed"
            ),
        ),
        refuses=(at(eps0=1, epsilon="0.5", clients=1000, answers=1),),
    )
)
def hoeffding_rr(eps0: float, epsilon: float, clients: int, answers: int) -> float:
    """Delta after shuffling, at most.

    >>> hoeffding_rr(1.0, 0.5, 10**4, 4) < hoeffding(1.0, 0.5, 10**4)
    True
    """
    blanket = _share(eps0, answers)
    width = (1.0 - blanket) * answers * (math.exp(epsilon) + 1.0)
    return from_hoeffding(epsilon, clients, blanket, width)


@theorem(
    Entry(
        id="balle2019.bennett_rr",
        locus="Bennett bound, randomised response",
        claim="For randomised response on k answers, Bennett's inequality on its uniform blanket.",
        maths=(
            r"b=\gamma(1-e^\varepsilon)+(1-\gamma)k,\quad "
            r"c=\gamma(2-\gamma)(e^\varepsilon-1)^2+(1-\gamma)^2k(e^{2\varepsilon}+1)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=_ANSWERS,
        looseness=_LOOSE,
        vectors=(
            Vector(
                at(eps0=1, epsilon="0.5", clients=1000, answers=4),
                1.6895158455879249e-36,
                source="mpmath, 40 digits",
            ),
        ),
        refuses=(at(eps0=1, epsilon="0.5", clients=1000, answers=1),),
    )
)
def bennett_rr(eps0: float, epsilon: float, clients: int, answers: int) -> float:
    """Delta after shuffling, at most.

    >>> bennett_rr(1.0, 0.5, 10**4, 4) < bennett(1.0, 0.5, 10**4)
    True
    """
    blanket, a = _share(eps0, answers), math.expm1(epsilon)
    left = 1.0 - blanket
    most = left * answers - blanket * a
    square = blanket * (2.0 - blanket) * a * a
    square += left * left * answers * (math.exp(2.0 * epsilon) + 1.0)
    return from_bennett(epsilon, clients, blanket, most, square)
