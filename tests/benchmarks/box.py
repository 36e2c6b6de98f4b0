"""How long one epsilon(delta) takes over the whole box: ``python -m tests.benchmarks.box [-n
1000]``.

Draws random plans (steps 1 to 10^12, delta 0.3 to 1e-300, sigma 0.2 to 10^4, rate 1e-8 to 1),
answers each once, and prints the distribution of CPU time, the slowest plans, and how many
answers were graded down or refused; plans with rare hits (steps x rate < 1, more than one step)
apart from the rest.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import dpacct as dp
from tests.work import limited

#: What an answer at full strength says of itself.
FULL_STRENGTH = ("two-sided", "converged")


@dataclass(frozen=True)
class Plan:
    """One Poisson-sampled Gaussian of the box, and a delta."""

    sigma: float
    rate: float
    steps: int
    delta: float
    method: str = "exact"

    @property
    def rare(self) -> bool:
        """More than one step, and less than one hit expected."""
        return self.steps > 1 and self.steps * self.rate < 1

    def nudged(self, k: int) -> Plan:
        """Sigma moved by k parts in 10^9, so that nothing remembered can answer."""
        return replace(self, sigma=self.sigma * (1 + k * 1e-9))

    def ask(self) -> dp.Answer:
        """Build the plan and ask dpacct for epsilon."""
        mechanism = dp.Gaussian(sigma=self.sigma)
        step = mechanism if self.rate == 1 else dp.Poisson(self.rate)(mechanism)
        return (step * self.steps).epsilon(delta=self.delta, method=self.method)


@dataclass(frozen=True)
class Timed:
    """What became of one plan."""

    plan: Plan
    seconds: float
    outcome: str
    value: float


def draw(rng: random.Random) -> Plan:
    """A plan of the box: all four logarithms uniform, with the edges (one step, rate 1) drawn
    more often.

    Half the deltas lie above 1e-12, where users are; the other half reach down to 1e-300.
    """
    steps = 1 if rng.random() < 0.05 else round(10 ** rng.uniform(0, 12))
    rate = 1.0 if rng.random() < 0.05 else 10 ** rng.uniform(-8, 0)
    low = -12.0 if rng.random() < 0.5 else -300.0
    delta = 10 ** rng.uniform(low, math.log10(0.3))
    return Plan(10 ** rng.uniform(math.log10(0.2), 4), rate, steps, delta)


def plans(count: int, seed: int, rare: bool) -> Iterator[Plan]:
    """``count`` plans of one of the two kinds."""
    rng = random.Random(seed)
    value = 0
    while value < count:
        plan = draw(rng)
        if plan.rare == rare:
            value += 1
            yield plan


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


class TooSlow(Exception):
    """A plan took more CPU than it is given."""


def time_plan(plan: Plan, again: float = 0.05, repeats: int = 2, limit: float = 10.0) -> Timed:
    """Answer one plan; a slow one is asked again (nudged) and the best time kept.

    The thread's clock is read, because the alarm makes the process's advance by ticks only.
    """
    start = time.thread_time()
    try:
        with limited(limit, TooSlow()):
            answer = plan.ask()
    except dp.DpacctError as refusal:
        seconds = time.thread_time() - start
        return Timed(plan, seconds, f"refused: {type(refusal).__name__}", math.nan)
    except TooSlow:
        return Timed(plan, limit, f"stopped after {limit:g} s", math.nan)
    seconds = time.thread_time() - start
    if again < seconds < 1:
        others = (cpu_seconds(plan.nudged(k + 1).ask) for k in range(repeats))
        seconds = min(seconds, *others)
    grade = (str(answer.side), str(answer.strength))
    full = grade == FULL_STRENGTH
    outcome = "full" if full else f"graded down: {', '.join(grade)}, {answer.method}"
    return Timed(plan, seconds, outcome, answer.value)


def quantile(sorted_values: list[float], fraction: float) -> float:
    """The value below which ``fraction`` of them lie."""
    return sorted_values[min(len(sorted_values) - 1, int(fraction * len(sorted_values)))]


def report(title: str, timed: list[Timed], slowest: int) -> None:
    """Print the distribution of one kind of plans."""
    seconds = sorted(t.seconds for t in timed)
    marks = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "worst": 1.0}
    print(f"{title}: {len(timed)} plans")
    print("  " + ", ".join(f"{k} {1e3 * quantile(seconds, f):.2f} ms" for k, f in marks.items()))
    for outcome, count in Counter(t.outcome for t in timed).most_common():
        print(f"  {count / len(timed):6.1%}  {outcome}")
    for t in sorted(timed, key=lambda t: -t.seconds)[:slowest]:
        print(f"  {1e3 * t.seconds:9.1f} ms  {t.plan}  eps {t.value:.6g}  {t.outcome}", flush=True)


def main() -> None:
    """Parse the command line, time both kinds, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", type=int, default=1000, help="plans of each kind")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--slowest", type=int, default=8, help="how many slow plans to print")
    parser.add_argument("--kind", choices=("regular", "rare", "both"), default="both")
    options = parser.parse_args()
    Plan(1.1, 0.01, 1000, 1e-5).ask()
    kinds = {"regular": False, "rare": True}
    for kind, rare in kinds.items():
        if options.kind in (kind, "both"):
            timed = [time_plan(plan) for plan in plans(options.n, options.seed, rare)]
            title = "rare hits (T q < 1 < T)" if rare else "T q >= 1 or T = 1"
            report(title, timed, options.slowest)


if __name__ == "__main__":
    main()
