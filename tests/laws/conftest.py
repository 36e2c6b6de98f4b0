"""The laws run on the engine. A long random search: `pytest tests/laws --hypothesis-profile=search`."""

from collections.abc import Iterator

import pytest

from dpacct.proof import effort


@pytest.fixture(autouse=True, scope="module")
def without_proofs() -> Iterator[None]:
    """The laws are about the engine: `auto` spends nothing on proofs (tests/proof has those)."""
    with effort.allowance(0.0):
        yield
