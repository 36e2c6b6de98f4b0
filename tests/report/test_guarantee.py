"""The guarantee of a report is an upper end that a theorem supports, whatever was asked for."""

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer.answer import interval, is_bound
from dpacct.declare.number import down, near, up
from dpacct.report import contents
from dpacct.report.contents import must_bound, risks
from tests.cli.runner import run
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
        (COINS, False),
        (dp.Poisson("0.1")(dp.Gaussian(sigma="1.1")) * 3, False),
        (dp.Laplace(b=3) * 3, False),
        (dp.Poisson("0.1")(dp.Laplace(b=3)) * 3, False),
        (NESTED, False),
    ],
)
def test_curves_that_take_long_are_left_out(plan: dp.Node, quick: bool) -> None:
    adjacency = "replace-one" if plan is FIXED else "add-remove"
    answer = plan.under(adjacency, unit="client").epsilon(DELTA, method="exact")
    assert bool(risks(answer)) is quick


def test_curves_that_turn_out_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = SGD.epsilon(DELTA, method="exact")
    assert risks(answer)
    monkeypatch.setattr(contents, "LONG", 0.01)
    assert not risks(answer)


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


# --- Pure differential privacy: no output shows more than the stated epsilon, and some output shows it.


LAPLACE = 'delta = 0\nunit = "user"\nadjacency = "add-remove"\n[[step]]\nb = 2\nrepeat = 3\n'
scales = st.integers(1, 40).map(lambda n: f"{n}/10")
rates = st.integers(1, 99).map(lambda n: f"{n}/100")


def largest_ratio(b: float, rate: float) -> float:
    """The largest |log P(x)/Q(x)| of Laplace noise at 0 or 1, behind a coin, over many outputs x."""
    worst = 0.0
    for k in range(-50, 150):
        x = k / 50.0
        at_zero, at_one = math.exp(-abs(x) / b), math.exp(-abs(x - 1.0) / b)
        mixed = (1.0 - rate) * at_zero + rate * at_one
        worst = max(worst, abs(math.log(mixed / at_zero)))
    return worst


@given(scales, rates, st.integers(1, 9))
def test_it_is_the_largest_ratio_of_any_output(b: str, rate: str, times: int) -> None:
    over, under = (int(part) for part in b.split("/"))
    hits, of = (int(part) for part in rate.split("/"))
    plain = float((dp.Laplace(b=b) * times).epsilon(0))
    assert plain == pytest.approx(times * largest_ratio(over / under, 1.0), rel=1e-12)
    sampled = float((dp.Poisson(rate)(dp.Laplace(b=b)) * times).epsilon(0))
    truth = times * largest_ratio(over / under, hits / of)
    assert truth * (1 - 1e-13) <= sampled <= truth * (1 + 1e-10)


@pytest.mark.parametrize(
    ("plan", "epsilon"),
    [
        (dp.RandomizedResponse(eps0="0.7", k=4) * 2, 1.4),
        (dp.PureDP(epsilon="0.1") * 2 + dp.PureDP(epsilon="0.1"), 0.3),
        (dp.DiscreteLaplace(scale=4, sensitivity=2), 0.5),
        (dp.Staircase(eps0=1) + dp.LocalRandomizer(eps0=1), 2.0),
        (dp.ExponentialMechanism(eps0="0.25") * 4, 1.0),
    ],
)
def test_single_releases_add_up_to_the_digit(plan: dp.Node, epsilon: float) -> None:
    # 0.3 and not 0.30000000000000004, which a sentence would round up to 0.3001
    assert float(plan.epsilon(0)) == epsilon


@pytest.mark.parametrize(
    "plan",
    [
        dp.Gaussian(sigma=9),
        dp.DiscreteGaussian(scale=5),
        dp.ApproxDP(epsilon=1, delta="1e-9") + dp.Laplace(b=1),
        dp.ZCDP(rho=1),
        dp.Poisson("0.1")(dp.Gaussian(sigma=2)),
    ],
)
def test_what_has_no_bound_is_refused(plan: dp.Node) -> None:
    with pytest.raises(
        dp.errors.Unreachable, match="no finite epsilon is known to hold at delta 0"
    ):
        dp.Report.of(plan.under("add-remove", unit="user"), delta=0)


UNBOUNDED = {"gaussian", "discrete-gaussian", "approx-dp", "zcdp"}


def test_of_every_mechanism_it_is_known_whether_its_loss_is_bounded() -> None:
    """A new one says so by `pure_epsilon`, or belongs into UNBOUNDED here."""
    from tests.laws.catalogue import MECHANISMS

    for kind in MECHANISMS:
        if "custom" not in kind.make.kind:
            release = kind(**dict.fromkeys(kind.parameters, Fraction(1, 2)))
            bounded = release.pure_epsilon(dp.Adjacency.ADD_REMOVE) is not None
            assert bounded is not (release.kind in UNBOUNDED), kind


def test_the_report_says_pure_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(LAPLACE, encoding="utf-8")
    body = run("report", str(path), "--json").json
    assert "is 1.5-differentially private (pure: delta 0), user-level" in body["statement"]
    assert (body["delta"], body["epsilon"]["upper"], body["other_bounds"]) == ("0", 1.5, [])
    doubled = next(row for row in body["assumptions"] if row["name"] == "sensitivity")
    assert doubled["effect_if_false"].endswith("epsilon is at most 3")
    assert "(pure: delta 0)" in run("report", str(path), "--format", "html").stdout
    assert "dwork2006calibrating" in run("cite", str(path)).stdout


def test_its_picture_marks_no_point_that_is_not_there() -> None:
    plan = dp.PureDP(epsilon=1).under("add-remove", unit="user")
    page = dp.Report.of(plan, delta=0).to_html()
    assert "The line ends before the one stated" in page and "is marked" not in page
    assert "The one stated is marked" in dp.Report.of(plan, delta="1e-5").to_html()


def test_delta_0_by_the_option_and_what_cannot_have_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(LAPLACE.replace("delta = 0", "delta = 1e-5"), encoding="utf-8")
    assert "is 1.5-differentially" in run("report", str(path), "--delta", "0", "--quiet").stdout
    refused = run("report", str(path), "--delta", "0", "--method", "rdp")
    assert refused.code == 2 and "method must be auto or exact at delta 0" in refused.stderr
    path.write_text(LAPLACE.replace("b = 2", "sigma = 2"), encoding="utf-8")
    refused = run("report", str(path))
    assert refused.code == 4 and "give a delta above 0" in refused.stderr
    assert run("compose", str(path)).code == 4
