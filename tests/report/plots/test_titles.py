"""Titles state findings; their numbers are recomputed here, and fall on the safe side."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.declare.number import compared_to, more_or_less, percent
from tests.report.plots.charts import RUN, STEP, chart, with_noise

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
    delta, order, bound, percentage, exact = numbers(chart("rdp").title)
    assert delta == 1e-5
    s = order - 1
    at_order = float(RUN.rdp(order)) * s
    from dpacct.pld import conversions

    assert conversions.epsilon(at_order, s, -11.512925464970229) == pytest.approx(bound, rel=1e-3)
    assert eps("rdp") <= bound <= eps("rdp") * 1.001 and eps("exact") <= exact
    assert percentage == pytest.approx(share("rdp"), rel=0.05)


def test_steps() -> None:
    title = chart("steps").title
    _, first, few, last, many, *_ = numbers(title)
    assert (few, many) == (100, 10_000)
    assert eps("exact", STEP * 100) <= first <= eps("exact", STEP * 100) * 1.001
    assert eps("exact", STEP * 10_000) <= last <= eps("exact", STEP * 10_000) * 1.001
    ((low, high),) = re.findall(r"RDP gives ([\d.]+) % to ([\d.]+) % more", title)
    shares = [
        100 * (eps("rdp", STEP * int(n)) / eps("exact", STEP * int(n)) - 1)
        for n in chart("steps").points
    ]
    assert float(low) == pytest.approx(min(shares), rel=0.05)
    assert float(high) == pytest.approx(max(shares), rel=0.05)


def test_noise() -> None:
    epsilon, delta, sigma, rdp, clt = numbers(chart("noise").title)
    assert (epsilon, delta) == (1, 1e-5)
    assert float(with_noise(sigma).epsilon(delta="1e-5", method="exact")) <= 1
    results = {
        m: float(dp.calibrate(with_noise, epsilon=1, delta="1e-5", method=m)) for m in METHODS
    }
    assert results["exact"] <= sigma <= results["exact"] * 1.001
    assert rdp == pytest.approx(100 * (results["rdp"] / results["exact"] - 1), rel=0.06)
    assert clt == pytest.approx(100 * (1 - results["clt"] / results["exact"]), rel=0.06)


METHODS = ("exact", "rdp", "clt")


def test_gap() -> None:
    made = chart("gap")
    low, high, under, most_under, *ends = numbers(made.title)
    rdp, clt = (line.values for line in made.lines)
    assert [low, high] == pytest.approx([rdp.min(), rdp.max()], rel=0.05)
    assert [under, most_under] == pytest.approx(sorted(-clt)[:: len(clt) - 1], rel=0.05)
    assert ends == [made.points[0], made.points[-1]]


@given(st.floats(-0.99, 3.9))
def test_a_share_reads_back(value: float) -> None:
    result = more_or_less(value)
    if result == "the same":
        assert abs(value) < 1e-6
        return
    sign = -1 if result.endswith("less") else 1
    assert sign * float(result.split()[0]) / 100 == pytest.approx(value, rel=0.06)
    assert result.startswith(percent(value))
    assert compared_to(value) == f"{result} than"
