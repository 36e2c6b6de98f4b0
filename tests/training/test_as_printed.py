"""`noise = "as-printed"`: what the papers draw, accounted as what it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training.keys import Keys
from dpacct_training.noise import Laplace, Meter, Staircase
from dpacct_training.report import report
from dpacct_training.run import Session
from tests.training.systems import system

LAPLACE = {"epsilon": 0.4, "noise": {"name": "laplace", "clip": 1.0, "b": 9.0}}
STAIRCASE = {"epsilon": 0.4, "noise": {"name": "staircase", "clip": 1.0, "eps0": 0.1}}
NOISES = [Laplace(400, 0.5, 2.0), Staircase(400, 0.5, 0.7)]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_printed_noise_is_the_same_draw_under_another_bound(noise: Any) -> None:
    """UDP-FL clips in l2: a row of l2 norm C has an l1 norm of sqrt(d) C, which the noise does not hide."""
    printed = noise.as_printed()
    row = np.full((1, 400), 1.0)
    assert np.linalg.norm(printed.bound(row)) == pytest.approx(noise.clip)
    assert printed.variance == noise.variance
    keys, total, meter = Keys.from_seed(1), np.zeros(400), Meter()
    drawn = [n.add(total, keys.stream("noise"), meter) for n in (noise, printed)]
    assert np.array_equal(*drawn)


def test_the_guarantee_of_the_printed_laplace_noise_covers_the_worst_row() -> None:
    """Its largest loss is that of d numbers that each move by C / sqrt(d), in closed form."""
    noise = NOISES[0].as_printed()
    assert noise.node is not None and noise.claimed is not None
    moved = noise.bound(np.full((1, 400), 1.0))[0]
    loss = np.abs(moved).sum() / (noise.clip * 2.0)  # sum of |shift| / scale
    assert float(noise.node.epsilon(delta=1e-12)) == pytest.approx(loss, rel=1e-9)
    assert float(noise.claimed.epsilon(delta=1e-12)) == pytest.approx(loss / 400**0.5)


@pytest.mark.parametrize("member", [LAPLACE, STAIRCASE], ids=["laplace", "staircase"])
def test_its_report_says_which_guarantee_it_has(member: Any) -> None:
    prepared = system("udp_fl", privacy__noise="as-printed", privacy__rounds=1, clients=(member,))
    result = Session(prepared).finish()
    assert result.planned == result.executed
    document = report(prepared, result)
    assert document is not None
    text = document.document().to_markdown()
    assert "accounted as the paper does, " in text and "another norm" in text
    claimed = float(text.partition("accounted as the paper does, ")[2].partition(":")[0])
    assert claimed <= member["epsilon"]  # by which the clients stop
    assert result.spent is not None and float(result.spent) > 5 * claimed


@pytest.mark.parametrize(
    ("name", "multiplier"), [("dp_fedsam", 0.95), ("fed_smp", 0.95), ("shares", 0.06)]
)
def test_printed_multipliers(name: str, multiplier: float) -> None:
    prepared = system(name, privacy__noise="as-printed")
    noise = prepared.plan.noise["update"]
    assert noise.variance**0.5 == pytest.approx(multiplier * noise.clip, rel=1e-12)
    assert prepared.plan.private


def test_theorems_and_inner_noise_are_as_printed() -> None:
    by_theorem, named = (
        system("dp_fed_ls", privacy__noise=noise, privacy__epsilon=30.0)
        for noise in ("as-printed", "dp_fed_ls.theorem2")
    )
    assert by_theorem.plan == named.plan
    for name in ("prifedsync", "pate_fl"):
        assert system(name, privacy__noise="as-printed").plan.mark == system(name).plan.mark


@pytest.mark.parametrize("name", ["fedprox", "fed_opt", "adaptive_clip", "scaffold", "nbafl"])
def test_where_no_paper_prints_one_it_is_refused(name: str) -> None:
    with pytest.raises(dp.InvalidArgument, match="whose paper prints none, got 'as-printed'"):
        system(name, privacy__noise="as-printed")


def test_the_report_of_prifedsync_says_the_paper_s_limit() -> None:
    """Theorem 2, as dpacct evaluates it for the same numbers, written out here."""
    prepared = system("prifedsync")
    plan = dp.federated.PriFedSync(
        clients=40,
        client_rate="0.5",
        batch_size=1,
        records=6,
        local_steps=3,
        rounds=4,
        sigma=1,
    )
    assert {records.rate for records in prepared.plan.records.values()} == {Fraction(1, 6)}
    said = prepared.algorithm.paper_says(prepared.plan)
    assert f"mu = {plan.mu_clt:.2f} for" in said and "Weak and strong" in said
    assert not system("prifedsync", privacy__noise="none").algorithm.paper_says(
        system("prifedsync", privacy__noise="none").plan
    )
