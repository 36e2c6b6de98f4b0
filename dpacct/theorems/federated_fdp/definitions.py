"""Definitions 3.5 and 3.6, and the composition lemmas 3.3 and 3.4 that are quoted."""

from __future__ import annotations

import math

from dpacct.domain import Integer, Real, Where
from dpacct.theorems import dong2019, kairouz2015
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"


@theorem(
    Entry(
        id="federated_fdp.lemma3_3",
        locus="Lemma 3.3, for answers that are epsilon-DP",
        claim="The composed algorithm is f_1 x ... x f_R-DP: here R pure-DP steps, read at one epsilon.",
        maths=r"T(\mathcal A(S),\mathcal A(S'))\ge f_1\otimes\cdots\otimes f_R",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            step=Real(0, typical=(0.01, 3)),
            rounds=Integer(1, 10),
            epsilon=Real(0, closed="left", typical=(0, 8)),
        ),
        relies_on=("kairouz2015.theorem3_3",),
        reason="Quoted from Dong, Roth and Su, who prove it.",
        vectors=(
            Vector(at(step=1, rounds=3, epsilon="1.5"), 0.30353221732510309, source=_MPMATH),
            Vector(at(step="0.5", rounds=1, epsilon=0), 0.24491866240370913, source=_MPMATH),
        ),
    )
)
def lemma3_3(step: float, rounds: int, epsilon: float) -> float:
    """Delta of `rounds` steps of f_{step,0}, the trade-off function of a coin with that bias.

    >>> round(lemma3_3(1.0, 3, 1.5), 9)
    0.303532217
    """
    return kairouz2015.coins_delta(step, rounds, epsilon)


@theorem(
    Entry(
        id="federated_fdp.lemma3_4",
        locus="Lemma 3.4",
        claim="mu_1- and mu_2-GDP steps compose to sqrt(mu_1^2 + mu_2^2)-GDP, and so on.",
        maths=r"\mu=\sqrt{\mu_1^2+\cdots+\mu_R^2}",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(mu1=Real(0, typical=(0.05, 3)), mu2=Real(0, typical=(0.05, 3))),
        reason="The last index is printed as n and must be R.",
        derivation=(
            r"The product of $N(\mu_1,1)$ and $N(\mu_2,1)$ against $N(0,I)$ is rotated, which loses nothing,"
            r" until the whole shift $\sqrt{\mu_1^2+\mu_2^2}$ lies in one coordinate."
        ),
        vectors=(Vector(at(mu1=3, mu2=4), 5.0, source="by hand"),),
        refuses=(at(mu1=0, mu2=1),),
    )
)
def lemma3_4(mu1: float, mu2: float) -> float:
    """The mu of both together.

    >>> lemma3_4(3.0, 4.0)
    5.0
    """
    return math.hypot(mu1, mu2)


definition3_5 = Entry(
    id="federated_fdp.definition3_5",
    locus="Definition 3.5",
    claim="Weak federated f-DP: what one client's helper models show of one record of another client.",
    maths=r"T\left(M_i(\mathbf S),M_i(\mathbf S'^j)\right)\ge f\quad(i\ne j)",
    verdict=Verdict.HOLDS,
    status=Status.TRANSCRIBED,
    reason=(
        "A definition, so nothing is evaluated. M_i must be read as everything that client i receives in"
        " all rounds, and S as replace-one neighbours: S^(j) and S'^(j) differ in one entry."
    ),
)


@theorem(
    Entry(
        id="federated_fdp.definition3_6",
        locus="Definition 3.6, the sentence after it",
        claim="The joint trade-off function of all other clients equals that of the product of their "
        "marginals.",
        maths=(
            r"T(M_{-j}(\mathbf S),M_{-j}(\mathbf S'^j))\ge f\iff "
            r"T\left(\prod_{i\ne j}M_i(\mathbf S),\prod_{i\ne j}M_i(\mathbf S'^j)\right)\ge f"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.05, 4)),
            correlation=Real(-1, 1, "right", typical=(-0.95, 1)),
        ),
        reason=(
            "The helper models are not independent: each is a function of the same w_j. Two helpers that"
            " see mu b plus unit noises of some correlation say more or less than their marginals. Equal"
            " helpers (correlation 1) say less: total variation 0.3829 against 0.5205 for the product at"
            " mu = 1. Noises that cancel say more, up to everything: b xor r and r, for a fair coin r, are"
            " each independent of b and reveal it together. So the product is no bound either way."
        ),
        corrected_by="federated_fdp.definition3_6_corrected",
        witness=Witness(
            at(mu=1, correlation=1),
            "Two equal helpers: the joint total variation is 0.3829, that of the product 0.5205.",
        ),
        vectors=(
            Vector(at(mu=1, correlation=1), 0.5204998778130465, 0.3829249225480262),
            Vector(
                at(mu=1, correlation="-0.5"), 0.5204998778130465, 0.6826894921370859, source=_MPMATH
            ),
        ),
    )
)
def definition3_6(mu: float, correlation: float) -> float:
    """Total variation of the product of two marginals N(mu b, 1); the correlation plays no part.

    >>> round(definition3_6(1.0, 1.0), 10)
    0.5204998778
    """
    return math.erf(0.5 * mu)


@theorem(
    Entry(
        id="federated_fdp.definition3_6_corrected",
        locus="Definition 3.6, corrected",
        claim="The joint law counts: two helpers N(mu b, 1) with correlated noises are one Gaussian shift.",
        maths=r"\mu_{joint}=\mu\sqrt{\frac2{1+r}},\qquad TV=2\Phi(\mu_{joint}/2)-1",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.05, 4)),
            correlation=Real(-1, 1, "right", typical=(-0.95, 1)),
        ),
        derivation=(
            r"$\mu_{joint}^2=v^T\Sigma^{-1}v$ for $v=\mu(1,1)$ and $\Sigma=\begin{pmatrix}1&r\\r&1"
            r"\end{pmatrix}$; $v$ is an eigenvector with eigenvalue $1+r$, which gives $2\mu^2/(1+r)$."
        ),
        vectors=(
            Vector(at(mu=1, correlation=1), 0.3829249225480262, 0.3829249225480262),
            Vector(at(mu=1, correlation="-0.5"), 0.6826894921370859, source=_MPMATH),
            Vector(at(mu=1, correlation=0), 0.5204998778130465, source=_MPMATH),
        ),
        refuses=(at(mu=1, correlation=-1), at(mu=1, correlation="1.01")),
    )
)
def definition3_6_corrected(mu: float, correlation: float) -> float:
    """Total variation of the joint law.

    >>> round(definition3_6_corrected(1.0, 1.0), 10)
    0.3829249225
    """
    return math.erf(0.5 * mu / math.sqrt(1.0 + correlation))


@theorem(
    Entry(
        id="federated_fdp.c_p",
        locus="Section 3.4, the definition of C_p, for G_{1/sigma}",
        claim="C_p(f) = min{f_p, its inverse}**, f_p = p f + (1 - p) Id: one sampled NoisySGD step.",
        maths=r"C_p(f)=\min\{f_p,f_p^{-1}\}^{**},\quad f_p=pf+(1-p)\mathrm{Id}",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            sigma=Real(0, typical=(0.2, 10)),
            rate=Real(0, 1, "right", typical=(0.01, 1)),
            alpha=Real(0, 1, typical=(1e-3, 1 - 1e-3)),
        ),
        derivation=(
            r"For symmetric $f$ the double conjugate is $f_p$ up to the fixed point of $f$, its mirror image,"
            r" and the segment of slope $-1$ between them, as in Dong, Roth and Su, Eq. (13)."
        ),
        relies_on=("dong2019.c_p",),
        vectors=(
            Vector(at(sigma=1, rate="0.5", alpha="0.05"), 0.84524448857927796, source=_MPMATH),
            Vector(at(sigma=2, rate=1, alpha="0.05"), 0.87386510180656971, source=_MPMATH),
        ),
        refuses=(at(sigma=1, rate="1.01", alpha="0.5"),),
    )
)
def c_p(sigma: float, rate: float, alpha: float) -> float:
    """The least type II error at type I error `alpha`; `sigma` = std/sensitivity, `rate` = B/n.

    >>> round(c_p(1.0, 0.5, 0.05), 12)
    0.845244488579
    """
    return dong2019.c_p(1.0 / sigma, rate, alpha)
