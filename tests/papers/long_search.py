"""The long search: 10^5 points of each corrected statement against its oracle, with a fixed seed.

`python -m tests.papers.long_search [ID...]` writes tests/papers/long_search.json, one line per
statement: what was searched (a hash of the formula), how many points were judged, and the worst of
them. Statements whose line is still right are left alone, so it can be stopped and taken up again.
"""

import ast
import hashlib
import inspect
import json
import math
import sys
import textwrap
import time
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from dpacct.declare.domain import Integer
from dpacct.papers.oracle import oracle_of
from dpacct.papers.page import Statement
from dpacct.papers.registry import statements
from dpacct.papers.verify import Case, Judged, shown

STORE = Path(__file__).with_name("long_search.json")
SEED, POINTS = 20261118, 100_000


def corrected() -> list[Statement]:
    """What is offered in place of something false."""
    return [s for s in statements() if s.evidence == "corrected" and s.formula is not None]


def fingerprint(statement: Statement) -> str:
    """Changes with the formula's own code and its domain, and not with what is said about them."""
    assert statement.formula is not None
    tree = ast.parse(textwrap.dedent(inspect.getsource(statement.formula)))
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    text = ast.unparse(function).partition("(")[2] + str(statement.domain)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def quick_point(statement: Statement, rng: Random) -> dict[str, float | int] | None:
    """A point as `Domain.draw` draws it, in floats: ten times as fast. None where nothing is left."""
    domain = statement.domain
    values: dict[str, Any] = {}
    for name in sorted(domain.ranges, key=lambda name: bool(domain.ranges[name].dependent)):
        interval = domain.ranges[name].at(values, domain.functions)
        window = interval.typical or (interval.lower, interval.upper)
        ends = [
            float(str(end)) if isinstance(end, float) else float(Fraction(str(end)))
            for end in window
        ]
        low = ends[0] if math.isfinite(ends[0]) else -1e6
        high = ends[1] if math.isfinite(ends[1]) else low + 1e6
        kind = rng.randrange(3)
        if isinstance(interval, Integer):
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
    return {name: values[name] for name in domain.ranges}


def run(statement: Statement, points: int = POINTS) -> dict[str, Any]:
    """Judge so many points; draws outside what the oracle can tell are not counted.

    Every sixth point is drawn exactly, ends included, and so are all points with lists. What seems to
    violate is judged again with its domain checked.
    """
    judge = oracle_of(statement)
    assert judge is not None
    case = Case(statement, judge)
    lists = any(each.many for each in statement.domain.ranges.values())
    rng = Random(f"{SEED}:{statement.id}")
    exact = case.points(rng, 20 * points)
    started, count, tried, worst = time.process_time(), 0, 0, None
    while tried < 20 * points:
        tried += 1
        if judge.draw is not None or lists or tried % 6 == 0:
            point = next(exact, None)
            judged = None if point is None else case.at(point)
        else:
            values = quick_point(statement, rng)
            judged = None if values is None else _judged(case, values)
        if judged is None:
            continue
        count += 1
        if worst is None or judged.excess > worst.excess:
            worst = judged
        if count == points or case.violated(judged):
            break
    assert worst is not None
    return {
        "formula": fingerprint(statement),
        "seed": SEED,
        "points": count,
        "tried": tried,
        "violated": case.violated(worst),
        "worst_excess": worst.excess,
        "worst_at": shown(worst.point),
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def _judged(case: Case, values: dict[str, float | int]) -> Judged | None:
    point = {k: v if isinstance(v, int) else Fraction(repr(v)) for k, v in values.items()}
    judged = case.judged(point, values)
    return case.at(point) if case.violated(judged) else judged


def stored() -> dict[str, dict[str, Any]]:
    """The results so far."""
    if not STORE.exists():
        return {}
    return dict(json.loads(STORE.read_text(encoding="utf-8")))


def main(names: list[str]) -> int:
    """Search what has no result yet, the quickest first."""
    bad = 0
    chosen = [s for s in corrected() if not names or s.id in names or s.paper in names]
    cost = {s.id: run(s, 40)["cpu_seconds"] for s in chosen}
    for statement in sorted(chosen, key=lambda s: cost[s.id]):
        before = stored().get(statement.id, {})
        if before.get("formula") == fingerprint(statement):
            continue
        result = run(statement)
        bad += result["violated"]
        print(statement.id, result, flush=True)
        done = dict(sorted({**stored(), statement.id: result}.items()))
        STORE.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    return 5 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
