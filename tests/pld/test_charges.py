"""Every charge decides somewhere: pieces, windows and transforms that are off by just what they admit.

Each case has a truth outside the code, and would fail without the charge that it names.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpacct.pld.compose import Composed, compose, tilted_sum, window
from dpacct.pld.grid import Grid, GridLaw, optimistic, pessimistic
from dpacct.pld.outcomes import Outcomes
from dpacct.pld.pieces import Pieces
from dpacct.pld.stable import Floats

EPSILONS = np.linspace(-1.5, 1.5, 31)


def profile(law: GridLaw, epsilon: float) -> float:
    """E[(1 - e^{eps - L})_+] of a law on nodes, and what decides alone."""
    gain = np.maximum(-np.expm1(epsilon - law.losses), 0.0)
    p, q = law.decided
    return float(law.masses @ gain) + law.infinite + p - math.exp(epsilon) * q


BY = 1e-5
# two of them are taken to be on a node, and are not: one is above it, one below
LOSSES = np.array([-1.3, -0.25 - BY, 0.11, 0.5 + BY, 0.8, 1.21])
MASSES = np.array([0.05, 0.2, 0.25, 0.2, 0.2, 0.1])


def truth(epsilon: float) -> float:
    return float(MASSES @ np.maximum(-np.expm1(epsilon - LOSSES), 0.0))


def off(kind: str, by: float) -> Pieces:
    """Points that are wrong by as much as they say: masses, losses of the whole, or all losses."""
    slack = abs(by) if kind == "slack" else 0.0
    slip = abs(by) if kind == "slip" else 0.0
    unsure = abs(by) if kind in ("slip", "unsure") else 0.0
    log_p = np.log(MASSES) + (by if kind == "slack" else 0.0)
    at = LOSSES + (by if kind == "slip" else 0.0)
    loss = LOSSES + (by if kind in ("slip", "unsure") else 0.0)
    if kind == "unsure":  # dense pieces: only the loss of the whole is in doubt
        return Pieces(log_p, loss, LOSSES - 0.05, LOSSES + 0.05, slack, unsure, slip)
    return Pieces(log_p, loss, at, at, slack, unsure, slip)


@pytest.mark.parametrize("kind", ["slack", "unsure", "slip"])
@pytest.mark.parametrize("decide", [False, True])
def test_pieces_may_be_off_by_what_they_admit(kind: str, decide: bool) -> None:
    grid = Grid.uniform(-1.5, 0.125, 0, 1, 18 if decide else 25)
    low = pessimistic(off(kind, -BY), grid, decide=decide)
    high = optimistic(off(kind, BY), grid, decide=decide)
    for epsilon in EPSILONS.tolist():
        if decide and epsilon > grid.nodes[-1]:
            continue  # decisive losses are above epsilon
        assert profile(low, epsilon) >= truth(epsilon) - 1e-15
        assert profile(high, epsilon) <= truth(epsilon) + 1e-15


def binomial(count: int) -> tuple[GridLaw, Floats, Floats]:
    """One step of two losses, and the losses and masses of so many."""
    law = GridLaw(-0.5, 1.0, np.array([0, 1]), np.array([0.4, 0.6]), 0.0)
    masses = [math.comb(count, k) * 0.6**k * 0.4 ** (count - k) for k in range(count + 1)]
    return law, -0.5 * count + np.arange(count + 1.0), np.array(masses)


def composed(count: int, c: float, log_tail: float) -> tuple[Composed, Floats, Floats]:
    law, losses, masses = binomial(count)
    laws = [(law, float(count))]
    total = tilted_sum(laws, c)
    return compose(laws, total, window(laws, total, log_tail)), losses, masses


def log_delta(losses: Floats, masses: Floats, epsilon: float) -> float:
    with mpmath.workdps(40):
        terms = [
            mpmath.mpf(m) * (1 - mpmath.exp(mpmath.mpf(epsilon) - mpmath.mpf(x)))
            for x, m in zip(losses.tolist(), masses.tolist(), strict=True)
            if x > epsilon
        ]
        return float(mpmath.log(mpmath.fsum(terms)))


@pytest.mark.parametrize("epsilon", [2.2, 5.3, 8.4])
@pytest.mark.parametrize("log_tail", [-1.0, -4.0])
def test_what_a_window_leaves_out_is_charged(epsilon: float, log_tail: float) -> None:
    """A window so short that a share of the tilted mass wraps around into it."""
    value, losses, masses = composed(40, 0.4, log_tail)
    exact = log_delta(losses, masses, epsilon)
    assert value.log_delta(epsilon, upper=False) <= exact <= value.log_delta(epsilon, upper=True)
    c, total = value.total.c, value.total
    above = value.losses > epsilon
    gap = value.losses[above] - epsilon
    plain = float(value.masses[above] @ (np.exp(-c * gap) * -np.expm1(-gap)))
    as_read = total.log_moment - c * epsilon + math.log(plain)
    assert abs(as_read - exact) > 1e-7  # uncharged, one of the ends would be wrong


def test_what_a_transform_rounds_is_charged() -> None:
    """Read twenty deviations above where it is centred, where all masses are rounding."""
    value, losses, masses = composed(400, 0.05, -38.0)
    epsilon = float(value.losses[-1]) - 0.75
    exact = log_delta(losses, masses, epsilon)
    lower, upper = (value.log_delta(epsilon, upper=side) for side in (False, True))
    assert lower <= exact <= upper
    assert upper - exact > 1.0 or exact - lower > 1.0


@pytest.mark.parametrize("kind", ["slack", "unsure"])
def test_listed_outcomes_may_be_off_by_what_they_admit(kind: str) -> None:
    by, none = np.full(LOSSES.shape, 1e-6), np.zeros(LOSSES.shape)
    slack, unsure = (by, none) if kind == "slack" else (none, by)
    for sign, upper in ((-1.0, True), (1.0, False)):
        listed = Outcomes(LOSSES + sign * unsure, np.log(MASSES) + sign * slack, slack, unsure, 0.0)
        for epsilon in EPSILONS[EPSILONS < 1.2].tolist():
            read = listed.log_delta(epsilon, upper=upper)
            exact = math.log(truth(epsilon))
            assert read >= exact - 1e-15 if upper else read <= exact + 1e-15


def test_a_mirror_image_has_no_more_than_all_mass() -> None:
    """An upper law may have moved what has no evidence to just above it, where it would count twice."""
    favoured = Pieces.points(np.array([1e-3, 1.0]), np.log(np.array([0.6, 0.1])))
    both = favoured.mirrored(upper=True)
    assert float(np.exp(both.log_p).sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(np.exp(both.log_q).sum()) == pytest.approx(1.0, abs=1e-12)
    # the profile above the point that the rest was put at is as it was
    above = both.loss > 0.5
    assert float(np.exp(both.log_p[above]).sum()) == pytest.approx(0.1, rel=1e-12)


def test_what_lies_above_a_window_is_charged() -> None:
    """Read at the end of a short window: most of what is above epsilon has wrapped around to below it."""
    entry, losses, masses = composed(400, 0.05, -1.0)
    epsilon = float(entry.losses[-1]) - 0.2
    exact = log_delta(losses, masses, epsilon)
    value = float(entry.masses[-1]) * math.exp(-0.2 * entry.total.c) * -math.expm1(-0.2)
    assert entry.total.log_moment - entry.total.c * epsilon + math.log(value) < exact
    assert entry.log_delta(epsilon, upper=False) <= exact <= entry.log_delta(epsilon, upper=True)


def test_losses_beyond_all_weights_are_charged() -> None:
    """The next loss lies 54 / c above: it is left out of the sum."""
    value, losses, masses = composed(3, 60.0, -38.0)
    epsilon = float(losses[-1]) - 0.9
    exact = log_delta(losses, masses, epsilon)
    assert value.log_delta(epsilon, upper=False) <= exact <= value.log_delta(epsilon, upper=True)
