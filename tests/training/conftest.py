"""Reports without what takes longest; Flower, imported once, deaf to what its libraries say of each other."""

import warnings
from collections.abc import Iterator

import pytest

from dpacct.proof import effort
from dpacct.report import contents

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.serverapp.strategy

LIBRARIES = (flwr.serverapp.strategy,)


@pytest.fixture
def bare_reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No curves and no proofs, which are dpacct's own: a run's report with all of them is in test_cli."""
    monkeypatch.setattr(contents, "risks", lambda answer: ())
    with effort.allowance(0.0):
        yield
