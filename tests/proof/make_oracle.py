"""Make oracle.json: delta to 60 digits by the golden oracle, for plans of the referee's and gentler ones.

    python -m tests.proof.make_oracle [seed [closed]]     # adds to the table until it has 200 rows

Nothing of dpacct. Closed forms where there are any, else two contours; `digits` is to how many they agree.
"""

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tests.golden.golden_closed import gaussian, sampled_gaussian, sampled_laplace
from tests.golden.golden_contour import Plan
from tests.golden.golden_fixed import FixedSizeGaussian
from tests.golden.golden_nodes import OracleError, PlainGaussian, SampledGaussian
from tests.golden.golden_oracle import delta
from tests.golden.golden_rows import Timeout, with_limit

TABLE = Path(__file__).with_name("oracle.json")
WANTED = 200
DIGITS = 60
SECONDS = 100  # that a plan may take


Question = dict[str, Any]


def closed(draw: random.Random) -> Question:
    """A plan with a closed form, and its delta."""
    kind = draw.choice(["gaussian", "poisson", "fixed-size", "laplace", "laplace-poisson"])
    size = f"{math.exp(draw.uniform(math.log(0.2), math.log(1e4))):.4g}"
    rate = f"{math.exp(draw.uniform(math.log(1e-8), 0.0)) * 0.999:.4g}"
    steps = int(math.exp(draw.uniform(0.0, math.log(1e12)))) if kind == "gaussian" else 1
    if kind in ("gaussian", "laplace"):
        rate = "1"
    with mp.workdps(110):
        q, s = mpf(rate), mpf(size)
        if kind.startswith("laplace"):
            top = mp.log1p(q * mp.expm1(1 / s))
            eps = mp.nstr(top * draw.uniform(0.02, 0.98), 8)
            value = sampled_laplace(size, rate, mpf(eps), "remove")
        else:
            mu = mp.sqrt(steps) / s
            plain = mu * draw.uniform(0.1, 30.0) + mu * mu / 2
            eps = mp.nstr(mp.log1p(q * mp.expm1(plain)), 8)
            once = kind != "gaussian"
            value = (
                sampled_gaussian(size, rate, mpf(eps), "remove") if once else gaussian(mu, mpf(eps))
            )
        result = mp.nstr(value, DIGITS)
    parts = [{"kind": kind, "size": size, "rate": rate, "steps": steps}]
    return {"parts": parts, "epsilon": eps, "upper": result, "digits": 90, "method": "closed"}


def composed(draw: random.Random, family: str, wanted: int = DIGITS) -> Question:
    """A plan that takes an integral. Add's delta is the smaller one where hits help (q <= 1/2)."""
    parts, mu_squared = [], 0.0
    for _ in range(draw.randint(2, 3) if family == "mixed" else 1):
        gentle = family == "fixed-size"
        size = math.exp(draw.uniform(math.log(0.8 if gentle else 0.5), math.log(60.0)))
        rate = math.exp(draw.uniform(math.log(5e-3 if gentle else 2e-4), math.log(0.7)))
        most = 1e4 if gentle else 1e7
        steps = int(math.exp(draw.uniform(math.log(3.0 / rate), math.log(most / rate))))
        kind = "poisson" if family == "mixed" else family
        if family == "mixed" and draw.random() < 0.2:
            kind, rate, steps = "gaussian", 1.0, draw.randint(1, 20)
        text = f"{rate:.4g}"
        parts.append({"kind": kind, "size": f"{size:.4g}", "rate": text, "steps": steps})
        mu_squared += steps * rate**2 * math.expm1(min(1 / size**2, 20.0))
    mu = math.sqrt(mu_squared)
    eps = f"{mu * draw.uniform(0.5, 12.0) + mu * mu / 2:.6g}"
    if float(eps) > 300.0:
        raise OracleError("an epsilon that nobody asks for")
    row: Question = {"parts": parts, "epsilon": eps, "method": "contour"}
    sides = {kind: by_contour(parts, kind, eps, wanted) for kind in ("remove", "add")}
    worst = max(sides, key=lambda kind: sides[kind][0])
    value, digits = sides[worst]
    if family == "fixed-size":
        row["lower"] = mp.nstr(value, wanted)
        value, more = by_contour(parts, "fixed-size", eps, wanted)
        digits = min(digits, more)
    return row | {"upper": mp.nstr(value, wanted), "digits": digits}


def by_contour(parts: list[dict[str, Any]], way: str, eps: str, wanted: int) -> tuple[mpf, int]:
    """Delta of one direction, or of C_q for a fixed size, and the digits to which two contours agree."""

    def step(sigma: str, rate: str) -> Any:
        if mpf(rate) == 1:
            return PlainGaussian(sigma)
        return (
            FixedSizeGaussian(sigma, rate)
            if way == "fixed-size"
            else SampledGaussian(sigma, rate, way)
        )

    plan = Plan([(step(part["size"], part["rate"]), part["steps"]) for part in parts])
    result = delta(plan, eps, wanted=wanted)
    return mpf(result.value), result.digits


def questions(draw: random.Random) -> Iterator[Callable[[], Question]]:
    """Endless questions."""
    while True:
        yield lambda: closed(draw)
        yield lambda: closed(draw)
        for family in ("poisson", "poisson", "mixed", "poisson", "mixed", "fixed-size"):
            yield lambda family=family: composed(draw, family)  # type: ignore[misc]


def main() -> None:
    """Write the table; a plan that takes too long, or agrees to fewer digits, is left out.

    Integrals for as long as one has patience (stop it; what is there is kept), then closed forms.
    """
    document = json.loads(TABLE.read_text()) if TABLE.exists() else {"runs": [], "rows": []}
    rows: list[Question] = document["rows"]
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    document["runs"] = [*document["runs"], seed]
    draw = random.Random(seed)
    mp.dps = 95
    only_closed = len(sys.argv) > 2
    for ask in iter(lambda: closed(draw), None) if only_closed else _asked(draw):
        if ask is None or ask["digits"] < DIGITS:
            continue
        if mpf("1e-300") < mpf(ask["upper"]) < mpf("0.3"):
            rows.append(ask)
            print(len(rows), ask["method"], ask["digits"], ask["parts"], flush=True)
            lines = ",\n".join(json.dumps(row) for row in rows)
            TABLE.write_text(f'{{"runs": {document["runs"]},\n"rows": [\n{lines}\n]}}\n')
        if len(rows) >= WANTED:
            sys.exit()


def _asked(draw: random.Random) -> Iterator[Question | None]:
    """Answers to endless questions; None for a plan that takes too long."""
    for ask in questions(draw):
        try:
            yield with_limit(SECONDS, ask)
        except (OracleError, Timeout, OverflowError, ValueError):
            yield None


if __name__ == "__main__":
    main()
