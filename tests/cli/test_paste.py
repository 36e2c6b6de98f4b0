"""`noise --paste`: the lines run as they are, and what runs is what was asked for."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpacct as dp
from tests.cli.runner import line

BATCHES = "--batch-size 16 --dataset-size 60 --epochs 2"


def pasted(command: str) -> str:
    """What stands below the answer."""
    done = line(command)
    assert done.code == 0, done.stderr
    return done.stdout.partition("\n\n")[2]


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(3, 2)
    data = torch.utils.data.TensorDataset(torch.randn(60, 3), torch.zeros(60).long())
    return {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "loader": torch.utils.data.DataLoader(data, batch_size=16),
    }


def test_what_is_saved_is_what_is_pasted(training: dict[str, Any]) -> None:
    """So a faithful run passes the check; more noise does too, less does not."""
    asked = f"noise --eps 3 --delta 1e-5 {BATCHES} --unit record --adjacency add-remove"
    exec(pasted(f"{asked} --paste torch --save saved.toml"), training)
    ledger, step = training["ledger"], training["step"]
    ledger.spend(step * 8)
    assert line("check saved.toml --max-eps 3 --ledger run.ledger").code == 0
    assert line("report saved.toml --ledger run.ledger --quiet").code == 0
    rate, noise = step.sampler.rate, step.node.noise_multiplier
    for factor, code in ((Fraction(11, 10), 0), (Fraction(9, 10), 6)):
        other = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=noise * factor, clip=2))
        path = f"{code}.ledger"
        with dp.Ledger(path, budget=(9, "1e-5"), plan=other * 8) as ran:
            ran.spend(other * 8)
        assert line(f"check saved.toml --max-eps 3 --ledger {path}").code == code


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_the_lines_for_opacus_train_to_the_planned_end(training: dict[str, Any]) -> None:
    torch, _ = pytest.importorskip("torch"), pytest.importorskip("opacus")
    code = pasted(f"noise --eps 3 --delta 1e-5 {BATCHES} --clip 0.5 --paste opacus")
    exec(code, training)
    optimizer, ledger, steps = training["optimizer"], training["ledger"], 0
    guard = training["guard"]
    while not guard.exhausted:
        for x, y in training["loader"]:
            if guard.exhausted:
                break
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(training["model"](x), y).backward()
            optimizer.step()
            steps += 1
    assert guard.epsilon == float(ledger.spent())
    observe = next(line for line in code.splitlines() if "ledger.observe" in line)
    exec(observe.lstrip("# "), training)
    assert all(str(check.status) != "violated" for check in ledger.checks())
    multiplier = line(f"noise --eps 3 --delta 1e-5 {BATCHES} --json").json["noise_multiplier"]
    assert steps == 8 and multiplier <= optimizer.noise_multiplier <= multiplier * 1.0001
    # Opacus samples at one over the number of batches, which is a little less than 16/60
    assert 2.7 < training["engine"].get_epsilon(1e-5) < 2.99 < ledger.spent() <= 3


def test_the_lines_for_flower_allow_all_rounds_and_no_more() -> None:
    pytest.importorskip("flwr")
    names: dict[str, Any] = {}
    exec(pasted("noise --eps 8 --delta 1e-5 --rounds 40 --unit client --paste flower"), names)
    from flwr.serverapp import GaussianPrivacyEvent

    accountant = names["strategy"].accountant
    a_round = GaussianPrivacyEvent(names["strategy"].noise_multiplier, 20, 400)
    assert not accountant.would_exceed(a_round, count=40)
    assert accountant.would_exceed(a_round, count=41)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--rate 0.1 --steps 5 --paste flower", "earn no amplification"),
        ("--steps 5 --paste opacus", "samples by coin"),
        ("--rate 0.1 --steps 5 --sampling uniform --paste opacus", "samples by coin"),
        ("--steps 5 --mechanism laplace --paste torch", "needs Gaussian noise, got laplace"),
        ("--steps 5 --adjacency replace-one --paste flower", "needs --adjacency add-remove"),
        ("--steps 5 --paste keras", "--paste must be one of opacus, flower or torch"),
    ],
)
def test_what_a_framework_does_not_have_is_refused(words: str, named: str) -> None:
    refused = line(f"noise --eps 3 --delta 1e-5 {words}")
    assert refused.code == 2 and named in refused.stderr
