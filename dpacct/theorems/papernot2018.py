"""Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson. Scalable Private Learning with PATE. ICLR 2018.

The noisy argmax of votes, and the Renyi bound that gets better when the votes agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpacct.domain import Bound, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "papernot2018",
    "Scalable Private Learning with PATE",
    "Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson",
    2018,
    "ICLR, arXiv:1802.08908",
)
_MPMATH = "mpmath, 50 digits"
_VOTES = Real(0, closed="left", typical=(0, 60))
_SIGMA = Real(0, typical=(0.3, 30))


Floats = NDArray[np.floating[Any]]


def as_floats(values: ArrayLike) -> Floats:
    """An array of doubles."""
    return np.asarray(values, dtype=np.float64)


def log_mismatch(margins: Iterable[float], sigma: float) -> float:
    """Proposition 7: log of how likely a noisy count overtakes the leader, by a union; may exceed 0.

    `margins` are the leader's votes minus those of each other class, `sigma` the noise of each count.

    >>> round(math.exp(log_mismatch([2.0, 2.0], 1.0)), 12)
    0.15729920705
    """
    return float(log_mismatches(np.array([list(margins)]), sigma)[0])


def log_mismatches(margins: Floats, sigma: float) -> Floats:
    """`log_mismatch` of each row.

    >>> log_mismatches(np.array([[0.0], [0.0]]), 1.0).round(9).tolist()
    [-0.693147181, -0.693147181]
    """
    from scipy.special import log_ndtr

    return log_totals(log_ndtr(-margins / (math.sqrt(2.0) * sigma)))


def log_totals(logs: Floats) -> Floats:
    """The log of the sum of e^x over each row.

    >>> log_totals(np.array([[-1000.0, -1000.0]])).round(9).tolist()
    [-999.306852819]
    """
    most = logs.max(axis=1)
    return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))


def _limit(mu1: float, mu2: float, epsilon2: float) -> float:
    return math.exp(_log_limit(mu1, mu2, epsilon2))


def _log_limit(mu1: float, mu2: float, epsilon2: float) -> float:
    """Theorem 6's condition on q, and that A is positive."""
    log_limit = (mu2 - 1.0) * epsilon2 - mu2 * (_log_share(mu1) + _log_share(mu2))
    return min(log_limit, -epsilon2)


def _log_share(mu: float) -> float:
    """log(mu/(mu - 1))."""
    rest = mu - 1.0
    return math.log(mu / rest) if rest > 0.0 else math.inf


def data_dependent(
    log_q: ArrayLike,
    order: ArrayLike,
    mu1: ArrayLike,
    epsilon1: ArrayLike,
    mu2: ArrayLike,
    epsilon2: ArrayLike,
) -> Floats:
    """Theorem 6's bound without its conditions; `log_q` is the logarithm of q. For arrays too.

    >>> data_dependent(math.log(1e-6), 4.0, 20.0, 0.2, 19.0, 0.19).round(12).item()
    6.52433e-06
    """
    log_q, power = as_floats(log_q), as_floats(order) - 1.0
    mu1, epsilon1, mu2, epsilon2 = map(as_floats, (mu1, epsilon1, mu2, epsilon2))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        stay = np.log1p(-np.exp(log_q))
        log_a = -np.log1p(-np.exp((log_q + epsilon2) * (mu2 - 1.0) / mu2)) + stay
        log_b = epsilon1 - log_q / (mu1 - 1.0)
        bound = log_sum(stay + power * log_a, log_q + power * log_b) / power
    return np.asarray(np.where(log_q + epsilon2 > -1e-15, math.inf, bound))


def log_sum(one: ArrayLike, two: ArrayLike) -> Floats:
    """log(e^one + e^two), also where the first is next to 0 and the second tiny, or either huge.

    >>> log_sum([1e-20, 1000.0], [-1000.0, 0.0]).tolist()
    [1e-20, 1000.0]
    """
    one, two = as_floats(one), as_floats(two)
    high, low = np.maximum(one, two), np.minimum(one, two)
    with np.errstate(over="ignore"):
        small = np.log1p(np.expm1(np.minimum(one, 31.0)) + np.exp(np.minimum(two, 31.0)))
    return np.asarray(np.where(high > 30.0, high + np.log1p(np.exp(low - high)), small))


@theorem(
    Entry(
        id="papernot2018.proposition7",
        locus="Proposition 7",
        claim="The noisy argmax misses the leader with probability at most the sum of pairwise overtakings.",
        maths=(
            r"\Pr[\mathcal M_\sigma(D)\ne i^*]\le\tfrac12\sum_{i\ne i^*}"
            r"\operatorname{erfc}\frac{n_{i^*}-n_i}{2\sigma}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=Where(v1=_VOTES, v2=_VOTES, v3=_VOTES, sigma=_SIGMA),
        derivation=(
            r"Class $i$ overtakes $i^*$ if $Z_i-Z_{i^*}\ge n_{i^*}-n_i$, a Gaussian of variance"
            r" $2\sigma^2$, and a union over the classes. For two classes it is exact."
        ),
        vectors=(
            Vector(at(v1=2, v2=0, v3=0, sigma=1), 0.15729920705028513, 0.1342328243652),
            Vector(at(v1=60, v2=5, v3=0, sigma=4), 1.2064063996572127e-22, source=_MPMATH),
        ),
    )
)
def proposition7(v1: float, v2: float, v3: float, sigma: float) -> float:
    """The probability that noise of std `sigma` on each count changes the winner, at most.

    >>> round(proposition7(2.0, 0.0, 0.0, 1.0), 12)
    0.15729920705
    """
    first, *others = sorted((v1, v2, v3), reverse=True)
    return math.exp(log_mismatch((first - other for other in others), sigma))


@theorem(
    Entry(
        id="papernot2018.theorem6",
        locus="Theorem 6",
        claim=(
            "A mechanism whose likely outcome is missed with probability q has a smaller Renyi"
            " bound there."
        ),
        maths=(
            r"\tfrac1{\lambda-1}\log\left((1-q)A^{\lambda-1}+qB^{\lambda-1}\right),\quad "
            r"A=\frac{1-q}{1-(qe^{\varepsilon_2})^{(\mu_2-1)/\mu_2}},\quad "
            r"B=\frac{e^{\varepsilon_1}}{q^{1/(\mu_1-1)}}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            mu1=Real(1, typical=(2, 40)),
            epsilon1=Real(0, typical=(0.01, 4)),
            mu2=Real(1, typical=(2, 40)),
            epsilon2=Real(0, typical=(0.01, 4)),
            order=Real(1, Bound("min(mu1, mu2)", lambda mu1, mu2: min(mu1, mu2)), "right"),
            q=Real(0, Bound("limit(mu1, mu2, epsilon2)", _limit)),
        ),
        reason="q is that of D alone; the theorem is about the divergence from D to its neighbours.",
        vectors=(
            Vector(
                at(mu1=20, epsilon1="0.2", mu2=19, epsilon2="0.19", order=4, q="1e-6"),
                6.5243303291228709e-6,
                source=_MPMATH,
            ),
            Vector(
                at(mu1=5, epsilon1="0.5", mu2=4, epsilon2="0.1", order=2, q="0.1745"),
                0.34096445196388638,
                source=_MPMATH,
            ),
        ),
        refuses=(
            at(mu1=5, epsilon1="0.5", mu2=4, epsilon2="0.1", order=2, q="0.1755"),
            at(mu1=20, epsilon1="0.2", mu2=19, epsilon2="0.19", order=20, q="1e-6"),
        ),
    )
)
def theorem6(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> float:
    """Renyi divergence of that order; the mechanism is (mu1, epsilon1)- and (mu2, epsilon2)-RDP.

    >>> round(theorem6(20.0, 0.2, 19.0, 0.19, 4.0, 1e-6), 12)
    6.52433e-06
    """
    return float(data_dependent(math.log(q), order, mu1, epsilon1, mu2, epsilon2))


def gaussian_votes(log_q: float, order: float, sigma: float, sensitivity: float) -> float:
    """Theorem 6 for a noisy argmax, at its best orders, or order s^2/(2 sigma^2) where that is less.

    `log_q` bounds the log probability of another winner at D; `sensitivity` is the L2 distance that a
    neighbour moves the votes: sqrt(2) for one moved vote.

    >>> gaussian_votes(-0.1, 4.0, 10.0, 1.0)
    0.02
    >>> gaussian_votes(-1000.0, 4.0, 10.0, 1.0) < 1e-300
    True
    """
    return float(gaussian_votes_table([log_q], [order], sigma, sensitivity)[0, 0])


def gaussian_votes_table(
    log_q: ArrayLike, orders: ArrayLike, sigma: float, sensitivity: float
) -> Floats:
    """`gaussian_votes` of each log q (row) at each order (column)."""
    slope = sensitivity**2 / (2.0 * sigma**2)
    q, order = as_floats(log_q)[:, None], as_floats(orders)[None, :]
    plain = np.broadcast_to(order * slope, (q.shape[0], order.shape[1]))
    mu2 = np.sqrt(np.maximum(-q, 0.0) / slope)
    mu1 = mu2 + 1.0
    limit = np.array([[_best_limit(float(mu), slope)] for mu in mu2.ravel()])
    holds = (q < 0.0) & (mu2 > 1.0) & (order <= mu2) & (q < limit)
    with np.errstate(invalid="ignore", divide="ignore"):
        bound = data_dependent(q, order, mu1, mu1 * slope, mu2, mu2 * slope)
    return np.asarray(np.where(holds, np.minimum(plain, bound), plain))


def _best_limit(mu2: float, slope: float) -> float:
    """Theorem 6's condition on log q at the orders of Proposition 10, mu1 = mu2 + 1."""
    return _log_limit(mu2 + 1.0, mu2, mu2 * slope) if mu2 > 1.0 else -math.inf


@theorem(
    Entry(
        id="papernot2018.gnmax",
        locus="Theorem 6 with Propositions 7 and 8, one moved vote",
        claim="The data-dependent Renyi bound of one noisy argmax at the given votes.",
        maths=(
            r"\mu_2=\sigma\sqrt{\log(1/q)},\quad\mu_1=\mu_2+1,\quad\varepsilon_i=\mu_i/\sigma^2,\quad "
            r"q=\tfrac12\sum\operatorname{erfc}\frac{n_{i^*}-n_i}{2\sigma}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=Where(
            v1=_VOTES, v2=_VOTES, v3=_VOTES, sigma=_SIGMA, order=Real(1, typical=(1.1, 40))
        ),
        relies_on=("papernot2018.theorem6", "papernot2018.proposition7"),
        vectors=(
            Vector(at(v1=5, v2=5, v3=0, sigma=10, order=4), 0.04, source="by hand"),
            Vector(at(v1=60, v2=5, v3=5, sigma=4, order=4), 3.8343213990860514e-18, source=_MPMATH),
        ),
    )
)
def gnmax(v1: float, v2: float, v3: float, sigma: float, order: float) -> float:
    """Renyi divergence from these votes to those with one vote moved, at most.

    >>> round(gnmax(5.0, 5.0, 0.0, 10.0, 4.0), 12)
    0.04
    """
    first, *others = sorted((v1, v2, v3), reverse=True)
    log_q = log_mismatch((first - other for other in others), sigma)
    return gaussian_votes(log_q, order, sigma, math.sqrt(2.0))
