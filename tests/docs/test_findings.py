"""The table of printed and true numbers in docs/findings.md says what the code computes."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from dpacct.papers.oracle import oracle_of
from dpacct.papers.registry import get
from figures.record import from_csv
from tests.structure import console
from tests.structure.project import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
ROWS = {
    name: (says, [float(x) for x in re.findall(r"\d+\.\d+", true)])
    for name, says, true in re.findall(r"^\| ([^|]+) \| ([\d.]+) \| ([^|]+) \|", PAGE, flags=re.M)
}


@cache
def table(paper: str) -> list[dict[str, Any]]:
    """`dpacct tables` of one paper."""
    rows: list[dict[str, Any]] = json.loads(console.run(f"dpacct tables {paper} --json"))
    return rows


@pytest.mark.parametrize(
    ("name", "paper", "part"),
    [
        ("DP-Fed-LS, Table 2, SVHN, uniform, z = 1", "dp_fed_ls", "Table 2, SVHN, uniform, z = 1"),
        ("DP-Fed-LS, Theorem 1, promise 6", "dp_fed_ls", "MNIST, uniform, epsilon = 6"),
        ("DP-FedSAM, Table 2, budget 8, met by its Eq. (17)", "dp_fedsam", "epsilon = 8"),
    ],
)
def test_rows_of_printed_tables(name: str, paper: str, part: str) -> None:
    says, (low, high) = ROWS[name]
    results = [r for r in table(paper) if f"{r['table']}, {r['cell']}".endswith(part)]
    (row,) = results
    assert float(says) == row["printed"]
    digits = 1 if high > 10 else 2
    assert 0 <= row["exact"]["lower"] - low < 10**-digits, "rounded down"
    assert 0 <= high - row["exact"]["upper"] < 10**-digits, "rounded up"


def test_the_shuffled_row() -> None:
    says, (true,) = ROWS["UDP-FL, Lemma 2, 100 clients with ε₀ = 2"]
    drawn = from_csv((ROOT / "figures" / "shuffle_bounds.csv").read_text(encoding="utf-8"))
    results = {r["bound"]: r["epsilon"] for r in drawn if (r["eps0"], r["clients"]) == (2, 100)}
    assert float(says) == pytest.approx(float(results["udp_fl.lemma2"]), abs=5e-4)
    assert 0 <= float(results["truth, at least"]) - true < 0.01


def test_the_voting_row() -> None:
    says, (true,) = ROWS["AE-DPFL, Theorem 14, votes 6 to 0, noise 1, order 6"]
    statement = get("ae_dpfl.theorem14")
    judge = oracle_of(statement)
    assert statement.witness and judge
    values = statement.checked(statement.witness[0])
    assert values == {"votes": (6, 0), "sigma": 1.0, "alpha": 6.0}
    comparison = judge.compare(statement, values)
    assert comparison
    assert (comparison.claimed, comparison.lower) == pytest.approx((float(says), true), abs=5e-4)


def test_each_row_is_tried() -> None:
    """The limit's row is run by the block under the table."""
    assert len(ROWS) == 6
    assert "1.13 3.09" in PAGE
