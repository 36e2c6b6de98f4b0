"""Profiles at many epsilons from readings at few: ends hold the truth, and readings are few."""

import math

import numpy as np
import pytest

import dpacct as dp
from dpacct.pld.budget import metered, tabulated
from dpacct.pld.profile import Profile, SkippedReadings
from dpacct.pld.stable import Floats


def gaussian(epsilons: Floats) -> Floats:
    """log delta of N(1, 1) against N(0, 1) (Balle, Wang 2018, Theorem 8)."""
    tail = [0.5 * math.erfc((e - 0.5) / math.sqrt(2.0)) for e in epsilons.tolist()]
    lost = [math.exp(e) * 0.5 * math.erfc((e + 0.5) / math.sqrt(2.0)) for e in epsilons.tolist()]
    return np.log(np.array(tail) - np.array(lost))


def corners(epsilons: Floats) -> Floats:
    """log delta of a pure release of epsilon 0.3 beside one of 0.5."""
    masses, losses = [], []
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        loss = 0.3 * signs[0] + 0.5 * signs[1]
        p = math.prod(
            1.0 / (1.0 + math.exp(-s * e)) for s, e in zip(signs, (0.3, 0.5), strict=True)
        )
        masses.append(p)
        losses.append(loss)
    gaps = np.maximum(np.array(losses) - epsilons[:, None], 0.0)
    return np.log(-np.expm1(-gaps) @ np.array(masses))


class Counted:
    """Readings of a function, counted."""

    def __init__(self, truth: object) -> None:
        self.truth, self.count = truth, 0

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        assert callable(self.truth)
        self.count += epsilons.size
        return self.truth(epsilons), np.zeros(epsilons.shape)


def test_a_smooth_function_takes_few_readings() -> None:
    read, at = Counted(gaussian), np.linspace(0.0, 4.0, 20_000)
    values, errors = Profile(read)(at, 1e-9)
    exact = gaussian(at)
    assert read.count < 200
    assert np.all(values + np.log1p(errors) >= exact - 1e-12)
    assert np.all(values + errors <= exact + 1e-8)


def test_what_panels_miss_is_charged() -> None:
    """With a tolerance of 1e-3 the interpolation misses the truth, and never by more than is charged."""
    at = np.linspace(0.0, 4.0, 20_000)
    bent = lambda e: np.logaddexp(-9.0 * e, -9.0 - e)  # noqa: E731
    values, errors = Profile(Counted(bent))(at, 1e-3)
    missed = bent(at) - values
    assert 1e-9 < np.abs(missed).max() < 1e-3
    assert np.all(missed <= np.log1p(errors))


def test_resolved_panels_serve_later_epsilons() -> None:
    read = Counted(gaussian)
    profile = Profile(read)
    profile(np.linspace(0.0, 3.0, 5000), 1e-9)
    before, again = read.count, np.geomspace(0.01, 2.9, 12)
    values, errors = profile(again, 1e-9)
    assert read.count == before
    assert np.all(np.abs(values - gaussian(again)) <= errors + 1e-12)
    profile(again, 1e-13)  # finer than the panels are
    assert read.count > before
    before = read.count
    profile(np.linspace(0.0, 6.0, 5000), 1e-9)  # the lower half is there
    fresh = Counted(gaussian)
    Profile(fresh)(np.linspace(0.0, 6.0, 5000), 1e-9)
    assert read.count - before < 0.7 * fresh.count


def test_kinks_and_the_largest_loss() -> None:
    at = np.linspace(0.0, 1.0, 5001)
    with np.errstate(divide="ignore"):
        values, errors = Profile(Counted(corners))(at, 1e-9)
        exact = corners(at)
    assert np.all(values[at >= 0.8] == -math.inf)
    inside = at < 0.8 - 1e-9
    assert np.all(values[inside] + errors[inside] >= exact[inside] - 1e-12)
    assert np.all(values[inside] + errors[inside] <= exact[inside] + 1e-8)


def test_chords_take_the_place_of_too_many_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpacct.pld.profile._MOST", 30)
    at = np.linspace(0.0, 4.0, 20_000)
    read = Counted(gaussian)
    values, errors = Profile(read)(at, 1e-13)
    exact = gaussian(at)
    assert read.count < 70
    assert np.all(values + errors >= exact - 1e-12)
    assert np.all(values <= exact + 0.5)


def test_before_all_readings_a_chord_begins_at_a_probability() -> None:
    """Too dear to read again, at an epsilon below all that were read: once no number."""

    def read(at: Floats) -> tuple[Floats, Floats]:
        tabulated(10**10)
        return -at, np.zeros(at.shape)

    curve = Profile(read)
    curve(np.array([3.0]), 0.0)
    values, errors = curve(np.array([1.0, 2.0, 4.0]), 0.0)
    assert np.all(np.isinf(errors)) and np.all(np.isfinite(values))
    assert np.all(values >= [-1.0, -2.0, -4.0]) and values[0] > values[1] > -3.0 == values[2]


def test_nothing_is_tried_between_two_failures() -> None:
    tried: list[float] = []

    def read(epsilons: Floats) -> tuple[Floats, Floats]:
        tried.extend(epsilons.tolist())
        return -epsilons, np.where((epsilons > 1.0) & (epsilons < 2.0), math.inf, 0.0)

    route = SkippedReadings(read)
    route(np.array([0.5, 1.25, 1.75]))
    values, errors = route(np.array([1.5, 3.0]))
    assert 1.5 not in tried and 3.0 in tried
    assert np.isinf(errors).tolist() == [True, False] and values.tolist() == [0.0, -3.0]


def test_what_fails_at_three_places_is_not_tried_at_all() -> None:
    tried: list[float] = []

    def read(epsilons: Floats) -> tuple[Floats, Floats]:
        tried.extend(epsilons.tolist())
        return -epsilons, np.full(epsilons.shape, math.inf)

    _, errors = SkippedReadings(read)(np.linspace(0.0, 1.0, 101))
    assert tried == [0.0, 0.5, 1.0] and np.isinf(errors).all()


def test_a_direction_that_cannot_lead_needs_no_grid() -> None:
    """Close below its largest loss, 4 log(4/3), the smaller direction is on no contour."""
    run = dp.Poisson("0.25")(dp.Gaussian(sigma=2)) * 4
    epsilons = np.array([1.145390625, 4.0 * math.log(4.0 / 3.0) - 1e-3])
    with metered() as work:
        deltas = run.profile(epsilons)
    assert work.spent < 1.0
    for epsilon, delta in zip(epsilons.tolist(), deltas.tolist(), strict=True):
        truth = run.delta(epsilon=epsilon, method="exact").value
        assert truth * (1.0 - 1e-12) <= delta <= truth * (1.0 + 2e-3)
