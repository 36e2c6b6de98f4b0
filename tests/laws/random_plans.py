"""Random plans over mechanisms, samplings and questions: is any answer wrong, crashed, or over the budget?

    python -m tests.laws.random_plans [count]      # judges so many plans more, and adds them to the summary

Plan number n is drawn by a generator of its own, so a search can be stopped and continued at any time, and
`judged(n)` repeats it. `random_plans.json` says how many were judged, of which kinds, and which failed.

Truth from outside where it is known: for plain Gaussian noise the closed form in 50 digits, for plans of few
outcomes a list of them in 60 (tests/pld/small_plans.py). Laws for all: ends enclose the value; delta read at
either end of epsilon gives the target back; what the Renyi route bounds from above lies above the lower end.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import dpacct as dp
from dpacct.pld.budget import WORK
from dpacct.tree import Node
from tests.pld import small_plans

STORE = Path(__file__).with_name("random_plans.json")
SEED = 20261119
SAMPLERS = (dp.Poisson, dp.WithoutReplacement, dp.Participation)
KINDS = ("plain", "sampled", "rare", "sum", "nested", "small", "gaussian")
_WEIGHTS = (0.12, 0.3, 0.2, 0.16, 0.06, 0.1, 0.06)


@dataclass(frozen=True)
class Verdict:
    """What became of one plan: `fault` is empty where every law holds."""

    kind: str
    plan: str
    asked: str
    fault: str
    seconds: float


def _number(draw: np.random.Generator, low: float, high: float) -> str:
    """A decimal of four digits, log-uniform."""
    return f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}"


def _mechanism(draw: np.random.Generator) -> Node:
    which = int(draw.integers(12))
    if which <= 3:
        return dp.Gaussian(sigma=_number(draw, 0.3, 50))
    if which <= 5:
        return dp.Laplace(b=_number(draw, 0.05, 50))
    if which == 6:
        return dp.PureDP(epsilon=_number(draw, 1e-3, 3))
    if which == 7:
        return dp.ApproxDP(epsilon=_number(draw, 1e-3, 2), delta=_number(draw, 1e-14, 1e-6))
    if which == 8:
        return dp.RandomizedResponse(
            eps0=_number(draw, 0.01, 4), k=int(draw.choice([2, 3, 10, 500]))
        )
    if which == 9:
        return dp.DiscreteLaplace(scale=_number(draw, 0.2, 30))
    if which == 10:
        return dp.DiscreteGaussian(scale=_number(draw, 0.5, 30))
    return dp.Staircase(eps0=_number(draw, 0.05, 3))


def _counted(draw: np.random.Generator, most: float = 1e6) -> int:
    return int(float(_number(draw, 1, most)))


def _plan(draw: np.random.Generator, kind: str) -> Node:
    step = _mechanism(draw)
    if kind == "plain":
        return step * _counted(draw)
    sampler = SAMPLERS[int(draw.choice(3, p=(0.6, 0.3, 0.1)))]
    if kind == "sampled":
        return sampler(_number(draw, 1e-3, 0.9))(step) * _counted(draw)
    if kind == "rare":
        return sampler(_number(draw, 1e-10, 1e-2))(step) * _counted(draw, 1e5)
    if kind == "nested":
        inside = step * int(draw.integers(2, 30))
        return dp.Poisson(_number(draw, 0.01, 0.5))(inside) * int(draw.integers(1, 20))
    total = dp.Poisson(_number(draw, 1e-3, 0.5))(step) * _counted(draw, 1e4)
    for _ in range(int(draw.integers(1, 4))):
        part = _mechanism(draw)
        if draw.random() < 0.5:
            part = dp.Poisson(_number(draw, 1e-6, 0.5))(part)
        total = total + part * _counted(draw, 1e3)
    return total


def _ends(answer: dp.Answer) -> tuple[float, float]:
    """Both, as infinite as they may be."""
    lower = -math.inf if answer.lower is None else answer.lower
    upper = math.inf if answer.upper is None else answer.upper
    if math.isnan(answer.value) or not lower <= answer.value <= upper:
        raise AssertionError(f"ends {lower!r}, {answer.value!r}, {upper!r}")
    return lower, upper


def _small(draw: np.random.Generator) -> tuple[Node, str]:
    """Delta of few outcomes, and epsilon at that delta."""
    with mpmath.workdps(small_plans.DIGITS):
        part = small_plans.random_part(draw)
        for asked in small_plans.questions(draw, part):
            exact = small_plans.delta(part, asked)
            low, high = _ends(part.plan.delta(epsilon=asked, method="exact"))
            assert low <= exact <= high, f"delta({asked}) in [{low!r}, {high!r}], and is {exact}"
            if not 0 < exact < 1:
                continue
            target = mpmath.nstr(exact, 17)
            low, high = _ends(part.plan.epsilon(delta=target, method="exact"))
            at_low, at_high = (
                small_plans.delta(part, mpmath.nstr(mpmath.mpf(end), 40)) if end < math.inf else 0
                for end in (low, high)
            )
            least = mpmath.mpf(target)
            assert low == 0 or at_low >= least * (1 - mpmath.mpf(10) ** -40), f"lower {low!r}"
            assert at_high <= least * (1 + mpmath.mpf(10) ** -40), f"upper {high!r} at {target}"
    return part.plan, "outcomes"


def _gaussian(draw: np.random.Generator) -> tuple[Node, str]:
    """Balle and Wang 2018, Theorem 8."""
    sigma, steps = _number(draw, 0.3, 1e3), _counted(draw, 1e8)
    with mpmath.workdps(50):
        mu = mpmath.sqrt(steps) / mpmath.mpf(sigma)
        if mu > 1e6:
            mu, steps = 1 / mpmath.mpf(sigma), 1
        asked = mpmath.nstr(mu * mpmath.mpf(_number(draw, 1e-2, 30)) + mu * mu / 2, 12)
        e = mpmath.mpf(asked)
        tail, lost = (mpmath.erfc((e / mu + s * mu / 2) / mpmath.sqrt(2)) / 2 for s in (-1, 1))
        exact = tail - mpmath.exp(e) * lost
        plan = dp.Gaussian(sigma=sigma) * steps
        if exact > mpmath.mpf(10) ** -300:
            low, high = _ends(plan.delta(epsilon=asked, method="exact"))
            assert low <= exact <= high, f"delta({asked}) in [{low!r}, {high!r}], and is {exact}"
    return plan, f"epsilon {asked}"


def _lawful(draw: np.random.Generator, plan: Node) -> str:
    """Laws of one question, in words."""
    delta = _number(draw, 1e-40, 1e-1) if draw.random() < 0.3 else _number(draw, 1e-12, 1e-2)
    asked = f"delta {delta}"
    low, high = _ends(plan.epsilon(delta=delta, method="exact"))
    target = float(delta)
    if 0.0 < high < 1e6:
        least, _ = _ends(plan.delta(epsilon=high * (1.0 + 1e-12) + 1e-300, method="exact"))
        assert least <= target * (1.0 + 1e-9), f"delta({high!r}) >= {least!r} at {asked}"
    if 0.0 < low < 1e6:
        _, most = _ends(plan.delta(epsilon=low * (1.0 - 1e-12), method="exact"))
        assert most >= target * (1.0 - 1e-9), f"delta({low!r}) <= {most!r} at {asked}"
    renyi = plan.epsilon(delta=delta, method="rdp")
    bound = math.inf if renyi.upper is None else renyi.upper
    assert low <= bound * (1.0 + 1e-9), f"{low!r} at least, and by Renyi {bound!r} at most"
    return asked


def judged(index: int) -> Verdict:
    """Plan number `index`; a sentence of dpacct's own is an answer, any other error a fault."""
    draw = np.random.default_rng((SEED, index))
    kind = str(draw.choice(KINDS, p=_WEIGHTS))
    name, asked, fault, started = "", "", "", time.process_time()
    try:
        if kind == "small":
            plan, asked = _small(draw)
        elif kind == "gaussian":
            plan, asked = _gaussian(draw)
        else:
            plan = _plan(draw, kind)
            name = repr(plan)
            asked = _lawful(draw, plan)
        name = repr(plan)
    except (dp.NotCertified, dp.OutsideDomain, dp.Unsupported) as refusal:
        asked = f"refused: {refusal}"[:160]
    except AssertionError as wrong:
        fault = f"wrong: {wrong}"
    except Exception as error:  # whatever it is, it is what the search looks for
        fault = f"crashed: {type(error).__name__}: {error}"[:200]
    return Verdict(kind, name, asked, fault, time.process_time() - started)


def search(count: int) -> dict[str, Any]:
    """So many plans more; the summary is stored after each hundred."""
    result: dict[str, Any] = {"seed": SEED, "judged": 0, "refused": 0, "slow": [], "faults": []}
    if STORE.exists():
        result = json.loads(STORE.read_text())
    kinds = Counter(result.get("kinds", {}))
    first = result["judged"]
    for index in range(first, first + count):
        verdict = judged(index)
        kinds[verdict.kind] += 1
        result["refused"] += verdict.asked.startswith("refused")
        if verdict.seconds > WORK * 4:  # up to four questions
            result["slow"].append([index, round(verdict.seconds, 1), verdict.plan])
        if verdict.fault:
            result["faults"].append([index, verdict.plan, verdict.fault])
            print(index, verdict.plan, verdict.fault, flush=True)
        result["judged"], result["kinds"] = index + 1, dict(sorted(kinds.items()))
        if (index + 1) % 100 == 0 or index + 1 == first + count:
            STORE.write_text(json.dumps(result, indent=1) + "\n")
    return result


if __name__ == "__main__":
    search(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
