"""What the pages for newcomers say of other libraries is what the benchmark measured."""

from __future__ import annotations

import json
import re

import pytest

from tests.structure.project import ROOT

MIGRATE = ROOT / "docs" / "migrate"
RESULTS = json.loads((ROOT / "tests" / "benchmarks" / "results.json").read_text(encoding="utf-8"))
CASE = "W1 a"  # sigma 1.1, rate 0.01, 1000 steps, delta 1e-5
PEERS = {
    "dpacct": "dpacct",
    "[dp_accounting](dp-accounting.md), PLD": "dpa_pld",
    "dp_accounting, RDP": "dpa_rdp",
    "[prv_accountant](prv-accountant.md)": "prv",
    "[Opacus](opacus.md), PRV": "opacus_prv",
    "[autodp](autodp.md), RDP": "autodp_rdp",
}


def measured(peer: str) -> float:
    (row,) = (r for r in RESULTS["rows"] if r["case"] == CASE and r["peer"] == peer)
    return float(row["values"][0])


def test_the_table_side_by_side() -> None:
    text = (MIGRATE / "README.md").read_text(encoding="utf-8")
    result = dict(re.findall(r"^\| ([^|]+) \| `[^|]*` \| ([\d.]+) \|$", text, flags=re.M))
    assert set(result) == set(PEERS)
    for name, peer in PEERS.items():
        digits = len(result[name].partition(".")[2])
        assert float(result[name]) == pytest.approx(measured(peer), abs=0.5001 * 10**-digits), name


def test_numbers_of_peers_beside_our_code() -> None:
    """In comments of the blocks, where the code of another library can't run."""
    results = {
        ("prv-accountant.md", "prv"): r"upper end ([\d.]+)",
        ("autodp.md", "autodp_rdp"): r"autodp's RDP: ([\d.]+)",
    }
    for (page, peer), pattern in results.items():
        said = re.search(pattern, (MIGRATE / page).read_text(encoding="utf-8"))
        assert said
        assert float(said[1]) == pytest.approx(measured(peer), abs=1e-3)
