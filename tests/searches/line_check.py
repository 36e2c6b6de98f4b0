"""The line's own check: are the answers that it accepts within their claims?

    python -m tests.searches.line_check [--cases N] [--first N] [--seconds S]

Draws questions as users ask them (rates 1e-5 to 1, up to 1e6 steps, delta 1e-4 to 1e-12, Gaussian and Laplace
noise, plain, Poisson, fixed size, replace-one, sums), answers each by the contour (`method="exact"`), and
judges every answer that is called converged by a proof in ball arithmetic, which shares neither nodes nor
checks with it: the two intervals must meet, and neither end of the contour's may lie inside the proof's.
What no proof decides within four seconds is counted apart. The totals go to line_check.json, to which a later
run adds: the gate of whatever changes the contour.
"""

import argparse
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import dpacct as dp
from dpacct.errors import DpacctError
from dpacct.plan import certified
from dpacct.vocabulary import Strength

STORE = Path(__file__).with_name("line_check.json")
EFFORT = 4.0
"""Seconds that a proof may take, as estimated."""
SEED = "line check"


def _release(draw: random.Random) -> dp.Node:
    """One kind of release with its count."""
    rate = f"{10 ** draw.uniform(-5, 0):.4g}"
    steps = max(1, int(10 ** draw.uniform(0, 6)))
    size = f"{10 ** draw.uniform(-0.4, 1.2):.4g}"
    kind = draw.random()
    if kind < 0.5:
        return dp.Poisson(rate)(dp.Gaussian(sigma=size)) * steps
    if kind < 0.62:
        return dp.WithoutReplacement(rate)(dp.Gaussian(sigma=size)) * steps
    if kind < 0.7:
        wide = f"{float(size) * math.sqrt(steps):.4g}"
        return dp.Gaussian(sigma=wide) * steps
    if kind < 0.8:
        wide = f"{float(size) * math.sqrt(steps):.4g}"
        return dp.Laplace(b=wide) * min(steps, 5000)
    return dp.Poisson(rate)(dp.Laplace(b=size)) * min(steps, 20_000)


def question(n: int) -> tuple[dp.Node, str, str | None]:
    """Plan, delta and adjacency of case n."""
    draw = random.Random(f"{SEED} {n}")
    plan = _release(draw)
    adjacency = None
    shape = draw.random()
    if shape < 0.15:
        plan = plan + _release(draw)
    elif shape < 0.3:
        rate, noise = f"{10 ** draw.uniform(-4, -0.1):.4g}", f"{10 ** draw.uniform(-0.3, 1):.4g}"
        step = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=noise))
        plan, adjacency = step * max(1, int(10 ** draw.uniform(0, 5))), "replace-one"
    return plan, f"{10 ** draw.uniform(-12, -4):.4g}", adjacency


def judged(n: int) -> tuple[str, dict[str, Any]]:
    """The verdict on case n, and what it was."""
    plan, delta, adjacency = question(n)
    row: dict[str, Any] = {"case": n, "plan": repr(plan), "delta": delta, "adjacency": adjacency}
    try:
        answer = plan.epsilon(delta, method="exact", adjacency=adjacency)
    except DpacctError as error:
        return "refused", row | {"error": str(error)[:100]}
    if answer.strength is not Strength.CONVERGED:
        return "not accepted", row
    row |= {"exact": [answer.lower, answer.upper]}
    try:
        proof = certified.epsilon(plan, delta=delta, adjacency=adjacency, effort=EFFORT).answer
    except DpacctError:
        return "no proof", row
    row |= {"proof": [proof.lower, proof.upper]}
    assert answer.lower is not None and answer.upper is not None
    assert proof.lower is not None and proof.upper is not None
    # the proof's interval is 1e-12 wide; where theory has two pairs each end has its own
    inside = answer.lower <= proof.upper and proof.lower <= answer.upper
    safe = answer.upper >= proof.upper * (1 - 2e-12) and answer.lower <= proof.lower * (1 + 2e-12)
    return ("inside" if inside and safe else "OUTSIDE"), row


def main() -> None:
    """Judge as many cases as asked for, and add them to what is stored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=None, help="default: after what is stored")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of wall time at most")
    asked = parser.parse_args()
    stored = (
        json.loads(STORE.read_text()) if STORE.exists() else {"next": 0, "counts": {}, "bad": []}
    )
    first = stored["next"] if asked.first is None else asked.first
    started = time.monotonic()
    for n in range(first, first + asked.cases):
        if time.monotonic() - started > asked.seconds:
            break
        verdict, row = judged(n)
        stored["counts"][verdict] = stored["counts"].get(verdict, 0) + 1
        if verdict in ("OUTSIDE", "refused"):
            stored["bad"].append({"verdict": verdict, **row})
            print(verdict, row, flush=True)
        stored["next"] = n + 1
        if n % 100 == 99:
            STORE.write_text(json.dumps(stored, indent=1) + "\n")
    STORE.write_text(json.dumps(stored, indent=1) + "\n")
    print(stored["counts"])


if __name__ == "__main__":
    main()
