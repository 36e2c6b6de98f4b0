"""Timings run on request (`pytest -m benchmark tests/benchmarks`): they need a quiet machine.

The tests of the published table need nothing but the files, and always run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
NO_TIMINGS = "test_table.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    below = f"{HERE}/"
    for item in items:
        if str(item.path).startswith(below) and item.path.name != NO_TIMINGS:
            item.add_marker(pytest.mark.benchmark)
