"""The certified answers as referee of the fast engine: 2,000 random plans over the whole box.

    python -m tests.proof.referee [first last]            # judges plans first..last-1, continues the table
    python -m tests.proof.referee --engine [first last]   # asks the engine again, and keeps the proofs
    python -m tests.proof.referee --proofs [first last]   # proves again, and keeps what the engine said

The table is tests/proof/referee.json; `judge` repeats any of its rows. T from 1 to 10^12, delta from
0.3 to 1e-300, sigma and b from 0.2 to 10^4, q from 1e-8 to 1, Gaussian and Laplace noise, plain, Poisson-
sampled, in fixed-size samples, and heterogeneous plans of up to six parts.
"""

import json
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dpacct as dp
from dpacct.declare.number import ln
from dpacct.errors import NotCertified
from dpacct.plan import certified
from dpacct.proof.check import decimal
from dpacct.vocabulary import Strength
from tests.work import limited

TABLE = Path(__file__).with_name("referee.json")
PLANS = 2000
DIGITS = 9
EFFORT = {True: 4.0, False: math.inf}
"""Seconds allowed for a plan, with rare hits or without: the latter as --method certified has it."""
_PARTED = Fraction(1, 10**8)  # two ends further apart are of two pairs
_PATIENCE = 60  # seconds after which the engine hangs: thirty times what any of these plans takes
KINDS = (
    *("poisson",) * 5,
    *("fixed-size",) * 2,
    *("laplace-poisson",) * 2,
    *("gaussian", "laplace", "laplace-fixed-size"),
    *("mixed",) * 3,
)
FAMILIES = (
    ("gaussian", "poisson"),
    ("laplace", "laplace-poisson"),
    ("gaussian", "poisson", "laplace", "laplace-poisson"),
    ("fixed-size",),
    ("fixed-size", "laplace-fixed-size"),
)


def _between(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _step(draw: random.Random, kind: str) -> dp.Node:
    size = f"{_between(draw, 0.2, 1e4):.4g}"
    rate = f"{min(_between(draw, 1e-8, 1.0), 0.9999):.4g}"
    noise = dp.Laplace(b=size) if kind.startswith("laplace") else dp.Gaussian(sigma=size)
    if kind.endswith("poisson"):
        return dp.Poisson(rate)(noise)
    return dp.WithoutReplacement(rate)(noise) if kind.endswith("fixed-size") else noise


def _count(draw: random.Random, most: float) -> int:
    return int(float(f"{_between(draw, 1.0, most):.3g}"))


@dataclass(frozen=True)
class Case:
    """One plan, and the delta at which it is asked."""

    kind: str
    node: dp.Node
    delta: str

    @property
    def rare(self) -> bool:
        """Whether some part has rare hits: T q < 1 with T > 1."""
        for leaf, count in self.node.releases():
            rate = leaf.to_dict().get("rate")
            if rate is not None and count > 1 and count * Fraction(str(rate)) < 1:
                return True
        return False


def case(k: int) -> Case:
    """The k-th plan."""
    draw = random.Random(7_000_000 + k)
    kind = KINDS[k % len(KINDS)]
    delta = f"{_between(draw, 1e-300, 0.3):.4g}"
    if kind != "mixed":
        return Case(
            kind, _step(draw, kind) * _count(draw, 1e12 if draw.random() < 0.9 else 1), delta
        )
    family = draw.choice(FAMILIES)
    parts = [
        _step(draw, draw.choice(family)) * _count(draw, 1e6) for _ in range(draw.randint(2, 6))
    ]
    return Case(kind, sum(parts[1:], parts[0]), delta)


def judge(k: int) -> dict[str, Any]:
    """One row: what is proven, what the engine says, and whether they are at odds."""
    drawn = case(k)
    row: dict[str, Any] = {"k": k, "kind": drawn.kind, "rare": drawn.rare}
    started = time.process_time()
    _ask_engine(drawn, row)
    row["seconds"] = [round(time.process_time() - started, 4)]
    return proven_again(row)


def proven_again(row: dict[str, Any]) -> dict[str, Any]:
    """The same row with what is proven today: the question and what the engine says stay."""
    drawn = case(row["k"])
    row = {key: row[key] for key in row if key not in ("lower", "upper", "withheld", "verdict")}
    started = time.process_time()
    try:
        proven = (
            certified.delta(
                drawn.node, epsilon=row["epsilon"], digits=DIGITS, effort=EFFORT[drawn.rare]
            )
            if "epsilon" in row
            else certified.epsilon(
                drawn.node, delta=drawn.delta, digits=DIGITS, effort=EFFORT[drawn.rare]
            )
        ).certificate
        row |= {"lower": _short(proven["lower"]), "upper": _short(proven["upper"])}
    except NotCertified as error:
        row["withheld"] = str(error)
    row["seconds"] = [row["seconds"][0], round(time.process_time() - started, 4)]
    if "lower" in row and isinstance(row["engine"], list):
        row["verdict"] = verdict(row)
    return row


def _ask_engine(drawn: Case, row: dict[str, Any]) -> None:
    """What the engine says; a third of the plans are asked for delta, near the epsilon it gave."""
    try:
        with limited(_PATIENCE, TimeoutError(f"over {_PATIENCE} s")), np.errstate(all="ignore"):
            if "epsilon" not in row:
                fast = drawn.node.epsilon(delta=drawn.delta, method="exact")
                if row["k"] % 3 == 2 and 0.0 < fast.value < 1e5:
                    row["epsilon"] = f"{fast.value:.6g}"
            if "epsilon" in row:
                fast = drawn.node.delta(epsilon=row["epsilon"], method="exact")
        row["engine"] = _shown(fast, "epsilon" in row)
    except Exception as error:  # the engine is on trial: whatever it does is recorded
        row["engine"] = repr(error)[:80]


def again(row: dict[str, Any]) -> dict[str, Any]:
    """The same row with what the engine says today: the question and the proof stay."""
    row = {key: value for key, value in row.items() if key != "verdict"}
    if "epsilon" not in row and row["k"] % 3 == 2:
        return judge(row["k"])  # there was no epsilon to ask at
    _ask_engine(case(row["k"]), row)
    if "lower" in row and isinstance(row["engine"], list):
        row["verdict"] = verdict(row)
    return row


def _short(end: str) -> str:
    """An exact number to sixteen digits."""
    return decimal(Fraction(end), 16, up=True)


def _shown(fast: dp.Answer, of_delta: bool) -> list[str]:
    """Value, ends and strength; a delta as logarithms where floats end."""
    ends = [fast.value, fast.lower, fast.upper]
    if of_delta and fast.value < 1e-290 and fast.log_value is not None:
        return [f"log {fast.log_value!r}", "", "", str(fast.strength)]
    return [*(repr(end) for end in ends), str(fast.strength)]


def verdict(row: dict[str, Any]) -> str:
    """`inside`, `meets` (the brackets overlap), `graded down`, or `MISS`.

    Where the proof spans two pairs (fixed-size samples), the engine's ends must span them as well.
    """
    lower, upper = Fraction(row["lower"]), Fraction(row["upper"])
    value, low, high, strength = row["engine"]
    converged = strength == Strength.CONVERGED
    wide = upper > lower * (1 + _PARTED)
    if value.startswith("log"):  # below the range of floats
        near = abs(float(value[4:]) - ln(upper)) < _PARTED if upper > 0 else False
        return "inside" if near else ("MISS" if converged else "graded down")
    most = Fraction(float(high)) if math.isfinite(float(high)) else upper
    least = Fraction(float(low)) if math.isfinite(float(low)) else upper + 1
    # the ends of the proof are kept to sixteen digits
    slack = _PARTED if wide else Fraction(1, 10**15)
    if wide:
        spans = most >= upper * (1 - slack) and least <= lower * (1 + slack)
    else:
        spans = least * (1 - slack) <= upper and lower <= most * (1 + slack)
    if not spans:
        return "MISS"
    if not converged:
        return "graded down"
    return "inside" if lower <= Fraction(float(value)) <= upper else "meets"


def _reason(withheld: str) -> str:
    """The kind of reason, without its numbers."""
    for word in (
        "nodes for a proof",
        "point masses",
        "take more than",
        "no contour",
        "frequencies",
    ):
        if word in withheld:
            return word
    return "width"


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over the table."""
    withheld = [row for row in rows if "withheld" in row]
    seconds = sorted(row["seconds"][1] for row in rows if "lower" in row)
    verdicts = Counter(row.get("verdict", "no verdict") for row in rows if "lower" in row)
    return {
        "plans": len(rows),
        "certified": len(rows) - len(withheld),
        "verdicts": dict(sorted(verdicts.items())),
        "withheld": len(withheld),
        "withheld with rare hits": sum(row["rare"] for row in withheld),
        "plans without rare hits": sum(not row["rare"] for row in rows),
        "withheld without rare hits, why": dict(
            Counter(_reason(row["withheld"]) for row in withheld if not row["rare"])
        ),
        "misses": [row["k"] for row in rows if row.get("verdict") == "MISS"],
        "withheld by kind": dict(sorted(Counter(row["kind"] for row in withheld).items())),
        "median seconds of a proof": seconds[len(seconds) // 2] if seconds else None,
        "engine raised": sum(isinstance(row.get("engine"), str) for row in rows),
    }


def main() -> None:
    """Judge a range of plans and write the table."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    redo = again if "--engine" in sys.argv else proven_again if "--proofs" in sys.argv else None
    first, last = (int(word) for word in words) if len(words) > 1 else (0, PLANS)
    kept = json.loads(TABLE.read_text())["rows"] if TABLE.exists() else []
    rows = {row["k"]: row for row in kept}
    for k in range(first, last):
        rows[k] = judge(k) if redo is None else redo(rows[k])
        if rows[k].get("verdict") == "MISS":
            print("MISS", case(k), rows[k], flush=True)
        if k % 50 == 49 or k + 1 == last:
            write(list(rows.values()))
            print(k + 1, json.dumps(summary(list(rows.values()))), flush=True)


def write(rows: list[dict[str, Any]]) -> None:
    """The table, a row to a line."""
    table = sorted(rows, key=lambda row: int(row["k"]))
    lines = ",\n".join(json.dumps(row) for row in table)
    result = json.dumps(summary(table), indent=1)
    TABLE.write_text(f'{{"summary": {result},\n"rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
