"""Two processes on one ledger: together they never spend more than it holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.project import ROOT


@pytest.mark.parametrize(("spends", "fit"), [(1000, 1200), (300, 200)])
def test_two_writers(tmp_path: Path, spends: int, fit: int) -> None:
    """In a process of its own, as it forks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.race", str(spends), str(fit), "--folder", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"counted {min(fit, 2 * spends)}," in done.stdout
    spent, spent_elsewhere = map(int, re.findall(r"\d+", done.stdout)[:2])
    assert min(spent, spent_elsewhere) >= fit // 10, "one kept the other out"
