"""Theorem 2: the privacy budget of T rounds, as printed, for Poisson sampling, and for Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpacct.domain import Integer, Real, Where
from dpacct.theorems import canonne2020, dong2019
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"
_RATE = Real(0, 1, "right", typical=(0.01, 0.5))
_SIGMA = Real("0.1", 50, "both", typical=(0.6, 3))
_ROUNDS = Integer(1, 10**6, typical=(1, 400))
_ALPHA = Real(1, 256, "right", typical=(1.1, 40))
_DELTA = Real(0, 1, typical=(1e-8, 0.01))
_RUN = Where(rate=_RATE, sigma=_SIGMA, rounds=_ROUNDS, delta=_DELTA)
_PAPER = {"rate": "0.1", "sigma": "0.95", "delta": "0.002"}
"""Section 6.1: q = 0.1, sigma = 0.95, delta = 1/500."""
_TINY = (
    1e-4  # alpha times the ratio's distance from 1, below which powers are taken by their series
)
Floats = NDArray[np.float64]
_LOWEST, _HIGHEST = 1e-2, 255.0  # orders minus 1
_NARROW = 70
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@theorem(
    Entry(
        id="dp_fedsam.eq16",
        locus="Theorem 2, Eq. (16)",
        claim="(alpha, rho)-RDP is (eps, delta)-DP with this eps.",
        maths=(
            r"\epsilon=\overline\epsilon+\frac{(\alpha-1)\log(1-\frac1\alpha)-\log\alpha-\log\delta}"
            r"{\alpha-1}"
        ),
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=canonne2020.CONVERSION,
        reason="Where it is negative, 0 stands for it.",
        relies_on=("canonne2020.proposition12",),
        vectors=(
            Vector(at(rho=1, alpha=8, delta="1e-5"), 2.2141091678455),
            Vector(at(rho="1e-6", alpha=2, delta="0.5"), 0.0, source="negative as printed"),
        ),
    )
)
def eq16(alpha: float, rho: float, delta: float) -> float:
    """Epsilon at this delta; at least 0.

    >>> round(eq16(8.0, 1.0, 1e-5), 9)
    2.214109168
    """
    return canonne2020.proposition12(alpha, rho, delta)


def sampled_renyi(alpha: float, rate: float, sigma: float) -> float:
    """(1/(alpha-1)) log E_{z ~ N(0, sigma^2)} [(1 - q + q mu_1(z)/mu_0(z))^alpha], mu_1 = N(1, sigma^2).

    >>> round(sampled_renyi(2.0, 0.05, 1.0), 12)
    0.00428650437
    """
    z = np.linspace(-13.0 * sigma, alpha + 13.0 * sigma, 512 + 24 * int(alpha / sigma))
    log_weight = -z * z / (2.0 * sigma**2) + math.log(
        float(z[1] - z[0]) / (sigma * math.sqrt(2.0 * math.pi))
    )
    with np.errstate(divide="ignore"):  # log(0) = -inf where the rate is 1
        loss = np.logaddexp(np.log1p(-rate), math.log(rate) + (2.0 * z - 1.0) / (2.0 * sigma**2))
    top = log_weight + alpha * loss
    highest = float(np.max(top))
    if highest > 500.0:
        return (highest + math.log(float(np.sum(np.exp(top - highest))))) / (alpha - 1.0)
    # the mean of the ratio is 1, which keeps the digits of a small divergence; dividing by alpha - 1
    # inside the sum keeps those of an order next to 1
    power = alpha - 1.0
    near = np.minimum(loss, 30.0 / alpha)
    close = np.exp(near) * np.expm1(power * near) / power - np.expm1(near)
    hit = np.exp(log_weight + loss)
    far = (np.exp(top) - hit) / power - (hit - np.exp(log_weight))
    parts = np.where(loss < 30.0 / alpha, np.exp(log_weight) * close, far)
    move = rate * np.expm1(np.minimum((2.0 * z - 1.0) / (2.0 * sigma**2), 700.0))
    tiny = np.abs(move) < _TINY / alpha
    parts = np.where(tiny, np.exp(log_weight) * _squares(alpha, np.where(tiny, move, 0.0)), parts)
    return math.log1p(power * float(np.sum(parts))) / power


def _squares(alpha: float, u: Floats) -> Floats:
    """((1+u)^alpha - 1 - alpha u)/(alpha - 1) for small u, by its series."""
    tail = 1.0 + (alpha - 3.0) / 4.0 * u * (1.0 + (alpha - 4.0) / 5.0 * u)
    return np.asarray(alpha / 2.0 * u * u * (1.0 + (alpha - 2.0) / 3.0 * u * tail))


def best_order(epsilon: Callable[[float], float]) -> float:
    """The smallest epsilon over the orders (1.01, 256]; it has one minimum.

    >>> round(best_order(lambda alpha: alpha + 16.0 / (alpha - 1.0)), 9)
    9.0
    """
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    first, second = epsilon(1.0 + math.exp(one)), epsilon(1.0 + math.exp(two))
    for _ in range(_NARROW):
        if first < second:
            high, two, second = two, one, first
            one = high - _GOLDEN * (high - low)
            first = epsilon(1.0 + math.exp(one))
        else:
            low, one, first = one, two, second
            two = low + _GOLDEN * (high - low)
            second = epsilon(1.0 + math.exp(two))
        if high - low < 1e-5:
            break
    return min(first, second)


@theorem(
    Entry(
        id="dp_fedsam.eq17",
        locus="Theorem 2, Eq. (17), mu_1 as printed: the mixture",
        claim="The Renyi divergence of T rounds, mu_1 = q N(1, sigma^2) + (1 - q) N(0, sigma^2).",
        maths=(
            r"\overline\epsilon=\frac T{\alpha-1}\ln\mathbb E_{z\sim\mu_0}\left[\left(1-q+"
            r"\frac{q\mu_1(z)}{\mu_0(z)}\right)^\alpha\right],\quad\mu_1=qN(1,\sigma^2)+(1-q)N(0,\sigma^2)"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(alpha=_ALPHA, rate=_RATE, sigma=_SIGMA, rounds=_ROUNDS),
        reason=(
            "The mixture is taken twice, so the rate becomes q^2. In Mironov, Talwar and Zhang 2019 mu_1 is"
            " either N(1, sigma^2) inside this formula, or the mixture inside (mu_1/mu_0)^alpha."
            " Also N(0, sigma)"
            " must be read with sigma the standard deviation."
        ),
        corrected_by="dp_fedsam.eq17_corrected",
        witness=Witness(
            at(alpha=2, rate="0.1", sigma=1, rounds=1), "0.000172 against the true 0.0170."
        ),
        vectors=(
            Vector(
                at(alpha=2, rate="0.1", sigma=1, rounds=1),
                1.7181342207454793e-4,
                0.01703686323617655,
                source=_MPMATH,
            ),
        ),
    )
)
def eq17(alpha: float, rate: float, sigma: float, rounds: int) -> float:
    """The printed divergence; `sigma` = std / sensitivity.

    >>> round(eq17(2.0, 0.1, 1.0, 1), 9)
    0.000171813
    """
    return rounds * sampled_renyi(alpha, rate * rate, sigma)


@theorem(
    Entry(
        id="dp_fedsam.eq17_corrected",
        locus="Theorem 2, Eq. (17), corrected: Poisson sampling",
        claim="The Renyi divergence of T rounds with mu_1 = N(1, sigma^2), each client sampled by its own "
        "coin.",
        maths=(
            r"\overline\epsilon=\frac T{\alpha-1}\ln\mathbb E_{z\sim N(0,\sigma^2)}\left[\left(1-q+q"
            r"e^{(2z-1)/(2\sigma^2)}\right)^\alpha\right]"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=Where(alpha=_ALPHA, rate=_RATE, sigma=_SIGMA, rounds=_ROUNDS),
        derivation=(
            r"Under Poisson sampling and add/remove the worst pair is $(1-q)N(0,\sigma^2)+qN(1,\sigma^2)$"
            r" against $N(0,\sigma^2)$; the direction that removes a client dominates (Mironov, Talwar, Zhang"
            r" 2019, Theorem 5). Renyi divergences of rounds add up."
        ),
        relies_on=("mironov2019.integer",),
        vectors=(
            Vector(at(alpha=2, rate="0.05", sigma=1, rounds=1), 0.004286504370419),
            Vector(at(alpha="2.3422617", rate="0.05", sigma=1, rounds=2), 0.010432251421020),
            Vector(
                at(alpha=8, rate="1e-6", sigma=2, rounds=1),
                1.1361037861437592e-12,
                within=1e-11,
                source=_MPMATH,
            ),
            Vector(
                at(alpha=8, rate="2e-6", sigma=3, rounds=1),
                1.8803078554027148e-12,
                within=1e-11,
                source=_MPMATH,
            ),
            Vector(
                at(alpha=6, rate="1e-5", sigma=4, rounds=1),
                1.9348388662423715e-11,
                within=1e-11,
                source=_MPMATH,
            ),
            Vector(
                at(alpha=200, rate=1, sigma="0.5", rounds=3), 1200.0, source="T alpha/(2 sigma^2)"
            ),
            Vector(at(alpha=9, rate=1, sigma=3, rounds=1), 0.5, source="alpha/(2 sigma^2)"),
        ),
        refuses=(at(alpha=2, rate="1.01", sigma=1, rounds=1),),
    )
)
def eq17_corrected(alpha: float, rate: float, sigma: float, rounds: int) -> float:
    """Renyi divergence of order `alpha` of all rounds; `sigma` = std / sensitivity C/m.

    >>> round(eq17_corrected(2.0, 0.05, 1.0, 1), 12)
    0.00428650437
    """
    return rounds * sampled_renyi(alpha, rate, sigma)


@theorem(
    Entry(
        id="dp_fedsam.theorem2",
        locus="Theorem 2, as printed",
        claim="Eq. (16) and (17) at the best order give the epsilon of T rounds.",
        maths=(
            r"\epsilon=\min_\alpha\left\{\overline\epsilon(\alpha)+\dots\right\}\ \text{with Eq."
            r" (17) as printed}"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_RUN,
        reason=(
            "Eq. (17) mixes twice, so a sampling rate of q^2 is accounted for. With the paper's q = 0.1,"
            " sigma = 0.95, T = 200, delta = 1/500 it says eps = 0.728; the true delta there is 0.486, even"
            " under Poisson sampling."
        ),
        corrected_by="dp_fedsam.theorem2_corrected",
        relies_on=("dp_fedsam.eq16", "dp_fedsam.eq17"),
        witness=Witness(
            at(**_PAPER, rounds=200), "eps = 0.728, where delta is 0.486 instead of 0.002."
        ),
        vectors=(
            Vector(at(**_PAPER, rounds=200), 0.7280163, within=1e-6),
            Vector(at(**_PAPER, rounds=200), None, 0.48569, within=1e-4),
        ),
    )
)
def theorem2(rate: float, sigma: float, rounds: int, delta: float) -> float:
    """The epsilon that the printed formulas give.

    >>> round(theorem2(0.1, 0.95, 200, 0.002), 5)
    0.72802
    """
    return best_order(lambda alpha: eq16(alpha, eq17(alpha, rate, sigma, rounds), delta))


@theorem(
    Entry(
        id="dp_fedsam.theorem2_corrected",
        locus="Theorem 2, corrected: Poisson sampling",
        claim="The epsilon of T rounds if every client tosses its own coin, add/remove, sensitivity C/m.",
        maths=(
            r"\epsilon=\min_\alpha\left\{\overline\epsilon(\alpha)+\dots\right\}\ \text{with"
            r" }\mu_1=N(1,\sigma^2)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_RUN,
        derivation=(
            r"`dp_fedsam.eq17_corrected` bounds the Renyi divergence at every order, Eq. (16) turns"
            r" it into an"
            r" epsilon, and the smallest over the orders holds like each of them."
        ),
        looseness="8.5132 where the exact value is 7.3012 (T = 200), 10.7948 and 9.3725 (T = 300)",
        relies_on=("dp_fedsam.eq16", "dp_fedsam.eq17_corrected"),
        vectors=(
            Vector(at(**_PAPER, rounds=200), 8.513165508),
            Vector(at(**_PAPER, rounds=300), 10.794782605),
            Vector(
                at(rate=1, sigma="0.1", rounds=10**6, delta="0.1"),
                50500224.648355697,
                within=1e-6,
                source=f"{_MPMATH}, at the least order that is tried",
            ),
        ),
        refuses=(at(rate="1.01", sigma=1, rounds=1, delta="0.01"),),
    )
)
def theorem2_corrected(rate: float, sigma: float, rounds: int, delta: float) -> float:
    """Epsilon under Poisson sampling and add/remove; `sigma` = std of the mean's noise / (C/m).

    >>> round(theorem2_corrected(0.1, 0.95, 200, 0.002), 6)
    8.513166
    """
    return best_order(lambda alpha: eq16(alpha, eq17_corrected(alpha, rate, sigma, rounds), delta))


@theorem(
    Entry(
        id="dp_fedsam.theorem2_algorithm1",
        locus="Theorem 2, used for Algorithm 1",
        claim="The Poisson formula with sensitivity C/m is the epsilon of Algorithm 1.",
        maths=r"\text{as }\texttt{theorem2\_corrected},\ \text{for sampling }m=qM\text{ without replacement}",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=_RUN,
        reason=(
            "Line 3 of Algorithm 1 samples qM clients without replacement: neighbours are then"
            " replace-one and"
            " the sensitivity is 2C/m, so the multiplier is sigma/2. For q = 0.1, sigma = 0.95,"
            " delta = 1/500,"
            " T = 200 the formula says 8.51; the truth lies in [36.98, 43.17] (T = 300: 10.79,"
            " [48.54, 57.77])."
        ),
        corrected_by="dp_fedsam.theorem2_without_replacement",
        relies_on=("dp_fedsam.theorem2_corrected", "dp_fedsam.lemma1_corrected"),
        witness=Witness(
            at(**_PAPER, rounds=200),
            "eps = 8.51, where delta is nearly 1; the truth is 36.98 at least.",
        ),
        vectors=(Vector(at(**_PAPER, rounds=200), 8.513165508),),
    )
)
def theorem2_algorithm1(rate: float, sigma: float, rounds: int, delta: float) -> float:
    """As `theorem2_corrected`.

    >>> round(theorem2_algorithm1(0.1, 0.95, 200, 0.002), 6)
    8.513166
    """
    return theorem2_corrected(rate, sigma, rounds, delta)


@theorem(
    Entry(
        id="dp_fedsam.theorem2_without_replacement",
        locus="Theorem 2, corrected for Algorithm 1",
        claim="The epsilon of T rounds of Algorithm 1: m = qM clients without replacement, replace-one, "
        "sensitivity 2C/m.",
        maths=r"\epsilon=\min_\alpha\left\{T\,D_\alpha(C_q(G_{2/\sigma}))+\dots\right\}",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=_RUN,
        derivation=(
            r"The mean of the updates moves by at most $2C/m$, the noise has std $\sigma C/m$, so one"
            r" round of"
            r" all clients is $G_{2/\sigma}$, and of a uniform sample $C_q(G_{2/\sigma})$ (Dong, Roth, Su,"
            r" Theorem 4.2). Its Renyi divergences add up over the rounds, and Eq. (16) converts."
        ),
        looseness="48.81 where the truth is at most 43.17, and at least 36.98 (T = 200)",
        relies_on=("dong2019.c_p_renyi", "dp_fedsam.eq16", "dp_fedsam.lemma1_corrected"),
        vectors=(
            Vector(at(**_PAPER, rounds=200), 48.808191372187, source=_MPMATH),
            Vector(at(**_PAPER, rounds=300), 64.385075040445, source=_MPMATH),
        ),
        refuses=(at(rate="1.01", sigma=1, rounds=1, delta="0.01"),),
    )
)
def theorem2_without_replacement(rate: float, sigma: float, rounds: int, delta: float) -> float:
    """Epsilon of Algorithm 1; `sigma` as in Eq. (11), so that std / sensitivity = sigma/2.

    >>> theorem2_without_replacement(0.1, 0.95, 200, 0.002) > 36.98
    True
    """
    mu = 2.0 / sigma
    return best_order(
        lambda alpha: eq16(alpha, rounds * dong2019.c_p_renyi(mu, rate, alpha), delta)
    )
