"""What is plotted is what the accountant says, and, where there is one, the closed form."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import exp, mp, mpf, ncdf

import dpacct as dp
from dpacct.report.plots.chart import Axis, Chart, Line, Scale
from dpacct.report.plots.draw import draw
from dpacct.report.plots.kinds import (
    more_or_less,
    percent,
    profile,
    rdp,
    tradeoff,
    usual_end,
)
from dpacct.report.plots.terminal import text_plot
from tests.report.plots.charts import KINDS, RUN, chart

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
    assert made.lines[0].values == pytest.approx(RUN.tradeoff(made.points), abs=1e-9)


def test_the_best_order_gives_the_rdp_answer() -> None:
    (mark,) = chart("rdp").marks
    assert mark.y == pytest.approx(float(RUN.epsilon(delta="1e-5", method="rdp")), rel=1e-9)
    assert np.all(chart("rdp").lines[1].values >= mark.y * (1 - 1e-12))


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


# --- A chart's scales: places in order, round ticks inside, no two labels alike.


NUMBERS = st.floats(-1e12, 1e12) | st.floats(1e-300, 1e300) | st.sampled_from([0.0, math.nan])
FINITE = NUMBERS.map(lambda value: 0.0 if abs(value) < 1e-300 else value)  # is not drawn
ANY = FINITE | st.floats() | st.sampled_from([5e-324, 1.7e308, -1.7e308, 1e-300, 1.0000001e-300])


@given(st.lists(FINITE, min_size=1, max_size=9), st.booleans(), st.booleans(), st.integers(4, 8))
def test_places_and_ticks(values: list[float], log: bool, zero: bool, most: int) -> None:
    scale = Scale.of(Axis("x", "x", log), values, zero=zero)
    shown = sorted(v for v in values if v == v and (v > 0 or not log))
    places = [scale.place(value) for value in shown]
    assert all(value in scale for value in shown)
    assert places == sorted(places) and all(0 <= place <= 1 for place in places)
    assert (scale.place(scale.low), scale.place(scale.high)) == (0, 1)
    ticks = scale.ticks(most)
    slack = 1e-8 * (scale.high - scale.low)
    assert 1 <= len(ticks) <= 3 * most and ticks == sorted(set(ticks))
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


@given(st.lists(ANY, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_any_numbers_have_a_scale(values: list[float], log: bool, zero: bool) -> None:
    scale = Scale.of(Axis("x", "x", log), values, zero=zero)
    assert all(0 <= scale.place(tick) <= 1 and scale.label(tick) for tick in scale.ticks())
    assert all(0 <= scale.place(value) <= 1 for value in values if value == value)


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e6), st.booleans())
def test_labels_tell_ticks_apart(low: float, factor: float, log: bool) -> None:
    scale = Scale.of(Axis("x", "x", log), [low, low * factor])
    labels = [scale.label(tick) for tick in scale.ticks()]
    assert len(labels) == len(set(labels)) >= 2


def test_round_ticks() -> None:
    assert Scale(0.0, 1.0).ticks() == [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
    assert [Scale(1e-9, 3.0, log=True).label(v) for v in (1e-9, 0.01, 1.0)] == ["1e-9", "0.01", "1"]
    assert Scale(0.4, 1.1, log=True).ticks() == pytest.approx(np.arange(0.4, 1.15, 0.1))


@given(st.lists(FINITE, min_size=2, max_size=9), st.booleans())
def test_spots_are_the_values_in_the_frame(values: list[float], log: bool) -> None:
    assume(any(value == value for value in values))
    points, heights = np.arange(1.0, len(values) + 1), np.array(values)
    lines = (Line("y", "y", heights),)
    chart = Chart("", Axis("x", "x"), Axis("y", "y", log), points, lines, "t")
    spots = chart.spots(heights)
    assert len(spots) == sum(v == v and (v > 0 or not log) for v in values)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in spots)


# --- Titles state findings; their numbers are recomputed here, and fall on the safe side.


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(title: str) -> list[float]:
    return [float(item.replace(",", "")) for item in NUMBER.findall(title)]


def eps(method: str, plan: dp.Node = RUN) -> float:
    return float(plan.epsilon(delta="1e-5", method=method))


def share(method: str) -> float:
    return 100 * (eps(method) / eps("exact") - 1)


def test_profile() -> None:
    title = chart("profile").title
    assert title.startswith("At delta 1e-5 the exact epsilon is ")
    _, exact, rdp, clt = numbers(title)
    assert eps("exact") <= exact <= eps("exact") * 1.001
    assert rdp == pytest.approx(share("rdp"), rel=0.05) and "RDP gives" in title
    assert clt == pytest.approx(-share("clt"), rel=0.05) and title.endswith("% less")
    assert "the central limit estimates" in title


def test_tradeoff() -> None:
    title = chart("tradeoff").title
    alarms, value, times = numbers(title)
    truth = 100 * (1 - RUN.tradeoff(0.01))
    assert alarms == 1 and truth <= value <= truth * 1.01
    assert times == pytest.approx(truth, rel=0.05)


def test_rdp() -> None:
    delta, order, bound, exact = numbers(chart("rdp").title)
    assert delta == 1e-5
    s = order - 1
    at_order = float(RUN.rdp(order)) * s
    from dpacct.pld import conversions

    assert conversions.epsilon(at_order, s, -11.512925464970229) == pytest.approx(bound, rel=1e-3)
    assert eps("rdp") <= bound <= eps("rdp") * 1.001
    assert eps("exact") <= exact <= eps("exact") * 1.001


def test_a_gap_in_a_line_is_empty() -> None:
    axis, points = Axis("x", "x"), np.array([1.0, 2.0])
    gap = Chart("", axis, axis, points, (Line("d", "RDP", np.array([0.1, np.nan])),), "t")
    assert gap.to_csv().splitlines()[-1] == "2.0," and gap.to_dict()["columns"]["d"] == [0.1, None]


@given(st.floats(-0.99, 3.9))
def test_a_share_reads_back(value: float) -> None:
    result = more_or_less(value)
    if result == "the same":
        assert abs(value) < 1e-6
        return
    sign = -1 if result.endswith("less") else 1
    assert sign * float(result.split()[0]) / 100 == pytest.approx(value, rel=0.06)
    assert result.startswith(percent(value))


# --- Plans at the edges: guarantees that may fail outright, atoms, rare hits, no exact answer.


PLANS = [
    dp.PureDP(epsilon=1),
    dp.ApproxDP(epsilon=1, delta="1e-3"),
    dp.ApproxDP(epsilon=1, delta="1e-7"),
    dp.ZCDP(rho="0.1") + dp.Gaussian(sigma=3),
    dp.RandomizedResponse(eps0=2, k=4),
    dp.Gaussian(sigma="0.05"),
    dp.Poisson("1e-5")(dp.Gaussian(sigma=1)),
]
MAKERS: dict[str, Callable[[dp.Node], Chart]] = {
    "profile": lambda plan: profile(plan, epsilons=np.linspace(0, usual_end(plan), 11)),
    "tradeoff": lambda plan: tradeoff(plan, alphas=np.linspace(0, 1, 6)),
    "rdp": lambda plan: rdp(plan, count=12),
}


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_picture_or_a_sentence(kind: str, plan: dp.Node) -> None:
    """Warnings are errors here, so nothing was divided by nothing on the way."""
    try:
        made = MAKERS[kind](plan)
    except dp.DpacctError as error:
        assert str(error)
        return
    assert made.infinite is None
    assert not any(word in made.title for word in ("nan", "inf ", "None"))
    assert any(math.isfinite(value) for line in made.lines for value in line.values)
    assert len(draw(made).axes) == 1
    assert "nan" not in text_plot(made)


def test_a_profile_of_what_may_fail_outright_ends_where_it_still_has_an_epsilon() -> None:
    made = profile(dp.ApproxDP(epsilon=1, delta="1e-3"))
    assert 0.9 < made.points[-1] < 1 and made.lines[0].values[-1] == pytest.approx(1e-2)
    assert made.title == "At delta 1e-5 no finite epsilon holds"


def test_no_exact_answer_means_no_claim_to_one() -> None:
    made = profile(dp.ZCDP(rho="0.1"))
    assert made.title.startswith("At delta 1e-5 the RDP epsilon is at most ")
    assert made.lines[0].label == "RDP"


def test_one_call_draws_every_kind_of_a_plan() -> None:
    plan = dp.Gaussian(2)
    for kind in MAKERS:
        called = dp.plot(plan, kind=kind).texts[0].get_text()
        assert called == getattr(dp.plots, kind)(plan).texts[0].get_text()
    assert dp.plot(plan).texts[0].get_text() == dp.plots.profile(plan).texts[0].get_text()
    with pytest.raises(dp.InvalidArgument, match=r"^kind must .* did you mean tradeoff[?]$"):
        dp.plot(plan, kind="trade")
