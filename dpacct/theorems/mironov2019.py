"""Mironov, Talwar, Zhang. Renyi Differential Privacy of the Sampled Gaussian Mechanism. 2019."""

from __future__ import annotations

import math

from dpacct.domain import Integer, Real, Where
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "mironov2019",
    "Renyi Differential Privacy of the Sampled Gaussian Mechanism",
    "Mironov, Talwar, Zhang",
    2019,
    "arXiv:1908.10530",
)
_LEAST = -32.0  # logarithm of the terms at which the series end; they fall as k^-(alpha + 2) only


@theorem(
    Entry(
        id="mironov2019.integer",
        locus="Section 3.3, whole orders",
        claim="The Renyi divergence of the Poisson-sampled Gaussian at a whole order, exactly.",
        maths=(
            r"D_\alpha=\frac1{\alpha-1}\log\sum_{k=0}^\alpha\binom\alpha k(1-q)^{\alpha-k}q^k"
            r"e^{(k^2-k)/(2\sigma^2)}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            alpha=Integer(2, 256),
            rate=Real(0, 1, "right", typical=(1e-4, 1)),
            sigma=Real(0, typical=(0.3, 20)),
        ),
        derivation=(
            r"$((1-q)+q\,p_1/p_0)^\alpha$ expanded, with"
            r" $E_{p_0}(p_1/p_0)^k=e^{(k^2-k)/(2\sigma^2)}$; the direction that removes a record"
            r" dominates the other (Theorem 5 there)."
        ),
        vectors=(
            Vector(at(alpha=2, rate="0.05", sigma=1), 0.004286504370419),
            Vector(at(alpha=8, rate=1, sigma=2), 1.0, source="alpha/(2 sigma^2)"),
        ),
    )
)
def integer(alpha: int, rate: float, sigma: float) -> float:
    """Renyi divergence of order `alpha`; `sigma` = std / sensitivity.

    >>> round(integer(2, 0.05, 1.0), 12)
    0.00428650437
    """
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    # the terms minus the weights, which add up to 1: small divergences keep their digits
    terms = [
        math.log(math.comb(alpha, k))
        + (alpha - k) * math.log1p(-rate)
        + k * math.log(rate)
        + _log_expm1(k * (k - 1) / (2.0 * sigma * sigma))
        for k in range(2, alpha + 1)
    ]
    return _log1p_exp(_log_sum(terms)) / (alpha - 1)


@theorem(
    Entry(
        id="mironov2019.fractional",
        locus="Section 3.3, real orders",
        claim="The Renyi divergence of the Poisson-sampled Gaussian at any real order above 1.",
        maths=(
            r"A_\alpha=\sum_k\binom\alpha k\tfrac12\left[e^{\frac{k^2-k}{2\sigma^2}}(1-q)^{\alpha-k}q^k"
            r"\,\mathrm{erfc}\tfrac{k-z}{\sqrt2\sigma}+e^{\frac{j^2-j}{2\sigma^2}}(1-q)^kq^j"
            r"\,\mathrm{erfc}\tfrac{z-j}{\sqrt2\sigma}\right],\quad j=\alpha-k"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            alpha=Real("1.05", 256, "both", typical=(1.05, 64)),
            rate=Real("0.01", 1, "both"),  # below, the series cancel in doubles
            sigma=Real("0.1", 20, "both", typical=(0.4, 20)),
        ),
        derivation=(
            r"The integral of $p_0((1-q)+q\,p_1/p_0)^\alpha$ is cut at $z=\tfrac12+\sigma^2"
            r"\log(1/q-1)$, where both terms of the sum are equal; on each side the smaller is expanded"
            r" by the binomial series, which converges there, and integrated term by term."
        ),
        vectors=(
            Vector(at(alpha="2.3422617", rate="0.05", sigma=1), 0.005216125710510),
            Vector(at(alpha="8.5", rate=1, sigma=2), 1.0625, source="alpha/(2 sigma^2)"),
        ),
        refuses=(
            at(alpha="1.04", rate="0.05", sigma=1),
            at(alpha=2, rate="0.0099", sigma=1),
            at(alpha=2, rate="0.05", sigma="0.099"),
        ),
    )
)
def fractional(alpha: float, rate: float, sigma: float) -> float:
    """Renyi divergence of order `alpha`; `sigma` = std / sensitivity.

    >>> round(fractional(2.3422617, 0.05, 1.0), 12)
    0.005216125711
    """
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    if float(alpha).is_integer():
        return integer(int(alpha), rate, sigma)
    cut = 0.5 + sigma * sigma * (math.log1p(-rate) - math.log(rate))
    log_q, log_not = math.log(rate), math.log1p(-rate)
    positive: list[float] = []
    negative: list[float] = []
    log_binomial, sign, largest = 0.0, 1.0, -math.inf
    k = 0
    while True:
        j = alpha - k
        pair = [
            log_binomial
            + (m * m - m) / (2.0 * sigma * sigma)
            + (alpha - m) * log_not
            + m * log_q
            + _log_half_erfc(way * (m - cut) / (math.sqrt(2.0) * sigma))
            for m, way in ((k, 1.0), (j, -1.0))
        ]
        (positive if sign > 0.0 else negative).extend(pair)
        largest = max(largest, *pair)
        if k > alpha and max(pair) < max(largest, 0.0) + _LEAST:
            break
        # C(alpha, k + 1) = C(alpha, k) (alpha - k)/(k + 1)
        log_binomial += math.log(abs(j)) - math.log(k + 1)
        sign = sign if j > 0.0 else -sign
        k += 1
    top = _log_sum(positive)
    bottom = _log_sum(negative) if negative else -math.inf
    return max(0.0, top + math.log1p(-math.exp(bottom - top))) / (alpha - 1.0)


def _log_half_erfc(x: float) -> float:
    from scipy.special import log_ndtr

    return float(log_ndtr(-math.sqrt(2.0) * x))


def _log_sum(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _log1p_exp(x: float) -> float:
    return math.log1p(math.exp(x)) if x < 30.0 else x + math.log1p(math.exp(-x))
