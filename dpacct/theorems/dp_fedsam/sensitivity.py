"""Theorem 1, Lemma 1 and Eq. (11): how far one sample or one client moves an update, and the noise on it."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_CLIP = Real(0, typical=(0.01, 10))
_CLIENTS = Integer(1, 10**6, typical=(1, 500))
_SIGMA = Real(0, typical=(0.05, 10))


def _step(factor: float) -> Real:
    """The learning rates for which the denominator 1 - factor eta^2 L^2 K is positive."""
    return Real(
        0,
        Bound(
            f"1/(smoothness sqrt({factor:g} steps))",
            lambda smoothness, steps: 1.0 / (smoothness * math.sqrt(factor * steps)),
        ),
    )


_STEPS = Integer(1, 1000, typical=(1, 30))
_SMOOTH = Real(0, typical=(0.1, 10))


@theorem(
    Entry(
        id="dp_fedsam.theorem1",
        locus="Theorem 1, Eq. (13)",
        claim="Exchanging one sample moves a client's SAM update by at most this, squared, in expectation.",
        maths=(
            r"\mathbb E\,\mathcal S^2_{\Delta_i^t}\le"
            r"\frac{6\eta^2\rho^2KL^2(12K^2L^2\eta^2+10)}{1-2\eta^2L^2K}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            eta=_step(2.0), rho=Real(0, typical=(0.001, 1)), steps=_STEPS, smoothness=_SMOOTH
        ),
        reason=(
            "The proof's fourth line bounds the difference of two gradients at different points and for"
            " different samples by the distance of the points alone, so the sample that was"
            " exchanged is lost:"
            " the bound tends to 0 with rho. F = (w - z)^2/2 with z = 1 or -1, from w = 0, K = 1, eta = 0.1,"
            " rho = 0.01: the updates differ by 0.202, 0.0408 squared, and the bound is 6.2e-5. Remark 1,"
            " 'DP-FedSAM has a better privacy guarantee than DP-FedAvg', falls with it: after clipping the"
            " sensitivity is that of the clipping, whatever the optimiser."
        ),
        corrected_by="dp_fedsam.theorem1_corrected",
        witness=Witness(
            at(eta="0.1", rho="0.01", steps=1, smoothness=1), "0.040804 against 0.000062."
        ),
        vectors=(
            Vector(at(eta="0.1", rho="0.01", steps=1, smoothness=1), 6.195918367347e-5, 0.040804),
        ),
    )
)
def theorem1(eta: float, rho: float, steps: int, smoothness: float) -> float:
    """The printed bound on the squared sensitivity before clipping; `steps` = K.

    >>> round(theorem1(0.1, 0.01, 1, 1.0), 12)
    6.1959184e-05
    """
    square = (eta * smoothness) ** 2
    top = 6.0 * square * rho**2 * steps * (12.0 * steps**2 * square + 10.0)
    return top / (1.0 - 2.0 * square * steps)


@theorem(
    Entry(
        id="dp_fedsam.theorem1_sgd",
        locus="Theorem 1, the bound for SGD (Eq. (23))",
        claim="Exchanging one sample moves a client's SGD update by at most this, squared, in expectation.",
        maths=(
            r"\mathbb E\,\mathcal S^2_{\Delta_i^t,SGD}\le\frac{6\eta^2\sigma_l^2K}{1-3\eta^2KL^2}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            eta=_step(3.0),
            variance=Real(0, closed="left", typical=(0, 0.5)),
            steps=_STEPS,
            smoothness=_SMOOTH,
        ),
        reason=(
            "sigma_l bounds the variance of a client's own sample gradients. It says nothing about"
            " how far the"
            " gradients of the two data sets are apart: with one sample each (z = 1 or -1, F = (w -"
            " z)^2/2) it is"
            " 0, and so is the bound, but the updates differ by 2 eta."
        ),
        corrected_by="dp_fedsam.theorem1_corrected",
        witness=Witness(at(eta="0.1", variance=0, steps=1, smoothness=1), "0.04 against 0."),
        vectors=(Vector(at(eta="0.1", variance=0, steps=1, smoothness=1), 0.0, 0.04),),
    )
)
def theorem1_sgd(eta: float, variance: float, steps: int, smoothness: float) -> float:
    """The printed bound; `variance` = sigma_l^2, `steps` = K.

    >>> theorem1_sgd(0.1, 0.0, 1, 1.0)
    0.0
    """
    return 6.0 * eta**2 * variance * steps / (1.0 - 3.0 * steps * (eta * smoothness) ** 2)


@theorem(
    Entry(
        id="dp_fedsam.theorem1_corrected",
        locus="Theorem 1, corrected: after clipping",
        claim="Whatever changes in a client's data, its clipped update moves by at most 2C, squared 4 C^2.",
        maths=r"\|\tilde\Delta-\tilde\Delta'\|^2\le(2C)^2",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(clip=_CLIP),
        derivation=(
            r"Both clipped updates lie in the ball of radius C, whose diameter is 2C, and opposite updates"
            r" attain it. If the client is added or removed, one of the two is absent: C."
        ),
        vectors=(
            Vector(at(clip="0.2"), 0.16, 0.16, source="by hand"),
            Vector(at(clip=3), 36.0, source="by hand"),
        ),
        refuses=(at(clip=0),),
    )
)
def theorem1_corrected(clip: float) -> float:
    """The squared sensitivity of one client's clipped update, any change of its data.

    >>> round(theorem1_corrected(0.2), 12)
    0.16
    """
    return (2.0 * clip) ** 2


eq14 = Entry(
    id="dp_fedsam.eq14",
    locus="Theorem 1, Eq. (14)",
    claim="With eta = O(1/(L sqrt(KT))) and rho = O(1/sqrt T) the squared sensitivity is O(1/T^2).",
    maths=r"\mathbb E\,\mathcal S^2_{\Delta_i^t}\le\mathcal O(1/T^2)",
    verdict=Verdict.ILL_POSED,
    status=Status.TRANSCRIBED,
    reason=(
        "No constant is given, so nothing can be evaluated; and the example that refutes Theorem 1 falls only"
        " like 1/T: with K = 1 the updates differ by 2 eta (1 + rho) L, squared 4/T and more."
    ),
    relies_on=("dp_fedsam.theorem1",),
)


@theorem(
    Entry(
        id="dp_fedsam.lemma1",
        locus="Lemma 1, for Algorithm 1",
        claim="The mean of the clipped updates has client-level sensitivity C/m.",
        maths=(
            r"\Big\|\frac1m\sum_{i\in\mathcal W}\Delta_i-\frac1m\sum_{j\in\mathcal W^{adj}}\Delta_j\Big\|"
            r"\le\frac Cm"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(clip=_CLIP, participants=_CLIENTS),
        reason=(
            "The proof's batches contain 'one extra or less client'. Algorithm 1 samples exactly m ="
            " qM clients"
            " without replacement, so batches differ by a client that is exchanged: two opposite updates of"
            " norm C, 2C/m. C/m is right for Poisson sampling with the fixed divisor m, see"
            " lemma1_add_remove, but then the number of sampled clients is not m."
        ),
        corrected_by="dp_fedsam.lemma1_corrected",
        witness=Witness(
            at(clip="0.2", participants=50), "Clients with updates u and -u, |u| = C: 0.008 = 2C/m."
        ),
        vectors=(Vector(at(clip="0.2", participants=50), 0.004, 0.008),),
    )
)
def lemma1(clip: float, participants: int) -> float:
    """The printed sensitivity, C/m.

    >>> round(lemma1(0.2, 50), 12)
    0.004
    """
    return clip / participants


@theorem(
    Entry(
        id="dp_fedsam.lemma1_corrected",
        locus="Lemma 1, corrected for Algorithm 1",
        claim="A fixed number m of clients, one of them exchanged: the mean moves by at most 2C/m.",
        maths=r"\mathcal S=\frac{2C}m",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=Where(clip=_CLIP, participants=_CLIENTS),
        derivation=(
            r"All but one summand are the same, and the two that differ lie in the ball of radius C: at most"
            r" $\frac1m\cdot2C$, attained by opposite updates."
        ),
        vectors=(Vector(at(clip="0.2", participants=50), 0.008, 0.008),),
        refuses=(at(clip="0.2", participants=0),),
    )
)
def lemma1_corrected(clip: float, participants: int) -> float:
    """The sensitivity under replace-one, `participants` = m.

    >>> round(lemma1_corrected(0.2, 50), 12)
    0.008
    """
    return 2.0 * clip / participants


@theorem(
    Entry(
        id="dp_fedsam.lemma1_add_remove",
        locus="Lemma 1, for Poisson sampling with a fixed divisor",
        claim="A client more or fewer in the sum moves the sum over a constant m by at most C/m.",
        maths=r"\|\tfrac1m\Delta_j\|\le\tfrac Cm",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(clip=_CLIP, participants=_CLIENTS),
        derivation=(
            r"Eq. (15) of the paper, with m a public constant: the one extra summand has norm at most C."
            r" If m were the number of sampled clients, it would change as well."
        ),
        vectors=(Vector(at(clip="0.2", participants=50), 0.004, 0.004, source="by hand"),),
        refuses=(at(clip="0.2", participants=0),),
    )
)
def lemma1_add_remove(clip: float, participants: int) -> float:
    """The sensitivity under add/remove, `participants` = the constant m.

    >>> round(lemma1_add_remove(0.2, 50), 12)
    0.004
    """
    return clip / participants


@theorem(
    Entry(
        id="dp_fedsam.eq11",
        locus="Eq. (11)",
        claim="Each of m clients adds N(0, sigma^2 C^2/m): the mean carries noise of std sigma C/m.",
        maths=(
            r"\frac1m\sum_{i=1}^m\mathcal N(0,\sigma^2C^2/m)=\mathcal N\left(0,\sigma^2C^2/m^2\right)"
        ),
        verdict=Verdict.CONDITIONAL,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(sigma=_SIGMA, clip=_CLIP, participants=_CLIENTS),
        reason=(
            "If all m clients add their share, and only the mean is seen. Against the sensitivity of Lemma 1"
            " that is a multiplier of sigma under Poisson sampling (C/m), and of sigma/2 for"
            " Algorithm 1 (2C/m)."
        ),
        derivation=(
            r"Variances add: $m\cdot\sigma^2C^2/m=\sigma^2C^2$ for the sum, and $1/m^2$ of that for"
            r" the mean, in"
            r" every coordinate."
        ),
        relies_on=("dp_fedsam.lemma1_corrected",),
        vectors=(
            Vector(at(sigma="0.95", clip="0.2", participants=50), 0.0038, 0.0038, source="by hand"),
        ),
        refuses=(at(sigma="0.95", clip="0.2", participants=0),),
    )
)
def eq11(sigma: float, clip: float, participants: int) -> float:
    """The std of the noise on the mean, per coordinate.

    >>> round(eq11(0.95, 0.2, 50), 12)
    0.0038
    """
    return sigma * clip / participants
