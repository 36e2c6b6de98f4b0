"""Lemmas 8 and 9: properties of Renyi DP, and probabilities of single events."""

from __future__ import annotations

import math

from dpacct.domain import Real, Where
from dpacct.theorems import canonne2020, mironov2017
from dpacct.theorems.dp_fed_ls.inequalities import lemma4
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"
_ALPHA = Real(1, typical=(1.05, 40))
_RHO = Real(0, closed="left", typical=(0, 6))
_Q = Real(0, 1, typical=(1e-6, 1 - 1e-6))
_EVENT = Where(q=_Q, alpha=_ALPHA, rho=_RHO)


@theorem(
    Entry(
        id="ae_dpfl.lemma8_1",
        locus="Lemma 8.1, upper half",
        claim="An event of probability q under D' has at most e^eps q^{alpha/(alpha-1)} under D.",
        maths=(
            r"\Pr[\mathcal M(D)\in S]\le e^{\epsilon(\alpha)}\Pr[\mathcal M(D')\in"
            r" S]^{\frac\alpha{\alpha-1}}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_EVENT,
        reason=(
            "The exponent is that of the lower half. An exponent above 1 makes a probability smaller, so even"
            " D = D' violates it: 0.5 > 0.25 at q = 1/2, alpha = 2, eps = 0."
        ),
        corrected_by="ae_dpfl.lemma8_1_corrected",
        witness=Witness(at(q="0.5", alpha=2, rho=0), "Equal laws: 0.5 is more than 0.25."),
        vectors=(Vector(at(q="0.5", alpha=2, rho=0), 0.25, 0.5),),
    )
)
def lemma8_1(q: float, alpha: float, rho: float) -> float:
    """The printed bound on the event's probability under D; `rho` = epsilon(alpha).

    >>> round(lemma8_1(0.5, 2.0, 0.0), 12)
    0.25
    """
    return math.exp(min(rho, 700.0) + math.log(q) * alpha / (alpha - 1.0))


@theorem(
    Entry(
        id="ae_dpfl.lemma8_1_lower",
        locus="Lemma 8.1, lower half",
        claim="An event of probability q under D' has at least e^{-eps} q^{alpha/(alpha-1)} under D.",
        maths=(
            r"e^{-\epsilon(\alpha)}\Pr[\mathcal M(D')\in S]^{\frac\alpha{\alpha-1}}\le\Pr[\mathcal"
            r" M(D)\in S]"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.LOWER,
        domain=_EVENT,
        derivation=(
            r"Proposition 10 of Mironov 2017 with $D$ and $D'$ exchanged:"
            r" $\Pr[D'\in S]\le(e^\epsilon\Pr[D\in S])^{(\alpha-1)/\alpha}$, solved for $\Pr[D\in S]$."
        ),
        relies_on=("ae_dpfl.lemma8_1_corrected",),
        vectors=(
            Vector(at(q="0.5", alpha=2, rho=0), 0.25, 0.5),
            Vector(at(q="0.5", alpha=3, rho=1), 0.13006502375572222, source=_MPMATH),
        ),
    )
)
def lemma8_1_lower(q: float, alpha: float, rho: float) -> float:
    """The least probability of the event under D; `rho` = epsilon(alpha).

    >>> round(lemma8_1_lower(0.5, 2.0, 0.0), 12)
    0.25
    """
    return math.exp(math.log(q) * alpha / (alpha - 1.0) - rho)


@theorem(
    Entry(
        id="ae_dpfl.lemma8_1_corrected",
        locus="Lemma 8.1, upper half, corrected",
        claim="An event of probability q under D' has at most (e^eps q)^{(alpha-1)/alpha} under D.",
        maths=(
            r"\Pr[\mathcal M(D)\in S]\le\left(e^{\epsilon(\alpha)}\Pr[\mathcal M(D')\in S]"
            r"\right)^{\frac{\alpha-1}\alpha}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_EVENT,
        derivation=(
            r"Hoelder: $\Pr_P[S]=\int_S\tfrac pq\,q\le\left(\int(\tfrac pq)^\alpha q\right)^{1/\alpha}"
            r"\Pr_Q[S]^{(\alpha-1)/\alpha}$, and the integral is $e^{(\alpha-1)D_\alpha}$."
        ),
        vectors=(
            Vector(at(q="0.5", alpha=2, rho=0), 0.70710678118654752, 0.5, source=_MPMATH),
            Vector(at(q="0.1", alpha=3, rho=1), 0.41962657850041789, source=_MPMATH),
            Vector(at(q="0.9", alpha=3, rho=5), 1.0, source="a probability"),
        ),
    )
)
def lemma8_1_corrected(q: float, alpha: float, rho: float) -> float:
    """The most that the event's probability under D can be; `rho` = epsilon(alpha).

    >>> round(lemma8_1_corrected(0.5, 2.0, 0.0), 9)
    0.707106781
    """
    return math.exp(min(0.0, (rho + math.log(q)) * (alpha - 1.0) / alpha))


lemma8_2 = Entry(
    id="ae_dpfl.lemma8_2",
    locus="Lemma 8.2",
    claim="Post-processing does not increase the Renyi divergence.",
    maths=r"\epsilon_{f\circ\mathcal M}(\cdot)\le\epsilon_{\mathcal M}(\cdot)",
    verdict=Verdict.HOLDS,
    status=Status.TRANSCRIBED,
    reason=(
        "The data-processing inequality (Mironov 2017, after van Erven and Harremoes 2014, Theorem 9): no"
        " number to evaluate. The truths of Theorems 11 and 14 are cases of it: an argmax of noisy counts."
    ),
)


@theorem(
    Entry(
        id="ae_dpfl.lemma8_3",
        locus="Lemma 8.3, for two pure-DP answers",
        claim="The Renyi bounds of two mechanisms add up (printed as an equality, it is an upper bound).",
        maths=(
            r"\epsilon_{(\mathcal M_1,\mathcal M_2)}(\cdot)\le"
            r"\epsilon_{\mathcal M_1}(\cdot)+\epsilon_{\mathcal M_2}(\cdot)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            alpha=_ALPHA, first=Real(0, typical=(0.01, 4)), second=Real(0, typical=(0.01, 4))
        ),
        reason=(
            "As an equality it is false: a mechanism run twice on different pairs of neighbours"
            " loses less."
        ),
        vectors=(
            Vector(at(alpha=2, first=1, second=1), 1.4706513281110384, source=_MPMATH),
            Vector(at(alpha=3, first="0.5", second=2), 2.2389650689843437, source=_MPMATH),
        ),
    )
)
def lemma8_3(alpha: float, first: float, second: float) -> float:
    """The sum for answers that tell the truth with odds e^first and e^second.

    >>> round(lemma8_3(2.0, 1.0, 1.0), 9)
    1.470651328
    """
    return lemma4(alpha, first, 1) + lemma4(alpha, second, 1)


@theorem(
    Entry(
        id="ae_dpfl.lemma9",
        locus="Lemma 9",
        claim="(alpha, eps)-RDP is (eps + log(1/delta)/(alpha - 1), delta)-DP.",
        maths=r"\epsilon(\alpha)+\frac{\log(1/\delta)}{\alpha-1}",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=canonne2020.CONVERSION,
        looseness="canonne2020.proposition12 is smaller everywhere",
        relies_on=("mironov2017.proposition3",),
        vectors=(Vector(at(rho=1, alpha=8, delta="1e-5"), 2.644703637853),),
    )
)
def lemma9(alpha: float, rho: float, delta: float) -> float:
    """Epsilon at this delta.

    >>> round(lemma9(8.0, 1.0, 1e-5), 9)
    2.644703638
    """
    return mironov2017.proposition3(alpha, rho, delta)
