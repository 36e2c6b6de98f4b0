"""Contours on loss distributions: golden tables, brute force, and plans that a rule was once wrong about."""

import itertools
import json
import math
import pathlib
import random
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.pld import contour
from dpacct.pld.interval import Interval
from dpacct.pld.loss import LossDistribution, between, gaussian
from dpacct.pld.moments import prepare
from dpacct.pld.pair import guarantee
from dpacct.pld.stable import mixed_loss, quiet

Row = dict[str, Any]
TWO_STEPS = pathlib.Path(__file__).with_name("two_steps.json")
GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


def rows(name: str, table: str = "plans.json") -> list[Row]:
    entry: list[Row] = json.loads((GOLDEN / table).read_text())["sections"][name]["rows"]
    return entry


def laplace(b: float) -> LossDistribution:
    lam, half = 1.0 / b, math.log(2.0)
    branch = between(-lam, lam, -0.5 * lam - 2.0 * half)
    return LossDistribution(np.array([lam, -lam]), np.array([-lam - half, -half]), (branch,))


def base(row: Row) -> LossDistribution:
    return gaussian(1.0 / float(row["sigma"])) if "sigma" in row else laplace(float(row["b"]))


def directions(row: Row) -> list[list[tuple[LossDistribution, float]]]:
    parts = row.get("parts") or [(row.get("sigma"), row["q"], row["T"])]
    removes = []
    for sigma, q, count in parts:
        law = base(row if sigma is None else {"sigma": sigma})
        removes.append((law.sampled(float(q)), count))
    return [removes, [(law.reversed(), count) for law, count in removes]]


def worst_epsilon(ways: list[list[tuple[LossDistribution, float]]], log_delta: float) -> Any:
    """The larger direction; None where a direction that may be the larger one is refused."""
    best: Interval | None = None
    for way in ways:
        if best is not None and (
            sum(n * law.range[1] for law, n in way) <= best.value
            or contour.chernoff(way, best.value) < log_delta
        ):
            continue
        answer = contour.epsilon(way, log_delta)
        if not answer.resolved:
            return None
        best = answer if best is None or answer.value > best.value else best
    return best


def label(row: Row) -> str:
    return "-".join(str(row.get(k)) for k in ("sigma", "b", "q", "T", "delta", "epsilon"))[:60]


@pytest.mark.parametrize(
    ("name", "table", "refused"),
    [("box", "plans.json", 85), ("hetero", "plans.json", 0)],
)
def test_golden_epsilons(name: str, table: str, refused: int) -> None:
    """What is resolved is right, to its own stated error; hardly anything is refused where hits are many."""
    left_out = 0
    for row in rows(name, table):
        result = worst_epsilon(directions(row), math.log(float(row["delta"])))
        if result is None:
            left_out += 1
            continue
        truth = float(row["epsilon"])
        assert abs(result.value - truth) <= 2.0 * result.error + 3e-13 * truth, label(row)
        assert result.error <= 1e-9 * max(truth, 1e-300) or truth == 0.0, label(row)
    assert left_out <= refused


def test_golden_samples_of_fixed_size() -> None:
    left_out = 0
    for row in rows("fixed"):
        law = base(row).sampled(float(row["q"]))
        for name, ways in (
            ("upper", [[(law.mirrored(), row["T"])]]),
            ("lower", [[(law, row["T"])], [(law.reversed(), row["T"])]]),
        ):
            result = worst_epsilon(ways, math.log(float(row["delta"])))
            if result is None:
                left_out += 1
                continue
            truth = float(row[name]["epsilon"])
            assert abs(result.value - truth) <= 2.0 * result.error + 3e-13 * truth, label(row)
    assert left_out <= 13


def test_golden_deltas_of_laplace() -> None:
    for row in rows("laplace"):
        results = [contour.log_delta(way, float(row["epsilon"])) for way in directions(row)]
        if not all(each.resolved for each in results):
            continue
        truth = float(mpmath.log(mpmath.mpf(row["delta"])))
        best = max(results, key=lambda each: each.value)
        assert abs(best.value - truth) <= 2.0 * best.error + 3e-13 * abs(truth), label(row)


def test_a_few_rare_laplaces_near_the_mean() -> None:
    """Was 1.5e-9 off with 1e-11 claimed; the truth is by quadrature."""
    plan = dp.Poisson("0.00959")(dp.Laplace(b="1.629")) * 42
    answer = plan.delta(epsilon=0.001458070146631783, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= 0.0135447865819 + 5e-14 and answer.upper >= 0.0135447865819 - 5e-14
    assert answer.upper - answer.lower < 1e-4 * answer.upper


def test_the_remainder_beside_atoms_is_about_one_mean() -> None:
    """Its blocks had rules, and so means, of their own: 1.7e-9 off with 2e-12 claimed; ends by a proof."""
    plan = dp.Poisson("0.000744")(dp.Laplace("0.14")) * 6357
    answer = plan.epsilon("6.61e-12", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-11
    assert answer.lower <= 16.116218918548203 and answer.upper >= 16.116218918533697


@pytest.mark.parametrize("epsilon_0", [1.0, 30.0, 70.0, 100.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-8, 2.368e-5, 1e-2, 0.5])
def test_one_laplace_step_near_its_largest_loss(epsilon_0: float, delta: float) -> None:
    """delta = 1 - e^{(epsilon - epsilon_0)/2} for 0 <= epsilon <= epsilon_0, solved for epsilon."""
    truth = max(0.0, epsilon_0 + 2.0 * math.log1p(-delta))
    answer = contour.epsilon([(laplace(1.0 / epsilon_0), 1)], math.log(delta))
    # the largest loss alone may tell epsilon, as the middle of two ends
    assert answer.error <= 5.1e-11 * epsilon_0
    assert abs(answer.value - truth) <= answer.error


# -- plans that a rule was once wrong about, and what another method says ----------------------
# (law, steps, delta, lower, upper): ends by the engine of commit 2a5d979, which shares no rule

TRAPS = {
    # the growth of the highest tilt is no bound for that of the low ones
    "low tilts grow too": (0.1, 4.47, 226, 1e-6, 1.5247823134927123, 1.5247823134960878),
    # rules made on the axis need the frequency in their step
    "six steps": (0.262, 2.28, 6, 1e-5, 1.3988515837324418, 1.398851583735617),
    # 37 nats are relative to a mass of 1, and M - 1 is what counts
    "many steps": (0.001, 20.0, 25_000_000, 1e-8, 1.2935685221592035, 1.2935685221620226),
    # folded copies of a law that is heavy to one side
    "few hits": (0.00249, 2.488, 3639, 1e-5, 0.2081825879972804, 0.20818258799775557),
    # rare large losses, cut at e^-45 of delta
    "cut": (1.5e-5, 0.627, 247_000, 1e-8, 0.33250233528618883, 0.3325023366644145),
    # a saddle search at the end of what rules reach: 1.1e-4 was claimed for 7e-5
    "no saddle": (5.8e-5, 17.2, 78, 1e-10, 0.0001260377470282046, 0.00012603779219884807),
    # a second bump far out: 0.20 was claimed to 3e-13
    "two bumps": (3.9e-4, 4.05, 4360, 3e-202, 0.532481360561102, 0.5324813605645254),
    # a bracket closed by readings of lines that were far away: 0.0306 was claimed to 4e-15
    "misled": (0.02035, 12.17, 2, 4.275e-18, 0.0226240774176, 0.0226240774177),
    "steep": (0.0016, 0.861, 13_800, 1e-228, 63.2759747595561, 63.27600109732075),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_once_wrong(trap: tuple[float, ...]) -> None:
    rate, sigma, steps, delta, lower, upper = trap
    law = gaussian(1.0 / sigma).sampled(rate)
    answer = contour.epsilon([(law, steps)], math.log(delta))
    if answer.resolved:
        assert lower <= answer.value + answer.error and answer.value - answer.error <= upper


def test_atoms_taken_out_or_refused() -> None:
    """4.98908e-6 was claimed for 4.98345e-6, by a line of 5,057 nodes that is refused now."""
    law = laplace(25.5).sampled(1.36e-5)
    for eps in (1e-7, 1e-6, 1e-5, 1e-4):
        log_delta = contour.log_delta([(law, 95)], eps)
        if log_delta.resolved:
            # one step beyond eps is below all of them, and so is the union of the steps above
            union = 95.0 * float(law.profile(np.array([0.0]))[0][0])
            assert math.exp(log_delta.value) <= union
    log_delta = contour.log_delta([(law, 95)], 1e-9)
    assert not log_delta.resolved or math.exp(log_delta.value) <= union


@pytest.mark.parametrize("mu", [1e-6, 0.3, 5.0, 1e4])
def test_gaussian_sums_against_the_closed_form(mu: float) -> None:
    mpmath.mp.dps = 40
    for steps, z in ((1, -3.0), (7, 1.0), (10**6, 8.0), (10**9, 30.0)):
        m = mpmath.mpf(mu) * mpmath.sqrt(steps)
        eps = float(max(m * m / 2 + z * m, mpmath.mpf("1e-9")))
        e = mpmath.mpf(eps)
        truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        log_delta = contour.log_delta([(gaussian(mu), steps)], eps)
        assert log_delta.resolved or eps > 1e6
        if not log_delta.resolved:
            continue
        condition = 1e-15 * (1.0 + eps / float(m) ** 2 * eps)
        assert abs(log_delta.value - float(mpmath.log(truth))) <= 2.0 * log_delta.error + condition


@given(
    rate=st.floats(0.01, 0.9),
    sigma=st.floats(0.5, 6.0),
    steps=st.integers(2, 400),
    log_delta=st.floats(-60.0, -2.0),
)
@settings(max_examples=25, deadline=None)
def test_epsilon_is_the_inverse_of_delta(
    rate: float, sigma: float, steps: int, log_delta: float
) -> None:
    law = gaussian(1.0 / sigma).sampled(rate)
    for way in (law, law.reversed(), law.mirrored(), law.thinned(0.5)):
        answer = contour.epsilon([(way, steps)], log_delta)
        if not answer.resolved or answer.value == 0.0:
            continue
        back = contour.log_delta([(way, steps)], answer.value)
        if back.resolved:
            near = contour.log_delta([(way, steps)], answer.value + 2.0 * answer.error)
            slack = abs(near.value - back.value) if near.resolved else 0.0
            assert abs(back.value - log_delta) <= back.error + slack + 2e-12 * abs(log_delta)


@pytest.mark.parametrize("order", [1.01, 2.0, 3.0, 32.0, 1000.0])
def test_moments_of_a_sampled_gaussian_are_mironovs(order: float) -> None:
    """E_Q[r^order] by mpmath's quadrature, r the likelihood ratio."""
    mpmath.mp.dps = 30
    rate, sigma = 0.01, 1.1
    s, q, a = mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.mpf(order)

    def integrand(x: Any) -> Any:
        ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))
        return mpmath.npdf(x, 0, s) * ratio**a

    centre = order if order > 30 else 0
    edges = [-20, -5, 0, 5, 20, max(25.0, centre - 20.0), max(30.0, centre + 20.0)]
    truth = mpmath.log(mpmath.quad(integrand, sorted(set(edges))))
    law = gaussian(1.0 / sigma).sampled(rate)
    c = order - 1.0
    log_moment = prepare(law, c, c).cumulants(c).log_moment
    assert log_moment == pytest.approx(float(truth), rel=1e-12)


def test_moments_near_one_keep_their_digits() -> None:
    """log M(1) of 10^12 steps: E_Q[r^2] - 1 = q^2 (e^{mu^2} - 1), exactly."""
    for rate, mu in ((1e-4, 0.05), (1e-6, 1.0), (0.5, 1e-5)):
        log_moment = prepare(gaussian(mu).sampled(rate), 1.0, 1.0).cumulants(1.0).log_moment
        truth = math.log1p(rate * rate * math.expm1(mu * mu))
        assert log_moment == pytest.approx(truth, rel=2e-14)


@pytest.mark.parametrize("name", ["remove", "add"])
def test_even_frequencies_against_the_rule_itself(name: str) -> None:
    """The product of two short tables is the sum over nodes, relative to itself, however small."""
    for rate, mu in ((0.01, 0.9), (1e-4, 0.1)):
        law = gaussian(mu).sampled(rate)
        law = law if name == "remove" else law.reversed()
        moments, c, step = prepare(law, 1.0, 8.0), 2.0, 0.37
        fast = moments.even(c, step, 300)
        w, loss, _ = moments.fine(c, step * 300).weights
        u = np.multiply.outer(step * np.arange(1, 300), loss)
        slow = np.log1p((-2.0 * np.sin(0.5 * u) ** 2 + 1j * (np.sin(u) - u)) @ w)
        np.testing.assert_allclose(fast[1:], slow, rtol=2e-11, atol=1e-15)


def test_chernoff_is_above_and_the_estimate_near() -> None:
    for sigma, rate, steps, eps in (
        (1.1, 0.01, 1000, 1.5),
        (4.0, 0.1, 10_000, 3.0),
        (2.0, 1.0, 9, 6.0),
    ):
        law = gaussian(1.0 / sigma).sampled(rate)
        truth = contour.log_delta([(law, steps)], eps)
        assert contour.chernoff([(law, steps)], eps) >= truth.value
        estimate, tilt = contour.estimate([(law, steps)], eps)
        assert estimate == pytest.approx(truth.value, abs=0.1) and tilt > 0.0


@pytest.mark.parametrize(
    ("large", "rate"), [(3.0, 1.0), (3.0, 1e-4), (33.614, 8.636e-17), (1e-6, 1.0), (1e-3, 1e-3)]
)
def test_chernoff_is_above_next_to_the_largest_loss(large: float, rate: float) -> None:
    """Tilts of 1e15 and more: of c log(c/(1+c)), which is -1, floats had nothing left."""
    law = guarantee(large).sampled(rate)
    top = float(law.losses.max())
    log_p = float(law.log_p[int(law.losses.argmax())])
    for away in np.geomspace(1e-15, 1e-9, 60).tolist():
        epsilon = top * (1.0 - away)
        if epsilon < top:
            exact = log_p + math.log(-math.expm1(epsilon - top))
            assert contour.chernoff([(law, 1.0)], epsilon) >= exact


@pytest.mark.parametrize("seed", range(40))
def test_gaussians_by_closed_form_and_by_lines(seed: int) -> None:
    draw = random.Random(seed)
    mu, log_target = 10 ** draw.uniform(-2.0, 1.9), -(10 ** draw.uniform(-1.0, 2.8))
    law, rate = gaussian(mu), 10 ** draw.uniform(-6.0, -0.1)
    closed = contour.epsilon([(law, 1.0)], log_target)
    with quiet():
        line = contour._on_lines([(law, 1.0)], log_target)
    if line.resolved and closed.value > 0.0:
        assert closed.resolved and closed.lower <= line.upper and line.lower <= closed.upper
        assert closed.value == pytest.approx(line.value, rel=2e-11)
    # one sampled step, whose profile is summed by panels
    step = contour.epsilon([(law.sampled(rate), 1.0)], log_target)
    value, fall = law.sampled(rate).profile(np.array([step.value]))
    if step.value > 0.0:
        assert step.resolved and fall[0] > 0.0
        assert math.log(value[0]) == pytest.approx(log_target, abs=3e-13)


def test_equal_laws_are_added_up_and_gaussians_fused() -> None:
    law = gaussian(0.7).sampled(0.1)
    again = gaussian(0.7).sampled(0.1)
    parts = contour.merged([(law, 3), (gaussian(3.0), 1), (again, 4), (gaussian(4.0), 1)])
    assert parts[0] == (law, 7)
    assert parts[1][0].gaussian == 5.0 and len(parts) == 2


# exact sums over whole numbers in long doubles: T discrete Gaussians of scale s are one of scale
# s sqrt(T), up to e^{-pi^2 s^2} (Poisson summation)
def _coins_and_noise(sigma: float, top: float, rate: float, steps: int, epsilon: float) -> float:
    """Delta of removing a record from sampled coins and one Gaussian, as a sum over the coins."""
    with mpmath.workdps(40):
        grown, q, mu = mpmath.exp(top), mpmath.mpf(rate), 1 / mpmath.mpf(sigma)
        heads = [(1 - q) / (1 + grown) + q * grown / (1 + grown)]
        heads += [(1 - q) * grown / (1 + grown) + q / (1 + grown)]
        losses = [mpmath.log(heads[0] * (1 + grown)), mpmath.log(heads[1] * (1 + 1 / grown))]
        total = mpmath.mpf(0)
        for k in range(steps + 1):
            mass = mpmath.binomial(steps, k) * heads[0] ** k * heads[1] ** (steps - k)
            left = epsilon - k * losses[0] - (steps - k) * losses[1]
            above = mpmath.ncdf(mu / 2 - left / mu)
            total += mass * (above - mpmath.exp(left) * mpmath.ncdf(-mu / 2 - left / mu))
        return float(total)


@pytest.mark.parametrize(
    ("sigma", "top", "rate", "steps", "epsilon"),
    [
        (42.46, 1.222, 0.02065, 106, 1.3023),
        (42.46, 1.222, 0.02065, 106, 3.0),
        (200.0, 1.222, 0.02065, 106, 1.3023),
        (1512.0, 0.0688, 0.5, 157, 0.215),
        (159.6, 0.03324, 0.3582, 543, 0.8668),
    ],
)
def test_atoms_beside_little_noise_come_back(
    sigma: float, top: float, rate: float, steps: int, epsilon: float
) -> None:
    """A line that ended before its first revival was off by 2e-4 to 3e-2 of delta at a claimed 1e-13."""
    coins = dp.Poisson(rate)(dp.PureDP(epsilon=top)) * steps
    answer = (dp.Gaussian(sigma=sigma) + coins).delta(epsilon=epsilon, method="exact")
    truth = _coins_and_noise(sigma, top, rate, steps, epsilon)
    assert answer.lower * (1.0 - 1e-12) <= truth <= answer.upper * (1.0 + 1e-12)
    assert answer.upper - answer.lower < 1e-4 * answer.upper


# found by tests/searches/random_plans.py, of plans that were drawn


def test_a_chernoff_bound_is_looked_for_where_losses_are_not_normal() -> None:
    """1e13 answers in 4e7 kinds: delta was said to be at most 3e-6, of a probability below all floats."""
    plan = dp.WithoutReplacement("9.197e-7")(dp.RandomizedResponse(eps0="0.00001339", k=45_770_000))
    answer = (plan * 10**13).delta(epsilon="0.5114", method="exact", adjacency="replace-one")
    assert answer.upper is not None and answer.upper < 1e-300


def test_a_delta_of_all_but_nothing_is_at_most_one() -> None:
    answer = (dp.ExponentialMechanism(eps0="22.41") * 9).delta(epsilon="17.48", method="exact")
    assert answer.lower is not None and answer.lower <= answer.value <= 1.0


def test_a_sampled_loss_of_one_place() -> None:
    for loss in (-2.0, 0.3):
        mixed = mixed_loss(0.808, np.float64(loss))
        assert float(mixed) == pytest.approx(math.log(0.192 + 0.808 * math.exp(loss)), rel=1e-14)


@pytest.mark.parametrize(
    ("rate", "eps0", "steps", "at"),
    [("1.394e-9", "1.961", 1_523_000, "0.03354"), ("2e-9", "0.5", 10_000_001, "0.7")],
)
def test_a_lattice_of_many_steps_keeps_its_place(rate: str, eps0: str, steps: int, at: str) -> None:
    """The least sum is -1e6 losses, whose rounding moved the next sum above epsilon by 1e-9."""
    plan = dp.Participation(rate)(dp.PureDP(epsilon=eps0)) * steps
    answer = plan.delta(epsilon=at, method="exact")
    with mpmath.workdps(40):
        loss, w, count = mpmath.mpf(eps0), mpmath.mpf(rate), mpmath.mpf(steps)
        more = w / (1 + mpmath.exp(-loss))
        truth = mpmath.mpf(0)
        for ups, downs in itertools.product(range(12), repeat=2):  # of some .02 on average
            left = mpmath.expm1(mpmath.mpf(at) - (ups - downs) * loss)
            if left < 0:
                often = mpmath.binomial(count, ups) * mpmath.binomial(count - ups, downs)
                idle = mpmath.exp(mpmath.log1p(-w) * (count - ups - downs))
                truth -= left * often * more**ups * (w - more) ** downs * idle
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower <= 1e-4 * truth


def test_masses_of_a_likely_answer_add_up_to_one() -> None:
    """Of e^-16 and all but it: 1e-15 was missing, and of 1,647 steps more than was said."""
    plan = dp.Poisson("0.04726")(dp.LocalRandomizer(eps0="16.03")) * 1647
    answer = plan.delta(epsilon="14.59", method="exact")  # 1 less 1e-25
    assert answer.upper is not None and answer.upper >= 1.0 - 1e-15


def test_a_law_below_every_float_is_left_to_a_grid() -> None:
    """Its rule has no node: the largest of none once was a crash."""
    plan = dp.Poisson("0.2777")(dp.Laplace(b="0.006769")) * 3
    by_line, by_grid = (
        plan.epsilon(delta="2.667e-53", method=word) for word in ("exact", "bracket")
    )
    assert by_line.lower is not None and by_line.upper is not None
    assert by_grid.lower is not None and by_grid.upper is not None
    assert by_line.lower <= by_grid.upper and by_grid.lower <= by_line.upper


def test_a_delta_below_the_normal_floats_is_off_by_some_of_the_smallest() -> None:
    """One sampled step against erfc in 50 digits: its ends were right for numbers of 16 digits."""
    answer = (dp.Poisson("0.00005771")(dp.Gaussian(sigma="4.32"))).delta(
        epsilon="0.3044", method="exact"
    )
    with mpmath.workdps(50):
        rate, mu, epsilon = (mpmath.mpf(x) for x in ("0.00005771", "4.32", "0.3044"))
        mu = 1 / mu
        cut = mpmath.log1p(mpmath.expm1(epsilon) / rate) / mu + mu / 2  # where the loss is epsilon

        def above(x: Any) -> Any:
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        truth = rate * above(cut - mu) - (mpmath.exp(epsilon) - 1 + rate) * above(cut)
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper <= 2e-315


def test_a_coin_around_little_shifts_keeps_its_digits_over_many_steps() -> None:
    """Each moment's logs are 1e-10, and 2.6e8 steps multiply what cancels; the truth is by quadrature."""
    plan = dp.Participation("0.005606")(dp.Gaussian(sigma="3652")) * 262300000
    with mpmath.workdps(40):
        rate, mu_squared = mpmath.mpf("0.005606"), 1 / mpmath.mpf("3652") ** 2
        variance, epsilon = 262300000 * rate * mu_squared, mpmath.mpf("0.43157493528676")
        c = epsilon / variance - 0.5

        def integrand(t: mpmath.mpf) -> mpmath.mpf:
            s = mpmath.mpc(c, t)
            step = mpmath.log1p(rate * mpmath.expm1(s * (s + 1) * mu_squared / 2))
            return (mpmath.exp(262300000 * step - s * epsilon) / (s * (s + 1))).real

        panels = mpmath.linspace(0, 12 / mpmath.sqrt(variance), 25)
        truth = float(mpmath.quad(integrand, panels) / mpmath.pi)
    answer = plan.delta("0.43157493528676", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower < 1e-11 * truth


def test_the_largest_of_many_atoms_is_there_at_tilts_whose_logs_have_no_digits_left() -> None:
    """Less than nothing was taken from the largest log, so no atom was above it: delta 0 for 3e-106."""
    plan = dp.Poisson("3.032e-9")(dp.DiscreteGaussian(scale="12.31", sensitivity=12))
    with mpmath.workdps(50):
        rate, scale, epsilon = map(mpmath.mpf, ("3.032e-9", "12.31", "1.41"))
        inner = mpmath.log1p(mpmath.expm1(epsilon) / rate)
        mass = [mpmath.exp(-mpmath.mpf(k * k) / (2 * scale * scale)) for k in range(700)]
        terms = (mass[abs(k)] - mpmath.exp(inner) * mass[abs(k - 12)] for k in range(-680, 680))
        truth = rate * mpmath.fsum(max(term, 0) for term in terms) / (2 * mpmath.fsum(mass) - 1)
    answer = plan.delta("1.41", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper < truth * (1 + mpmath.mpf("1e-9"))
