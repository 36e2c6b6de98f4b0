"""Random plans: the lattice's bracket against the contour engine's interval.

    python -m tests.lattice.make_brackets [first] [last]

Writes brackets.json: one line per plan on which both gave an answer. A plan fails if the intervals do
not meet, or if the lattice is more than its width apart while it does not say so.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.lattice.random_plans import random_plan

HERE = Path(__file__).parent / "brackets.json"


def row(index: int) -> dict[str, object] | None:
    plan, delta = random_plan(index)
    exact = plan.epsilon(delta=delta, method="exact")
    if str(exact.strength) != "converged":
        return None
    started = time.process_time()
    found = plan.epsilon(delta=delta, method="lattice")
    assert exact.lower is not None and exact.upper is not None
    return {
        "index": index,
        "plan": repr(plan),
        "delta": delta,
        "exact": [exact.lower, exact.value, exact.upper],
        "lattice": [found.lower, found.value, found.upper],
        "seconds": round(time.process_time() - started, 2),
    }


def main() -> None:
    first, last = (int(word) for word in (*sys.argv[1:], 0, 600)[:2])
    rows = json.loads(HERE.read_text()) if HERE.exists() else []
    rows = [one for one in rows if not first <= one["index"] < last]
    for index in range(first, last):
        found = row(index)
        if found is not None:
            rows.append(found)
            print(index, found["seconds"], flush=True)
        if index % 25 == 24 or index == last - 1:
            rows.sort(key=lambda one: one["index"])
            HERE.write_text("[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n")


if __name__ == "__main__":
    main()
