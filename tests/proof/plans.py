"""Random steps and hand-made rules for the tests of the proofs."""

import math
import random
from fractions import Fraction
from itertools import accumulate

from flint import acb, arb, fmpz, fmpz_poly

from dpacct.pld.loss import laplace
from dpacct.pld.loss import normal as normal_law
from dpacct.proof.balls import ball
from dpacct.proof.law import add, exchange, plain, remove
from dpacct.proof.moments import ProofMoments
from dpacct.proof.plan import Step
from dpacct.proof.rule import BranchRule, LineRule, PanelRule, PointRow, QuadratureRule

NAMES = {plain: "plain", remove: "remove", add: "add", exchange: "symmetric"}


def normal(sigma_squared: Fraction | int, rate: Fraction, how: object = remove) -> Step:
    """A sampled Gaussian step."""
    return Step(normal_law, (1 / Fraction(sigma_squared),), how, rate)  # type: ignore[arg-type]


def spaced(b: Fraction | int, rate: Fraction | int = 1, how: object = plain) -> Step:
    """A Laplace step."""
    return Step(laplace, (1 / Fraction(b),), how, Fraction(rate))  # type: ignore[arg-type]


def steps(count: int, seed: int) -> list[tuple[Step, float]]:
    """Random sampled Gaussians, in both directions, each with a tilt."""
    draw = random.Random(seed)
    results = []
    for k in range(count):
        sigma = Fraction(round(10 ** draw.uniform(-0.3, 0.7), 3)).limit_denominator(1000)
        rate = Fraction(round(10 ** draw.uniform(-3, -0.1), 4)).limit_denominator(10_000)
        tilt = round(10 ** draw.uniform(-0.5, 0.8), 3)
        results.append((normal(sigma**2, rate, remove if k % 2 == 0 else add), tilt))
    return results


def size(step: Step) -> float:
    """mu of Gaussian noise, in floats."""
    return math.sqrt(step.mu_squared)


def grid(step: Step, start: float, width: float, count: int) -> PointRow:
    """Cells given in deviations of the noise under Q."""
    mu = size(step)
    return PointRow(mu * start - mu * mu / 2, mu * width, count)


def nodes(step: Step, shift: float, width: float, low: float, high: float) -> LineRule:
    """Nodes given in deviations of the noise under Q."""
    mu = size(step)
    ends = (math.floor((x - mu / 2) / width) for x in (low, high))
    return LineRule(mu * shift, mu * width, *ends)


def fine_rule(step: Step, tilt: float) -> QuadratureRule:
    """A rule far better than any test needs."""
    sigma = 1 / size(step)
    shift = min(0.3 * sigma, 1.0)
    width = 2 * 3.1416 * shift / 130
    line = nodes(step, shift, width, -22.0, 22 + (tilt + 3) / sigma)
    far = grid(step, -9.0, 0.1, int(180 + 10 * (tilt + 3) / sigma))
    branch = BranchRule(line, (grid(step, -6.0, 0.25, 60),))
    return QuadratureRule((branch,), min(1.2 * sigma, 2.5) / sigma, (far,))


def fine(step: Step, tilt: float) -> ProofMoments:
    """The step with such a rule."""
    return prepared(step, tilt, fine_rule(step, tilt))


def prepared(step: Step, tilt: float, rule: QuadratureRule) -> ProofMoments:
    """The step ready for a line."""
    result = step.prepare(arb(tilt), rule)
    assert isinstance(result, ProofMoments)
    return result


def panels(
    step: Step, each: int, count: int, rho: float, ends: tuple[float, ...] = (), cells: int = 40
) -> QuadratureRule:
    """Panels on every branch, to these ends where a branch has none."""
    results = []
    for k, branch in enumerate(step.law().branches):
        assert branch.start is not None
        end = float(branch.end.mid()) if branch.end is not None else ends[k]
        start = float(branch.start.mid())
        hair = 1e-9 * (end - start)
        cut = PointRow(start + hair, (end - start - 2 * hair) / cells, cells)
        results.append(BranchRule(PanelRule(end, each, count, rho), (cut,)))
    return QuadratureRule(tuple(results))


def bare(moments: ProofMoments, t: float) -> acb:
    """The rule's sum at c + it, without its error."""
    s = acb(moments.c, t)
    return sum(
        ((w + s * x).exp() for w, x in zip(moments.log_weights, moments.losses, strict=True)),
        acb(0),
    )


def at(moments: ProofMoments, t: float) -> acb:
    """M(c + it)."""
    return moments.row(arb(t), 1)[1]


def by_every_residue(count: int, b: Fraction, epsilon: arb) -> arb:
    """Delta of plain Laplace steps by the residues of M^T e^{-s eps} / (s (s+1)), one after the other.

    With y_j = lambda (T - 2j) - eps and u = 2s + 1, the sum over j with y_j > 0 of binom(T, j) e^{-lambda j}
    ([j = 0] + 2^{1-T} e^{-y_j/2} [u^{T-1}] e^{y_j u/2} (1+u)^{T-j-1} (u-1)^{j-1}).
    """
    lam = 1 / ball(b)
    rising, falling = fmpz_poly([1, 1]), fmpz_poly([-1, 1])
    total = arb(0)
    for j in range(count):
        y = lam * (count - 2 * j) - epsilon
        if y <= 0:
            break
        if j:
            powers = (rising ** (count - j - 1) * falling ** (j - 1)).coeffs()
        else:  # 1/(u - 1) = -(1 + u + u^2 + ...)
            powers = [
                fmpz(-a) for a in accumulate(int(a) for a in (rising ** (count - 1)).coeffs())
            ]
        series, term = arb(0), arb(1)
        for m in range(count):
            if count - 1 - m < len(powers):
                series += term * powers[count - 1 - m]
            term = term * y / (2 * (m + 1))
        value = series * (-y / 2).exp() * arb(2) ** (1 - count) + (0 if j else 1)
        total += arb(count).bin(j) * (-lam * j).exp() * value
    return total
