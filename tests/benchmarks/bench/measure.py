"""One case over all accountants: interleaved rounds, medians, and the gap of each to the exact
answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.cases import PROFILE_PROBES, Case
from bench.peers import OURS
from bench.pool import Worker

#: A peer's claim is called below the truth when it is so by more than this, relatively.
BELOW = 1e-9


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds after the first answer, CPU seconds that a case may cost a peer,
    and CPU seconds for one answer.
    """

    rounds: int
    budget: float
    limit: float


QUICK = Effort(rounds=2, budget=3.0, limit=10.0)
FULL = Effort(rounds=3, budget=6.0, limit=30.0)

#: A round repeats a fast question until about this many seconds are spent, but no more often than
#: this.
ROUND_SECONDS, ROUND_REPEATS = 0.05, 20


def gaps(values: list[float], reference: list[float]) -> list[float]:
    """Signed relative gap of each value to its reference; infinite for an infinite value."""
    return [
        value / exact - 1 if exact > 0 and math.isfinite(value) else math.inf
        for value, exact in zip(values, reference, strict=True)
    ]


def compared(case: Case, values: list[float]) -> list[float]:
    """The numbers that are stored and compared: all, or the probes of a profile."""
    if case.question.want != "profile":
        return values
    return [values[i] for i in PROFILE_PROBES]


def judged(row: dict[str, Any], truth: list[float] | None) -> dict[str, Any]:
    """The row with its gaps to the truth, and whether it claims less than the truth."""
    if truth is None or row["status"] != "ok":
        return row
    gap = gaps([float(value) for value in row["values"]], truth)
    return {**row, "gap": gap, "below": min(gap) < -BELOW}


def rows(case: Case, workers: list[Worker], effort: Effort) -> list[dict[str, Any]]:
    """Ask every worker the case and return one row each.

    The first answer gives the value and is not timed, unless the peer is so slow that it stays the
    only one. Every later round asks each peer in turn, so that a busy spell of the machine hits all
    alike.
    """
    firsts = {w.name: w.ask(case.question, 0, 1, effort.limit) for w in workers}
    cpu: dict[str, list[float]] = {w.name: [] for w in workers}
    wall: dict[str, list[float]] = {w.name: [] for w in workers}
    for index in range(effort.rounds):
        for worker in workers:
            first = firsts[worker.name]
            if first["status"] != "ok" or first["cpu"][0] * (index + 2) > effort.budget:
                continue
            wanted = int(ROUND_SECONDS / max(first["wall"][0], 1e-6))
            repeats = max(1, min(ROUND_REPEATS, wanted))
            start = 1 + index * ROUND_REPEATS
            later = worker.ask(case.question, start, repeats, effort.limit)
            if later["status"] == "ok":
                cpu[worker.name] += later["cpu"]
                wall[worker.name] += later["wall"]
                first["peak_mb"] = later["peak_mb"]
    ours = firsts.get(OURS, {"status": "missing"})
    ours_seconds = median(cpu[OURS] or ours["cpu"]) if ours["status"] == "ok" else None
    results = []
    for name, first in firsts.items():
        row: dict[str, Any] = {"case": case.id, "peer": name, "status": first["status"]}
        if first["status"] != "ok":
            results.append({**row, "reason": first["reason"]})
            continue
        timed = cpu[name] or first["cpu"]
        row.update(values=compared(case, first["values"]), seconds=median(timed), runs=len(timed))
        row.update(wall=median(wall[name] or first["wall"]), peak_mb=first["peak_mb"])
        if ours_seconds:
            row["ratio"] = row["seconds"] / ours_seconds
        results.append(row)
    return results
