"""Random plans: the lattice's bracket against the contour engine's interval.

    python -m tests.pld.make_brackets [first] [last]

Writes brackets.json: one line per plan on which the contour engine was sure by itself, with the
lattice's CPU seconds and its relative width (of the upper end's bracket: under replace-one the lower
end is another pair's).
"""

import json
import sys
import time
from pathlib import Path

from tests.pld.random_plans import random_plan

HERE = Path(__file__).parent / "brackets.json"


def row(index: int) -> dict[str, object] | None:
    plan, delta = random_plan(index)
    exact = plan.epsilon(delta=delta, method="exact")
    if str(exact.strength) != "converged" or any("bracket" in line for line in exact.basis):
        return None
    started = time.process_time()
    answer = plan.epsilon(delta=delta, method="bracket")
    seconds = time.process_time() - started
    assert exact.lower is not None and exact.upper is not None
    return {
        "index": index,
        "plan": repr(plan),
        "delta": delta,
        "exact": [exact.lower, exact.value, exact.upper],
        "bracket": [answer.lower, answer.value, answer.upper],
        "width": width(answer.value, answer.upper),
        "cpu": round(seconds, 3),
    }


def width(value: float, upper: float | None) -> float:
    """Of the bracket whose middle is `value`."""
    assert upper is not None
    return 0.0 if value == upper else 2.0 * (upper - value) / upper


def main() -> None:
    random_plan(0)[0].epsilon(delta=1e-5, method="bracket")  # imports are not the lattice's time
    first, last = (int(word) for word in (sys.argv[1:] or (0, 600)))
    rows = json.loads(HERE.read_text()) if HERE.exists() else []
    rows = [row for row in rows if not first <= row["index"] < last]
    for index in range(first, last):
        result = row(index)
        if result is not None:
            rows.append(result)
            print(index, result["cpu"], result["width"], flush=True)
        if index % 25 == 24 or index == last - 1:
            rows.sort(key=lambda row: row["index"])
            HERE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
