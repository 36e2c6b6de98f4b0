"""Random plans against their bounds: `python -m tests.federated.search` makes search.json anew.

1. `outcomes`: Algorithm 1 with few clients, all outcomes of all coins (small_plans.py), against Theorem 1
   corrected, the bound of an observer's last round, and Theorem 1 as printed.
2. `gaussian`: the two-level route of `dp.federated.PriFedSync` with whole batches against the sum over the
   number of rounds that took place, which is exact.
3. `noisy_sgd`: the same with batches, against transforms of a table (`NoisySGD`).
4. `steps`: the coin never costs, a lower end is never above an upper one, and both lie below the composition
   without the coin.

A plan's number is its seed's: `python -m tests.federated.search --draws 1000` is the head of the stored one.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpacct.federated import PriFedSync
from dpacct.papers.formulas.federated_fdp import theorem1_gaussian
from tests.federated.small_plans import SmallPlan

Floats = NDArray[np.float64]
_FARTHEST = 7.5  # standard deviations, beyond which a step's losses are left out: 3e-14 each
_TRANSFORMS = 1e-11  # of sums of 2^17 transformed masses, far above what is seen


@dataclass(frozen=True)
class NoisySGD:
    """`rounds` rounds, each with probability `coin`, of `steps` steps at rate `rate`, without the engine.

    One step is C_q(G_mu), mu = 1/sigma: with x ~ N(0, 1) and r = 1 - q + q exp(mu x - mu^2/2), losses log r
    of P-density phi r beyond x = mu/2, their mirror images of P-density phi, and 0 otherwise. Each loss is
    split between two neighbours of a grid so that its masses under P and under Q are kept: a chord of the
    profile in e^eps, so what is composed lies above the truth, by a multiple of the step's square. Two grids,
    one twice as fine, tell how much: the truth is a third of their distance below the finer, and is taken to
    lie within the whole distance.
    """

    sigma: float
    rate: float
    steps: int
    coin: float
    rounds: int

    def _loss(self, x: Floats) -> Floats:
        mu = 1.0 / self.sigma
        return np.log1p(self.rate * np.expm1(mu * x - 0.5 * mu * mu))

    def _reach(self) -> tuple[float, float]:
        """(largest loss of a step that is followed, half the width of a window for the sum)."""
        mu = 1.0 / self.sigma
        most = float(self._loss(np.array([mu + _FARTHEST]))[0])
        # E[L^2] of a step is at most this (log r)^2 under P, by quadrature
        x = np.linspace(0.5 * mu, mu + _FARTHEST, 400)
        density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        loss = self._loss(x)
        both = density * (1.0 + np.exp(loss)) * loss * loss
        square = float(np.trapezoid(both, x))
        mean = float(np.trapezoid(density * np.expm1(loss) * loss, x))
        rounds = self.coin * self.rounds
        spread = math.sqrt(rounds * self.steps * square + rounds * (self.steps * mean) ** 2)
        return most, 14.0 * spread + 3.0 * most + rounds * self.steps * mean

    def _sum(self, size: int, half: float) -> tuple[Floats, Floats]:
        """(losses, P-masses) of all steps on a grid of `size` points that reaches `half` to either side."""
        most, _ = self._reach()
        step = 2.0 * half / size
        count = min(math.ceil(most / step) + 1, size // 2 - 1)
        nodes = step * np.arange(count + 1)
        mu = 1.0 / self.sigma
        # x of a loss, and the masses of the cells between nodes under P and Q
        x = (np.log1p(np.expm1(nodes) / self.rate) + 0.5 * mu * mu) / mu
        far, near = ndtr(-x), ndtr(mu - x)
        q = far[:-1] - far[1:]
        p = (1.0 - self.rate) * q + self.rate * (near[:-1] - near[1:])
        # what goes up to the further node: p - e^low q = up (1 - e^(low - high))
        up = np.clip((p - np.exp(nodes[:-1]) * q) / -math.expm1(-step), 0.0, p)
        masses = np.zeros(size)
        masses[:count] += p - up
        masses[1 : count + 1] += up
        mirrored = masses[: count + 1] * np.exp(-nodes)
        masses[0] += mirrored[0]
        masses[-count:] += mirrored[:0:-1]
        masses[0] += 1.0 - masses.sum()
        once = np.fft.rfft(masses)
        whole = _power(1.0 - self.coin + self.coin * _power(once, self.steps), self.rounds)
        sums = np.fft.irfft(whole, size)
        return step * (np.arange(size) - size // 2), np.roll(sums, size // 2)

    def deltas(self, epsilons: Floats, size: int = 1 << 16) -> tuple[Floats, Floats]:
        """(lower, upper) of delta at each epsilon >= 0, as far as deltas above 1e-9 can be told."""
        _, half = self._reach()
        results = []
        for points in (size // 2, size):
            losses, masses = self._sum(points, half)
            excess = np.maximum(-np.expm1(np.minimum(epsilons[:, None] - losses, 0.0)), 0.0)
            results.append(excess @ masses)
        coarse, fine = results
        apart = np.maximum(coarse - fine, 0.0)
        return fine - apart - _TRANSFORMS, fine + _TRANSFORMS

    def epsilon_at(self, delta: float) -> float:
        """An epsilon near where delta is this, 0 at the least: where to ask."""
        _, half = self._reach()
        losses, masses = self._sum(1 << 12, half)
        low, high = 0.0, half
        for _ in range(30):
            middle = 0.5 * (low + high)
            above = losses > middle
            value = float(-np.expm1(middle - losses[above]) @ masses[above])
            low, high = (middle, high) if value > delta else (low, middle)
        return low


def _power(base: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """By squaring: several times faster than a complex power."""
    result = np.ones_like(base)
    while times:
        if times & 1:
            result = result * base
        base, times = base * base, times >> 1
    return result


# --- Random plans against their bounds: `python -m tests.federated.search` makes search.json anew.


STORED = Path(__file__).with_suffix(".json")
SEED = 20261118
DRAWS = {
    "outcomes": 100_000,
    "gaussian": 100_000,
    "noisy_sgd": 100_000,
    "bracketed": 12,
    "steps": 1_500,
}
_ROUNDING = 1e-12


def outcomes(draws: int, seed: int = SEED) -> dict[str, Any]:
    """How often each bound is missed by the truth, and how much of it the truth takes at most."""
    rng = Random(seed)
    missed = dict.fromkeys(
        ("two_level_weak", "two_level_strong", "last_sync", "printed_weak", "printed_strong"), 0
    )
    most = dict.fromkeys(missed, 0.0)
    first: dict[str, str] = {}
    for _ in range(draws):
        plan = SmallPlan.draw(rng)
        weak, strong = plan.truth(strong=False), plan.truth(strong=True)
        two = plan.two_level()
        pairs = {
            "two_level_weak": (weak, two),
            "two_level_strong": (strong, two),
            "last_sync": (weak, plan.last_sync()),
            "printed_weak": (weak, plan.printed(strong=False)),
            "printed_strong": (strong, plan.printed(strong=True)),
        }
        for name, (truth, bound) in pairs.items():
            if truth > bound + _ROUNDING:
                missed[name] += 1
                first.setdefault(name, repr(plan))
            if bound > 1e-9:
                most[name] = max(most[name], truth / bound)
    shares = {name: float(f"{share:.12g}") for name, share in most.items()}
    return {"draws": draws, "missed": missed, "largest_share": shares, "first": first}


def gaussian_plan(rng: Random) -> tuple[PriFedSync, float]:
    """Whole batches, so each round is a Gaussian, and an epsilon to ask at."""
    rounds, steps = rng.randint(1, 40), rng.randint(1, 5)
    sigma = math.exp(rng.uniform(math.log(0.5), math.log(20.0)))
    plan = PriFedSync(
        clients=rng.randint(2, 500),
        client_rate=round(rng.uniform(0.01, 0.99), 6),
        batch_size=50,
        records=50,
        local_steps=steps,
        rounds=rounds,
        sigma=round(sigma, 6),
    )
    mu = math.sqrt(steps * max(1.0, float(plan.client_rate) * rounds)) / sigma
    return plan, round(rng.uniform(0.0, 3.0) * mu * (1.0 + 0.3 * mu), 9) + 1e-3


def gaussian(draws: int, seed: int = SEED) -> dict[str, Any]:
    """The two ends of delta around the closed form."""
    rng = Random(seed)
    missed, converged, widest = 0, 0, 0.0
    for _ in range(draws):
        plan, epsilon = gaussian_plan(rng)
        mu = math.sqrt(plan.local_steps) / float(plan.sigma)
        truth = theorem1_gaussian(mu, float(plan.client_rate), plan.rounds, epsilon)
        answer = plan.tree().delta(epsilon=epsilon, method="exact")
        assert answer.lower is not None and answer.upper is not None
        room = 1e-10 * truth + 1e-300
        missed += not answer.lower - room <= truth <= answer.upper + room
        converged += str(answer.strength) == "converged"
        if truth > 1e-200:
            widest = max(widest, (answer.upper - answer.lower) / truth)
    return {
        "draws": draws,
        "missed": missed,
        "converged": converged,
        "widest": float(f"{widest:.3g}"),
    }


def steps_plan(rng: Random) -> PriFedSync:
    records = rng.choice([100, 500, 600, 1000])
    steps = rng.randint(5, 100)
    least = math.ceil(1.5 * records / steps)
    return PriFedSync(
        clients=rng.randint(2, 500),
        client_rate=round(rng.uniform(0.05, 0.95), 6),
        batch_size=min(records, rng.randint(least, 4 * least)),
        records=records,
        local_steps=steps,
        rounds=rng.randint(20, 400),
        sigma=round(rng.uniform(0.6, 6.0), 6),
    )


def noisy_plan(rng: Random) -> tuple[PriFedSync, NoisySGD, float]:
    """A plan with batches smaller than the records, its truth, and an epsilon to ask at."""
    plan = steps_plan(rng)
    while plan.batch_size == plan.records:
        plan = steps_plan(rng)
    rate = plan.batch_size / plan.records
    coin, sigma = float(plan.client_rate), float(plan.sigma)
    truth = NoisySGD(sigma, rate, plan.local_steps, coin, plan.rounds)
    return plan, truth, round(truth.epsilon_at(10.0 ** rng.uniform(-7.0, -0.3)), 9)


def noisy_sgd(draws: int, seed: int = SEED) -> dict[str, Any]:
    """How often the truth is beyond an end, and how far the upper one is from it at most."""
    rng = Random(seed)
    missed, farthest, unsure = 0, 0.0, []
    for _ in range(draws):
        plan, truth, epsilon = noisy_plan(rng)
        answer = plan.tree().delta(epsilon=epsilon, method="exact")
        assert answer.lower is not None and answer.upper is not None
        low, high = (float(end[0]) for end in truth.deltas(np.array([epsilon])))
        missed += not (low <= answer.upper and answer.lower <= high)
        farthest = max(farthest, answer.upper / high)
        unsure.append((high - low) / high)
    return {
        "draws": draws,
        "missed": missed,
        "most_above_truth": float(f"{farthest:.9g}"),
        "median_doubt": float(f"{np.median(unsure):.3g}"),
    }


def steps(draws: int, seed: int = SEED) -> dict[str, Any]:
    """Two-level between nothing and the composition without the coin."""
    rng = Random(seed)
    missed, smallest = 0, math.inf
    for _ in range(draws):
        plan = steps_plan(rng)
        two = plan.tree().epsilon(delta=1e-5, method="exact")
        full = plan.exact().epsilon(delta=1e-5, method="exact")
        assert two.lower is not None and two.upper is not None and full.upper is not None
        missed += not 0.0 <= two.lower <= two.upper <= full.upper
        smallest = min(smallest, two.upper / full.upper)
    return {"draws": draws, "missed": missed, "smallest_share": float(f"{smallest:.6g}")}


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "outcomes": outcomes,
    "gaussian": gaussian,
    "noisy_sgd": noisy_sgd,
    "steps": steps,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--draws", type=int)
    arguments = parser.parse_args()
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name in arguments.parts:
        result = PARTS[name](arguments.draws or DRAWS[name])
        print(name, json.dumps(result))
        if arguments.draws is None:
            stored |= {"seed": SEED, name: result}
            STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
