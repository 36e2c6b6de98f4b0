"""Rows of the golden tables: one plan in, one JSON-ready dict out."""

import datetime
import json
import pathlib
import platform
import time
from collections.abc import Callable
from typing import Any

import flint
import mpmath
from mpmath import mp, mpf

from tests.golden.golden_closed import gaussian, sampled_gaussian, solve_epsilon
from tests.golden.golden_contour import Plan
from tests.golden.golden_nodes import PREC_BITS, OracleError, SampledGaussian
from tests.golden.golden_oracle import Inversion, epsilon
from tests.work import limited

HERE = pathlib.Path(__file__).parent
Row = dict[str, Any]


class Timeout(RuntimeError):
    """The plan took too long."""


def with_limit(seconds: int, work: Callable[[], Row]) -> Row:
    """What `work` returns; `Timeout` after so many seconds of processor time."""
    with limited(seconds, Timeout(f"more than {seconds} s")):
        return work()


def digits(x: mpf, n: int = 34) -> str:
    return str(mp.nstr(x, n, strip_zeros=False))


def closed_side(delta_of: Callable[[mpf], mpf], delta: str) -> Row:
    """One direction from a closed form."""
    eps = solve_epsilon(delta_of, mpf(delta))
    if eps == 0:
        return {"epsilon": "0", "delta_at_zero": digits(delta_of(mpf(0)))}
    short = f"{float(eps):.11e}"
    d = delta_of(mpf(short))
    slope = (mp.log(delta_of(eps * (1 + mpf(10) ** -20))) - mp.log(delta_of(eps))) * mpf(10) ** 20
    return {
        "epsilon": digits(eps),
        "digits": 34,
        "short_epsilon": short,
        "delta_at_short": digits(d),
        "condition": float(mp.nstr(abs(slope), 6)),
    }


MIN_DIGITS = 8
"""A number to which the two evaluations agree less well is left out of the tables."""


def side_of(r: Inversion) -> Row:
    """One direction's entry. delta_at_short is left out where eps sits so close to the highest loss
    (add direction) that 12 digits of eps do not resolve delta."""
    if r.eps == "0":
        return {"epsilon": "0", "delta_at_zero": r.delta_at_zero}
    out: Row = {
        "epsilon": r.eps,
        "digits": r.eps_digits,
        "short_epsilon": r.eps_short,
        "condition": float(f"{r.condition:.6g}"),
        "nodes": r.nodes,
    }
    if r.delta_digits >= MIN_DIGITS:
        out |= {"delta_at_short": r.delta_short, "delta_digits": r.delta_digits}
    return out


def contour_side(plan: Plan, delta: str) -> Row:
    """One direction by two contours."""
    return side_of(epsilon(plan, delta))


def contour_both(plan_of: Callable[[str], Plan], delta: str) -> Row:
    """Both directions; `add` first, whose losses have a highest value and no heavy tail.

    Where delta is so small that the add direction's eps sits within 1e-12 of its highest loss, no
    abscissa resolves it; then only that highest loss is recorded, as an upper bound of its eps.
    """
    plan = plan_of("add")
    try:
        add: Inversion | None = epsilon(plan, delta)
        side = side_of(add)
    except OracleError:
        add = None
        if plan.bend != -1:
            raise
        side = {"epsilon_below": sum(n * p.edge for p, n in plan.parts)}
    return {"remove": side_of(epsilon(plan_of("remove"), delta, add)), "add": side}


def join(row: Row) -> Row:
    """The answer is the worse direction."""
    eps = {d: mpf(row[d].get("epsilon", row[d].get("epsilon_below"))) for d in ("remove", "add")}
    worst = max(eps, key=lambda d: (eps[d], d == "remove"))
    if "epsilon" not in row[worst]:
        raise OracleError("the unresolved direction may be the worse one")
    row["direction"] = worst
    row["epsilon"] = row[worst]["epsilon"]
    return row


def poisson_gaussian(sigma: str, q: str, steps: int, delta: str) -> Row:
    row: Row = {"sigma": sigma, "q": q, "T": steps, "delta": delta}
    start = time.process_time()
    if mpf(q) == 1:
        mu = mp.sqrt(steps) / mpf(sigma)
        row["remove"] = row["add"] = closed_side(lambda e: gaussian(mu, e), delta)
        row["method"] = "closed"
    elif steps == 1:
        for d in ("remove", "add"):
            row[d] = closed_side(lambda e, d=d: sampled_gaussian(sigma, q, e, d), delta)  # type: ignore[misc]
        row["method"] = "closed"
    else:
        row |= contour_both(lambda d: Plan([(SampledGaussian(sigma, q, d), steps)]), delta)
        row["method"] = "contour"
    row["seconds"] = round(time.process_time() - start, 2)
    return join(row)


def header(generator: str, seed: int | None, note: str) -> Row:
    return {
        "generator": f"tests/golden/{generator}",
        "method": "two contours, Gauss-Legendre panels, complex inner line (golden_contour.py); "
        "closed forms for T = 1 and q = 1 (golden_closed.py). Shares no code with dpacct.",
        "precision_bits": PREC_BITS,
        "mpmath_digits": mp.dps,
        "versions": {
            "python": platform.python_version(),
            "python-flint": flint.__version__,
            "mpmath": mpmath.__version__,
        },
        "seed": seed,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "note": note,
    }


def save(name: str, data: Row) -> None:
    (HERE / name).write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
