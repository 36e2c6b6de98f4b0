"""`import dpacct` is cheap and brings in nothing that it may never need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 5
"""Modules on top of those of `import numpy`; each name loads what it needs when it is first used."""
LATE = ("click", "flint", "hypothesis", "matplotlib", "mpmath", "rich", "scipy", "sympy", "torch")

MEASURE = """
import json, sys
import numpy
before = set(sys.modules)
import dpacct
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, cwd=folder
    )
    return list(json.loads(done.stdout))


def test_import_loads_only_what_it_needs(tmp_path: Path) -> None:
    modules = loaded(tmp_path)
    assert "dpacct" in modules
    assert len(modules) <= MOST, modules
    assert not [name for name in LATE if name in modules]
