"""Recompute ``truths.json``: the benchmark's answers by the golden oracle, which shares nothing with
dpacct or with a peer.

Run: ``python -m tests.benchmarks.make_truths [case ...]``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from mpmath import log, mp, mpf

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench.cases import PROFILE_PROBES, TRUTHS, Case, cases, truths
from bench.questions import Part

from tests.golden.golden_closed import DIGITS, gaussian, randomised_response, solve_epsilon
from tests.golden.golden_contour import Plan
from tests.golden.golden_laplace import plain_by_residues
from tests.golden.golden_nodes import LEVEL, SampledGaussian
from tests.golden.golden_oracle import delta
from tests.golden.golden_rows import contour_both, join


def exact(number: float) -> str:
    """The double itself, in decimals."""
    return str(Decimal(number))


def plan_of(parts: tuple[Part, ...]) -> Callable[[str], Plan]:
    """Sampled Gaussians in one direction."""
    return lambda way: Plan(
        [(SampledGaussian(exact(p.parameter), exact(p.rate), way), p.count) for p in parts]
    )


def worse(parts: tuple[Part, ...], epsilon: float) -> float:
    """The larger delta of the two directions."""
    plan = plan_of(parts)
    return max(float(delta(plan(way), exact(epsilon)).value) for way in ("remove", "add"))


def epsilon_of(parts: tuple[Part, ...], at: float) -> float:
    """Epsilon at a delta: closed forms of single kinds, and contours."""
    if parts[0].rate < 1:
        return float(join(contour_both(plan_of(parts), exact(at)))["epsilon"])
    (part,) = parts
    parameter, count = exact(part.parameter), part.count

    def laplace(e: mpf) -> mpf:
        value = plain_by_residues(parameter, count, str(mp.nstr(e, 70)))
        return mpf(value.mid().str(60, radius=False))

    deltas: dict[str, Callable[[mpf], mpf]] = {
        "gaussian": lambda e: gaussian(mp.sqrt(count) / mpf(parameter), e),
        "pure": lambda e: randomised_response(parameter, count, e),
        "laplace": laplace,
    }
    LEVEL.set(2000 if part.mechanism == "laplace" else 0)
    try:
        return float(solve_epsilon(deltas[part.mechanism], mpf(at)))
    finally:
        LEVEL.set(0)


def sigma_of(part: Part, epsilon: float, at: float) -> float:
    """The noise at which delta is met in the direction that decides, which is checked."""

    def way(name: str, sigma: mpf) -> mpf:
        step = SampledGaussian(str(mp.nstr(sigma, 60)), exact(part.rate), name)
        return mpf(delta(Plan([(step, part.count)]), exact(epsilon)).value)

    result = mp.findroot(
        lambda s: log(way("remove", s) / mpf(at)), (0.4, 3.0), solver="anderson", tol=1e-30
    )
    if way("add", result) > at:
        raise ArithmeticError("the add direction is the worse one")
    return float(result)


def answer(case: Case) -> list[float]:
    """The truth of one case."""
    question = case.question
    if question.want == "sigma":
        return [sigma_of(question.single, question.epsilons[0], question.target_delta)]
    if question.want == "epsilon":
        return [epsilon_of(question.plan, question.target_delta)]
    epsilons = question.epsilons
    if question.want == "profile":
        epsilons = tuple(epsilons[i] for i in PROFILE_PROBES)
    return [worse(question.plan, epsilon) for epsilon in epsilons]


def main() -> None:
    """Compute all, or only the cases named on the command line, and write the table."""
    mp.dps = DIGITS
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
