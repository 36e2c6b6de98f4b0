"""The guarantee of a report is an upper end that a theorem supports, whatever was asked for."""

import itertools
import math
import re
import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer.answer import interval, is_bound
from dpacct.declare.number import down, near, up
from dpacct.report import contents
from dpacct.report.contents import is_quick, must_bound, risks
from tests.report.plans import COINS, DELTA, FIXED, NESTED, OPAQUE, SGD, example, report

NUMBERS = re.compile(r"\(([\d.e-]+), ([\d.e-]+)\)-differentially private")


@pytest.mark.parametrize(
    ("name", "strength", "side"),
    [
        ("SGD", "proved", "two-sided"),
        ("FIXED", "proved", "two-sided"),
        ("CHOICES", "converged", "two-sided"),
        ("OPAQUE", "bound", "upper"),
    ],
)
def test_every_grade_is_told(name: str, strength: str, side: str) -> None:
    result = report(name)
    assert (result.answer.strength, result.answer.side) == (strength, side)
    assert is_bound(result.answer)
    text = result.to_text()
    assert f"{side}, {strength} ({result.answer.method})" in " ".join(text.split())


@pytest.mark.parametrize("name", ["SGD", "FIXED", "COINS", "OPAQUE"])
def test_the_sentence_rounds_up_and_not_far(name: str) -> None:
    result = report(name)
    epsilon, delta = (Fraction(word) for word in NUMBERS.findall(result.statement)[0])
    assert (
        Fraction(float(result.answer))
        <= epsilon
        <= Fraction(float(result.answer)) * Fraction(1001, 1000)
    )
    assert Fraction(DELTA) <= delta


def test_the_sentence_says_unit_adjacency_mechanism_and_version() -> None:
    statement = report().statement
    assert "client-level under add-remove adjacency" in statement
    assert "100 steps of Gaussian noise (sigma 1.1)" in statement
    assert "each client in a step with probability 1 %" in statement
    assert statement.count(". ") == 0 and statement.endswith(f"(dpacct {dp.__version__}).")


def test_an_estimate_is_never_the_guarantee() -> None:
    result = report("ONE", "clt")
    assert result.answer.method != "clt" and is_bound(result.answer)
    body = result.to_dict()
    assert [row["method"] for row in body["not_guarantees"]] == ["clt"]
    assert float(result.answer) == body["epsilon"]["upper"]
    estimate = body["not_guarantees"][0]["value"]
    assert estimate != body["epsilon"]["value"]
    assert up(estimate, 4) not in result.statement
    lines = [line for line in result.to_markdown().splitlines() if "(clt)" in line and "|" in line]
    assert len(lines) == 1 and "| not a guarantee: an estimate" in lines[0] and "≤" not in lines[0]


def test_a_number_as_published_is_never_the_guarantee() -> None:
    plan = (dp.WithoutReplacement("0.05")(dp.Gaussian(sigma="1.1")) * 2).under(
        "replace-one", unit="client"
    )
    result = dp.Report.of(plan, delta="5e-4", method="dp_fed_ls.theorem1", whole=False)
    assert result.answer.method != "dp_fed_ls.theorem1"
    results = {row["method"]: row["strength"] for row in result.to_dict()["not_guarantees"]}
    assert results["dp_fed_ls.theorem1"] == "published"
    assert "not a guarantee: as a paper prints it" in result.to_markdown()
    assert "dp_fed_ls.theorem1: proof-gap, searched" in " ".join(result.to_text().split())


def test_a_bound_that_was_asked_for_is_the_guarantee() -> None:
    result = report("ONE", "rdp")
    assert result.answer.method == "rdp" and result.answer.strength == "bound"


@pytest.mark.parametrize(
    "change",
    [
        {"strength": "estimate"},
        {"strength": "published"},
        {"side": "none"},
        {"side": "lower"},
        {"value": math.inf, "upper": math.inf},
    ],
)
def test_what_bounds_nothing_is_withheld(change: dict[str, object]) -> None:
    answer = replace(report().answer, **change)  # type: ignore[arg-type]
    assert not is_bound(answer)
    with pytest.raises(dp.NotCertified, match="no method bounds"):
        must_bound(answer)


@pytest.mark.parametrize(
    ("plan", "missing"),
    [
        (dp.Gaussian(sigma=1), "unit"),
        (dp.Gaussian(sigma=1).under(unit="user"), "adjacency"),
        (dp.Gaussian(sigma=1).under("zero-out"), "unit"),
        (dp.WithoutReplacement("0.1")(dp.Gaussian(sigma=1)).under(unit="user"), "adjacency"),
    ],
)
def test_no_report_without_unit_and_adjacency(plan: dp.Node, missing: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=f"must declare its {missing}") as caught:
        dp.Report.of(plan, delta=1e-5)
    assert caught.value.argument == missing


def test_attack_success_is_that_of_risk() -> None:
    risks = dict(report().risks)
    risk = dp.Risk(SGD)
    names = list(risks)
    assert float(risks[names[0]]) == float(risk.advantage())
    for name, rate in zip(names[1:], ("0.1", "0.01", "0.001"), strict=True):
        assert rate in name and float(risks[name]) == float(risk.true_positive_rate(rate))


def test_slow_curves_are_left_out_and_said_to_be() -> None:
    result = report("NESTED")
    assert not result.risks and "Attack success is left out" in result.to_text()
    assert "<svg" not in result.to_html()
    assert result.plan == NESTED


@pytest.mark.parametrize(
    ("plan", "quick"),
    [
        (SGD, True),
        (FIXED, True),
        (COINS, True),
        (dp.Poisson("0.1")(dp.Gaussian(sigma="1.1")) * 3, True),
        (dp.Laplace(b=3) * 3, False),
        (dp.Poisson("0.1")(dp.Laplace(b=3)) * 3, False),
        (NESTED, False),
    ],
)
@pytest.mark.parametrize("seconds", [0.0, 100.0])
def test_what_is_slow_is_counted_and_not_timed(
    plan: dp.Node, quick: bool, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = plan.under("replace-one" if plan is FIXED else "add-remove", unit="client").epsilon(
        DELTA, method="exact"
    )
    for clock in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        ticks = itertools.count(
            0.0, seconds
        )  # a machine on which all happens at once, or nothing does
        monkeypatch.setattr(time, clock, ticks.__next__)
    assert is_quick(answer) is quick


def test_curves_that_turn_out_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen points may be quick where the whole curve of the attacker's best is not."""
    answer = SGD.epsilon(DELTA, method="exact")
    assert is_quick(answer) and risks(answer)
    monkeypatch.setattr(contents, "LONG", 0.01)
    assert is_quick(answer) and not risks(answer)


def test_other_plans_are_their_own() -> None:
    assert report("FIXED").plan == FIXED and report("COINS").plan == COINS
    assert report("OPAQUE").plan == OPAQUE and not report("OPAQUE").risks


def test_the_example_names_what_it_was_told() -> None:
    result = example()
    assert result.statement.startswith("Releasing the final model is (1.805, 1e-6)-")
    assert "against anyone who receives the model" in result.statement


FLOATS = st.floats(1e-300, 1e300)


@given(FLOATS, st.integers(1, 17))
def test_rounding_keeps_its_side(value: float, digits: int) -> None:
    exact = Decimal(repr(value))
    assert Decimal(down(value, digits)) <= exact <= Decimal(up(value, digits))
    assert Decimal(down(value, digits)) <= Decimal(near(value, digits))
    assert Decimal(near(value, digits)) <= Decimal(up(value, digits))
    assert Decimal(up(value, 17)) == exact
    assert Decimal(up(value)) <= exact * Decimal("1.002")
    assert abs(Decimal(near(value)) - exact) <= exact / 1000


@given(st.fractions(Fraction(1, 10**40), Fraction(1)), st.integers(2, 6))
def test_fractions_are_rounded_up_too(value: Fraction, digits: int) -> None:
    rounded_up = Fraction(up(value, digits))
    assert value <= rounded_up <= value * (1 + Fraction(10) ** (1 - digits))


@given(FLOATS, st.floats(1e-15, 0.5))
def test_an_interval_holds_its_answer(lower: float, width: float) -> None:
    upper = lower * (1 + width)
    answer = replace(report().answer, value=lower, lower=lower, upper=upper)
    result = interval(answer)
    ends = (
        result.strip("[]").split(", ") if "[" in result else [result.removeprefix("exactly ")] * 2
    )
    assert Decimal(ends[0]) <= Decimal(repr(lower)) and Decimal(repr(upper)) <= Decimal(ends[1])


def test_a_notebook_shows_the_sentence() -> None:
    result = report()
    assert repr(result) == f"<Report: {result.statement}>"
    assert result._repr_html_().startswith("<p>Releasing all outputs of the plan is (")
