"""Lemmas 2 and 3: the Renyi divergence of the shuffle model, after Girgis et al. 2021."""

from __future__ import annotations

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems import girgis2021
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_ALPHA = Integer(2, 64)
_EPSILON = Real(0, 10, typical=(0.05, 5))
_CLIENTS = Integer(1, 10**9, typical=(1, 2000))
_PROVED = Where(
    alpha=Integer(2, 8),
    epsilon=Real(0, 3, typical=(0.01, 1.2)),
    clients=Integer(
        Bound(
            "9 alpha^4 e^(5 epsilon)",
            lambda alpha, epsilon: girgis2021.fewest(alpha, epsilon) + 1.0,
        ),
        10**12,
    ),
)
_WHERE = Where(alpha=_ALPHA, epsilon=_EPSILON, clients=_CLIENTS)


@theorem(
    Entry(
        id="udp_fl.lemma2",
        locus="Lemma 2",
        claim="Shuffling N clients, each eps0-LDP, has at most this Renyi divergence, whatever N.",
        maths=r"\frac1{\alpha-1}\log\left(1+\binom\alpha2\frac{4(e^{\gamma}-1)^2}N\right)",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_WHERE,
        reason=(
            "Girgis et al. prove it for N > 9 alpha^4 e^{5 eps0} only. For every N and eps0 it fails at"
            " large alpha, where it tends to 0 and the truth to the largest loss, eps0."
        ),
        corrected_by="udp_fl.lemma2_corrected",
        witness=Witness(
            at(alpha=8, epsilon=1, clients=2),
            "0.7306 is claimed; two randomised responses show 0.9105 (0.7758 in the other direction).",
        ),
        vectors=(
            Vector(
                at(alpha=8, epsilon=1, clients=2),
                0.7305759059952,
                0.9105012777482131,
                source="mpmath; our errata have the smaller direction",
            ),
            Vector(
                at(alpha=7, epsilon=3, clients=10),
                1.3377366855117,
                2.919021080727355,
                source="mpmath; our errata have the smaller direction",
            ),
            Vector(
                at(alpha=31, epsilon=1, clients=100),
                0.1341285664157,
                0.2209599872439781,
                source="mpmath; our errata have the smaller direction",
            ),
        ),
    )
)
def lemma2(alpha: int, epsilon: float, clients: int) -> float:
    """As printed, gamma read as the clients' pure epsilon.

    >>> round(lemma2(8, 1.0, 2), 9)
    0.730575906
    """
    return girgis2021.simple_upper(alpha, epsilon, clients)


@theorem(
    Entry(
        id="udp_fl.lemma2_renyi_level",
        locus="Lemma 2, gamma read as the Renyi level, as the paper uses it",
        claim="The same with gamma the clients' Renyi divergence of order 2 (alpha = 2).",
        maths=r"\log\left(1+\frac{4(e^{\gamma}-1)^2}N\right)",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            gamma=Real(0, 5, typical=(0.01, 2)), clients=Integer(10, 10**9, typical=(10, 5000))
        ),
        reason=(
            "For randomised response the truth at alpha = 2 is log(1 + (e^gamma - 1)/N) or more: it fails for"
            " every N when gamma < ln(5/4). Gaussian noise has no pure epsilon, so no such bound at all."
        ),
        corrected_by="udp_fl.lemma2_corrected",
        witness=Witness(
            at(gamma="0.1", clients=1000),
            "4.4243e-5 is claimed, 1.05187e-4 is true (1.05165e-4 in the other direction).",
        ),
        vectors=(Vector(at(gamma="0.1", clients=1000), 4.4242709312e-5, 1.051874923566323e-4),),
    )
)
def lemma2_renyi_level(gamma: float, clients: int) -> float:
    """As printed, at alpha = 2.

    >>> round(lemma2_renyi_level(0.1, 1000) * 1e5, 6)
    4.424271
    """
    return girgis2021.simple_upper(2, gamma, clients)


@theorem(
    Entry(
        id="udp_fl.lemma2_corrected",
        locus="Lemma 2, with its conditions",
        claim="Lemma 2 for eps0-LDP clients, whole alpha >= 2 and N > 9 alpha^4 e^{5 eps0}.",
        maths=(
            r"\frac1{\alpha-1}\log\left(1+\binom\alpha2\frac{4(e^{\varepsilon_0}-1)^2}N\right),\quad "
            r"N>9\alpha^4e^{5\varepsilon_0}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_PROVED,
        looseness="4 or more against randomised response",
        relies_on=("girgis2021.upper",),
        derivation=(
            "The hypotheses are those of Girgis, Data, Diggavi, Suresh and Kairouz 2021 (On the Renyi"
            " Differential Privacy of the Shuffle Model), whose theorem for this range of N it is: the"
            " clients must be eps0-LDP, so eps0 is no Renyi level, and alpha is whole. Cited, and searched"
            " against shuffled randomised response."
        ),
        vectors=(
            Vector(
                at(alpha=2, epsilon=1, clients=30000),
                3.93588192939297e-4,
                source="mpmath, 30 digits",
            ),
        ),
        refuses=(at(alpha=2, epsilon=1, clients=21000), at(alpha=7, epsilon=1, clients=5000)),
    )
)
def lemma2_corrected(alpha: int, epsilon: float, clients: int) -> float:
    """Renyi divergence of whole order alpha, at most.

    >>> lemma2_corrected(2, 0.1, 1000) < 1e-4
    True
    """
    return girgis2021.simple_upper(alpha, epsilon, clients)


@theorem(
    Entry(
        id="udp_fl.lemma3",
        locus="Lemma 3",
        claim="Some eps0-LDP mechanism, shuffled, has at least this Renyi divergence.",
        maths=r"\frac1{\alpha-1}\log\left(1+\binom\alpha2\frac{(e^{\gamma}-1)^2}{Ne^\gamma}\right)",
        verdict=Verdict.CONDITIONAL,
        status=Status.SEARCHED,
        side=Side.LOWER,
        domain=_WHERE,
        reason=(
            "It says that a mechanism exists (randomised response, with equality at alpha = 2), not that"
            " a given mechanism leaks so much: for an audit of what is possible only."
        ),
        relies_on=("girgis2021.lower",),
        vectors=(Vector(at(alpha=7, epsilon=3, clients=10), 0.6109529652195),),
    )
)
def lemma3(alpha: int, epsilon: float, clients: int) -> float:
    """Renyi divergence of whole order alpha, at least, of shuffled randomised response.

    >>> round(lemma3(7, 3.0, 10), 9)
    0.610952965
    """
    return girgis2021.lower(alpha, epsilon, clients)
