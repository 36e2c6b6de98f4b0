"""The Harmonizer (Algorithm 3) and the mode-connectivity update of Theorems 4 and 5."""

from __future__ import annotations

import math

from dpacct.domain import POSITIVE, Integer, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_PLACE = Real(-100, 100, "both")
_CURVE = Where(smoothness=POSITIVE, w=_PLACE, v=_PLACE)

THEOREM4 = Entry(
    id="udp_fl.theorem4",
    locus="Theorem 4",
    claim="With staircase noise training needs at most O(Delta^2 ...) additional rounds.",
    verdict=Verdict.ASYMPTOTIC,
    status=Status.ASYMPTOTIC,
    reason=(
        "A rate without constants, and its last factor is illegible in the text at hand: there is no"
        " number to evaluate, so it is not offered to any calculator."
    ),
)
ALGORITHM3 = Entry(
    id="udp_fl.algorithm3",
    locus="Algorithm 3, line 8",
    claim="If the sum of the divergences exceeds the budget, try a smaller noise multiplier.",
    verdict=Verdict.ILL_POSED,
    status=Status.TRANSCRIBED,
    reason=(
        "Inverted for a multiplier of the standard deviation: less noise has a larger divergence, so the"
        " loop never comes back within the budget. It is right for the inverse scale lam only."
    ),
    corrected_by="udp_fl.algorithm3_corrected",
)


@theorem(
    Entry(
        id="udp_fl.algorithm3_corrected",
        locus="Algorithm 3, corrected, for Gaussian noise",
        claim="The noise multiplier at which T rounds meet (eps, delta), minimised over real alpha.",
        maths=r"\sigma=\frac{\sqrt{T/2}}{\sqrt{\log(1/\delta)+\varepsilon}-\sqrt{\log(1/\delta)}}",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(
            epsilon=Real(0, typical=(0.05, 20)),
            delta=Real(0, 1, typical=(1e-9, 0.1)),
            steps=Integer(1, 10**9, typical=(1, 10**5)),
        ),
        derivation=(
            r"$\min_\alpha\left(\frac{T\alpha}{2\sigma^2}+\frac L{\alpha-1}\right)=\frac T{2\sigma^2}"
            r"+\frac{\sqrt{2TL}}\sigma$ with $L=\log(1/\delta)$, at $\alpha-1=\sigma\sqrt{2L/T}$. With"
            r" $u=\sqrt{T/2}/\sigma$ it is $u^2+2u\sqrt L=\varepsilon$, so $u=\sqrt{L+\varepsilon}-\sqrt L$:"
            r" more noise means less divergence, so the smallest that fits is where equality holds."
        ),
        relies_on=("udp_fl.table3_gaussian", "udp_fl.conversion_corrected"),
        vectors=(
            Vector(
                at(epsilon=1, delta="1e-5", steps=100), 49.0055516862842, source="mpmath, 30 digits"
            ),
        ),
    )
)
def algorithm3_corrected(epsilon: float, delta: float, steps: int) -> float:
    """std / sensitivity.

    >>> round(algorithm3_corrected(1.0, 1e-5, 100), 2)
    49.01
    """
    log_inverse = -math.log(delta)
    # sqrt(L + eps) - sqrt(L), without cancelling
    root = epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))
    return math.sqrt(0.5 * steps) / root


@theorem(
    Entry(
        id="udp_fl.theorem5",
        locus="Theorem 5, Eq. (5)",
        claim="The curve parameter that minimises the mean of |a(r) - 1/L| is 1.2/L + 1.1 w - 0.1 v.",
        maths=r"\bar\theta^*=\frac{1.2}L+1.1\,w-0.1\,v",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.TWO_SIDED,
        domain=_CURVE,
        reason="It uses the variance 1/12 of a uniform r where its second moment 1/3 belongs.",
        corrected_by="udp_fl.theorem5_corrected",
        witness=Witness(at(smoothness=1, w=0, v=0), "1.2 is claimed; the minimum is at 3."),
        vectors=(Vector(at(smoothness=1, w=2, v=1), 3.3, 6.0, source="by hand"),),
    )
)
def theorem5(smoothness: float, w: float, v: float) -> float:
    """As printed; w and v are one coordinate of the two ends of the curve.

    >>> round(theorem5(1.0, 2.0, 1.0), 12)
    3.3
    """
    return 1.2 / smoothness + 1.1 * w - 0.1 * v


@theorem(
    Entry(
        id="udp_fl.theorem5_corrected",
        locus="Theorem 5, corrected",
        claim="The curve parameter that makes the mean step 1/L is 3/L + 2w - v.",
        maths=r"\bar\theta^*=\frac3L+2w-v",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=_CURVE,
        derivation=(
            r"For $r\sim U(0,1)$, $E(1-r)^2=E r^2=2E(r-r^2)=\tfrac13$, so the mean point of the curve is"
            r" $(v+\theta+w)/3$, and the mean step from $w$ is $1/L$ where $v+\theta-2w=3/L$."
        ),
        vectors=(
            Vector(at(smoothness=1, w=2, v=1), 6.0, 6.0, source="by hand"),
            Vector(at(smoothness=2, w=0, v=5), -3.5, -3.5, source="by hand"),
        ),
    )
)
def theorem5_corrected(smoothness: float, w: float, v: float) -> float:
    """The minimiser.

    >>> theorem5_corrected(1.0, 2.0, 1.0)
    6.0
    """
    return 3.0 / smoothness + 2.0 * w - v
