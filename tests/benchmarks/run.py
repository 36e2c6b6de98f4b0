"""Measure dpacct against its peers in one run: ``PYTHON tests/benchmarks/run.py [--quick] [--json
FILE]``.

PYTHON is that of the environment which ``make_environment.py`` creates. Every accountant lives in
a process of its own (one thread, 8 GiB), only one of them works at a time, and each case is asked
of all in turn, several times round. Seconds are CPU seconds of one answer, import excluded.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench.cases import cases, truths  # noqa: E402
from bench.coldstart import cold_starts  # noqa: E402
from bench.measure import FULL, QUICK, judged, rows  # noqa: E402
from bench.peers import OURS, PEERS  # noqa: E402
from bench.pool import Worker  # noqa: E402

PACKAGES = ("numpy", "scipy", "torch", *dict.fromkeys(peer.package for peer in PEERS.values()))


def machine() -> dict[str, Any]:
    """What was measured on."""
    model = platform.machine()
    for line in (
        Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ()
    ):
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version()}


def versions() -> dict[str, str]:
    """The versions of everything that took part."""
    results = {}
    for name in PACKAGES:
        try:
            results[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            results[name] = "missing"
    return results


def commit() -> str:
    """The commit of dpacct that is measured, "-dirty" when its files differ from it."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def missing() -> dict[str, str]:
    """The peers that could not be installed, as ``make_environment.py`` wrote them down."""
    record = Path(sys.prefix) / "peers.json"
    data: dict[str, str] = json.loads(record.read_text())["missing"] if record.exists() else {}
    return data


def plain(value: object) -> object:
    """Replace numbers that JSON has no word for by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def show(row: dict[str, Any]) -> str:
    """One line of progress."""
    label = f"{row['case']:12} {row['peer']:13}"
    if row["status"] != "ok":
        return f"{label} {row['status']}: {row['reason']}"
    values = " ".join(f"{value:.10g}" for value in row["values"])
    gap = " ".join(f"{value:+.1e}" for value in row.get("gap", []))
    flag = "  BELOW THE TRUTH" if row.get("below") else ""
    cost = f"{row['seconds']:.4g} s  x{row.get('ratio', math.nan):.3g}"
    return f"{label} {values}  gap {gap}  {cost}{flag}"


def run(
    names: list[str], workloads: Iterable[str], quick: bool, limit: float | None
) -> list[dict[str, Any]]:
    """All rows of the chosen workloads."""
    true = truths()
    effort = QUICK if quick else FULL
    effort = effort if limit is None else replace(effort, limit=limit)
    workers = [Worker(name) for name in names]
    results: list[dict[str, Any]] = []
    try:
        for case in cases():
            if case.workload not in workloads or (quick and not case.quick):
                continue
            for row in rows(case, workers, effort):
                print(show(judged(row, true.get(case.id))), flush=True)
                results.append(row)
    finally:
        for worker in workers:
            worker.stop()
    return results


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new results, with what only the old run has.

    An old row keeps the commit and the seconds of its run, but not its ratio: ratios are between
    times of one run. What now ran out of time keeps what it did then, when it may have been given longer.
    """
    rows = {(row["case"], row["peer"]): row for row in new["rows"]}
    for row in old["rows"]:
        key = (row["case"], row["peer"])
        if key not in rows or (rows[key]["status"] == "timeout"):
            kept = {name: value for name, value in row.items() if name != "ratio"}
            rows[key] = {"earlier": old["commit"], **kept}
    order = {case.id: index for index, case in enumerate(cases())}
    peers = list(PEERS)
    ranked = sorted(rows.values(), key=lambda r: (order[r["case"]], peers.index(r["peer"])))
    return {**new, "rows": ranked, "cold": new["cold"] or old["cold"]}


def main() -> None:
    """Parse the command line, measure, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a few cases, few repetitions")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--update", type=Path, help="keep what only these earlier results have")
    parser.add_argument("--limit", type=float, help="CPU seconds allowed for one answer")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument(
        "--workloads", nargs="+", default=["W1", "W2", "W3", "W4", "W6", "W7", "W8", "cold"]
    )
    options = parser.parse_args()
    os.nice(10)
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "quick": options.quick,
        "machine": machine(),
        "commit": commit(),
        "versions": versions(),
        "missing": missing(),
        "rows": run(options.peers, options.workloads, options.quick, options.limit),
        "cold": [],
    }
    if "cold" in options.workloads:
        names = [name for name in options.peers if name == OURS or "@" not in name]
        results["cold"] = cold_starts(names, repeats=3 if options.quick else 5)
        for row in results["cold"]:
            print(f"{row['process']:35} {row['seconds']:.3f} s CPU, {row['wall']:.3f} s wall")
    if options.update:
        results = updated(json.loads(options.update.read_text()), results)
    if options.json:
        options.json.write_text(json.dumps(plain(results), indent=1) + "\n")


if __name__ == "__main__":
    main()
