"""Papernot, Abadi, Erlingsson, Goodfellow, Talwar. Semi-supervised Knowledge Transfer. ICLR 2017.

The noisy argmax with Laplace noise (LNMax), and the bound that gets better when the votes agree.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpacct.domain import Bound, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.papernot2018 import Floats, as_floats, log_sum, log_totals
from dpacct.vocabulary import Side

PAPER = Paper(
    "papernot2017",
    "Semi-supervised Knowledge Transfer for Deep Learning from Private Training Data",
    "Papernot, Abadi, Erlingsson, Goodfellow, Talwar",
    2017,
    "ICLR, arXiv:1610.05755",
)
_MPMATH = "mpmath, 50 digits"
_VOTES = Real(0, closed="left", typical=(0, 60))


def log_overtaking(margins: ArrayLike) -> Floats:
    """Log of (2 + m)/(4 e^m): a count with Laplace noise of scale 1 overtakes one that is m ahead.

    >>> round(float(np.exp(log_overtaking(0.0))), 12)
    0.5
    """
    m = as_floats(margins)
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.log(2.0 + np.maximum(m, 0.0)) - math.log(4.0) - np.maximum(m, 0.0)
        behind = np.log1p(-0.25 * (2.0 + np.maximum(-m, 0.0)) * np.exp(np.minimum(m, 0.0)))
    return np.asarray(np.where(m >= 0.0, ahead, behind))


def likely_outcome(log_q: float, order: float, epsilon: float) -> float:
    """Theorem 3 as a Renyi divergence, or infinity where its condition on q fails.

    >>> round(likely_outcome(math.log(0.01), 2.0, 0.5), 9)
    0.012933219
    """
    return float(likely_outcome_table([log_q], [order], epsilon)[0, 0])


def likely_outcome_table(log_q: ArrayLike, orders: ArrayLike, epsilon: float) -> Floats:
    """`likely_outcome` of each log q (row) at each order (column), at most epsilon."""
    q, power = as_floats(log_q)[:, None], as_floats(orders)[None, :] - 1.0
    inside = q < _log_limit(epsilon)
    held = np.minimum(q, _log_limit(epsilon) - 1e-9)
    stay = np.log1p(-np.exp(held))
    with np.errstate(divide="ignore"):
        # log(1 - e^eps q) without losing the digits of a small q
        x = epsilon + held
        ratio = stay - np.where(x < -1.0, np.log1p(-np.exp(x)), np.log(-np.expm1(x)))
    bound = log_sum(stay + power * ratio, held + power * epsilon) / power
    return np.asarray(np.where(inside, np.minimum(bound, epsilon), epsilon))


def _log_limit(epsilon: float) -> float:
    """Log of (e^eps - 1)/(e^{2 eps} - 1) = 1/(e^eps + 1)."""
    return -math.log1p(math.exp(epsilon)) if epsilon < 700.0 else -epsilon


@theorem(
    Entry(
        id="papernot2017.lemma4",
        locus="Lemma 4",
        claim="The noisy argmax with Laplace noise misses the leader with at most this probability.",
        maths=(
            r"\Pr[\mathcal M(D)\ne i^*]\le\sum_{i\ne i^*}\frac{2+m_i}{4e^{m_i}},"
            r"\quad m_i=\frac{n_{i^*}-n_i}b"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=Where(v1=_VOTES, v2=_VOTES, v3=_VOTES, b=Real(0, typical=(0.3, 30))),
        derivation=(
            r"The difference of two Laplace variables of scale $b$ has the tail"
            r" $\Pr[X>mb]=\frac{2+m}{4e^m}$, $m\ge0$: integrate its density $\frac{1+|x|}{4}e^{-|x|}$."
            r" Class $i$ overtakes the leader if it exceeds the margin; a union over the classes. For two"
            r" classes it is exact."
        ),
        vectors=(
            Vector(at(v1=2, v2=0, v3=0, b=1), 0.27067056647322538, source=_MPMATH),
            Vector(at(v1=60, v2=5, v3=0, b=4), 5.5041694016447165e-06, source=_MPMATH),
        ),
    )
)
def lemma4(v1: float, v2: float, v3: float, b: float) -> float:
    """The probability that noise of scale b on each count changes the winner, at most.

    >>> round(lemma4(2.0, 0.0, 0.0, 1.0), 9)
    0.270670566
    """
    first, *others = sorted((v1, v2, v3), reverse=True)
    margins = np.array([[(first - other) / b for other in others]])
    return math.exp(float(log_totals(log_overtaking(margins))[0]))


@theorem(
    Entry(
        id="papernot2017.theorem3",
        locus="Theorem 3, as a Renyi divergence",
        claim="An epsilon-DP mechanism whose likely outcome is missed with probability q costs less there.",
        maths=(
            r"D_\alpha\le\tfrac1{\alpha-1}\log\left((1-q)\left(\tfrac{1-q}{1-e^\varepsilon q}\right)"
            r"^{\alpha-1}+qe^{(\alpha-1)\varepsilon}\right),\quad q<\tfrac1{e^\varepsilon+1}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=Where(
            epsilon=Real(0, typical=(0.01, 6)),
            alpha=Real(1, typical=(1.05, 40)),
            q=Real(0, Bound("1/(e^epsilon + 1)", lambda epsilon: math.exp(_log_limit(epsilon)))),
        ),
        reason="q is that of D alone; the divergence is from D to its neighbours.",
        derivation=(
            r"Let $p\le q$ be the chance of another outcome at D. At a neighbour it is at most"
            r" $e^\varepsilon p$, so the likely outcome has at least $1-e^\varepsilon p$ and contributes at"
            r" most $(1-p)\left(\frac{1-p}{1-e^\varepsilon p}\right)^{\alpha-1}$; elsewhere the ratio is at"
            r" most $e^\varepsilon$. The sum increases with $p$ while $p<1/(e^\varepsilon+1)$: there"
            r" $\frac{1-p}{1-e^\varepsilon p}<e^\varepsilon$, so moving mass from the likely outcome to the"
            r" others adds, and the ratio itself increases. So $p=q$ is the worst."
        ),
        vectors=(
            Vector(at(epsilon="0.5", alpha=2, q="0.01"), 0.012933219022210130, source=_MPMATH),
            Vector(at(epsilon=2, alpha=5, q="0.05"), 1.2591453449004270, source=_MPMATH),
            Vector(at(epsilon=1, alpha=3, q="0.268"), 0.99402295367426572, source=_MPMATH),
        ),
        refuses=(at(epsilon=1, alpha=3, q="0.27"),),
    )
)
def theorem3(epsilon: float, alpha: float, q: float) -> float:
    """Renyi divergence of order alpha from these data to a neighbour, at most.

    >>> round(theorem3(0.5, 2.0, 0.01), 9)
    0.012933219
    """
    return likely_outcome(math.log(q), alpha, epsilon)
