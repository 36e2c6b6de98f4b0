"""Renyi divergences of sampled Gaussians, by integrating what they are defined by."""

from __future__ import annotations

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
import dpacct.sampling.poisson as poisson
from dpacct.compose import questions
from dpacct.verify.truth import truth


@truth("mironov2019.fractional", draws=150, within=1e-6)
@truth("mironov2019.integer", draws=1500, within=1e-7)
def removing(alpha: float, rate: float, sigma: float) -> float | None:
    """Quadrature of the likelihood ratio's power, the worse direction, by the exact engine."""
    if sigma < 0.05:
        return None
    node = poisson.Poisson(rate)(gaussian.Gaussian(sigma=sigma))
    return float(questions.rdp(node, alpha))


@truth("dp_fed_ls.appendix_a", "wang2018.theorem9", draws=250, within=1e-7)
def without_replacement(alpha: int, tau: float, sigma: float) -> float | None:
    """The dominating pair C_tau of the Gaussian under replace-one, by the exact engine."""
    if sigma < 0.05:
        return None
    node = fixed_size.WithoutReplacement(tau)(gaussian.Gaussian(sigma=sigma))
    return float(questions.rdp(node, alpha))
