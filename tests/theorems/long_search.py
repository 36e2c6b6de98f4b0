"""The long search: 10^5 points of each corrected statement against its truth, with a fixed seed.

`python -m tests.theorems.long_search [ID...]` writes tests/theorems/long_search.json, one line per
statement: what was searched (a hash of the formula), how many points were judged, and the worst of
them. Statements whose line is still right are left alone, so it can be stopped and taken up again.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status
from dpacct.theorems.registry import entries
from dpacct.verify.examine import shown
from dpacct.verify.search import Search
from dpacct.verify.truth import truths

STORE = Path(__file__).with_name("long_search.json")
SEED, POINTS = 20261118, 100_000


def corrected() -> list[Entry]:
    """What is offered in place of something false."""
    return [
        entry
        for entry in entries().values()
        if entry.status is Status.CORRECTED and entry.formula is not None
    ]


def fingerprint(entry: Entry) -> str:
    """Changes with the formula's own text and its domain."""
    assert entry.formula is not None
    text = inspect.getsource(entry.formula).partition("def ")[2] + str(entry.domain)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(entry: Entry, points: int = POINTS) -> dict[str, Any]:
    """Judge so many points; draws outside what the judge can tell are not counted."""
    case = Search(entry, truths()[entry.id])
    rng = Random(f"{SEED}:{entry.id}")
    started, judged, tried, worst = time.process_time(), 0, 0, None
    for point in case.points(rng, 20 * points):
        tried += 1
        found = case.at(point)
        if found is None:
            continue
        judged += 1
        if worst is None or found.excess > worst.excess:
            worst = found
        if judged == points or case.violated(found):
            break
    assert worst is not None
    return {
        "formula": fingerprint(entry),
        "seed": SEED,
        "points": judged,
        "tried": tried,
        "violated": case.violated(worst),
        "worst_excess": worst.excess,
        "worst_at": shown(worst.point),
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def stored() -> dict[str, dict[str, Any]]:
    """The results so far."""
    if not STORE.exists():
        return {}
    return dict(json.loads(STORE.read_text(encoding="utf-8")))


def main(names: list[str]) -> int:
    """Search what has no result yet, the quickest first."""
    bad = 0
    chosen = [e for e in corrected() if not names or e.id in names or e.paper in names]
    cost = {entry.id: run(entry, 40)["cpu_seconds"] for entry in chosen}
    for entry in sorted(chosen, key=lambda e: cost[e.id]):
        known = stored()
        if known.get(entry.id, {}).get("formula") == fingerprint(entry):
            continue
        result = run(entry)
        bad += result["violated"]
        print(entry.id, result, flush=True)
        done = dict(sorted({**stored(), entry.id: result}.items()))
        STORE.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    return 5 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
