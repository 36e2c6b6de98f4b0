"""curve: CSV, JSON, pictures."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import dpacct as dp
from tests.cli.runner import line, run

PLAN = "--sigma 1.1 --rate 0.01 --steps 1000"
NODE = "dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000"


def columns(text: str) -> dict[str, list[float]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def test_profile() -> None:
    node = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    table = columns(line(f"curve {PLAN}").stdout)
    assert list(table) == ["epsilon", "delta"] and len(table["delta"]) == 101
    assert np.all(np.diff(table["delta"]) < 0)
    assert np.array_equal(table["delta"], node.profile(np.array(table["epsilon"])))
    assert line(f"curve {PLAN} --json").json["columns"] == table


@pytest.mark.parametrize("kind", ["profile", "tradeoff", "rdp"])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".csv", ".json"])
def test_files(tmp_path: Path, kind: str, suffix: str) -> None:
    path = tmp_path / f"curve{suffix}"
    done = run("curve", *PLAN.split(), "--kind", kind, "--points", "9", "-o", str(path))
    assert done.code == 0 and done.stdout == "" and str(path) in done.stderr
    first = path.read_bytes()
    begins = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF", ".json": b"{"}
    assert first.startswith(begins.get(suffix, b""))
    assert run("curve", *PLAN.split(), "--kind", kind, "--points", "9", "-o", str(path)).code == 0
    assert path.read_bytes() == first, "the same plan must give the same bytes"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("--output x.jpg", "--output must end in"),
        ("--output x", "--output must end in"),
        ("--output no/such/folder/x.png", "no folder"),
        ("--points 1", "--points must be"),
        ("--points 1e9", "--points must be"),
        ("--kind rdp --from 1", "a number above 1"),
        ("--from 3 --to 2", "--from must be below --to"),
        ("--from 2 --to 2", "--from must be below --to"),
        ("--kind tradeoff --to 1.5", "from 0 to 1"),
        ("--kind rdp --method clt", "--method belongs to --kind profile"),
        ("--from -1", "--from must be"),
        ("--to nan", "--to must be"),
    ],
)
def test_refusals(command: str, says: str) -> None:
    failed = line(f"curve {PLAN} {command}")
    assert failed.code == 2 and failed.stdout == ""
    assert says in failed.stderr and failed.stderr.count("\n") == 1
