"""CPU time of epsilon beside that of another dpacct: ``python -m tests.benchmarks.versus PYTHON``.

PYTHON is that of an environment which has the other one. Each lives in a process of its own; plan by plan
they are asked in turn, three times each with the plan built anew, and of 20 such turns the least counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

TURNS, AT_ONCE, SECONDS = 20, 3, 1.0
"""Turns, and fewer where they take longer than so many seconds together; questions of one turn: the first
finds the caches as the other process left them."""
SLOWER, MILLISECONDS = 1.1, 0.2
"""More than this factor and so many milliseconds slower is listed."""

NOISE = "Poisson('.01')(Gaussian(sigma='1.1')) * 1000"
MIXED = (
    "Poisson('0.05')(Gaussian(sigma=1)) * 200 + Poisson('0.1')(Laplace(b=3)) * 20"
    " + DiscreteGaussian(scale=2)"
)
PLANS = (
    ("Poisson('0.01')(Gaussian(sigma='1.1')) * 1000", 1e-5),
    ("Poisson('0.001')(Gaussian(sigma='1')) * 1000000", 1e-6),
    ("Poisson('0.01')(Gaussian(sigma='1')) * 1000", 1e-40),
    ("Poisson('0.01')(Gaussian(sigma='1')) * 1000", 1e-200),
    ("Poisson('0.02')(Gaussian(sigma='0.8')) * 3000", 1e-6),
    ("Poisson('0.1')(Gaussian(sigma='4')) * 100000", 1e-5),
    ("Poisson('0.001')(Gaussian(sigma='20')) * 1000000000", 1e-8),
    ("Poisson('0.5')(Gaussian(sigma='2')) * 10", 1e-10),
    ("Poisson('0.01')(Gaussian(sigma='1'))", 1e-8),
    ("Poisson('0.106')(Gaussian(sigma='36.1')) * 871", 1e-3),
    ("Poisson('0.01')(Gaussian(sigma='0.5')) * 500", 1e-5),
    ("Poisson('0.00249')(Gaussian(sigma='2.488')) * 3639", 1e-5),
    ("Poisson('0.01')(Gaussian(sigma='100')) * 100000000", 1e-5),
    ("WithoutReplacement('0.05')(Gaussian(sigma='1')) * 200", 1e-5),
    ("WithoutReplacement('0.05')(Gaussian(sigma='1')) * 200", 1e-60),
    ("WithoutReplacement('0.01')(Gaussian(sigma='2')) * 100000", 1e-6),
    ("(Poisson('0.02')(Gaussian(sigma='1')) * 2000).under('replace-one')", 1e-5),
    ("Participation('0.3')(Gaussian(sigma='1')) * 50", 1e-5),
    ("Participation('0.1')(Gaussian(sigma='3')) * 1000", 1e-9),
    ("Gaussian(sigma='1.1')", 1e-5),
    ("Gaussian(sigma='1.1') * 100", 1e-5),
    ("Gaussian(sigma='50') * 1000000", 1e-30),
    ("Gaussian(sigma='1000') * 1000000000", 1e-100),
    ("Laplace(b='1')", 1e-3),
    ("Laplace(b='1') * 10", 1e-5),
    ("Laplace(b='10') * 1000", 1e-5),
    ("Laplace(b='10') * 20", 1e-9),
    ("Laplace(b='100') * 1000000", 1e-5),
    ("Laplace(b='1') * 2", 1e-2),
    ("Laplace(b='5') * 50", 1e-100),
    ("Poisson('0.01')(Laplace(b='1')) * 1000", 1e-5),
    ("Poisson('0.1')(Laplace(b='2')) * 300", 1e-9),
    ("Poisson('0.5')(Laplace(b='1')) * 5", 1e-4),
    ("WithoutReplacement('0.1')(Laplace(b=2)) * 100", 1e-6),
    ("PureDP(epsilon='0.1') * 1000", 1e-5),
    ("PureDP(epsilon='0.001') * 10000000", 1e-5),
    ("RandomizedResponse(eps0=1, k=10) * 50", 1e-6),
    ("Staircase(eps0=1, nu='0.25') * 100", 1e-6),
    ("Poisson('0.1')(Staircase(eps0=1)) * 100", 1e-6),
    ("DiscreteLaplace(scale=2, sensitivity=3) * 50", 1e-6),
    ("DiscreteGaussian(scale=3) * 10", 1e-8),
    ("DiscreteGaussian(scale=20) * 1000", 1e-8),
    ("Poisson('0.05')(DiscreteGaussian(scale=2)) * 500", 1e-6),
    ("ExponentialMechanism(eps0='0.1') * 1000", 1e-5),
    ("ExponentialMechanism(eps0='1') * 30", 1e-5),
    ("Poisson('0.1')(ExponentialMechanism(eps0='0.5')) * 200", 1e-5),
    (MIXED, 1e-5),
    ("Laplace(b=3) * 5 + PureDP(epsilon='0.2') * 5 + Gaussian(sigma=5)", 1e-5),
    ("Laplace(b=3) * 5 + PureDP(epsilon='0.2') * 5", 1e-5),
)
"""The 49 plans that every rebuild of the float core was measured by, and a delta of each."""

EPSILONS = [f"({plan}).epsilon(delta={delta!r}, method='exact')" for plan, delta in PLANS]
README = [
    f"({NOISE}).delta(epsilon=1.5, method='exact')",
    *(
        f"noise_multiplier(epsilon={epsilon}, delta=1e-5, sample_rate=.01, steps=1000, method='exact')"
        for epsilon in (1.5, 7)
    ),
]


def serve() -> None:
    """Answer questions, a line each, until there are no more: (value, CPU seconds)."""
    import dpacct

    names = {name: getattr(dpacct, name) for name in dpacct.__all__}
    for line in sys.stdin:
        question: Callable[[], Any] = eval(f"lambda: {line}", names)
        seconds = []
        while len(seconds) < AT_ONCE and sum(seconds) < 0.01:
            started = time.process_time()
            answer = question()
            seconds.append(time.process_time() - started)
        value = getattr(answer, "value", answer)
        print(json.dumps([float(value), min(seconds)]), flush=True)


class Other:
    """One of the two processes."""

    def __init__(self, python: str, path: str) -> None:
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [python, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd="/",
            text=True,
        )

    def ask(self, question: str) -> tuple[float, float]:
        """Its answer, and what it cost."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        value, seconds = json.loads(self.process.stdout.readline())
        return value, seconds


def compared(
    questions: Iterable[str], before: Other, after: Other
) -> Iterable[tuple[str, float, float, float]]:
    """(question, milliseconds before, milliseconds after, relative difference of the answers)."""
    for question in questions:
        least, spent = [math.inf, math.inf], 0.0
        values = [0.0, 0.0]
        for _ in range(TURNS):
            for k, process in enumerate((before, after)):
                values[k], seconds = process.ask(question)
                least[k], spent = min(least[k], seconds), spent + seconds
            if spent > SECONDS:
                break
        off = abs(values[1] - values[0]) / max(abs(values[0]), 1e-300)
        yield question, 1e3 * least[0], 1e3 * least[1], off


def main() -> None:
    """The table, the geometric mean, and what has become slower."""
    before = Other(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    after = Other(sys.executable, str(Path(__file__).resolve().parents[2]))
    for name, questions in (("epsilon of 49 plans", EPSILONS), ("README's plan", README)):
        rows = []
        for row in compared(questions, before, after):
            question, first, second, off = row
            print(f"{first:8.2f} {second:8.2f} ms  x{first / second:5.2f}  {off:7.1e}  {question}")
            rows.append(row)
        print(f"{name}: {geometric_mean(a / b for _, a, b, _ in rows):.2f} times as fast")
        slower = [row for row in rows if row[2] > max(SLOWER * row[1], row[1] + MILLISECONDS)]
        print(f"slower: {[question for question, *_ in slower] or 'none'}\n")


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
