"""Make examples.json: the values that pages name, and the truths behind the peers' benchmarks.

    python -m tests.golden.make_examples

Each value is had twice (two contours); the named ones are confirmed once more by plain mpmath on the real
axis (golden_mpmath.py), which shares only the formula.
"""

import sys
import time
from collections.abc import Callable

from mpmath import mp, mpf

from tests.golden.golden_closed import (
    DIGITS,
    fixed_size_gaussian,
    gaussian,
    randomised_response,
    solve_epsilon,
)
from tests.golden.golden_contour import Plan
from tests.golden.golden_fixed import FixedSizeGaussian
from tests.golden.golden_laplace import plain_by_residues
from tests.golden.golden_mpmath import delta_fixed_size, delta_sampled
from tests.golden.golden_nodes import LEVEL, SampledGaussian
from tests.golden.golden_oracle import delta
from tests.golden.golden_rows import Row, contour_both, digits, header, join, save

NAMED = [  # name, sigma, q (an expression's exact value in 50 digits), T, delta, an earlier program's value
    ("a", "1.1", "0.01", 1000, "1e-5", "1.51536191666"),
    ("b", "0.8", "256/60000", 14063, "1e-5", "4.55001275751"),
    ("d", "3", "0.2", 100, "975^-1.1", "2.18925634238"),
    ("tiny", "1", "0.01", 1000, "1e-40", "12.2862281211"),
    ("million", "1", "0.001", 10**6, "1e-6", "6.6942726"),
    ("w1c", "1", "0.05", 200, "2000^-1.1", "3.7005283703106"),
    ("w1e", "0.5", "0.001", 10**5, "1e-6", "14.733188448952"),
    ("w2-12", "1", "0.01", 1000, "1e-12", "3.914298156037"),
    ("w2-20", "1", "0.01", 1000, "1e-20", "6.361700204079"),
    ("w7-1e2", "1", "0.001", 100, "1e-6", "0.0837851358"),
    ("w7-1e3", "1", "0.001", 1000, "1e-6", "0.1855162683"),
    ("w7-1e4", "1", "0.001", 10**4, "1e-6", "0.5551396679"),
    ("w7-1e5", "1", "0.001", 10**5, "1e-6", "1.8610474590"),
    ("w7-1e7", "1", "0.001", 10**7, "1e-6", "27.6366574870"),
]

CALIBRATION = [  # eps, delta, q, T, a peer's value
    ("0.5", "1e-5", "0.01", 1000, "2.38216660337"),
    ("1", "1e-5", "0.01", 1000, "1.41461940653"),
    ("2", "1e-5", "0.01", 1000, ".95910155241"),
    ("7", "1e-5", "0.01", 1000, ".61154563003"),
    ("8", "1e-5", "0.01", 1000, ".58625985068"),
    ("7", "1000^-1.1", "0.05", 30, ".52252133208"),
    ("0.01", "1e-5", "0.01", 1000, "77.1330"),
    ("0.05", "1e-5", "0.01", 1000, "18.3271"),
    ("0.1", "1e-5", "0.01", 1000, "9.79679"),
    ("20", "1e-5", "0.01", 1000, ".441944"),
    ("100", "1e-5", "0.01", 1000, ".2669245"),
]


def exact(text: str) -> str:
    """256/60000 and 975^-1.1 as 60-digit decimals (far beyond what any answer needs)."""
    if "/" in text:
        a, b = text.split("/")
        return str(mp.nstr(mpf(a) / mpf(b), 60))
    if "^" in text:
        a, b = text.split("^")
        return str(mp.nstr(mp.power(mpf(a), mpf(b)), 60))
    return text


def timed(label: str, work: Callable[[], Row]) -> Row:
    start = time.process_time()
    row = work()
    row["seconds"] = round(time.process_time() - start, 2)
    print(label, row.get("epsilon") or row.get("delta") or row.get("sigma"), row["seconds"], "s",
          flush=True)  # fmt: skip
    return row


def named(sigma: str, q: str, steps: int, delta_text: str, claimed: str, check: bool) -> Row:
    q_x, d_x = exact(q), exact(delta_text)
    row: Row = {"sigma": sigma, "q": q, "T": steps, "delta": delta_text, "claimed": claimed}
    row |= contour_both(lambda d: Plan([(SampledGaussian(sigma, q_x, d), steps)]), d_x)
    join(row)
    row["claimed_relative_error"] = float(mpf(claimed) / mpf(row["epsilon"]) - 1)
    if check:  # real-axis mpmath at the eps found
        side = row[row["direction"]]
        again = delta_sampled(sigma, q_x, steps, side["epsilon"], row["direction"])
        row["mpmath_delta_relative_gap"] = float(again / mpf(d_x) - 1)
    return row


def calibrated(eps: str, delta_text: str, q: str, steps: int, claimed: str) -> Row:
    """sigma with delta(eps; sigma) = delta: secant on log delta against log sigma."""
    target = mp.log(mpf(exact(delta_text)))

    def f(sigma: mpf) -> mpf:
        text = str(mp.nstr(sigma, 60))
        return mp.log(mpf(delta(Plan([(SampledGaussian(text, q, "remove"), steps)]), eps).value))

    x0 = mpf(claimed)
    x1 = x0 * (1 + mpf(10) ** -6)
    f0 = f(x0) - target
    for _ in range(8):
        f1 = f(x1) - target
        if x1 == x0 or f1 == f0:
            break
        x0, x1, f0 = x1, x1 - f1 * (x1 - x0) / (f1 - f0), f1
        if abs(x1 / x0 - 1) < mpf(10) ** -20:
            break
    add = mpf(delta(Plan([(SampledGaussian(str(mp.nstr(x1, 60)), q, "add"), steps)]), eps).value)
    return {
        "epsilon_target": eps, "delta": delta_text, "q": q, "T": steps, "sigma": digits(x1, 28),
        "claimed": claimed, "claimed_relative_error": float(mpf(claimed) / x1 - 1),
        "add_is_smaller": bool(mp.log(add) < target),
    }  # fmt: skip


def one_delta() -> Row:
    claimed = "1.1537867345629311608e-5"
    row: Row = {"sigma": "1.1", "q": "0.01", "T": 1000, "at": "1.5", "claimed": claimed}
    for d in ("remove", "add"):
        row[d] = delta(Plan([(SampledGaussian("1.1", "0.01", d), 1000)]), "1.5").value
    row["delta"] = row["remove"]
    row["claimed_relative_error"] = float(mpf(claimed) / mpf(row["delta"]) - 1)
    again = delta_sampled("1.1", "0.01", 1000, "1.5", "remove")
    row["mpmath_delta_relative_gap"] = float(again / mpf(row["delta"]) - 1)
    return row


def fixed_example() -> Row:
    claimed = "3.40104090796e-05"
    value = delta(Plan([(FixedSizeGaussian("1", "0.05"), 200)]), "5").value
    row: Row = {"sigma": "1", "q": "0.05", "T": 200, "at": "5", "delta": value, "claimed": claimed}
    row["claimed_relative_error"] = float(mpf(claimed) / mpf(value) - 1)
    row["mpmath_delta_relative_gap"] = float(
        delta_fixed_size("1", "0.05", 200, "5") / mpf(value) - 1
    )
    single = delta(Plan([(FixedSizeGaussian("1", "0.05"), 1)]), "2").value
    row["one_step_gap"] = float(fixed_size_gaussian("1", "0.05", mpf(2)) / mpf(single) - 1)
    return row


def laplace_w6() -> Row:
    def f(e: mpf) -> mpf:
        return mpf(plain_by_residues("10", 500, str(mp.nstr(e, 70))).mid().str(60, radius=False))

    eps = solve_epsilon(f, mpf("1e-6"))
    return {
        "b": "10",
        "T": 500,
        "delta": "1e-6",
        "epsilon": digits(eps),
        "claimed": "12.270368083307",
    }


def main(only: list[str]) -> None:
    mp.dps = DIGITS
    examples: Row = {}
    for name, sigma, q, steps, d, claimed in NAMED:
        check = name in ("a", "b", "d", "tiny", "million")
        if not only or name in only:
            examples[name] = timed(
                name,
                lambda s=sigma, q=q, n=steps, d=d, c=claimed, k=check: named(s, q, n, d, c, k),  # type: ignore[misc]
            )
    if only:
        return
    examples["delta-at-1.5"] = timed("delta-at-1.5", one_delta)
    examples["fixed-size"] = timed("fixed-size", fixed_example)
    LEVEL.set(2000)
    try:
        examples["laplace-500"] = timed("laplace-500", laplace_w6)
    finally:
        LEVEL.set(0)
    examples["rr-1000"] = timed(
        "rr-1000",
        lambda: {
            "epsilon0": "0.1", "T": 1000, "delta": "1e-6", "claimed": "19.344671447993",
            "epsilon": digits(
                solve_epsilon(lambda e: randomised_response("0.1", 1000, e), mpf("1e-6"))
            ),
        },
    )  # fmt: skip
    examples["gaussian-1000"] = timed(
        "gaussian-1000",
        lambda: {
            "sigma": "30", "T": 1000, "delta": "1e-6", "claimed": "5.189036640822",
            "epsilon": digits(
                solve_epsilon(lambda e: gaussian(mp.sqrt(1000) / 30, e), mpf("1e-6"))
            ),
        },
    )  # fmt: skip
    for row in (examples["laplace-500"], examples["rr-1000"], examples["gaussian-1000"]):
        row["claimed_relative_error"] = float(mpf(row["claimed"]) / mpf(row["epsilon"]) - 1)
    for k, args in enumerate(CALIBRATION):
        examples[f"sigma-{k}"] = timed(f"sigma-{k}", lambda a=args: calibrated(*a))  # type: ignore[misc]
    note = "claimed: by an earlier program or a peer; claimed_relative_error: claimed/value - 1"
    save("examples.json", {"header": header("make_examples.py", None, note), "examples": examples})


if __name__ == "__main__":
    main(sys.argv[1:])
