"""Low sampling: few large losses among many small ones (dpacct/pld/rare.py).

Truth from outside: rare_truths.json, by mpmath (make_rare_truths.py). Laws: the answer depends neither on the
level above which losses are counted, nor on whether they are counted or contours tell them.
"""

import json
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct.pld import rare
from dpacct.pld.loss import gaussian
from dpacct.pld.moments import SummedMoments
from dpacct.pld.rare_law import SampledLaw
from dpacct.pld.rare_sums import cumulants, gauss_rule
from dpacct.pld.stable import quiet
from dpacct.vocabulary import Strength
from tests.pld.rare_plans import Plan, plans

TRUTHS: dict[str, list[dict[str, Any]]] = json.loads(
    (pathlib.Path(__file__).parent / "rare_truths.json").read_text()
)
WAYS = [(row, way) for row in TRUTHS["two"] for way in row["log_delta"]]


def _law(row: dict[str, Any], mirrored: bool = False) -> SampledLaw:
    return SampledLaw(gaussian(1.0 / float(row["sigma"])), float(row["rate"]), mirrored)


def _holds(reading: rare.Reading, truth: float, most: float = 1e-9) -> None:
    ends = reading.interval
    assert ends.lower <= truth <= ends.upper
    assert max(truth - ends.lower, ends.upper - truth) <= most


@pytest.mark.parametrize(("row", "way"), WAYS, ids=lambda v: v if isinstance(v, str) else v["rate"])
def test_two_steps_against_their_integral(row: dict[str, Any], way: str) -> None:
    question = rare.RareQuestion([(_law(row, way == "fixed"), 2.0)], reverse=way == "add")
    try:
        reading = question.read(float(row["epsilon"]))
    except ArithmeticError:  # two losses that pile up at an edge: answered by another contour
        assert way == "add"
        return
    _holds(reading, float(row["log_delta"][way]))


@pytest.mark.parametrize("row", TRUTHS["many"], ids=lambda row: row["rate"])
def test_many_steps_against_a_contour_of_many_digits(row: dict[str, Any]) -> None:
    question = rare.RareQuestion([(_law(row), float(row["steps"]))])
    reading = question.read(float(row["epsilon"]))
    _holds(reading, float(row["log_delta"]))
    answer = question.epsilon(float(row["log_delta"]))
    assert answer is not None
    assert answer.lower <= float(row["epsilon"]) <= answer.upper
    assert answer.upper - answer.lower <= 1e-9 * answer.value


@pytest.mark.parametrize("plan", plans()[::9], ids=lambda plan: f"{plan.rate}-{plan.steps}")
def test_plans_are_answered_to_rounding_and_delta_gives_epsilon_back(plan: Plan) -> None:
    answer = plan.node.epsilon(delta=plan.delta, method="exact")
    assert answer.strength is Strength.CONVERGED
    assert answer.lower is not None
    assert answer.upper is not None
    assert answer.upper - answer.lower <= 1e-9 * answer.upper
    if answer.upper == 0.0:
        return
    for end, sign in ((answer.lower, -1.0), (answer.upper, 1.0)):
        back = plan.node.delta(epsilon=end * (1.0 + sign * 1e-9), method="exact")
        assert back.log_value is not None
        assert sign * (math.log(plan.delta) - back.log_value) > 0.0


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "epsilon"),
    [
        (1e-6, 0.7, 1e5, 1.0),
        (1e-4, 0.8, 100.0, 0.054),
        (5e-4, 0.37, 13.0, 35.0),
        (1.7e-7, 0.344, 258976.0, 128.8),
    ],
)
def test_the_level_does_not_matter(rate: float, sigma: float, steps: float, epsilon: float) -> None:
    laws = [(SampledLaw(gaussian(1.0 / sigma), rate), steps)]
    results = []
    with quiet():
        for level in (0.3, 0.2, 0.15, 0.1, 0.08):
            expansion = rare.by_jumps(laws, epsilon, (level,))
            if expansion is not None:
                reading = expansion.read(epsilon)
                if reading.error < 1e-6:
                    results.append(reading)
    assert len(results) >= 3
    for reading in results:
        assert abs(reading.log_delta - results[0].log_delta) <= reading.error + results[0].error


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "epsilon"), [(1e-6, 0.7, 1e5, 1.0), (2e-8, 9.0, 5e4, 1e-5)]
)
def test_laws_that_are_equal_may_be_stated_apart(
    rate: float, sigma: float, steps: float, epsilon: float
) -> None:
    """The expansion over counts of jumps of two equal laws is that over the counts of one."""
    law = SampledLaw(gaussian(1.0 / sigma), rate)
    whole = rare.RareQuestion([(law, steps)]).read(epsilon)
    apart = rare.RareQuestion([(law, 0.3 * steps), (law, 0.7 * steps)]).read(epsilon)
    assert abs(whole.log_delta - apart.log_delta) <= whole.error + apart.error


def test_lines_of_the_largest_loss_resolve_what_lies_above_a_floor() -> None:
    """Where common losses outweigh it by e^400 its panels were coarse: 3e-5 off, 3e-11 said."""
    laws, epsilon = [(SampledLaw(gaussian(1 / 5.8319), 2.589e-12), 796.0)], 9.141214218e-10
    with np.errstate(all="ignore"):
        counted, telescoped = rare.by_jumps(laws, epsilon, (0.3,)), rare.by_lines(laws, epsilon)
        assert counted is not None and telescoped is not None and telescoped.left_out > -math.inf
        _holds(telescoped.read(epsilon), counted.read(epsilon).log_delta)


def test_what_is_left_out_is_charged_to_the_upper_end() -> None:
    reading = rare.Reading(-10.0, 1.0, 1e-12, -12.0)
    assert reading.interval.lower == pytest.approx(-10.0, abs=2e-12)
    both = math.log(math.exp(-10.0) + math.exp(-12.0))
    assert reading.interval.upper == pytest.approx(both, abs=1e-11)
    assert not rare.Reading(-10.0, 1.0, math.inf, -math.inf).interval.resolved


def test_the_rule_of_a_sum_has_its_moments() -> None:
    law = SampledLaw(gaussian(1.0), 1e-3)
    moments = cumulants(SummedMoments(law.near(0.01), 1.0, 1.0).fine(0.0), 16)
    rule = gauss_rule([(moments, 50.0)], 8)
    weights = np.exp(rule.log_weights)
    mean = float(weights @ rule.nodes)
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-13)
    assert mean == pytest.approx(50.0 * moments.mean, rel=1e-11)
    second = float(weights @ (rule.nodes - mean) ** 2)
    assert second == pytest.approx(50.0 * moments.kappa[2] * moments.scale**2, rel=1e-11)


def test_a_largest_common_loss_far_out_is_not_taken_for_none() -> None:
    """Nine steps that share a delta of 1e-259: 4.3847e-09 was once called converged."""
    plan = dp.Poisson("4.149e-10")(dp.Gaussian(sigma="15.3954")) * 9
    answer = plan.epsilon(delta="1.606e-259", method="exact")
    assert answer.lower is not None
    assert answer.lower <= 4.0095998753050066e-09 <= answer.upper  # make_rare_truths.py
    assert answer.upper - answer.lower <= 1e-9 * answer.upper


def test_least_noise_of_a_rare_plan_is_the_boundary() -> None:
    """Once 1e15, where the search ended at its edge."""
    noise = dp.noise_multiplier(epsilon=0.27, delta=6e-36, sample_rate=2e-8, steps=2)
    assert noise == pytest.approx(0.697193204443, rel=1e-9)


def test_attack_success_against_a_rare_plan() -> None:
    """Once it took minutes."""
    risk = dp.Risk(dp.Poisson(1e-9)(dp.Gaussian(sigma=1)) * 1_000_000)
    assert float(risk.advantage()) == pytest.approx(5.229449207599e-7, rel=1e-9)
    hits = risk.true_positive_rate(0.001)
    assert 0.001 <= float(hits) <= 0.001 + 5.3e-7


@pytest.mark.parametrize(
    "mechanism",
    [lambda x: dp.Laplace(b=x), lambda x: dp.Gaussian(sigma=x)],
    ids=["laplace", "gaussian"],
)
def test_no_noise_is_needed_where_hardly_a_step_touches_the_record(
    mechanism: Callable[[float], dp.Node],
) -> None:
    """1 - (1 - q)^T is below delta: once a search of minutes, for Laplace noise."""
    calibrated = dp.calibrate(
        lambda x: dp.Poisson("1e-10")(mechanism(x)) * 1000, epsilon=0.1, delta=1e-5, method="exact"
    )
    assert calibrated.lower is None  # the end of the search is not the least noise that will do
    assert calibrated.upper is not None
    at_most = -math.expm1(1000 * math.log1p(-1e-10))
    answer = (dp.Poisson("1e-10")(mechanism(calibrated.upper)) * 1000).delta(
        epsilon=0.1, method="exact"
    )
    assert answer.upper is not None
    assert answer.upper <= at_most * (1.0 + 1e-12)


@pytest.mark.parametrize("steps", [5, pytest.param(10, marks=pytest.mark.search)])
def test_least_noise_of_a_fixed_size_sample_at_a_tiny_delta(steps: int) -> None:
    """Once it took minutes; ten steps are seconds still."""

    def plan(sigma: float) -> dp.Node:
        return dp.WithoutReplacement(1e-3)(dp.Gaussian(sigma=sigma)) * steps

    noise = dp.noise_multiplier(
        epsilon=1, delta=1e-275, sample_rate=1e-3, steps=steps, sampling="uniform"
    )
    sigma = 0.5 * noise  # a clipped sum moves by twice the clip under replace-one
    safe, less = (plan(x).delta(epsilon=1, method="exact") for x in (sigma, sigma * (1.0 - 1e-8)))
    assert safe.log_value is not None
    assert less.log_value is not None
    assert safe.log_value <= math.log(1e-275) < less.log_value


def test_most_steps_of_a_rare_plan() -> None:
    """The search's own end of 10^15 steps meets the target: no more than that is said."""
    plan = dp.Poisson("1e-9")(dp.Gaussian(sigma=0.5)) * 10**12
    answer = plan.delta(epsilon=1, method="exact")
    assert answer.upper is not None
    assert answer.upper < 0.1


def test_tables_of_atoms_do_not_withhold_an_answer() -> None:
    """The log of a tail that is nothing beyond the largest loss: once a warning, and no answer."""
    plan = dp.Poisson(2.186e-08)(dp.Laplace(b=0.424)) * 623698
    assert plan.epsilon(delta=0.0003447, method="exact").upper == 0.0


def test_moments_that_come_back_far_out_are_not_taken_for_none() -> None:
    """Most losses are next to none, and the largest has mass: |M| fell to e^-160 and came back to 1e-3."""
    plan = dp.Poisson("1.32e-8")(dp.Laplace(b="0.128")) * 2529
    answer = plan.delta(epsilon="0.001016509", method="exact")
    assert answer.lower is not None
    assert answer.upper is not None
    # by a transform of 4 million places, tilted; the line said -111.04604662154, converged
    assert answer.lower <= math.exp(-111.047162424) <= answer.upper


def test_a_root_far_below_is_read_again() -> None:
    """Truth: by a tilted FFT of its own (red team); the first tilt missed part of delta."""
    run = dp.Poisson("5.906e-05")(dp.Gaussian(sigma="0.5001")) * 69
    answer = run.epsilon("3.873e-281", method="exact")
    assert answer.lower is not None
    assert answer.lower <= 137.50915016358 * (1 + 1e-11) and answer.upper >= 137.50915016357
    assert answer.upper - answer.lower < 1e-3
