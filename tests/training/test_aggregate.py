"""Clip, sum, noise: the sensitivity holds, and what must not pass does not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpacct as dp
from dpacct_training.aggregate import Turn, Updates, noise, noise_share, noisy_mean
from dpacct_training.clip import clipped
from dpacct_training.keys import Keys
from dpacct_training.plan import CLIENTS, Plan
from dpacct_training.sampling import Sample

KEYS = Keys.from_seed(4)
ROWS = arrays(
    np.float64, st.tuples(st.integers(0, 5), st.integers(1, 6)), elements=st.floats(-1e300, 1e300)
)


def plan(**changes: Any) -> Plan:
    fine: dict[str, Any] = {
        "clients": 100,
        "rate": Fraction(1, 20),
        "scheme": "poisson",
        "rounds": 3,
        "clip": 0.5,
        "noise_multiplier": 2.0,
    }
    return Plan(**{**fine, **changes})


def turn(size: int, round: int = 1) -> Turn:
    return Turn(round, Sample(np.arange(size) * 3, 100), KEYS)


@given(ROWS, st.floats(1e-6, 1e6))
def test_no_row_is_longer_than_the_clip(rows: Any, clip: float) -> None:
    got = clipped(rows, clip)
    for before, after in zip(rows, got, strict=True):
        assert sum(Fraction(v) ** 2 for v in after) <= Fraction(clip) ** 2  # exactly
        if math.hypot(*before) <= clip * (1 - 1e-9):
            assert np.array_equal(before, after)
        elif (peak := np.abs(before).max()) > 0:  # same direction
            np.testing.assert_allclose(
                after / np.abs(after).max(), before / peak, rtol=1e-12, atol=1e-300
            )


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.ones((2, 3), np.int64), "floating-point"),
        (np.array([[1.0, 2.0], [np.nan, 0.0]]), "finite, got nan or infinity from client 3"),
        (np.array([[np.inf, 2.0], [1.0, 0.0]]), "finite, got nan or infinity from client 0"),
        (np.ones((3, 3)), "one row for each of the 2 clients"),
        (np.ones(2), "one row for each"),
    ],
)
def test_what_must_not_pass(rows: Any, says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        noisy_mean(plan(), Updates(rows), turn(2))


def test_an_empty_round_still_releases_noise() -> None:
    for by in ("server", "clients"):
        release = noisy_mean(plan(noise_by=by), Updates(np.zeros((0, 4000))), turn(0))
        assert release.noise_vectors == 1
        assert release.value.std() * 5 == pytest.approx(1.0, rel=0.1)  # std 1, denominator 5


@given(st.integers(0, 9))
def test_the_denominator_is_public(size: int) -> None:
    """Whatever the realised number of clients: (sum + noise) / (rate * clients)."""
    rows = np.full((size, 4), 0.1)
    release = noisy_mean(plan(), Updates(rows), turn(size))
    wanted = (rows.sum(axis=0) + noise(plan(), turn(size), 4)) / 5
    np.testing.assert_allclose(release.value, wanted, rtol=1e-12)


def test_one_client_moves_the_sum_by_at_most_the_clip() -> None:
    """Measured through the whole aggregation, with the noise the same in both worlds."""
    rows = np.random.default_rng(0).normal(size=(6, 50)) * 1e6
    here, there = turn(6), Turn(1, Sample(np.arange(5) * 3, 100), KEYS)
    a = noisy_mean(plan(), Updates(rows), here).value
    b = noisy_mean(plan(), Updates(rows[:5]), there).value
    moved = float(np.linalg.norm(a - b)) * 5
    assert 0.5 * (1 - 1e-9) <= moved <= 0.5 * (1 + 1e-9)


def test_shares_of_the_noise_add_up_to_all_of_it() -> None:
    by_clients = plan(noise_by=CLIENTS)
    here = turn(7)
    shares = [noise_share(by_clients, here, int(c), 20_000) for c in here.sample.clients]
    assert np.sum(shares, axis=0).std() == pytest.approx(by_clients.noise_std, rel=0.03)
    for share in shares:
        assert share.std() == pytest.approx(by_clients.noise_std / math.sqrt(7), rel=0.03)


def test_a_missing_share_is_refused() -> None:
    with pytest.raises(dp.AssumptionViolated, match="6 of them added noise"):
        noisy_mean(plan(noise_by=CLIENTS), Updates(np.zeros((7, 3)), clips=7, shares=6), turn(7))
    with pytest.raises(dp.AssumptionViolated, match="0 of them added noise"):
        noisy_mean(plan(noise_by=CLIENTS), Updates(np.zeros((7, 3))), turn(7))
