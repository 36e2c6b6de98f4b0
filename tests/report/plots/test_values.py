"""What is plotted is what the accountant says, and, where there is one, the closed form."""

import math

import numpy as np
import pytest
from mpmath import exp, mp, mpf, ncdf

import dpacct as dp
from dpacct.report.plots.draw import draw
from dpacct.report.plots.kinds import profile, rdp, tradeoff
from tests.report.plots.charts import KINDS, RUN, STEP, chart, with_noise

SIGMA = 2
GAUSSIAN = dp.Gaussian(sigma=SIGMA)


def gaussian_delta(epsilon: float) -> float:
    """Balle and Wang 2018, Theorem 8, in 50 digits."""
    with mp.workdps(50):
        e, s = mpf(epsilon), mpf(SIGMA)
        return float(ncdf(1 / (2 * s) - e * s) - exp(e) * ncdf(-1 / (2 * s) - e * s))


def test_a_gaussian_profile_is_the_closed_form() -> None:
    made = profile(GAUSSIAN, epsilons=np.linspace(0, 3, 13))
    truth = [gaussian_delta(epsilon) for epsilon in made.points]
    assert made.lines[0].values == pytest.approx(truth, rel=1e-8)


def test_a_gaussian_tradeoff_curve_is_the_closed_form() -> None:
    """Dong, Roth and Su 2019, equation (6): Phi(Phi^-1(1 - alpha) - mu)."""
    from statistics import NormalDist

    normal = NormalDist()
    made = tradeoff(GAUSSIAN, alphas=np.linspace(0.05, 0.95, 10))
    truth = [normal.cdf(normal.inv_cdf(1 - a) - 1 / SIGMA) for a in made.points]
    assert made.lines[0].values == pytest.approx(truth, abs=1e-5)
    assert np.all(made.lines[0].values <= np.array(truth) + 1e-9), "never above the true curve"


def test_gaussian_rdp_and_its_best_order() -> None:
    """RDP is order / (2 sigma^2); the best order by brute force over a fine grid."""
    made = rdp(GAUSSIAN * 8, orders=[2, 4, 8], delta="1e-6")
    assert made.lines[0].values == pytest.approx([2.0, 4.0, 8.0], rel=1e-9)

    def epsilon(order: float) -> float:
        # Canonne, Kamath and Steinke 2020, Proposition 12
        return order + math.log1p(-1 / order) - math.log(1e-6 * order) / (order - 1)

    orders = np.linspace(2, 8, 600_001)
    values = orders + np.log1p(-1 / orders) - np.log(1e-6 * orders) / (orders - 1)
    (mark,) = made.marks
    assert mark.x == pytest.approx(orders[np.argmin(values)], abs=1e-4)
    assert mark.y == pytest.approx(values.min(), rel=1e-9)
    assert made.lines[1].values == pytest.approx([epsilon(2), epsilon(4), epsilon(8)], rel=1e-9)


def test_profile_equals_the_accountant() -> None:
    made = chart("profile")
    for line, method in zip(made.lines, ("exact", "rdp", "clt"), strict=True):
        for epsilon, value in list(zip(made.points, line.values, strict=True))[::5]:
            answer = RUN.delta(epsilon=float(epsilon), method=method)
            assert value == pytest.approx(float(answer), rel=2e-9)
            assert line.strength == answer.strength


def test_tradeoff_equals_the_accountant() -> None:
    made = chart("tradeoff")
    assert made.lines[0].values == pytest.approx(RUN.tradeoff(made.points), abs=1e-12)


def test_the_best_order_gives_the_rdp_answer() -> None:
    (mark,) = chart("rdp").marks
    assert mark.y == pytest.approx(float(RUN.epsilon(delta="1e-5", method="rdp")), rel=1e-9)
    assert np.all(chart("rdp").lines[1].values >= mark.y * (1 - 1e-12))


@pytest.mark.parametrize("place", [0, 2, 4])
def test_steps_equal_the_accountant(place: int) -> None:
    made = chart("steps")
    for line in made.lines:
        answer = (STEP * int(made.points[place])).epsilon(delta="1e-5", method=line.method)
        assert line.values[place] == float(answer) and line.grades[place] is answer.strength


def test_noise_equals_calibration() -> None:
    made = chart("noise")
    for line in made.lines:
        answer = dp.calibrate(with_noise, epsilon=2, delta="1e-5", method=line.method)
        assert line.values[-1] == pytest.approx(float(answer), rel=1e-9)
        reached = with_noise(float(line.values[-1])).epsilon(delta="1e-5", method=line.method)
        assert float(reached) == pytest.approx(2, rel=1e-6)


def test_gaps_are_between_the_accountant_s_answers() -> None:
    made = chart("gap")
    for place, delta in enumerate(made.points):
        exact = float(RUN.epsilon(delta=float(delta), method="exact"))
        for line in made.lines:
            other = float(RUN.epsilon(delta=float(delta), method=line.method))
            assert line.values[place] == pytest.approx(100 * (other / exact - 1), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_figure_shows_the_chart_s_numbers(kind: str) -> None:
    """Every finite value of every line is a vertex of a line in the figure, in its colour."""
    made = chart(kind)
    (axes,) = draw(made).axes
    drawn = {
        (float(x), float(y))
        for line in axes.lines
        for x, y in zip(*map(np.atleast_1d, line.get_data()), strict=True)
    }
    for line in made.lines:
        for pair in zip(made.points.tolist(), line.values.tolist(), strict=True):
            assert math.isnan(pair[1]) or pair in drawn
    for mark in made.marks:
        assert (mark.x, mark.y) in drawn


@pytest.mark.parametrize("kind", KINDS)
def test_csv_reads_back(kind: str) -> None:
    made = chart(kind)
    head, *rows = made.to_csv().splitlines()
    assert head.split(",") == list(made.columns)
    read = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    assert np.array_equal(read, np.column_stack(list(made.columns.values())))
