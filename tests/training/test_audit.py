"""The audit: its statistics by brute force, and that it sounds the alarm where it must."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training.audit.canaries import audit
from dpacct_training.audit.one_run import epsilon_refuted, lower_bound, p_value
from dpacct_training.noise import Gaussian
from tests.training.experiments import replaced, small


def tail(guesses: int, least: int, bias: float) -> float:
    ways = (
        math.comb(guesses, k) * bias**k * (1 - bias) ** (guesses - k) for k in range(guesses + 1)
    )
    return math.fsum(w for k, w in enumerate(ways) if k >= least)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
def test_theorem_5_2_by_its_own_words(delta: float) -> None:
    """P[right >= v] <= beta + alpha m 2 delta, summed over binomials term by term."""
    for canaries, guesses, right, epsilon in itertools.product(
        [20, 50], [1, 20], [0, 1, 13, 20], [0, 1.5]
    ):
        if right > guesses:
            continue
        bias = math.exp(epsilon) / (1 + math.exp(epsilon))
        beta = tail(guesses, right, bias)
        alpha = max(
            ((tail(guesses, right - i, bias) - beta) / i for i in range(1, right + 1)), default=0.0
        )
        wanted = min(1.0, beta + 2 * canaries * delta * alpha)
        assert p_value(canaries, guesses, right, epsilon, delta) == pytest.approx(wanted, rel=1e-9)


def test_a_perfect_score_is_capped() -> None:
    """1,000 right guesses of 1,000 refute no more than ln(p / (1 - p)) with p^1000 = chance."""
    p = 0.05 ** (1 / 1000)
    assert epsilon_refuted(1000, 1000, 1000, 0.0, 0.05) == pytest.approx(
        math.log(p / (1 - p)), rel=1e-9
    )
    assert epsilon_refuted(1000, 1000, 500, 0.0, 0.05) == 0.0


def test_the_bound_is_honest_for_randomised_response() -> None:
    """Scores of an exactly 1-DP mechanism: the bound may exceed 1 in 5 % of audits, not more."""
    rng = np.random.default_rng(0)
    keep = math.e / (1 + math.e)
    result = []
    for _ in range(400):
        included = rng.random(200) < 0.5
        answers = np.where(rng.random(200) < keep, included, ~included)
        result.append(lower_bound(answers + 0.01 * rng.random(200), included, 0.0))
    wrong = np.mean(np.array(result) > 1.0)
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert np.mean(result) > 0.3  # and it finds something


def test_looking_more_often_costs() -> None:
    """Four looks at the same guesses share the error probability of one."""
    rng = np.random.default_rng(3)
    included = rng.random(500) < 0.5
    scores = included + rng.random(500)
    half = 250
    order = np.argsort(scores)
    right = int((~included[order[:half]]).sum() + included[order[half:]].sum())
    for looks in (1, 4):
        wanted = epsilon_refuted(500, 500, right, 1e-6, 0.05 / looks)
        assert lower_bound(scores, included, 1e-6, shares=(1.0,) * looks) == pytest.approx(wanted)


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


@pytest.mark.parametrize("name", ["dp_fed_ls", "dp_fedavg_clients"])
def test_one_round(name: str) -> None:
    """Noise 1.0 of the clip: proven 4.38; a tenth of the noise is noticed."""
    prepared = replaced("algorithm", {"name": name}, **WIDE, **ONE_ROUND, privacy__noise=0.3)
    fine = audit(prepared, 1000)
    assert fine.proven == pytest.approx(4.38, abs=0.01)
    assert 0.5 < fine.empirical < fine.proven and not fine.alarm
    weak = audit(prepared, 1000, weakened=10.0)
    assert weak.alarm and weak.empirical > weak.proven == fine.proven
    assert "never a guarantee" in str(fine) and "ALARM" in str(weak)


@pytest.mark.parametrize("scheme", ["poisson", "uniform"])
def test_many_sampled_rounds(scheme: str) -> None:
    prepared = small(**WIDE, **SAMPLED, privacy__scheme=scheme, privacy__noise=0.8)
    fine, weak = audit(prepared, 1000), audit(prepared, 1000, weakened=10.0)
    assert not fine.alarm
    assert weak.empirical > fine.empirical
    assert weak.alarm or scheme == "uniform"  # replace-one proves more than leaving out can show


def test_a_clip_that_does_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = small(**WIDE, **ONE_ROUND, privacy__noise=0.3)
    monkeypatch.setattr(Gaussian, "bound", lambda self, rows: rows)
    assert audit(prepared, 1000).alarm


def test_there_is_nothing_to_audit_without_privacy() -> None:
    with pytest.raises(dp.InvalidArgument, match=r"must be a private one .* got fedavg"):
        audit(replaced("algorithm", {"name": "fedavg"}), 10)
    with pytest.raises(dp.InvalidArgument, match="canaries must be a whole number from 2 to 40"):
        audit(small(), 41)
