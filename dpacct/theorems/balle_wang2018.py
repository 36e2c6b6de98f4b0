"""Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018."""

from __future__ import annotations

import math

from dpacct.domain import Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "balle_wang",
    "Improving the Gaussian Mechanism for Differential Privacy",
    "Balle, Wang",
    2018,
    "ICML",
)


def log_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """Theorem 8: delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sensitivity/std.

    Returns log delta and its relative error: the two terms cancel where mu is small.

    >>> value, error = log_delta(1.0, 1.0)
    >>> round(math.exp(value), 12), error < 1e-13
    (0.126936737507, True)
    """
    from scipy.special import log_ndtr

    first = float(log_ndtr(0.5 * mu - epsilon / mu))
    second = epsilon + float(log_ndtr(-0.5 * mu - epsilon / mu))
    ratio = -math.expm1(second - first)
    if not ratio > 0.0:
        return -math.inf, math.inf
    noise = 4e-16 * (4.0 + abs(first) + abs(second) + abs(epsilon))
    return first + math.log(ratio), noise / ratio


@theorem(
    Entry(
        id="balle_wang.theorem8",
        locus="Theorem 8",
        claim="The exact delta of the Gaussian mechanism, mu = sensitivity / std.",
        maths=(
            r"\delta=\Phi\left(\tfrac\mu2-\tfrac\varepsilon\mu\right)"
            r"-e^\varepsilon\,\Phi\left(-\tfrac\mu2-\tfrac\varepsilon\mu\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.01, 30)), epsilon=Real(0, closed="left", typical=(0, 60))
        ),
        derivation=(
            r"The loss of $N(\mu,1)$ against $N(0,1)$ at $x$ is $\mu x-\mu^2/2$, increasing in $x$,"
            r" so the best event is $x>\varepsilon/\mu+\mu/2$; its two probabilities are the two"
            " terms, and the pair is symmetric under exchange."
        ),
        vectors=(Vector(at(mu=1, epsilon=1), 0.12693673750664395, source="mpmath, 50 digits"),),
    )
)
def theorem8(mu: float, epsilon: float) -> float:
    """Delta; 0 where it lies below the range of floats.

    >>> round(theorem8(1.0, 1.0), 12)
    0.126936737507
    """
    return math.exp(log_delta(mu, epsilon)[0])
