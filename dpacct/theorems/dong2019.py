"""Dong, Roth, Su. Gaussian Differential Privacy. 2019 (J. R. Stat. Soc. B 2022).

Trade-off functions of Gaussian shifts, what subsampling makes of them, and their central limit.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpacct.domain import Real, Where
from dpacct.theorems import balle_wang2018
from dpacct.theorems.entry import Entry, Paper, Vector, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

PAPER = Paper(
    "dong2019",
    "Gaussian Differential Privacy",
    "Dong, Roth, Su",
    2019,
    "arXiv:1905.02383; J. R. Stat. Soc. B 84 (2022)",
)
_MPMATH = "mpmath, 50 digits"
_HALVE = 200


@theorem(
    Entry(
        id="dong2019.definition2_6",
        locus="Definition 2.6, Eq. (6)",
        claim="The trade-off function G_mu of N(0,1) against N(mu,1).",
        maths=r"G_\mu(\alpha)=\Phi\left(\Phi^{-1}(1-\alpha)-\mu\right)",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(mu=Real(0, typical=(0.01, 8)), alpha=Real(0, 1, typical=(1e-6, 1 - 1e-6))),
        derivation=(
            r"The likelihood ratio increases in $x$, so the best test of level $\alpha$ rejects for"
            r" $x>\Phi^{-1}(1-\alpha)$, and misses with probability $\Phi(\Phi^{-1}(1-\alpha)-\mu)$."
        ),
        vectors=(Vector(at(mu=1, alpha="0.05"), 0.74048897715855593, source=_MPMATH),),
        refuses=(at(mu=1, alpha=1),),
    )
)
def gaussian_tradeoff(mu: float, alpha: float) -> float:
    """The least type II error of a test with type I error `alpha`.

    >>> round(gaussian_tradeoff(1.0, 0.05), 12)
    0.740488977159
    """
    from scipy.special import ndtr, ndtri

    return float(ndtr(-ndtri(alpha) - mu))


def amplified(epsilon: float, rate: float) -> float:
    """log(1 + (e^eps - 1)/rate): where the profile of the unsampled pair is read.

    >>> round(amplified(1.0, 0.5), 12)
    1.489880125645
    """
    if epsilon < 30.0:
        return math.log1p(math.expm1(epsilon) / rate)
    return epsilon - math.log(rate)  # the rest is below the last digit of epsilon


@theorem(
    Entry(
        id="dong2019.theorem4_2",
        locus="Theorem 4.2, as a profile",
        claim="Delta of C_rate(G_mu): a Gaussian step on a uniform sample without replacement.",
        maths=(
            r"\delta_{C_p(f)}(\varepsilon)=p\,\delta_f\left(\log\left(1+\tfrac{e^\varepsilon-1}p"
            r"\right)\right),\quad\varepsilon\ge0"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.05, 6)),
            rate=Real(0, 1, "right", typical=(1e-4, 1)),
            epsilon=Real(0, closed="left", typical=(0, 12)),
        ),
        derivation=(
            r"$f_p=pf+(1-p)\mathrm{Id}$ is $T((1-p)Q+pP,Q)$, and $\int((1-p)Q+pP-e^\varepsilon Q)_+=p\int"
            r"(P-e^{\varepsilon'}Q)_+$ with $p e^{\varepsilon'}=e^\varepsilon-1+p$. The convex envelope of"
            r" $f_p$ and its inverse has the larger of the two profiles, for $\varepsilon\ge0$ that one."
        ),
        relies_on=("balle_wang.theorem8",),
        vectors=(
            Vector(at(mu=1, rate="0.5", epsilon=1), 0.02886761783763035, source=_MPMATH),
            Vector(at(mu=1, rate=1, epsilon=1), 0.12693673750664395, source=_MPMATH),
        ),
        refuses=(at(mu=1, rate="1.01", epsilon=1),),
    )
)
def theorem4_2(mu: float, rate: float, epsilon: float) -> float:
    """Delta of one step; `mu` = sensitivity/std, `rate` the share of the records in a sample.

    >>> round(theorem4_2(1.0, 0.5, 1.0), 9)
    0.028867618
    """
    return rate * balle_wang2018.theorem8(mu, amplified(epsilon, rate))


@theorem(
    Entry(
        id="dong2019.c_p",
        locus="Eq. (13): C_p of a symmetric trade-off function",
        claim="C_rate(G_mu) as a trade-off function: f_p, a straight piece, and the inverse of f_p.",
        maths=(
            r"C_p(f)(x)=\begin{cases}f_p(x)&x\le x^*\\x^*+f_p(x^*)-x&x^*\le x\le f_p(x^*)\\"
            r"f_p^{-1}(x)&x\ge f_p(x^*)\end{cases},\quad f(x^*)=x^*,\ f_p=pf+(1-p)\mathrm{Id}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.1, 5)),
            rate=Real(0, 1, "right", typical=(0.01, 1)),
            alpha=Real(0, 1, typical=(1e-3, 1 - 1e-3)),
        ),
        derivation=(
            r"$f$ has slope $-1$ at its fixed point $x^*$, so $f_p$ has slope $-1$ there too, and its mirror"
            r" image at the mirror point $(f_p(x^*),x^*)$. The segment between the two touches both curves:"
            r" it is the convex envelope of their minimum there; outside it the lower curve is convex."
        ),
        relies_on=("dong2019.definition2_6",),
        vectors=(
            Vector(at(mu=1, rate="0.5", alpha="0.05"), 0.84524448857927796, source=_MPMATH),
            Vector(at(mu=1, rate="0.5", alpha="0.35"), 0.4585375387259869, source=_MPMATH),
            Vector(at(mu=1, rate="0.5", alpha="0.84524448857927796"), 0.05, source=_MPMATH),
        ),
        refuses=(at(mu=1, rate="1.01", alpha="0.5"),),
    )
)
def c_p(mu: float, rate: float, alpha: float) -> float:
    """The least type II error at type I error `alpha` for one sampled Gaussian step.

    >>> round(c_p(1.0, 0.5, 0.05), 12)
    0.845244488579
    """
    from scipy.special import ndtr

    def sampled(x: float) -> float:
        return rate * gaussian_tradeoff(mu, x) + (1.0 - rate) * (1.0 - x)

    fixed = float(ndtr(-mu / 2.0))
    low = rate * fixed + (1.0 - rate) * (1.0 - fixed)  # G_mu(fixed) = fixed
    if alpha <= fixed:
        return sampled(alpha)
    if alpha <= low:
        return fixed + low - alpha
    inside, outside = 0.0, fixed  # the inverse: sampled falls from 1 to `low` on (0, fixed]
    for _ in range(_HALVE):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if sampled(middle) > alpha else (inside, middle)
    return outside


@theorem(
    Entry(
        id="dong2019.corollary5_4",
        locus="Corollary 5.4",
        claim="The mu of the Gaussian limit of noisy SGD on uniform samples, c = rate sqrt(steps).",
        maths=(
            r"\mu=\sqrt2\,c\,\sqrt{e^{\sigma^{-2}}\Phi(1.5\sigma^{-1})+3\Phi(-0.5\sigma^{-1})-2}"
        ),
        verdict=Verdict.ASYMPTOTIC,
        status=Status.ASYMPTOTIC,
        side=Side.NONE,
        domain=Where(c=Real(0, typical=(0.01, 10)), sigma=Real(0, typical=(0.3, 10))),
        reason="A limit rate -> 0, steps -> infinity at fixed c; at finite steps it errs either way.",
        vectors=(
            Vector(at(c=1, sigma=1), 1.7101424755953306, source=_MPMATH),
            Vector(at(c=2, sigma=3), 0.77030377363832832, source=_MPMATH),
        ),
    )
)
def corollary5_4(c: float, sigma: float) -> float:
    """The limiting mu; `sigma` = std/sensitivity.

    >>> round(corollary5_4(1.0, 1.0), 9)
    1.710142476
    """
    from scipy.special import ndtr

    x = 1.0 / sigma
    # e^{x^2} - 1 and the two normal terms apart: their sum vanishes as sigma grows
    growth = math.expm1(x * x) * float(ndtr(1.5 * x))
    rest = 0.5 * (math.erf(1.5 * x / math.sqrt(2.0)) - 3.0 * math.erf(0.5 * x / math.sqrt(2.0)))
    return math.sqrt(2.0) * c * math.sqrt(growth + rest)


@cache
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return nodes, weights


@theorem(
    Entry(
        id="dong2019.c_p_renyi",
        locus="Theorem 4.2, as a Renyi divergence",
        claim="The Renyi divergence of C_rate(G_mu), the pair that dominates a Gaussian step on a uniform "
        "sample.",
        maths=(
            r"e^{(\alpha-1)D_\alpha}=1+\int_{\mu/2}^\infty\varphi(x)\left[r^\alpha-r+r^{1-\alpha}-1"
            r"\right]dx,\quad r=1-p+pe^{\mu x-\mu^2/2}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, 40, typical=(0.05, 4)),
            rate=Real(0, 1, "right", typical=(1e-3, 1)),
            alpha=Real(1, 300, "right", typical=(1.05, 60)),
        ),
        derivation=(
            r"The pair has the loss $\log r$ at $x>\mu/2$ under $(1-p)N(0,1)+pN(\mu,1)$, its mirror image,"
            r" and no loss otherwise. The three parts give $\int\varphi r\cdot r^{\alpha-1}$,"
            r" $\int\varphi r^{1-\alpha}$ and the rest of the mass, $1-\int\varphi(r+1)$."
        ),
        relies_on=("dong2019.theorem4_2",),
        vectors=(
            Vector(at(mu=1, rate="0.05", alpha=2), 0.006306250967114),
            Vector(at(mu=2, rate=1, alpha=5), 10.0, source="alpha mu^2/2"),
        ),
        refuses=(at(mu=1, rate="1.01", alpha=2),),
    )
)
def c_p_renyi(mu: float, rate: float, alpha: float) -> float:
    """Renyi divergence of order `alpha` of one sampled step, replace-one.

    >>> round(c_p_renyi(1.0, 0.05, 2.0), 9)
    0.006306251
    """
    nodes, weights = _rule()
    start, end = mu / 2.0, alpha * mu + 14.0
    edges = np.linspace(start, end, 2 + int((end - start) * max(1.0, mu)))
    half = (edges[1] - edges[0]) / 2.0
    x = (edges[:-1, None] + half * (nodes + 1.0)).ravel()
    log_weight = np.log(np.tile(weights * half, edges.size - 1)) - x * x / 2.0
    log_weight -= math.log(2.0 * math.pi) / 2.0
    with np.errstate(divide="ignore"):  # log(0) = -inf where rate is 1
        loss = np.logaddexp(np.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2.0)
    top = log_weight + alpha * loss
    highest = float(np.max(top))
    if highest > 500.0:
        return (highest + math.log(float(np.sum(np.exp(top - highest))))) / (alpha - 1.0)
    near = np.minimum(loss, 30.0 / alpha)  # where powers of the ratio are close to 1
    gain = np.exp(near) * np.expm1((alpha - 1.0) * near) + np.expm1((1.0 - alpha) * loss)
    far = (
        np.exp(top)
        - np.exp(log_weight + loss)
        + np.exp(log_weight) * np.expm1((1.0 - alpha) * loss)
    )
    parts = np.where(loss < 30.0 / alpha, np.exp(log_weight) * gain, far)
    return math.log1p(float(np.sum(parts))) / (alpha - 1.0)
