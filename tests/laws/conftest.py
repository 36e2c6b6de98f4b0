"""Laws over the whole product run on request (`pytest -m search tests/laws`); the rest always.

On request until every cell fits the time of a CI run: composed Laplace takes seconds a question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpacct.certify import effort

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


@pytest.fixture(autouse=True, scope="module")
def without_proofs() -> Iterator[None]:
    """The laws are about the engine: `auto` spends nothing on proofs (tests/certify has those)."""
    before, effort.CHEAP = effort.CHEAP, 0.0
    yield
    effort.CHEAP = before
