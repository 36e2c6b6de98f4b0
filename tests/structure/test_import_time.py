"""`import dpacct` is cheap and brings in nothing that it may never need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BUDGET = 0.15  # seconds on top of `import numpy`
RUNS = 5
LATE = ("click", "flint", "hypothesis", "matplotlib", "mpmath", "rich", "scipy", "sympy", "torch")

MEASURE = """
import json, sys, time
import numpy
start = time.perf_counter()
import dpacct
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def measure(folder: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, cwd=folder
    )
    return dict(json.loads(done.stdout))


def test_import_is_quick(tmp_path: Path) -> None:
    """The quickest of several runs: what the machine does meanwhile can only add."""
    seconds = min(float(str(measure(tmp_path)["seconds"])) for _ in range(RUNS))
    assert seconds <= BUDGET, f"import dpacct took {seconds:.3f} s beyond numpy"


def test_import_loads_only_what_it_needs(tmp_path: Path) -> None:
    loaded = measure(tmp_path)["modules"]
    assert isinstance(loaded, list)
    assert not [name for name in LATE if name in loaded]
