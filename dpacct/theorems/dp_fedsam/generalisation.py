"""Lemma 6, Theorems 4 and 5: one round as a step of differential privacy, and the generalisation bound."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems import dong2019
from dpacct.theorems.dp_fedsam.composition import lemma4
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"
_OF = Bound("samples", lambda samples: samples)

lemma6 = Entry(
    id="dp_fedsam.lemma6",
    locus="Lemma 6",
    claim="An (eps, delta)-DP algorithm generalises within 4 eps, for samples that are large enough.",
    maths=(
        r"\mathbb P\left[|\hat{\mathcal R}_S-\mathcal R|<4\varepsilon\right]>1-\frac{2e^{-1.7\varepsilon}"
        r"\delta}\varepsilon\ln\frac2\varepsilon"
    ),
    verdict=Verdict.ILL_POSED,
    status=Status.TRANSCRIBED,
    reason=(
        "'c_1, ..., c_7 are some positive constants': the sample size that is asked for is unspecified, and"
        " the second argument of its maximum has a logarithm of a number below 1. Its probability is that of"
        " Theorem 5, which exceeds 1 for eps > 2."
    ),
)


@theorem(
    Entry(
        id="dp_fedsam.diameter",
        locus="Proof of Theorem 4, the diameter D before Eq. (34)",
        claim="Perturbed gradients of two samples differ by at most 2 L rho.",
        maths=(
            r"D=\max_{w,z,z'}\left\|\nabla\ell(w+\delta_z;z)-\nabla\ell(w+\delta_{z'};z')\right\|=2L\rho"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(smoothness=Real(0, typical=(0.1, 10)), rho=Real(0, typical=(0.01, 2))),
        reason=(
            "Smoothness compares the gradients of one loss at two points, and here there are two losses:"
            " L (w - z)^2/2 with z = 1 and -1 have gradients 2 L (1 + rho) apart at w = 0. It is the clipping"
            " that bounds the difference, by 2C."
        ),
        corrected_by="dp_fedsam.theorem1_corrected",
        witness=Witness(at(smoothness=1, rho="0.5"), "3 apart, and the diameter is said to be 1."),
        vectors=(Vector(at(smoothness=1, rho="0.5"), 1.0, 3.0, source="by hand"),),
    )
)
def diameter(smoothness: float, rho: float) -> float:
    """The printed diameter of the gradients.

    >>> diameter(1.0, 0.5)
    1.0
    """
    return 2.0 * smoothness * rho


_STEP_OF = Where(
    smoothness=Real(0, typical=(0.1, 10)),
    rho=Real(0, typical=(0.01, 1)),
    sigma=Real(0, typical=(0.1, 3)),
    clip=Real(0, typical=(0.05, 1)),
    dimension=Integer(1, 10**12, typical=(1, 10**6)),
    samples=Integer(1, 10**9, typical=(1, 1000)),
    participants=Integer(1, _OF, typical=(1, 1000)),
    slack=Real(0, 1, typical=(1e-9, 0.1)),
)


@theorem(
    Entry(
        id="dp_fedsam.theorem4",
        locus="Theorem 4",
        claim="One round is (eps~, (m/N) delta)-DP with this eps~.",
        maths=(
            r"\tilde\varepsilon=\log\left(\frac{N-m}N+\frac"
            r" mN\exp\left(\frac{L\rho\sqrt{2\log(1/\tilde\delta)}}"
            r"{\sigma Cd}+\left(\frac{\sqrt2L\rho}{\sigma"
            r" Cd}\right)^2\right)\right),\quad\delta=\min_{1\le t\le T}"
            r"e^{-\frac{\sqrt2t\|v\|\sigma Cd}m\sqrt{\log1/\tilde\delta}}\,\mathbb E\,e^{t\langle"
            r" v,W'\rangle}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_STEP_OF,
        reason=(
            "Four faults. The dimension d in the denominators: <v, w> has standard deviation |v| sigma C/m,"
            " without d, so the bound improves with d and the mechanism doesn't (L = 1, rho = 0.5, sigma ="
            " 0.95, C = 0.2, d = 100: eps~ = 0.128 where delta is 0.991). A factor 2 lost between"
            " Eq. (39) and"
            " (40): at d = 1, L rho = 0.01, sigma C = 1, delta~ = 1e-5 the exact delta is 5.4e-5."
            " The diameter"
            " 2 L rho is that of the perturbations: gradients of different samples are apart however smooth"
            " they are. And m/N is a share of clients in Lemma 4's place for samples. With 1 <= t <= T the"
            " printed delta may exceed 1; it is judged here where it is at its best, the t of Chernoff."
        ),
        corrected_by="dp_fedsam.theorem4_corrected",
        relies_on=("dp_fedsam.lemma4", "dp_fedsam.diameter"),
        witness=Witness(
            at(
                smoothness=1,
                rho="0.5",
                sigma="0.95",
                clip="0.2",
                dimension=100,
                participants=50,
                samples=50,
                slack="1e-5",
            ),
            "eps~ = 0.128 and delta = 1e-5 are claimed; at that eps~ the Gaussian step has delta = 0.991.",
        ),
        vectors=(
            Vector(
                at(
                    smoothness=1,
                    rho="0.5",
                    sigma="0.95",
                    clip="0.2",
                    dimension=100,
                    participants=50,
                    samples=50,
                    slack="1e-5",
                ),
                0.1276620392,
                0.9909430891570,
                within=1e-9,
            ),
            Vector(
                at(
                    smoothness="0.01",
                    rho=1,
                    sigma=1,
                    clip=1,
                    dimension=1,
                    participants=1,
                    samples=1,
                    slack="1e-5",
                ),
                0.0481852591219,
                5.419725514478e-5,
            ),
        ),
    )
)
def theorem4(
    smoothness: float,
    rho: float,
    sigma: float,
    clip: float,
    dimension: int,
    samples: int,
    participants: int,
    slack: float,
) -> float:
    """The printed eps~ of one round; `smoothness` = L, `slack` = delta~.

    >>> round(theorem4(1.0, 0.5, 0.95, 0.2, 100, 50, 50, 1e-5), 9)
    0.127662039
    """
    unit = smoothness * rho / (sigma * clip * dimension)
    inner = unit * math.sqrt(-2.0 * math.log(slack)) + 2.0 * unit**2
    return lemma4(inner, samples, participants) if inner < 700.0 else inner


@theorem(
    Entry(
        id="dp_fedsam.theorem4_corrected",
        locus="Theorem 4, corrected",
        claim="The exact delta of one round of Algorithm 1 at any epsilon: m of N clients, one of them "
        "exchanged.",
        maths=(
            r"\delta=\tfrac mN\,\delta_{G_{2/\sigma}}\left(\log\left(1+\tfrac"
            r" Nm(e^\varepsilon-1)\right)\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=Where(
            sigma=Real(0, typical=(0.3, 10)),
            rate=Real(0, 1, "right", typical=(0.001, 1)),
            epsilon=Real(0, closed="left", typical=(0, 8)),
        ),
        derivation=(
            r"After clipping the mean moves by at most $2C/m$ against noise of std $\sigma C/m$: a"
            r" Gaussian of"
            r" $\mu=2/\sigma$, in every dimension, whatever the loss and the optimiser. On a uniform"
            r" sample it"
            r" is $C_{m/N}(G_\mu)$, whose profile is that of Dong, Roth and Su."
        ),
        relies_on=("dong2019.theorem4_2", "dp_fedsam.lemma1_corrected", "dp_fedsam.eq11"),
        vectors=(
            Vector(at(sigma=2, rate="0.5", epsilon=1), 0.02886761783763035, source=_MPMATH),
            Vector(at(sigma=2, rate=1, epsilon=1), 0.12693673750664395, source=_MPMATH),
        ),
        refuses=(at(sigma=2, rate="1.01", epsilon=1),),
    )
)
def theorem4_corrected(sigma: float, rate: float, epsilon: float) -> float:
    """Delta of one round; `rate` = m/N, `sigma` that of Eq. (11).

    >>> round(theorem4_corrected(2.0, 0.5, 1.0), 9)
    0.028867618
    """
    return dong2019.theorem4_2(2.0 / sigma, rate, epsilon)


@theorem(
    Entry(
        id="dp_fedsam.theorem5",
        locus="Theorem 5, Eq. (20)",
        claim="The risks differ by less than 4 eps' with at least this probability.",
        maths=(
            r"\mathbb P\left[|\hat{\mathcal R}_S-\mathcal R_{\mathcal D}|<4\varepsilon'\right]>"
            r"1-\frac{2e^{-1.7\varepsilon'}\delta'}{\varepsilon'}\ln\frac2{\varepsilon'}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.LOWER,
        domain=Where(epsilon=Real(0, typical=(0.01, 6)), delta=Real(0, 1, typical=(1e-6, 0.5))),
        reason=(
            "For eps' > 2 the logarithm is negative and the 'probability' exceeds 1: eps' = 3, delta' = 0.1"
            " gives 1.00016. For eps' >= 1/4 it says nothing, since losses are at most 1. Its eps' and delta'"
            " are those of Theorem 4 and Lemma 5, which are false. For eps' < 1/4 it was neither refuted nor"
            " proved here."
        ),
        relies_on=("dp_fedsam.lemma6", "dp_fedsam.lemma5", "dp_fedsam.theorem4"),
        witness=Witness(at(epsilon=3, delta="0.1"), "A probability above 1.00016."),
        vectors=(
            Vector(at(epsilon=3, delta="0.1"), 1.0001648012004),
            Vector(at(epsilon="0.1", delta="0.001"), 0.9494521216172),
        ),
    )
)
def theorem5(epsilon: float, delta: float) -> float:
    """The printed probability.

    >>> round(theorem5(0.1, 0.001), 9)
    0.949452122
    """
    return 1.0 - 2.0 * math.exp(-1.7 * epsilon) * delta / epsilon * math.log(2.0 / epsilon)
