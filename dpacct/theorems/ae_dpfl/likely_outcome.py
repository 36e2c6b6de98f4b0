"""Lemma 13 and an inequality of Theorem 14: the Renyi divergence where one outcome is likely."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpacct.domain import Real, Where
from dpacct.theorems import papernot2018
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"


def softplus(x: float) -> float:
    """log(1 + e^x), for every x.

    >>> softplus(1000.0), softplus(-1000.0)
    (1000.0, 0.0)
    """
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


_PAIR = Where(
    q=Real(0, 1, typical=(1e-6, 1 - 1e-6)),
    alpha=Real(1, typical=(1.05, 40)),
    epsilon=Real(0, typical=(0.01, 8)),
)


@theorem(
    Entry(
        id="ae_dpfl.lemma13",
        locus="Lemma 13",
        claim="If an outcome has probability 1 - q under D, a (2 alpha, eps)-RDP mechanism has this D_alpha.",
        maths=(
            r"D_\alpha(\mathcal M(D)\|\mathcal M(D'))\le-\log(1-q)+\tfrac1{\alpha-1}\log\left("
            r"1+q^{1/2}(1-q)^{\alpha-1}e^{(\alpha-1)\epsilon}\right)"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_PAIR,
        reason=(
            "Two faults. The proof takes the outcome's probability under D', the statement under D: with"
            " P = (0.99, 0.01) and Q = (0.01, 0.99) the divergence is 4.585, the bound 2.387. And the square"
            " root of E(dP/dQ)^{2 alpha} is e^{(2 alpha - 1) eps/2}, as in the proof's last line, not"
            " e^{(alpha - 1) eps}: with the outcome counted under Q, P = (0.5, 0.5) and Q = (0.99, 0.01)"
            " have 3.229, the bound is 1.605. Papernot et al., Theorem 6, need conditions that are left out."
        ),
        corrected_by="ae_dpfl.lemma13_corrected",
        witness=Witness(
            at(q="0.01", alpha=2, epsilon="4.5917697382"),
            "P = (0.99, 0.01), Q = (0.01, 0.99): 4.585 against 2.387.",
        ),
        vectors=(
            Vector(
                at(q="0.01", alpha=2, epsilon="4.5917697382"),
                2.3866495850,
                4.5850705449,
                within=1e-7,
            ),
        ),
    )
)
def lemma13(q: float, alpha: float, epsilon: float) -> float:
    """The printed bound; `epsilon` is that of order 2 alpha.

    >>> round(lemma13(0.01, 2.0, 4.5917697382), 6)
    2.38665
    """
    log_keep = math.log1p(-q)
    inner = 0.5 * math.log(q) + (alpha - 1.0) * (log_keep + epsilon)
    return -log_keep + softplus(inner) / (alpha - 1.0)


@theorem(
    Entry(
        id="ae_dpfl.lemma13_proof",
        locus="Lemma 13, as its proof reads it: 1 - q under D'",
        claim="The printed bound with the outcome's probability taken under D'.",
        maths=r"q=\Pr[\mathcal M(D')\in E^c]",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_PAIR,
        reason="The exponent (alpha - 1) eps must be (2 alpha - 1) eps/2, as the proof itself has it.",
        corrected_by="ae_dpfl.lemma13_corrected_event",
        witness=Witness(
            at(q="0.01", alpha=2, epsilon="3.6809742888"),
            "P = (0.5, 0.5), Q = (0.99, 0.01): 3.229 against 1.605.",
        ),
        vectors=(
            Vector(
                at(q="0.01", alpha=2, epsilon="3.6809742888"),
                1.6051497320,
                3.2289261607,
                within=1e-7,
            ),
        ),
    )
)
def lemma13_proof(q: float, alpha: float, epsilon: float) -> float:
    """As `lemma13`.

    >>> round(lemma13_proof(0.01, 2.0, 3.6809742888), 6)
    1.60515
    """
    return lemma13(q, alpha, epsilon)


@theorem(
    Entry(
        id="ae_dpfl.lemma13_corrected_event",
        locus="Lemma 13, corrected, 1 - q under D'",
        claim="With q the probability of any other outcome under D', and the exponent of Cauchy and Schwarz.",
        maths=(
            r"-\log(1-q)+\tfrac1{\alpha-1}\log\left(1+q^{1/2}(1-q)^{\alpha-1}e^{(2\alpha-1)\epsilon/2}\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_PAIR,
        derivation=(
            r"On $E$, a single outcome, $\int_E(p/q)^\alpha q=P(E)^\alpha"
            r" Q(E)^{1-\alpha}\le(1-q)^{1-\alpha}$."
            r" Off it, $\int_{E^c}(p/q)^\alpha q\le\sqrt{\int(p/q)^{2\alpha}q}\sqrt{Q(E^c)}="
            r"e^{(2\alpha-1)D_{2\alpha}/2}q^{1/2}$."
        ),
        vectors=(
            Vector(
                at(q="0.01", alpha=2, epsilon="3.6809742888"),
                3.2584854583,
                3.2289261607,
                within=1e-8,
            ),
            Vector(at(q="0.1", alpha=3, epsilon="0.5"), 0.42471449195872097, source=_MPMATH),
        ),
    )
)
def lemma13_corrected_event(q: float, alpha: float, epsilon: float) -> float:
    """Renyi divergence of order alpha; `epsilon` is that of order 2 alpha.

    >>> round(lemma13_corrected_event(0.01, 2.0, 3.6809742888), 6)
    3.258485
    """
    log_keep = math.log1p(-q)
    inner = 0.5 * (math.log(q) + (2.0 * alpha - 1.0) * epsilon) + (alpha - 1.0) * log_keep
    return -log_keep + softplus(inner) / (alpha - 1.0)


def event_bound(log_q: float, alpha: float, epsilon: float) -> float:
    """Lemma 13 corrected, for a q below the range of floats too; `log_q` < 0.

    >>> round(event_bound(math.log(0.01), 2.0, 0.5), 9)
    0.083079206
    """
    return float(event_bounds(log_q, alpha, epsilon))


def event_bounds(log_q: ArrayLike, alpha: ArrayLike, epsilon: ArrayLike) -> papernot2018.Floats:
    """`event_bound` of arrays."""
    log_q, alpha, epsilon = map(papernot2018.as_floats, (log_q, alpha, epsilon))
    with np.errstate(divide="ignore"):
        # log(1 - q) without losing the digits of a small q
        keep = np.where(log_q < -1.0, np.log1p(-np.exp(log_q)), np.log(-np.expm1(log_q)))
    stay = (1.0 - alpha) * keep
    leave = alpha / (2.0 * alpha - 1.0) * log_q + (alpha - 1.0) * epsilon
    return np.asarray(papernot2018.log_sum(stay, leave) / (alpha - 1.0))


@theorem(
    Entry(
        id="ae_dpfl.lemma13_corrected",
        locus="Lemma 13, corrected, q under both",
        claim="With q at least the probability of any other outcome under D and under D'.",
        maths=(
            r"D_\alpha\le\tfrac1{\alpha-1}\log\left((1-q)^{1-\alpha}"
            r"+q^{\frac\alpha{2\alpha-1}}e^{(\alpha-1)\epsilon}\right),\quad q\ge\max(P(E^c),Q(E^c))"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_PAIR,
        derivation=(
            r"On $E$ as before. Off it, $\int_{E^c}(p/q)^{\alpha-1}p\le\left(\int(p/q)^{2\alpha-1}p"
            r"\right)^{\frac{\alpha-1}{2\alpha-1}}P(E^c)^{\frac\alpha{2\alpha-1}}$ by Hoelder, and the first"
            r" factor is $e^{(\alpha-1)D_{2\alpha}}$. As $\alpha/(2\alpha-1)>1/2$, the printed form follows"
            r" under this q."
        ),
        vectors=(
            Vector(at(q="0.01", alpha=2, epsilon="0.5"), 0.08307920591915),
            Vector(at(q="0.1", alpha=3, epsilon=2), 1.3523223085596527, source=_MPMATH),
            Vector(at(q="0.9", alpha=6, epsilon=20), 19.988506125564601, source=_MPMATH),
            Vector(at(q="0.9", alpha=6, epsilon="0.5"), 2.3026080958941755, source=_MPMATH),
        ),
    )
)
def lemma13_corrected(q: float, alpha: float, epsilon: float) -> float:
    """Renyi divergence of order alpha, either way; `epsilon` is that of order 2 alpha.

    >>> round(lemma13_corrected(0.01, 2.0, 0.5), 9)
    0.083079206
    """
    return event_bound(math.log(q), alpha, epsilon)


@theorem(
    Entry(
        id="ae_dpfl.log_inequality",
        locus="Proof of Theorem 14",
        claim="-log(1 - x) < 2x for all x > -0.5.",
        maths=r"-\log(1-x)<2x,\quad x>-0.5",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(x=Real("-0.5", 1)),
        reason=(
            "For x < 0 the right side is the more negative one; at 0 both are 0; and for x above"
            " 0.79681213 the"
            " logarithm has overtaken: -log(1 - x) is unbounded."
        ),
        corrected_by="ae_dpfl.log_inequality_corrected",
        witness=Witness(at(x="0.9"), "-log(0.1) = 2.303 is more than 1.8."),
        vectors=(Vector(at(x="0.9"), 1.8, 2.302585092994046, source=_MPMATH),),
    )
)
def log_inequality(x: float) -> float:
    """The right side, 2x.

    >>> log_inequality(0.25)
    0.5
    """
    return x + x


@theorem(
    Entry(
        id="ae_dpfl.log_inequality_corrected",
        locus="Proof of Theorem 14, corrected",
        claim="-log(1 - x) <= 2x for 0 <= x <= 0.7968.",
        maths=r"-\log(1-x)\le2x,\quad0\le x\le0.7968",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(x=Real(0, "0.7968", "both")),
        derivation=(
            r"$2x+\log(1-x)$ is concave, zero at 0 and positive at 0.7968, so it is nowhere negative between"
            r" them; its other root is $0.79681213002002\ldots$"
        ),
        vectors=(
            Vector(at(x="0.7968"), 1.5936, 1.5935645632778102, within=1e-12, source=_MPMATH),
            Vector(at(x="0.25"), 0.5, 0.28768207245178093, source=_MPMATH),
        ),
        refuses=(at(x="0.7969"), at(x="-0.01")),
    )
)
def log_inequality_corrected(x: float) -> float:
    """The right side, 2x.

    >>> log_inequality_corrected(0.25)
    0.5
    """
    return 2.0 * x
