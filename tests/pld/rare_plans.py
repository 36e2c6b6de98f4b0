"""Seeded plans of low sampling; run as a script, what they cost and how wide their answers are.

python -m tests.pld.rare_plans
"""

import math
import random
import time
from dataclasses import dataclass

import dpacct as dp

SEED, COUNT, RARE = 1507, 270, 254


@dataclass(frozen=True)
class Plan:
    """A sampled Gaussian and the delta that epsilon is asked at."""

    rate: float
    steps: int
    sigma: float
    delta: float

    @property
    def node(self) -> dp.Node:
        return dp.Poisson(self.rate)(dp.Gaussian(sigma=self.sigma)) * self.steps


def plans() -> list[Plan]:
    """254 with rate * steps < 1 and 16 up to 30; rates 1e-12 to .1, up to 1e9 steps, delta to 1e-300."""
    rng = random.Random(SEED)
    results: list[Plan] = []
    while len(results) < COUNT:
        rate, steps = float(f"{10 ** rng.uniform(-12, -1):.4g}"), int(10 ** rng.uniform(0, 9))
        if not (rate * steps < 1.0 if len(results) < RARE else 1.0 <= rate * steps < 30.0):
            continue
        sigma = round(math.exp(rng.uniform(math.log(0.3), math.log(20))), 4)
        top = math.log10(rate * steps) - 0.5
        low = max(-300.0, 3 * top - 40) if rng.random() < 0.7 else -300.0
        results.append(Plan(rate, steps, sigma, float(f"{10 ** rng.uniform(low, top):.4g}")))
    return results


def calibrations(count: int = 80) -> list[tuple[Plan, float]]:
    """Plans whose noise is asked for, each with the epsilon that its sigma has."""
    chosen = [plan for plan in plans()[:RARE] if plan.steps > 1]
    return [
        (plan, float(plan.node.epsilon(delta=plan.delta, method="exact")))
        for plan in chosen[::3][:count]
    ]


def _quantiles(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    at = [
        1e3 * ordered[min(int(part * len(ordered)), len(ordered) - 1)]
        for part in (0.5, 0.9, 0.99, 1.0)
    ]
    print(f"{name}: median {at[0]:.1f} ms, 90 % {at[1]:.1f}, 99 % {at[2]:.1f}, most {at[3]:.0f}")


def main() -> None:
    dp.Poisson(1e-4)(dp.Gaussian(sigma=0.8)).epsilon(delta=1e-8, method="exact")
    spent, widths = [], []
    for plan in plans():
        started = time.process_time()
        answer = plan.node.epsilon(delta=plan.delta, method="exact")
        spent.append(time.process_time() - started)
        if answer.upper:
            widths.append((answer.upper - answer.lower) / answer.upper)
    _quantiles("one epsilon, CPU", spent)
    widths.sort()
    print(f"widths: median {widths[len(widths) // 2]:.1e}, most {widths[-1]:.1e}")
    spent = []
    for plan, epsilon in calibrations():
        if epsilon == 0.0:
            continue
        started = time.process_time()
        dp.noise_multiplier(
            epsilon=epsilon,
            delta=plan.delta,
            sample_rate=plan.rate,
            steps=plan.steps,
            method="exact",
        )
        spent.append(time.process_time() - started)
    _quantiles("one noise multiplier, CPU", spent)


if __name__ == "__main__":
    main()
