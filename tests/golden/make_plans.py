"""Make plans.json: random plans of the box with their truth.

    python -m tests.golden.make_plans [section ...]

Sections are kept apart, so that one of them can be made again: box, fixed, hetero, laplace.
Rows already in the file are kept, so a run that was stopped goes on where it was.
"""

import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterator

from flint import arb
from mpmath import mp, mpf

from tests.golden.golden_closed import DIGITS, fixed_size_gaussian, sampled_laplace
from tests.golden.golden_contour import Plan
from tests.golden.golden_fixed import FixedSizeGaussian
from tests.golden.golden_laplace import LaplaceStep, plain_by_residues, two_steps
from tests.golden.golden_nodes import LEVEL, OracleError, PlainGaussian, SampledGaussian
from tests.golden.golden_oracle import delta
from tests.golden.golden_rows import (
    HERE,
    Row,
    closed_side,
    contour_both,
    contour_side,
    header,
    join,
    poisson_gaussian,
    save,
    with_limit,
)

SEED = 20240502
NAME = "plans.json"
NOTE = (
    "Decimal strings are exact inputs. epsilon: answer for `delta`, worse of the two directions; "
    "delta_at_short: delta at short_epsilon. condition: |d log delta / d log eps|; an input "
    "rounded to float64 moves delta by about 1e-16 times that."
)


def log_uniform(rng: random.Random, lo: float, hi: float) -> float:
    return math.exp(rng.uniform(math.log(lo), math.log(hi)))


def text(x: float) -> str:
    return f"{x:.4g}"


def draw_delta(rng: random.Random, lo: float = 1e-300) -> str:
    return text(log_uniform(rng, lo, 0.3))


def box(rng: random.Random) -> Iterator[tuple[str, tuple[str, str, int, str]]]:
    """Endless draws: (kind, (sigma, q, T, delta)); every block of 20 has the wanted mixture."""
    while True:
        kinds = ["one"] * 2 + ["small"] * 2 + ["whole"] + ["any"] * 15
        rng.shuffle(kinds)
        for kind in kinds:
            sigma = log_uniform(rng, 0.2, 1 if kind == "small" else 1e4)
            if kind == "one":
                steps, q = 1, log_uniform(rng, 1e-8, 1)
            elif kind == "small":
                steps = rng.randint(2, 50)
                q = log_uniform(rng, 1 / steps, 1)
            else:
                while True:
                    steps = int(float(f"{log_uniform(rng, 1, 1e12):.3g}"))
                    q = 1.0 if kind == "whole" else log_uniform(rng, 1e-8, 1)
                    if steps * q >= 1 and steps > 1:
                        break
            yield kind, (text(sigma), text(q), steps, draw_delta(rng))


def cached(section: str) -> dict[str, Row]:
    """Rows already in the table with 30 digits, by their inputs (afresh: delete the table)."""
    path = HERE / NAME
    if not path.exists():
        return {}
    rows = json.loads(path.read_text())["sections"].get(section, {}).get("rows", [])
    out = {}
    for row in rows:
        if section == "laplace":
            key = [row["method"], row["b"], row["q"], row["T"], row["epsilon"]]
            out[json.dumps(key)] = row
            continue
        head = [row["parts"]] if "parts" in row else [row["sigma"], row["q"], row["T"]]
        sides = (row[k].get("digits", 34) for k in ("remove", "add", "upper", "lower") if k in row)
        if min(sides) >= 30:
            out[json.dumps([*head, row["delta"]])] = row
    return out


def fill(
    section: str, count: int, seed: int, draws: Iterator[tuple[str, tuple[object, ...]]],
    work: Callable[..., Row], zeros: float = 0.05, limit: int = 100,
) -> None:  # fmt: skip
    """Draw until `count` rows are there, at most a share `zeros` with eps = 0; save often."""
    rows: list[Row] = []
    failed: list[Row] = []
    start = time.process_time()
    n_zero = 0
    kept = cached(section)
    for kind, args in draws:
        try:
            row = kept.get(json.dumps(args)) or with_limit(
                limit,
                lambda args=args: work(*args),  # type: ignore[misc]
            )
        except (OracleError, ValueError, ZeroDivisionError, RuntimeError) as err:
            failed.append({"kind": kind, "args": [str(a) for a in args], "error": str(err)})
            print("FAILED", section, kind, args, repr(err), flush=True)
            continue
        row["kind"] = kind
        if row["epsilon"] == "0":
            if n_zero >= zeros * count:
                continue
            n_zero += 1
        rows.append(row)
        print(
            section, len(rows), kind, *args, row["epsilon"][:18], row["direction"],
            row["remove"].get("digits"), row["add"].get("digits"),
            f"{time.process_time() - start:.0f} s", flush=True,
        )  # fmt: skip
        if len(rows) % 10 == 0 or len(rows) == count:
            path = HERE / NAME
            data = json.loads(path.read_text()) if path.exists() else {"sections": {}}
            data["header"] = header(
                NAME.replace(".json", ".py")
                .replace("plans", "make_plans")
                .replace("rare", "make_rare"),
                SEED,
                NOTE,
            )
            data["sections"][section] = {
                "seed": seed,
                "rows": rows,
                "failed": failed,
                "cpu_seconds": round(time.process_time() - start, 1),
            }
            save(NAME, data)
        if len(rows) == count:
            return


def fixed_draws(rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    for k in range(10**6):
        steps = 1 if k % 10 == 0 else int(float(f"{log_uniform(rng, 2, 1e6):.3g}"))
        q = log_uniform(rng, max(1e-3, min(0.5, 1 / steps)), 0.6)
        sigma = log_uniform(rng, 0.5, 30)
        yield "fixed-size", (text(sigma), text(q), steps, draw_delta(rng, 1e-100))


def fixed_row(sigma: str, p: str, steps: int, delta: str) -> Row:
    """remove: C_p (upper); add: the realisable pair ((1-p) N0 + p N1, N0) (lower)."""
    row: Row = {"sigma": sigma, "q": p, "T": steps, "delta": delta}
    if steps == 1:
        row["upper"] = row["lower"] = closed_side(lambda e: fixed_size_gaussian(sigma, p, e), delta)
        row["method"] = "closed"
    else:
        row["upper"] = contour_side(Plan([(FixedSizeGaussian(sigma, p), steps)]), delta)
        row["lower"] = contour_side(Plan([(SampledGaussian(sigma, p, "remove"), steps)]), delta)
        row["method"] = "contour"
    row["remove"] = row["upper"]
    row["add"] = row["lower"]
    join(row)
    del row["remove"], row["add"]
    row["remove"], row["add"] = {}, {}
    return row


def hetero_draws(rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    for k in range(10**6):
        parts = []
        for _ in range(rng.randint(2, 8)):
            steps = int(float(f"{log_uniform(rng, 1, 1e5):.2g}"))
            q = log_uniform(rng, min(0.5, max(1e-5, 0.5 / steps)), 0.9)
            parts.append([text(log_uniform(rng, 0.5, 30)), text(q), steps])
        if k % 4 == 3:  # with a plain Gaussian
            parts.append([text(log_uniform(rng, 1, 30)), "1", rng.randint(1, 20)])
        yield "hetero", (parts, draw_delta(rng, 1e-60))


def hetero_row(parts: list[list[object]], delta: str) -> Row:
    row: Row = {"parts": parts, "delta": delta, "method": "contour"}

    def plan_of(d: str) -> Plan:
        steps = []
        for s, q, n in parts:
            plain = mpf(str(q)) == 1
            step = PlainGaussian(str(s)) if plain else SampledGaussian(str(s), str(q), d)
            steps.append((step, int(str(n))))
        return Plan(steps)

    row |= contour_both(plan_of, delta)
    return join(row)


def laplace_draws(rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    """(method, (b, q, T, eps)): eps between the mean loss and the largest one."""
    while True:
        for how in ("closed", "residues", "residues", "pairs", "contour"):
            b = log_uniform(rng, 0.3, 50)
            q = 1.0 if how == "residues" or rng.random() < 0.3 else log_uniform(rng, 1e-3, 0.9)
            if how == "closed":
                steps = 1
            elif how == "pairs":
                steps = 2
            elif how == "residues":
                steps = round(log_uniform(rng, 3, 400))
            else:  # the atoms' share of M^T must be dead
                steps = int(float(f"{log_uniform(rng, 400 * max(b, 1), 1e8):.3g}"))
            top = steps * math.log1p(q * math.expm1(1 / b))
            _, mean, var = LaplaceStep(text(b), text(q), "remove").cumulants(0.0)
            reach = steps * mean + rng.uniform(0.2, 12) * math.sqrt(steps * var)
            yield (
                how,
                (how, text(b), text(q), steps, f"{min(reach, rng.uniform(0.1, 0.9) * top):.5g}"),
            )


def laplace_row(how: str, b: str, q: str, steps: int, eps: str) -> Row:
    """delta at eps, both directions (q = 1: one and the same)."""
    row: Row = {"b": b, "q": q, "T": steps, "epsilon": eps, "method": how}
    tiny = mpf(10) ** -18
    for d in ("remove", "add"):

        def at(e: mpf, d: str = d) -> mpf:
            e_text = str(mp.nstr(e, 80))
            if how == "closed":
                return sampled_laplace(b, q, e, d)
            if how == "pairs":
                return two_steps(b, q, e_text, d)
            if how == "residues":
                LEVEL.set(300 + 6.0 * steps)
                try:
                    value = plain_by_residues(b, steps, e_text)
                    if value.rad() > abs(value) * arb(10) ** -50:
                        raise OracleError("residues: not enough bits")
                    return mpf(str(value.mid().str(70, radius=False)))
                finally:
                    LEVEL.set(0.0)
            return mpf(delta(Plan([(LaplaceStep(b, q, d), steps)]), e_text).value)

        value = at(mpf(eps))
        step = tiny if how != "contour" else mpf(10) ** -12
        slope = abs(mp.log(at(mpf(eps) * (1 + step))) - mp.log(value)) / step if value > 0 else 0
        row[d] = {"delta": mp.nstr(value, 30), "condition": float(mp.nstr(mpf(slope), 5))}
    worst = max(("remove", "add"), key=lambda d: mpf(row[d]["delta"]))
    row["delta"], row["condition"] = row[worst]["delta"], row[worst]["condition"]
    row["direction"] = worst
    return row


def main(sections: list[str]) -> None:
    mp.dps = DIGITS
    if "laplace" in sections:
        fill("laplace", 40, SEED + 3, laplace_draws(random.Random(SEED + 3)), laplace_row)
    if "box" in sections:
        fill("box", 300, SEED, box(random.Random(SEED)), poisson_gaussian)
    if "fixed" in sections:
        fill("fixed", 30, SEED + 1, fixed_draws(random.Random(SEED + 1)), fixed_row)
    if "hetero" in sections:
        fill("hetero", 20, SEED + 2, hetero_draws(random.Random(SEED + 2)), hetero_row)


if __name__ == "__main__":
    main(sys.argv[1:] or ["laplace", "box", "fixed", "hetero"])
