"""Renyi divergences of the exact engine's dominating pairs, and Eq. (7) to fifty digits."""

from __future__ import annotations

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
import dpacct.sampling.poisson as poisson
from dpacct.compose import questions
from dpacct.verify.truth import truth


@truth("dp_fed_ls.eq7", draws=300)
def largest_order(tau: float, nu2: float) -> float:
    """The root of the condition by mpmath's Lambert W, 50 digits."""
    from mpmath import exp, lambertw, log, mp, mpf

    with mp.workdps(50):
        # a/c + ln(a/c) = 1/c - ln(tau (1 + nu2)) - ln c, hence a/c = W(e^{right side})
        c = mpf(nu2) * 2 / 3
        right = 1 / c - log(mpf(tau) * (1 + mpf(nu2))) - log(c)
        w = lambertw(exp(right)).real
        return float(c * w)


@truth("dp_fed_ls.remark1", draws=500, within=1e-7)
@truth("dp_fed_ls.lemma2", draws=5000, within=1e-7)
def uniform(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of the dominating pair C_tau under replace-one, by the exact engine."""
    node = fixed_size.WithoutReplacement(tau)(gaussian.Gaussian(sigma=nu2**0.5))
    return float(questions.rdp(node, alpha))


@truth("dp_fed_ls.theorem2_proof", draws=4000, within=1e-7)
@truth("dp_fed_ls.lemma3", "dp_fed_ls.lemma3_integer", draws=5000, within=1e-7)
def sampled(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    node = poisson.Poisson(tau)(gaussian.Gaussian(sigma=nu2**0.5))
    return float(questions.rdp(node, alpha))


@truth("dp_fed_ls.sensitivity", draws=200)
def exchanged(clip: float, m: int) -> float:
    """Two opposite updates, clipped as Algorithm 1 does, and the means they lead to."""
    rest = [0.1 * clip] * (min(m, 100) - 1)

    def clipped(v: float) -> float:
        return v / max(1.0, abs(v) / clip)

    first, second = ((sum(rest) + clipped(sign * 9.0 * clip)) / m for sign in (1.0, -1.0))
    return first - second
