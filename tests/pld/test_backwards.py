"""Bounds of one direction by the nodes of the other, beside contours of its own."""

from __future__ import annotations

import math
import random

import pytest

from dpacct.pld import backwards, contour
from dpacct.pld.loss import gaussian
from dpacct.pld.saddle import Saddle


def _drawn(seed: int) -> tuple[float, float, float, float]:
    """Rate, sigma, steps and log delta of a plan whose directions are often alike."""
    draw = random.Random(seed)
    rate, sigma = 10 ** draw.uniform(-3.0, -0.3), 10 ** draw.uniform(-0.5, 2.0)
    return rate, sigma, round(10 ** draw.uniform(1.0, 9.0)), -draw.uniform(2.0, 60.0)


@pytest.mark.parametrize("seed", range(60))
def test_bounds_of_the_direction_back_hold(seed: int) -> None:
    """Neither Chernoff's nor a rough line's is below delta, and that of the line is close to it."""
    rate, sigma, steps, log_target = _drawn(seed)
    law = gaussian(1.0 / sigma).sampled(rate)
    there, back = [(law, steps)], [(law.reversed(), steps)]
    answer = contour.epsilon(there, log_target)
    if answer.saddle is None or not answer.value > 0.0:
        return
    assert backwards.exchanged(there, back) and not backwards.exchanged(there, there)
    truth = contour.log_delta(back, answer.value)
    upper = truth.upper if truth.resolved else math.inf
    bound, total = backwards.chernoff(answer.saddle, answer.tilt, answer.value)
    tilt = 0.0 if total is None else backwards.tilt(total, answer.value)
    assert bound >= upper or not truth.resolved
    if tilt > 0.0 and truth.resolved:
        close = backwards.about(back, tilt, answer.value)
        assert close == math.inf or truth.lower <= close < truth.value + 0.02


def test_nodes_that_end_too_early_tell_nothing() -> None:
    """Where nearly all is sampled the direction back is led far away, which is seen."""
    saddle = Saddle([(gaussian(0.2).sampled(0.999), 100.0)], 0.05)
    assert backwards.chernoff(saddle, 100.0, 50.0) == (math.inf, None)


def test_two_values_in_step_again_tell_nothing() -> None:
    """Of little noise |M| comes back at high frequencies, which a rough line doesn't look at."""
    law = gaussian(1.0 / 0.05).sampled(0.3).reversed()
    assert backwards.about([(law, 40.0)], 1.0, 5.0) == math.inf
