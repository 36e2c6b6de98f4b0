"""Laws over the whole product run on request (`pytest -m search tests/laws`); the rest always.

On request until every cell fits the time of a CI run: composed Laplace takes seconds a question.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALWAYS = {"test_bad_input.py", "test_catalogue.py", "test_peer_defects.py", "test_truth.py"}
OVER_THE_PRODUCT = "test_d02_every_count_counts"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if item.path.name not in ALWAYS or item.name.startswith(OVER_THE_PRODUCT):
            item.add_marker(pytest.mark.search)
