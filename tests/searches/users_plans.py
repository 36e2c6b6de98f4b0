"""Plans as users run them, answered by default and by the bracket: inside, how wide, how fast?

    python -m tests.searches.users_plans --against FOLDER [--cases N] [--first N] [--extreme]

Draws plans of every mechanism and sampling (rates 1e-5 to 1, up to 1e6 steps, deltas 1e-12 to 1e-4, sums,
nests of depth 2, replace-one); `--extreme` draws beyond that (rates from 1e-12, deltas from 1e-300).
Each question is answered by this code and by another checkout of dpacct in FOLDER, whose `exact` shares
no integration with the bracket: 52db4043 is the one that the stored figures were judged by. Its interval must
meet ours. Counted are the numerics' own share of the width (ours less the other's, relative to epsilon; the
promise is 1e-4 for epsilon >= 1e-3 and delta >= 1e-20) and seconds of CPU. Totals go to users_plans.json.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dpacct as dp
from dpacct.errors import DpacctError
from tests.work import limited

STORE = Path(__file__).with_name("users_plans.json")
SEED = "users' plans"
_KINDS = {
    "gaussian": 50,
    "laplace": 10,
    "discrete gaussian": 6,
    "discrete laplace": 5,
    "pure": 6,
    "response": 6,
    "staircase": 3,
    "exponential": 5,
    "approximate": 4,
    "table": 5,
}
"""Mechanisms, and how often each is drawn."""
LIMIT = 10.0
"""Seconds of CPU after which a question counts as one that hangs."""
_PEER = """
import json, resource, signal, sys
import dpacct as dp
names = {n: getattr(dp, n) for n in dp.__all__}
class Ended(BaseException): pass
def end(*_): raise Ended
signal.signal(signal.SIGPROF, end)
for line in sys.stdin:
    text, delta, adjacency = json.loads(line)
    signal.setitimer(signal.ITIMER_PROF, 20.0)
    try:
        answer = eval(text, dict(names)).epsilon(delta, method="exact", adjacency=adjacency)
        row = [answer.lower, answer.upper, str(answer.strength)]
    except Ended:
        row = None
    except Exception as error:
        row = f"{type(error).__name__}: {error}"[:100]
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    print(json.dumps(row), flush=True)
"""


def _mechanism(draw: random.Random, steps: float) -> str:
    """A mechanism whose noise suits so many expected participations."""
    noise = 10 ** draw.uniform(-0.3, 0.8) * max(1.0, steps**0.5)
    kind = draw.choices(
        list(_KINDS),
        list(_KINDS.values()),
    )[0]
    eps0 = f"{min(3.0 / noise, 8.0):.4g}"
    match kind:
        case "gaussian":
            return f"Gaussian(sigma={noise:.4g})"
        case "laplace":
            return f"Laplace(b={noise:.4g})"
        case "discrete gaussian":
            return f"DiscreteGaussian(scale={min(noise, 500.0):.4g})"
        case "discrete laplace":
            return f"DiscreteLaplace(scale={min(noise, 500.0):.4g})"
        case "pure":
            return f"PureDP(epsilon={eps0})"
        case "response":
            return f"RandomizedResponse(eps0={eps0}, k={draw.choice((2, 3, 10))})"
        case "staircase":
            return f"Staircase(eps0={eps0})"
        case "exponential":
            return f"ExponentialMechanism(eps0={eps0})"
        case "approximate":
            return f"ApproxDP(epsilon={eps0}, delta=1e-14)"
        case _:
            p = draw.uniform(0.45, 0.55)
            return f"Custom(tables=([{p:.4f},{1 - p:.4f}],[{1 - p:.4f},{p:.4f}]))"


def _release(draw: random.Random, extreme: bool) -> tuple[str, str]:
    """One kind of release with its count, and which adjacency it asks for."""
    least, most = (-12.0, 9.0) if extreme else (-5.0, 6.0)
    sampling = draw.choices(
        ("none", "poisson", "fixed", "participation", "records", "group", "nested"),
        (20, 50, 12, 6, 5, 4, 3),
    )[0]
    rate = 10 ** draw.uniform(least, 0.0)
    steps = max(1, int(10 ** draw.uniform(0.0, most)))
    if sampling == "none":
        steps = max(1, int(10 ** draw.uniform(0.0, 3.0)))
        return f"{_mechanism(draw, steps)}*{steps}", ""
    if sampling == "records":
        records, noise = draw.randint(2, 6), 10 ** draw.uniform(0.0, 1.5)
        text = f"RecordsPerUser({records}, '{min(rate, 0.999):.4g}')(Gaussian(sigma={noise:.4g}))"
        return f"{text}*{steps}", "records"
    scale = rate * steps if draw.random() < 0.5 else rate * rate * steps
    if extreme and draw.random() < 0.3:
        scale = 10 ** draw.uniform(-6.0, 3.0)
    mechanism = _mechanism(draw, scale)
    text = f"{min(rate, 0.999):.4g}"
    match sampling:
        case "poisson":
            return f"Poisson('{text}')({mechanism})*{steps}", ""
        case "fixed":
            return f"WithoutReplacement('{text}')({mechanism})*{steps}", "fixed"
        case "participation":
            return f"Participation('{text}')({mechanism}*{draw.randint(1, 50)})", ""
        case "group":
            size = draw.randint(2, 4)
            return f"Group(Poisson('{text}')({mechanism})*{steps}, size={size})", ""
        case _:
            inner = f"{10 ** draw.uniform(-2.0, -0.1):.4g}"
            few = draw.randint(1, 300)
            return (
                f"Poisson('{text}')(Poisson('{inner}')({mechanism})*{draw.randint(1, 30)})*{few}",
                "",
            )


def question(n: int, extreme: bool = False) -> tuple[str, str, str | None]:
    """Plan, delta and adjacency of case n."""
    draw = random.Random(f"{SEED} {n} {extreme}")
    plan, kind = _release(draw, extreme)
    if draw.random() < 0.2:
        more, other = _release(draw, extreme)
        if kind == other:
            plan = f"{plan} + {more}"
    adjacency = None
    if not kind and draw.random() < 0.15:
        adjacency = "replace-one"
    least = -300.0 if extreme and draw.random() < 0.3 else -12.0
    return plan, f"{10 ** draw.uniform(least, -4.0):.4g}", adjacency


class Other:
    """A process that answers by another checkout."""

    def __init__(self, folder: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PEER],
            stdin=pipe,
            stdout=pipe,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": folder},
            text=True,
        )

    def __call__(self, case: tuple[str, str, str | None]) -> Any:
        """Ends and strength; a sentence where it refuses, None where it takes too long."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Ended(BaseException):
    """The question took its time."""


def judged(n: int, other: Other, extreme: bool, method: str) -> dict[str, Any]:
    """The row of case n by this method: verdict, ends, numeric width, seconds."""
    plan, delta, adjacency = case = question(n, extreme)
    row: dict[str, Any] = {"case": n, "method": method, "plan": plan, "delta": delta}
    row["adjacency"] = adjacency
    names = {name: getattr(dp, name) for name in dp.__all__}
    started = time.process_time()
    try:
        with limited(LIMIT, Ended()):
            node = eval(plan, names)
            answer = node.epsilon(delta, method=method, adjacency=adjacency)
    except Ended:
        return row | {"verdict": "hangs"}
    except DpacctError as error:
        return row | {"verdict": "refused", "error": str(error)[:120]}
    except Exception as error:  # whatever it is, it is what the search looks for
        return row | {"verdict": "crashed", "error": repr(error)[:200]}
    row["seconds"] = round(time.process_time() - started, 4)
    row |= {"ends": [answer.lower, answer.upper], "strength": str(answer.strength)}
    theirs = other(case)
    if not isinstance(theirs, list):
        return row | {"verdict": "not judged", "theirs": theirs}
    row["theirs"] = theirs
    low, high = answer.lower, answer.upper
    least, most, _ = theirs
    slack = 1.0 + 1e-9
    wrong = (high is not None and least is not None and high * slack + 1e-12 < least) or (
        low is not None and most is not None and low > most * slack + 1e-12
    )
    row["verdict"] = "OUTSIDE" if wrong else "inside"
    if None not in (low, high, least, most) and high > 1e-3 and float(delta) >= 1e-20:
        row["wider"] = ((high - low) - (most - least)) / high
    return row


def main() -> None:
    """Judge as many cases as asked for, and add them to what is stored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", required=True, help="a checkout of dpacct to compare with")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--extreme", action="store_true")
    parser.add_argument("--methods", default="auto,bracket")
    parser.add_argument("--log", help="a file for the rows that are not simply inside")
    asked = parser.parse_args()
    other = Other(asked.against)
    counts: dict[str, dict[str, int]] = {}
    seconds: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    log = open(asked.log, "a") if asked.log else sys.stdout  # noqa: SIM115
    for n in range(asked.first, asked.first + asked.cases):
        for method in asked.methods.split(","):
            row = judged(n, other, asked.extreme, method)
            verdict = row["verdict"]
            of = counts.setdefault(method, {})
            of[verdict] = of.get(verdict, 0) + 1
            if verdict != "refused":
                seconds.setdefault(method, []).append(row.get("seconds", LIMIT))
            widths.setdefault(method, []).append(row.get("wider", 0.0))
            if verdict != "inside" or row.get("wider", 0.0) > 1e-4 or row.get("seconds", 0.0) > 1.0:
                print(json.dumps(row), file=log, flush=True)
        if n % 500 == 499:
            _summary(counts, seconds, widths)
    _summary(counts, seconds, widths)
    key = "extreme" if asked.extreme else "users"
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    stored[key] = {"first": asked.first, "cases": asked.cases, "counts": counts}
    stored[key] |= {"wider than 1e-4": {m: sum(w > 1e-4 for w in widths[m]) for m in widths}}
    stored[key] |= {"above 1 s": {m: sum(s > 1.0 for s in seconds[m]) for m in seconds}}
    STORE.write_text(json.dumps(stored, indent=1) + "\n")


def _summary(
    counts: dict[str, dict[str, int]],
    seconds: dict[str, list[float]],
    widths: dict[str, list[float]],
) -> None:
    """One line a method."""
    for method, of in counts.items():
        took, wide = sorted(seconds[method]), sorted(widths[method])
        at = {p: took[min(int(p * len(took)), len(took) - 1)] for p in (0.5, 0.9, 0.99)}
        wider = sum(w > 1e-4 for w in wide)
        print(method, of, f"cpu {at} max {took[-1]:.2f}", f"wider than 1e-4: {wider}", flush=True)


if __name__ == "__main__":
    main()
