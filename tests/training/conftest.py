"""Reports without what takes longest; Flower, imported once, deaf to what its libraries say of each other."""

import warnings
from collections.abc import Iterator

import pytest

from dpacct.proof import effort
from dpacct.report import contents

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.serverapp.strategy
    from flwr.supercore.task_identity import TaskIdentity

LIBRARIES = (flwr.serverapp.strategy,)


@pytest.fixture
def bare_reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No curves and no proofs, which are dpacct's own: a run's report with all of them is in test_cli."""
    monkeypatch.setattr(contents, "risks", lambda answer: ())
    with effort.allowance(0.0):
        yield


@pytest.fixture
def flower_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process of Flower has one; messages take their sender from it."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
