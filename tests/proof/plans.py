"""Random plans and hand-made rules for the tests of the certified answers."""

from __future__ import annotations

import random
from fractions import Fraction

from flint import acb, arb

from dpacct.proof.sampled_gaussian import GaussianRule, Grid, PreparedGaussian, SampledGaussian

FINE = Grid(-6.0, 0.25, 60)


def laws(count: int, seed: int) -> list[tuple[SampledGaussian, float]]:
    """Random sampled Gaussians, in both directions, each with a tilt."""
    draw = random.Random(seed)
    found = []
    for k in range(count):
        sigma = Fraction(round(10 ** draw.uniform(-0.3, 0.7), 3)).limit_denominator(1000)
        rate = Fraction(round(10 ** draw.uniform(-3, -0.1), 4)).limit_denominator(10_000)
        tilt = round(10 ** draw.uniform(-0.5, 0.8), 3)
        found.append((SampledGaussian(sigma**2, rate, k % 2 == 0), tilt))
    return found


def fine(law: SampledGaussian, tilt: float) -> PreparedGaussian:
    """The law with a rule far better than any test needs."""
    sigma = float(law.sigma_squared) ** 0.5
    shift = min(0.3 * sigma, 1.0)
    step = 2 * 3.1416 * shift / 130
    first, last = int(-22 / step), int((22 + (tilt + 3) / sigma) / step)
    far = Grid(-9.0, 0.1, int(180 + 10 * (tilt + 3) / sigma))
    rule = GaussianRule(shift, step, first, last, (FINE,), min(1.2 * sigma, 2.5), far)
    return law.prepare(arb(tilt), rule)


def at(prepared: PreparedGaussian, t: float) -> acb:
    """M(c + it)."""
    return prepared.row(arb(t), 1)[1]
