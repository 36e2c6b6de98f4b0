"""Whole processes: what an import costs, and how long a first answer takes from nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers import OURS, PEERS
from bench.pool import environment

#: The case that a cold process answers.
FIRST_CASE = "W1 a"


def commands(names: list[str]) -> dict[str, list[str]]:
    """The processes to time, by label."""
    python = sys.executable
    results = {
        "python": [python, "-c", "pass"],
        "import numpy": [python, "-c", "import numpy"],
        "import numpy, scipy.special": [python, "-c", "import numpy, scipy.special"],
    }
    if OURS in names:
        results["import numpy, dpacct"] = [python, "-c", "import numpy, dpacct"]
        script = str(Path(sys.executable).with_name("dpacct"))
        plan = "--sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5"
        results["dpacct eps"] = [script, "eps", *plan.split()]
    for module in dict.fromkeys(PEERS[name].imports for name in names if name != OURS):
        results[f"import {module}"] = [python, "-c", f"import {module}"]
    for name in names:
        results[f"answer {name}"] = [python, "-m", "bench.worker", name, "--once", FIRST_CASE]
    return results


def once(command: list[str]) -> tuple[float, float] | None:
    """CPU and wall seconds of one process, None when it fails."""
    before, start = os.times(), time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, env=environment(), timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode != 0:
        return None
    cpu = after.children_user + after.children_system
    return cpu - before.children_user - before.children_system, wall


def cold_starts(names: list[str], repeats: int) -> list[dict[str, Any]]:
    """Medians over interleaved runs; the first of each only warms the disk."""
    times: dict[str, list[tuple[float, float]]] = {}
    for index in range(repeats + 1):
        for label, command in commands(names).items():
            measured = once(command)
            if measured is not None and index > 0:
                times.setdefault(label, []).append(measured)
    return [
        {
            "process": label,
            "seconds": median(cpu for cpu, _ in runs),
            "wall": median(wall for _, wall in runs),
            "runs": len(runs),
        }
        for label, runs in times.items()
    ]
