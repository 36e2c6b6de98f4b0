"""The long search: 10^5 points of each corrected statement against its truth, with a fixed seed.

`python -m tests.theorems.long_search [ID...]` writes tests/theorems/long_search.json, one line per
statement: what was searched (a hash of the formula), how many points were judged, and the worst of
them. Statements whose line is still right are left alone, so it can be stopped and taken up again.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import sys
import time
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from dpacct.domain import Bound, Integer, Real
from dpacct.errors import DpacctError
from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status
from dpacct.theorems.registry import entries
from dpacct.verify.examine import shown
from dpacct.verify.search import Found, Search
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


def quick_point(entry: Entry, rng: Random) -> dict[str, float | int] | None:
    """A point as `Where.draw` draws it, in floats: ten times as fast. None where nothing is left."""
    domains = entry.domain.domains
    free = [n for n, d in domains.items() if not isinstance(d.lower, Bound)]
    free = [n for n in free if not isinstance(domains[n].upper, Bound)]
    values: dict[str, float | int] = {}
    for name in [*free, *(other for other in domains if other not in free)]:
        domain = domains[name]
        ends = [e.at(values) if isinstance(e, Bound) else float(e) for e in _ends(domain)]
        if domain.typical is not None:
            ends = [float(domain.typical[0]), float(domain.typical[1])]
        low, high = ends[0] if math.isfinite(ends[0]) else -1e6, ends[1]
        high = high if math.isfinite(high) else low + 1e6
        kind = rng.randrange(3)
        if isinstance(domain, Integer):
            first, last = math.ceil(low), math.floor(high)
            if last < first:
                return None
            span = last - first
            step = rng.randint(0, span) if kind else int((span + 1) ** rng.random()) - 1
            values[name] = first + min(step, span)
            continue
        if not high > low:
            return None
        hug = 0.5 * 10.0 ** (-9.0 * rng.random())
        share = (rng.random(), hug, 1.0 - hug)[kind]
        values[name] = low + (high - low) * share
    return {name: values[name] for name in domains}


def _ends(domain: Real | Integer) -> tuple[Any, Any]:
    return domain.lower, domain.upper


def run(entry: Entry, points: int = POINTS) -> dict[str, Any]:
    """Judge so many points; draws outside what the judge can tell are not counted.

    Every sixth point is drawn exactly, ends included. What seems to violate is judged again with its
    domain checked.
    """
    truth = truths()[entry.id]
    case = Search(entry, truth)
    rng = Random(f"{SEED}:{entry.id}")
    exact = case.points(rng, 20 * points)
    started, judged, tried, worst = time.process_time(), 0, 0, None
    while tried < 20 * points:
        tried += 1
        if truth.draw is not None or tried % 6 == 0:
            point = next(exact, None)
            found = None if point is None else case.at(point)
        else:
            values = quick_point(entry, rng)
            found = None if values is None else _judged(case, values)
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


def _judged(case: Search, values: dict[str, float | int]) -> Found | None:
    try:
        comparison = case.truth.compare(case.entry, values)
    except (DpacctError, ArithmeticError):
        return None
    if comparison is None:
        return None
    point = {k: v if isinstance(v, int) else Fraction(repr(v)) for k, v in values.items()}
    found = Found(point, comparison, comparison.excess(case.entry.side))
    return case.at(point) if case.violated(found) else found


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
