"""The exact epsilon of what Tables 1 to 3 ran, both ends."""

from __future__ import annotations

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
import dpacct.sampling.poisson as poisson
from dpacct.compose import questions
from dpacct.tree import Node


def _ends(node: Node, delta: float) -> tuple[float, float]:
    answer = questions.epsilon(node, delta=delta, method="exact")
    assert answer.lower is not None and answer.upper is not None
    return answer.lower, answer.upper


def uniform_truth(multiplier: float, tau: float, steps: int, delta: float) -> tuple[float, float]:
    """Noise z G on a fixed-size sample under replace-one: sensitivity 2G."""
    base = gaussian.Gaussian(noise_multiplier=multiplier, clip=1)
    return _ends(fixed_size.WithoutReplacement(tau)(base) * steps, delta)


def poisson_truth(multiplier: float, tau: float, steps: int, delta: float) -> tuple[float, float]:
    """Noise z G on a Poisson sample under add/remove: sensitivity G."""
    base = gaussian.Gaussian(noise_multiplier=multiplier, clip=1)
    return _ends(poisson.Poisson(tau)(base) * steps, delta)


def uniform_noise_truth(
    nu: float, tau: float, clip: float, steps: int, delta: float
) -> tuple[float, float]:
    """As `uniform_truth`, the noise in the units of the clip."""
    return uniform_truth(nu / clip, tau, steps, delta)


def poisson_noise_truth(
    nu: float, tau: float, clip: float, steps: int, delta: float
) -> tuple[float, float]:
    """As `poisson_truth`, the noise in the units of the clip."""
    return poisson_truth(nu / clip, tau, steps, delta)
