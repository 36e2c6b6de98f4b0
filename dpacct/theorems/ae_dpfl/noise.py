"""Algorithms 3, 5 and 6: where DP-FedAvg adds its noise, how much of it, and who must be trusted."""

from __future__ import annotations

import math

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems import balle_wang2018
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_SIGMA = Real(0, typical=(0.05, 10))
_CLIP = Real(0, typical=(0.01, 10))
_AGENTS = Integer(1, 10**6, typical=(1, 500))
_EPSILON = Real(0, closed="left", typical=(0, 30))


@theorem(
    Entry(
        id="ae_dpfl.algorithm3",
        locus="Algorithm 3, line 8, all agents sampled",
        claim="(Delta + N(0, sigma^2 S^2))/m_t is the Gaussian mechanism of multiplier sigma.",
        maths=r"\theta^{t+1}=\theta^t+\tfrac1{m_t}\left(\Delta^t+\mathcal N(0,\sigma^2S^2)\right)",
        verdict=Verdict.ILL_POSED,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            sigma=_SIGMA,
            participants=Integer(1, 10**6, typical=(2, 200)),
            dimension=Integer(1, 10**9, typical=(10, 10**6)),
            epsilon=Real(0, closed="left", typical=(0, 8)),
        ),
        reason=(
            "m_t is 'sample agents with q' in line 3, so a random number that changes when an agent joins."
            " Then the noise itself does: N(0, s^2/m^2) against N(0, s^2/(m+1)^2) in d dimensions are told"
            " apart by their norm, however large sigma is, once d exceeds about m^2. And sigma has two"
            " readings: with S = 0.08 and sigma = 0.06 as printed, a multiplier of 0.06 costs eps = 209.08"
            " (delta = 1e-5) for one round of all agents; an absolute std of 0.06 is a multiplier of"
            " 0.75, 6.13."
        ),
        corrected_by="ae_dpfl.algorithm3_corrected",
        witness=Witness(
            at(sigma=1, participants=10, dimension=1000, epsilon=1),
            "An agent whose update is zero joins ten others: the noise shrinks by a tenth in 1000"
            " coordinates.",
        ),
        vectors=(
            Vector(
                at(sigma=1, participants=10, dimension=1000, epsilon=1),
                0.12693673750664395,
                source="mpmath, 50 digits",
            ),
        ),
    )
)
def algorithm3(sigma: float, participants: int, dimension: int, epsilon: float) -> float:
    """Delta of one round with all agents, add/remove; participants and dimension play no part.

    >>> round(algorithm3(1.0, 10, 1000, 1.0), 9)
    0.126936738
    """
    return algorithm3_corrected(sigma, epsilon)


@theorem(
    Entry(
        id="ae_dpfl.algorithm3_corrected",
        locus="Algorithm 3, corrected: a fixed divisor",
        claim="Divided by a public number such as q N, one round of all agents is Gaussian with multiplier "
        "sigma.",
        maths=(
            r"\theta^{t+1}=\theta^t+\tfrac1{qN}\left(\Delta^t+\mathcal N(0,\sigma^2S^2)\right):\quad"
            r"\delta=\Phi\left(\tfrac1{2\sigma}-\varepsilon\sigma\right)"
            r"-e^\varepsilon\Phi\left(-\tfrac1{2\sigma}-\varepsilon\sigma\right)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=Where(sigma=_SIGMA, epsilon=_EPSILON),
        derivation=(
            r"Under add/remove the clipped sum moves by at most $S$, the noise has std $\sigma S$ per"
            r" coordinate, and a division by a constant is post-processing, so this is"
            r" $N(1,\sigma^2)$ against"
            r" $N(0,\sigma^2)$. Under replace-one the sum moves by $2S$: halve sigma."
        ),
        relies_on=("balle_wang.theorem8",),
        vectors=(
            Vector(at(sigma=1, epsilon=1), 0.12693673750664395, source="mpmath, 50 digits"),
            Vector(at(sigma="0.06", epsilon="209.08"), 1e-5, within=2e-3),
            Vector(at(sigma="0.75", epsilon="6.13"), 1e-5, within=2e-2),
        ),
    )
)
def algorithm3_corrected(sigma: float, epsilon: float) -> float:
    """Delta of one round with all agents, add/remove.

    >>> round(algorithm3_corrected(1.0, 1.0), 9)
    0.126936738
    """
    return balle_wang2018.theorem8(1.0 / sigma, epsilon)


@theorem(
    Entry(
        id="ae_dpfl.algorithm6",
        locus="Algorithms 5 and 6",
        claim="If each of m_t agents adds N(0, sigma^2 S^2/m_t), the sum has noise of std sigma S, as in "
        "Algorithm 3.",
        maths=r"\sum_{i=1}^{m_t}\mathcal N(0,\sigma^2S^2/m_t)=\mathcal N(0,\sigma^2S^2)",
        verdict=Verdict.CONDITIONAL,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(sigma=_SIGMA, clip=_CLIP, participants=_AGENTS),
        reason=(
            "Only if all m_t agents are honest, stay to the end, and the server sees nothing but the sum."
            " 'To prevent the adversary from tapping the network messages' needs secure aggregation: a single"
            " message carries noise of std sigma S/sqrt(m_t) only. algorithm6_dropout is what is left if not."
        ),
        derivation=(
            r"Variances of independent Gaussians add up: $m_t\cdot\sigma^2S^2/m_t=\sigma^2S^2$ in every"
            r" coordinate, so the law of the sum is that of Algorithm 3."
        ),
        vectors=(Vector(at(sigma="0.06", clip="0.08", participants=50), 0.0048, source="by hand"),),
    )
)
def algorithm6(sigma: float, clip: float, participants: int) -> float:
    """The std of the noise on the sum; that of one agent's is sqrt(participants) times less.

    >>> round(algorithm6(0.06, 0.08, 50), 12)
    0.0048
    """
    return sigma * clip


@theorem(
    Entry(
        id="ae_dpfl.algorithm6_dropout",
        locus="Algorithms 5 and 6, with agents missing",
        claim=(
            "If a share of the agents drops out, or tells its noise to others, the rest of the"
            " noise is less."
        ),
        maths=r"\sigma S\sqrt{1-\text{missing}/m_t}",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            sigma=_SIGMA,
            clip=_CLIP,
            participants=_AGENTS,
            missing=Integer(0, Bound("participants - 1", lambda participants: participants - 1)),
        ),
        derivation=(
            r"The noise that the adversary can't subtract is that of the others:"
            r" $(m_t-\text{missing})\,\sigma^2S^2/m_t$ in variance."
        ),
        relies_on=("ae_dpfl.algorithm6",),
        vectors=(
            Vector(
                at(sigma=1, clip=2, participants=100, missing=19),
                1.8,
                source="by hand",
            ),
        ),
        refuses=(at(sigma=1, clip=1, participants=10, missing=10),),
    )
)
def algorithm6_dropout(sigma: float, clip: float, participants: int, missing: int) -> float:
    """The std of the noise on the sum that is left.

    >>> round(algorithm6_dropout(1.0, 2.0, 100, 19), 12)
    1.8
    """
    return sigma * clip * math.sqrt((participants - missing) / participants)
