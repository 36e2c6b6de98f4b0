"""Random histograms: is every bound at least the truth?

`python -m tests.voting.search` judges 100,000 histograms, with the seed below, and writes search.json: how
many were judged against each bound, how many violated it, and the one that came closest. The truth is the
exact Renyi divergence, which tests/voting/test_argmax.py checks by itself. CI judges the first few settings.
"""

import json
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpacct.voting.argmax import CountNoise, GaussianNoise, LaplaceNoise, Screening
from dpacct.voting.cost import ONE_WAY, Bounds, Kinds
from dpacct.voting.exact import ExactLabels
from dpacct.voting.votes import Histograms, Level

STORE = Path(__file__).with_name("search.json")
SEED, HISTOGRAMS, EACH = 20261118, 100_000, 50
# exact divergences are computed to about this, relatively
ROOM = 1e-8


@dataclass(frozen=True)
class Setting:
    """One noise, level, order, and some histograms of so many classes."""

    noise: CountNoise
    level: Level
    screening: Screening | None
    order: float
    counts: Any


def draw(rng: np.random.Generator) -> Setting:
    """A setting, from small noise to large and from agreement to none."""
    classes = int(rng.choice([2, 3, 4, 6, 10]))
    shares = int(rng.choice([1, 1, 1, 5]))
    level = Level(str(rng.choice(["agent", "instance"])), shares)
    voters = int(np.exp(rng.uniform(math.log(2), math.log(300))))
    scale = Fraction(round(float(np.exp(rng.uniform(math.log(0.3), math.log(60)))), 3)) * shares
    noise: CountNoise = GaussianNoise(scale) if rng.random() < 0.75 else LaplaceNoise(scale)
    spread = np.exp(rng.uniform(-4, 1, size=EACH))
    weights = rng.gamma(np.repeat(spread[:, None], classes, axis=1)) + 1e-12
    counts = rng.multinomial(voters * shares, weights / weights.sum(axis=1, keepdims=True))
    screening = None
    if noise.name == "gaussian" and rng.random() < 0.3:
        threshold = Fraction(round(float(rng.uniform(0.2, 1.2)) * voters)) * shares
        screening = Screening(threshold, scale * Fraction(3, 2))
    return Setting(noise, level, screening, float(1.0 + np.exp(rng.uniform(-3, 4))), counts)


def judge(setting: Setting) -> tuple[Any, dict[str, Any]]:
    """The histograms that can be judged, sorted; and by bound the exact divergences and the bounds."""
    ready = Histograms.of(setting.counts)
    near = ready.margins[:, -1] <= setting.noise.reach(setting.level.step)
    ready = ready.rows(np.flatnonzero(near))
    if not ready.counts.shape[0]:
        return ready.counts, {}
    orders = np.array([setting.order])
    sides = ExactLabels(ready, setting.level, setting.noise, setting.screening).sides()
    either = np.max([side.divergences(setting.order) for side in sides], axis=0)
    ahead = [side.divergences(setting.order) for side in sides if side.name == "from"]
    forward = np.max(ahead, axis=0)
    bounds = Bounds(ready, setting.level, setting.noise, setting.screening)
    top = None if setting.screening is None else ready.top
    results = {
        f"{name}, either way": (either, _each(bounds, bounds.log_q_near, top, orders, name))
        for name in bounds.theorems
    }
    results["data-independent"] = (either, np.full(either.shape, float(bounds.plain(orders)[0])))
    if setting.screening is None:
        for name in bounds.theorems:
            if name in ONE_WAY:
                results[name] = (forward, _each(bounds, bounds.log_q, None, orders, name))
    return ready.counts, results


def _each(bounds: Bounds, log_q: Any, top: Any, orders: Any, name: str) -> Any:
    every = Kinds(log_q, top, np.ones(log_q.shape), np.arange(log_q.size))
    return bounds.table(every, orders, name)[:, 0]


def search(histograms: int) -> dict[str, dict[str, Any]]:
    """The first so many histograms of the seed."""
    rng = np.random.default_rng(SEED)
    results: dict[str, dict[str, Any]] = {}
    done = 0
    while done < histograms:
        setting = draw(rng)
        kept, value = judge(setting)
        done += max((truth.size for truth, _ in value.values()), default=0)
        for name, (truth, bound) in value.items():
            line = results.setdefault(name, {"judged": 0, "violated": 0, "largest_ratio": 0.0})
            line["judged"] += int(truth.size)
            # anything that isn't plainly below is a violation, a NaN too
            line["violated"] += int((~(truth <= bound * (1.0 + ROOM) + 1e-290)).sum())
            ratio = np.where(bound > 1e-290, truth / np.maximum(bound, 1e-290), 0.0)
            if ratio.max() > line["largest_ratio"]:
                row = int(np.argmax(ratio))
                line["largest_ratio"] = float(ratio[row])
                line["at"] = {
                    "noise": repr(setting.noise),
                    "level": repr(setting.level),
                    "screening": repr(setting.screening),
                    "order": setting.order,
                    "counts": kept[row].tolist(),
                }
    return results


if __name__ == "__main__":
    started = time.process_time()
    result = {"seed": SEED, "histograms": HISTOGRAMS, "bounds": search(HISTOGRAMS)}
    result["cpu_seconds"] = round(time.process_time() - started, 1)
    STORE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: bound["violated"] for name, bound in result["bounds"].items()}))  # type: ignore[attr-defined]
