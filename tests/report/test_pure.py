"""Pure differential privacy: no output shows more than the stated epsilon, and some output shows it."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from tests.cli.runner import run
from tests.report.registry_schema import complaints

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
    record = yaml.safe_load(run("report", str(path), "--format", "yaml").stdout)
    assert not list(complaints(record))
    assert record["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.5}
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
