"""The audit: that it sounds the alarm where it must, and only there."""

from __future__ import annotations

from typing import Any

import pytest

import dpacct as dp
from dpacct_training.attacks.canaries import Auditing, audit
from dpacct_training.noise import Gaussian
from tests.training import plant_verdicts
from tests.training.experiments import replaced, small
from tests.training.systems import system

WIDE: dict[str, Any] = {
    "data__side": 28,
    "data__classes": 10,
    "data__samples": 1000,
    "data__clients": 1000,
    "local__epochs": 1,
    "privacy__delta": 1e-5,
}
ONE_ROUND = {"privacy__scheme": "none", "privacy__rate": 1, "privacy__rounds": 1}
SAMPLED = {"privacy__rate": 0.05, "privacy__rounds": 30}
FINE, WEAK = Auditing(), Auditing(weaken=10.0)


def proven(result: dp.Audit) -> float:
    assert result.proven is not None
    return float(result.proven)


@pytest.mark.parametrize("name", ["dp_fed_ls", "dp_fedavg_clients"])
def test_one_round(name: str) -> None:
    """Noise 1.0 of the clip: proven 4.38; a tenth of the noise is noticed."""
    prepared = replaced("algorithm", {"name": name}, **WIDE, **ONE_ROUND, privacy__noise=0.3)
    fine, weak = audit(prepared, FINE), audit(prepared, WEAK)
    assert proven(fine) == proven(weak) == pytest.approx(4.38, abs=0.01)
    assert 0.5 < fine.epsilon < proven(fine) and not fine.alarm
    assert weak.alarm and weak.epsilon > fine.epsilon


def test_sampled_rounds() -> None:
    prepared = small(**WIDE, **SAMPLED, privacy__noise=0.8)
    fine, weak = audit(prepared, FINE), audit(prepared, WEAK)
    assert not fine.alarm and weak.alarm
    assert weak.epsilon > proven(weak) > fine.epsilon


def test_samples_of_a_fixed_size() -> None:
    """Replace-one proves more than leaving out can show; a tenth of the noise is noticed all the same."""
    weak = audit(small(**WIDE, **SAMPLED, privacy__scheme="uniform", privacy__noise=0.8), WEAK)
    assert weak.alarm and weak.epsilon > proven(weak)


def test_a_tenth_of_the_noise_over_a_hundred_rounds() -> None:
    """Rate 0.1, noise multiplier 1: proven 4.78, which epsilon alone would not refute."""
    plan = {"privacy__rate": 0.1, "privacy__rounds": 100, "privacy__noise": 0.3}
    wide = WIDE | {"privacy__delta": 1e-3}
    weak = audit(replaced("algorithm", {"name": "dp_fedavg"}, **wide, **plan), WEAK)
    assert proven(weak) == pytest.approx(4.78, abs=0.01)
    assert weak.alarm and weak.epsilon < proven(weak)


def test_a_clip_that_does_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = small(**WIDE, **ONE_ROUND, privacy__noise=0.3)
    monkeypatch.setattr(Gaussian, "bound", lambda self, rows: rows)
    assert audit(prepared, FINE).alarm


MEMBER = {"epsilon": 100.0, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 4.0}}
STAIRCASE = {"epsilon": 5.0, "noise": {"name": "staircase", "clip": 1.0, "eps0": 0.01}}
STEPS = {"name": "udp_fl", "steps": 4, "sample_rate": 0.5}


@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
@pytest.mark.parametrize("canary", ["gradient", "input"])
def test_records(design: str, canary: str) -> None:
    """Canaries among a client's records are as hidden as the plan says, and not with less noise."""
    prepared = system("udp_fl", algorithm=STEPS, clients=(MEMBER,), data__side=28, data__clients=4)
    how = {"design": design, "canary": canary, "canaries": 200, "runs": 60}
    fine = audit(prepared, Auditing(**how))  # type: ignore[arg-type]
    weak = audit(prepared, Auditing(**how, weaken=40.0))  # type: ignore[arg-type]
    assert not fine.alarm and fine.epsilon <= proven(fine) == proven(weak)
    assert weak.epsilon >= fine.epsilon
    assert weak.alarm or canary == "input"  # an input is not the worst that the bound allows


def test_there_is_nothing_to_audit_without_privacy() -> None:
    with pytest.raises(dp.InvalidArgument, match=r"must be a private one .* got fedavg"):
        audit(replaced("algorithm", {"name": "fedavg"}), Auditing(canaries=10))
    with pytest.raises(dp.InvalidArgument, match="canaries must be a whole number from 2 to 40"):
        audit(small(), Auditing(canaries=41))
    with pytest.raises(dp.InvalidArgument, match=r"confidence must be from 0\.5 to 1, got 2"):
        Auditing(confidence=2)
    with pytest.raises(dp.InvalidArgument, match="runs must be a whole number from 20 to"):
        Auditing(design="two-worlds", runs=8)
    with pytest.raises(dp.InvalidArgument, match="clients send models or whole updates"):
        audit(system("fed_smp"), Auditing(canaries=10))
    with pytest.raises(dp.InvalidArgument, match="weaken must be 1 where the noise is neither"):
        audit(system("udp_fl", clients=(STAIRCASE,)), Auditing(canaries=10, weaken=2.0))


def test_each_planted_bug_has_its_verdict_on_the_page() -> None:
    """`python -m tests.training.plant_verdicts` writes the table; a law catches each of the twenty."""
    page = plant_verdicts.PAGE.read_text(encoding="utf-8")
    table = page.split(plant_verdicts.MARKS[0])[1].split(plant_verdicts.MARKS[1])[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]
    assert [name for name, _, _ in rows] == [name for name, _ in plant_verdicts.BUGS]
    assert len(rows) == 20 and all(cell.endswith(" s") for row in rows for cell in row[1:])
    assert all(law.startswith("**caught**") for _, _, law in rows)
