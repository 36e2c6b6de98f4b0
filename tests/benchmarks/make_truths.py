"""Recompute ``truths.json``: the benchmark's answers by code that shares nothing with dpacct or
with a peer.

delta(eps) = (1 / 2 pi i) int E_P[e^(zL)] e^(-z eps) / (z (z + 1)) dz up a vertical line right of
0 (Alghamdi et al., The Saddle-Point Method in Differential Privacy, ICML 2023, Theorem 3.1),
summed by the trapezoid rule in 80-bit floats, the step halved until nothing moves; pure DP is the
exact binomial sum. Run: ``python tests/benchmarks/make_truths.py``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench.cases import PROFILE_PROBES, TRUTHS, Case, cases, truths
from bench.questions import Part

REAL, COMPLEX = np.longdouble, np.clongdouble
PI = 4 * np.arctan(np.longdouble(1))
Array = np.ndarray[Any, Any]
#: log E_P[e^(zL)] of one step at an array of z; the window of its inner sum was fitted to one real
#: part of z.
#: Where the search for the smallest plans of W7 starts: hits are so rare there that the leading
#: order misleads.
HINTS = {"W7 1e2": 0.0838, "W7 1e3": 0.1855, "W7 1e4": 0.555}
LogMoment = Callable[[Array], Array]


def gaussian_moment(part: Part, remove: bool, c: float) -> LogMoment:
    """One sampled Gaussian step, its x-sum cut to where it matters on the line Re z = c."""
    s2 = REAL(part.parameter) ** 2
    if part.rate == 1:
        return lambda z: z * (z + 1) / (2 * s2)
    rate = REAL(part.rate)
    step = min(part.parameter, part.parameter**2) / 16
    reach = 20 * part.parameter + 1 + c
    x = np.arange(math.ceil(2 * reach / step)).astype(REAL) * REAL(step) - REAL(reach)
    likelihood = np.logaddexp(np.log1p(-rate), np.log(rate) + (2 * x - 1) / (2 * s2))
    weight = -x * x / (2 * s2) + np.log(REAL(step) / np.sqrt(2 * PI * s2))
    height = weight + likelihood * ((c + 1) if remove else -c)
    kept = height > height.max() - 60
    weight, likelihood = weight[kept, None], likelihood[kept, None]

    def log_moment(z: Array) -> Array:
        # M - 1 keeps its digits where M is nearly 1; log M is multiplied by up to 10^7 steps.
        mass = np.exp(weight) * np.expm1(likelihood * (z + 1 if remove else -z))
        result: Array = np.log1p(mass.sum(axis=0))
        return result

    return log_moment


def laplace_moment(part: Part, remove: bool, c: float) -> LogMoment:
    """One Laplace step, in closed form."""
    lam = 1 / REAL(part.parameter)

    def log_moment(z: Array) -> Array:
        up, down = np.exp(lam * z), np.exp(-lam * (z + 1))
        result: Array = np.log((up + down) / 2 + (up - down) / (2 * (2 * z + 1)))
        return result

    return log_moment


def exponent(plan: tuple[Part, ...], remove: bool, epsilon: float, c: float) -> LogMoment:
    """F(z) = log E_P[e^(zL)] - z eps - log(z (z + 1)) of a whole plan, near Re z = c."""
    makers = {"gaussian": gaussian_moment, "laplace": laplace_moment}
    moments = [(part.count, makers[part.mechanism](part, remove, c)) for part in plan]

    def value(z: Array) -> Array:
        total: Array = sum(count * moment(z) for count, moment in moments)
        return total - z * REAL(epsilon) - np.log(z) - np.log(z + 1)

    return value


def saddle(plan: tuple[Part, ...], remove: bool, epsilon: float) -> tuple[float, float]:
    """Where F is least on the real axis, and F there there."""

    def height(log_c: float) -> float:
        c = math.exp(log_c)
        return float(exponent(plan, remove, epsilon, c)(np.array([c], COMPLEX)).real[0])

    least = minimize_scalar(height, bounds=(-4, 6), method="bounded")
    return math.exp(least.x), float(least.fun)


def contour(plan: tuple[Part, ...], remove: bool, epsilon: float) -> float:
    """log delta(epsilon) in one direction."""
    c, _ = saddle(plan, remove, epsilon)
    value = exponent(plan, remove, epsilon, c)
    around = value(np.array([c * 0.99, c, c * 1.01], COMPLEX)).real
    peak = around[1]
    step = REAL(0.01 * c / (2 * math.sqrt(float(around[0] - 2 * peak + around[2]))))

    def nodes(offset: float) -> np.longdouble:
        """Sum of the integrand at (k + offset) step, k = 0, 1, ..., until what is left is
        nothing.
        """
        total, start = REAL(0), 0
        while start < 400_000:
            t = (np.arange(start, start + 256).astype(REAL) + REAL(offset)) * step
            values = np.exp(value(REAL(c) + COMPLEX(1j) * t) - peak).real
            total += values.sum() - (values[0] / 2 if start == 0 and offset == 0 else 0)
            start += 256
            if np.abs(values[-64:]).max() * start < 1e-15 * abs(total):
                break
        return total

    total = nodes(0)
    for _ in range(12):
        before = total * step
        total += nodes(0.5)
        step /= 2
        # Halving the step squares the error: a last change of 1e-8 leaves 1e-16.
        if abs(total * step - before) <= 1e-8 * abs(before):
            return float(peak + np.log(total * step / PI))
    raise ArithmeticError("the contour sum did not settle")


def pure_log_delta(part: Part, epsilon: float) -> float:
    """The exact composition of randomized response (Kairouz et al.), as a binomial sum."""
    n, e0 = part.count, part.parameter
    p = 1 / (1 + math.exp(-e0))
    terms = []
    for k in range(n + 1):
        loss = (2 * k - n) * e0
        if loss > epsilon:
            log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            mass = log_choose + k * math.log(p) + (n - k) * math.log1p(-p)
            terms.append(mass + math.log(-math.expm1(epsilon - loss)))
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def log_delta(plan: tuple[Part, ...], epsilon: float, remove: bool = True) -> float:
    """log delta of a plan in one direction."""
    if plan[0].mechanism == "pure":
        return pure_log_delta(plan[0], epsilon)
    if not remove and epsilon >= sum(-part.count * math.log1p(-part.rate) for part in plan):
        return -math.inf  # the loss of the add direction is bounded
    return contour(plan, remove, epsilon)


def worse(plan: tuple[Part, ...], epsilon: float) -> float:
    """log delta in the worse of the two directions, which are the same without sampling."""
    remove = log_delta(plan, epsilon)
    if all(part.rate == 1 for part in plan):
        return remove
    c, height = saddle(plan, False, epsilon)
    if height + math.log(c + 1) + math.log(c) < remove:
        return remove  # delta <= E e^(c (L - eps)) settles it: e^F times c (c + 1)
    return max(remove, log_delta(plan, epsilon, remove=False))


def root(
    miss: Callable[[float], float], rough: Callable[[float], float], low: float, high: float
) -> float:
    """The zero of ``miss``, looked for near that of its rough form from ``low`` to ``high``."""
    near, width = brentq(rough, low, high, xtol=1e-4), 1.01
    while miss(near / width) * miss(near * width) > 0:
        width = width**3
    return float(brentq(miss, near / width, near * width, xtol=1e-14, rtol=1e-14))


def shape(plan: tuple[Part, ...], epsilon: float) -> float:
    """log delta to leading order, from the saddle alone."""
    if plan[0].mechanism == "pure":
        return pure_log_delta(plan[0], epsilon)
    c, height = saddle(plan, True, epsilon)
    value = exponent(plan, True, epsilon, c)(np.array([c * 0.99, c, c * 1.01], COMPLEX)).real
    curvature = float(value[0] - 2 * value[1] + value[2]) / (0.01 * c) ** 2
    return height - math.log(2 * math.pi * curvature) / 2


def answer(case: Case) -> list[float]:
    """The truth of one case. Roots are found in the remove direction, and checked to be in the
    worse one.
    """
    question = case.question
    if question.want == "delta":
        return [math.exp(worse(question.plan, epsilon)) for epsilon in question.epsilons]
    if question.want == "profile":
        return [math.exp(worse(question.plan, question.epsilons[i])) for i in PROFILE_PROBES]
    target = math.log(question.target_delta)
    if question.want == "sigma":
        part, epsilon = question.single, question.epsilons[0]

        def at(sigma: float) -> tuple[Part, ...]:
            return (replace(part, parameter=sigma),)

        result = root(
            lambda sigma: log_delta(at(sigma), epsilon) - target,
            lambda sigma: shape(at(sigma), epsilon) - target,
            0.4,
            3.0,
        )
        plan = at(result)
    else:
        plan, part = question.plan, question.plan[0]
        hint = HINTS.get(case.id)
        result = root(
            lambda epsilon: log_delta(plan, epsilon) - target,
            lambda epsilon: epsilon - hint if hint else shape(plan, epsilon) - target,
            0.02,
            0.99 * part.count * part.parameter if part.mechanism == "pure" else 200.0,
        )
        epsilon = result
    if worse(plan, epsilon) > target + 1e-7:
        raise ArithmeticError(f"{case.id}: the add direction is the worse one")
    return [result]


def main() -> None:
    """Compute all, or only the cases named on the command line, and write the table."""
    values = truths() if sys.argv[1:] else {}
    for case in cases():
        if sys.argv[1:] and case.id not in sys.argv[1:]:
            continue
        values[case.id] = answer(case)
        print(case.id, *(f"{value:.14g}" for value in values[case.id]), flush=True)
        kept = {case.id: values[case.id] for case in cases() if case.id in values}
        table = {"made_by": "tests/benchmarks/make_truths.py", "values": kept}
        TRUTHS.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
