"""Truths for plans of low sampling, by the golden oracle and nothing of dpacct: rare_truths.json.

   python tests/pld/make_rare_truths.py

Two steps in real space, present against absent and the reverse and for fixed-size samples; any number of
steps, present against absent, by two contours. Rows that are stored are kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpmath import log, log1p, mp, mpf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "golden"))

from golden_contour import Plan  # noqa: E402
from golden_nodes import SampledGaussian  # noqa: E402
from golden_oracle import delta  # noqa: E402
from golden_realspace import two_steps, two_steps_fixed_size  # noqa: E402

TWO = [
    ("1e-6", "1", ".01"),
    ("1e-2", "1", ".5"),
    ("3.2e-9", ".6", "2.5"),
    ("5e-4", "4", "1.3e-3"),
    ("2e-8", ".6972", ".27"),
    ("1.2e-11", ".35", "40"),
    (".04", "2", ".03"),
]
MANY = [
    ("4.149e-10", "15.3954", 9, "4.0095998753050066e-09"),
    ("9.164e-05", "3.9358", 78, "0.0035838141529"),
    ("1e-4", ".8", 100, ".0537438341"),
    ("1e-6", ".7", 100000, "1"),
    ("1e-3", ".5", 1000, "1"),
    ("1e-8", "1", 10**8, "9e-4"),
    ("9.326e-10", "8.9093", 20, "3.58e-08"),
    ("1.001e-07", "2.6555", 30, "8.8e-07"),
]


def of_two(rate: str, sigma: str, epsilon: str) -> dict[str, str]:
    """log delta of two steps, each way."""
    ways = {"remove": two_steps(sigma, rate, epsilon, "remove")}
    if mpf(epsilon) < -2 * log1p(-mpf(rate)):  # no loss of this direction is larger
        ways["add"] = two_steps(sigma, rate, epsilon, "add")
    ways["fixed"] = two_steps_fixed_size(sigma, rate, epsilon)
    return {way: mp.nstr(log(value), 16) for way, value in ways.items()}


def of_many(rate: str, sigma: str, steps: int, epsilon: str) -> str:
    """log delta of all steps."""
    value = delta(Plan([(SampledGaussian(sigma, rate, "remove"), steps)]), epsilon).value
    return str(mp.nstr(log(mpf(value)), 20))


def main() -> None:
    path = HERE / "rare_truths.json"
    truths = json.loads(path.read_text()) if path.exists() else {"two": [], "many": []}
    stored = {row["rate"] for rows in truths.values() for row in rows}
    for rate, sigma, epsilon in TWO:
        if rate not in stored:
            row = {"rate": rate, "sigma": sigma, "epsilon": epsilon}
            truths["two"].append({**row, "log_delta": of_two(rate, sigma, epsilon)})
    for rate, sigma, steps, epsilon in MANY:
        if rate not in stored:
            row = {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}
            truths["many"].append({**row, "log_delta": of_many(rate, sigma, steps, epsilon)})
    path.write_text(json.dumps(truths, indent=1) + "\n")


if __name__ == "__main__":
    main()
