"""Assumptions: every status, from the plan and from checks, and what follows if they are false."""

import itertools

import pytest

import dpacct as dp
from dpacct.declare.number import up
from dpacct.report.assumptions import PREMISES, base_of, read_declared, rows
from dpacct.shuffling.shuffle import Shuffle
from dpacct.vocabulary import Assumption, AssumptionStatus
from tests.report.plans import COINS, DELTA, ONE, SGD, example, report

STATUSES = [str(status) for status in AssumptionStatus]
COIN, RATE = "sampling.draw", "sampling.rate"


def listed(plan: dp.Node = SGD, checks: list[Assumption] | None = None, **declared: object) -> dict:
    result = read_declared({key.replace("_", "-"): value for key, value in declared.items()})
    made = rows(plan, plan.assumptions(plan.facts.declared), declared=result, checks=checks or [])
    assert len({row.key for row in made if row.key}) == len([row for row in made if row.key])
    return {row.key or row.text: row for row in made}


def check(id: str, status: str) -> Assumption:
    return Assumption(f"the {id}", f"checked: {status} because", AssumptionStatus.parse(status), id)


def test_what_nobody_said_is_unknown_and_what_the_plan_describes_is_declared() -> None:
    results = {key: str(row.status) for key, row in listed().items()}
    assert results == {
        "sensitivity": "declared",
        "sampling": "declared",
        "noise": "unknown",
        "steps": "unknown",
        "fixed-plan": "unknown",
        "randomness": "unknown",
        "arithmetic": "unknown",
        "secret-sample": "unknown",
    }
    assert "arithmetic" not in listed(COINS) and "secret-sample" not in listed(COINS)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("key", ["sensitivity", "sampling", "randomness"])
def test_the_plan_is_believed(key: str, status: str) -> None:
    assert str(listed(**{key: status})[key].status) == status
    entry = listed(**{key: {"status": status, "evidence": "seen"}})[key]
    assert (str(entry.status), entry.evidence) == (status, "seen")


@pytest.mark.parametrize(("said", "first", "second"), list(itertools.product(STATUSES, repeat=3)))
def test_the_plan_and_two_checks(said: str, first: str, second: str) -> None:
    """Violated by anyone is violated; both checks held is held; else the plan's word stands."""
    row = listed(checks=[check(COIN, first), check(RATE, second)], sampling=said)["sampling"]
    results = {said, first, second}
    if "violated" in results:
        assert row.status == "violated"
    elif {first, second} <= {"held", "declared"}:
        assert row.status == "held" and "because" in row.evidence
    else:
        assert row.status == said


def test_a_check_of_less_than_everything_does_not_make_it_held() -> None:
    weights = check("sensitivity.weights", "held")
    assert listed(checks=[weights])["sensitivity"].status == "declared"
    assert "held because" in listed(checks=[weights])["sensitivity"].evidence
    assert listed(checks=[check(COIN, "held")])["sampling"].status == "declared"
    assert listed(checks=[check(weights.id, "violated")])["sensitivity"].status == "violated"


def test_a_check_of_no_kind_is_told() -> None:
    moon = Assumption("the moon was full", "seen", AssumptionStatus.HELD)
    assert listed(checks=[moon])["the moon was full"].status == "held"


def test_the_checks_of_a_ledger_are_recognised() -> None:
    """Every check of `Execution.compare` is of a kind, so none of it is lost."""
    for plan in (SGD, (dp.WithoutReplacement("0.1")(dp.Laplace(b=1)) * 2).under("replace-one")):
        for item in dp.Execution(steps=3).compare(plan):
            assert item.id.partition(".")[0] in PREMISES, item.text
    held = {id for premise in PREMISES.values() for id in premise.checks}
    assert held <= {item.id for item in dp.Execution(steps=3).compare(SGD)}


def test_the_assumptions_of_every_mechanism_are_recognised() -> None:
    step = dp.Gaussian(noise_multiplier=1, clip=1)
    plans = [
        *(dp.Poisson("0.1")(step), dp.WithoutReplacement("0.1")(step), dp.Laplace(b=1)),
        *(dp.Staircase(eps0=1), dp.RandomizedResponse(eps0=1), dp.LocalRandomizer(eps0=1)),
        *(dp.DiscreteGaussian(scale=2), dp.DiscreteLaplace(scale=2), dp.PureDP(epsilon=1)),
        *(dp.ApproxDP(epsilon=1, delta=1e-9), dp.ZCDP(rho=1), dp.ExponentialMechanism(eps0=1)),
        *(dp.Poisson("0.1")(step * 3), dp.Poisson("0.1")(dp.Laplace(b=1) * 2)),
        *(dp.Participation("0.5")(dp.Laplace(b=1)), Shuffle(eps0=1, clients=100)),
        Shuffle(eps0=1, clients=100, k=2, rate="0.5"),
        dp.BallsInBins(10)(step),
        dp.Staircase(eps0=1, clip=1),
    ]
    for plan in plans:
        adjacency = "replace-one" if plan.fixed_adjacency == "replace-one" else "add-remove"
        for assumption in plan.assumptions(dp.Adjacency.parse(adjacency)):
            assert assumption.id in PREMISES, assumption.text


def test_several_of_one_kind_are_numbered() -> None:
    plan = (SGD + dp.Laplace(b=3)).under(unit="client")
    assert {"sensitivity-1", "sensitivity-2"} <= set(listed(plan))
    result = listed(plan, sensitivity_2="held")
    assert (result["sensitivity-1"].status, result["sensitivity-2"].status) == ("declared", "held")
    result = listed(plan, sensitivity="unknown", sensitivity_1="held")
    assert (result["sensitivity-1"].status, result["sensitivity-2"].status) == ("held", "unknown")
    with pytest.raises(dp.InvalidArgument, match="sensitivity-3 names more"):
        listed(plan, sensitivity_3="held")
    assert base_of("sensitivity-12") == "sensitivity"


def test_one_of_the_plans_own() -> None:
    result = listed(sum={"status": "declared", "text": "sums are secure", "effect": "all is seen"})
    assert (result["sum"].text, result["sum"].effect) == ("sums are secure", "all is seen")


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({"sampling": "helt"}, "held, declared, violated or unknown"),
        ({"samplign": "held"}, "did you mean sampling"),
        ({"sampling": {"status": "held", "evidense": "x"}}, "did you mean evidence"),
        ({"sampling": {"evidence": "x"}}, "must give status"),
        ({"sampling": 3}, "must be a text"),
        ({"sampling": ["held"]}, "must be a text"),
        ({"mine": "held"}, "needs a text"),
    ],
)
def test_nonsense_is_refused_with_its_place(table: dict[str, object], wanted: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=wanted) as caught:
        read_declared(table)
    assert "assumptions" in str(caught.value)


def test_a_violated_one_stands_first_and_above() -> None:
    bad = dp.Report.of(
        ONE, delta=DELTA, assumptions={"sampling": {"status": "violated", "evidence": "shuffled"}}
    )
    assert [row.key for row in bad.violated] == ["sampling"] and bad.assumptions[0] is bad.violated[
        0
    ]
    assert not bad.to_dict()["guarantee_holds"]
    text = " ".join(bad.to_text().split())
    above = text.index("does not hold: one of its assumptions is violated")
    assert above < text.index("If no assumption were violated, releasing all outputs")
    assert "Releasing" not in text
    assert "WARNING" in text and "shuffled" in text
    assert (
        bad.to_markdown().splitlines()[2].startswith("> **Warning.** The guarantee below does not")
    )
    html = bad.to_html()
    assert html.index('role="alert"') < html.index('class="statement"')
    assert "| if it held |" in bad.to_markdown() and "| the guarantee |" not in bad.to_markdown()
    fine = report("ONE")
    assert not fine.violated and "WARNING" not in fine.to_text() and 'alert"' not in fine.to_html()


def test_effects_are_the_epsilons_of_other_plans() -> None:
    results = {row.key: row.effect for row in report().assumptions}
    bare = dp.Gaussian(sigma="1.1") * 100
    heavy = dp.Poisson("0.01")(dp.Gaussian(sigma="0.55")) * 100
    twice = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 200
    for key, plan in (("sampling", bare), ("sensitivity", heavy), ("steps", twice)):
        worse = float(plan.epsilon(delta=DELTA, method="exact"))
        assert f"at most {up(worse, 4)}" in results[key]
        assert worse > float(report().answer)


def test_other_plans_keep_their_nesting() -> None:
    nested = (dp.Poisson("0.1")(dp.Gaussian(sigma=8) * 50) * 20 + dp.Laplace(b=4)).under(
        "add-remove", unit="user"
    )
    bare, heavy = nested.unsampled(), nested.weighted(2)
    assert (
        (bare.unit, bare.facts.declared)
        == ("user", "add-remove")
        == (heavy.unit, heavy.facts.declared)
    )
    wanted = dp.Gaussian(sigma=8) * 1000 + dp.Laplace(b=4)
    assert float(bare.epsilon(DELTA)) == pytest.approx(float(wanted.epsilon(DELTA)), rel=1e-9)
    heavier = dp.Poisson("0.1")(dp.Gaussian(sigma=4) * 50) * 20 + dp.Laplace(b=2)
    assert heavy.equivalent(heavier)
    step = dp.Poisson("0.1")(dp.Laplace(b=1) + dp.Gaussian(sigma=2)) * 3
    assert step.unsampled() == (dp.Laplace(b=1) + dp.Gaussian(sigma=2)) * 3
    heavier = dp.Poisson("0.1")(dp.Laplace(b="0.5") + dp.Gaussian(sigma=1)) * 3
    assert step.weighted(2).epsilon(DELTA).upper == heavier.epsilon(DELTA).upper
    with pytest.raises(dp.Unsupported, match="has no scale"):
        dp.ZCDP(rho=1).weighted(2)
    with pytest.raises(dp.Unsupported, match="does not leave units out"):
        (dp.BallsInBins(10)(dp.Gaussian(sigma=1)) * 2).unsampled()


def test_the_example_has_evidence() -> None:
    results = {row.key: str(row.status) for row in example().assumptions}
    assert results["sensitivity-1"] == "held" and results["sensitivity-2"] == "declared"
    assert results["randomness"] == "held" and results["arithmetic"] == "unknown"


def test_what_is_no_privacy_is_not_made_worse() -> None:
    vast = dp.Report.of(dp.Gaussian(sigma="0.05").under("add-remove", unit="user"), delta=DELTA)
    assert float(vast.answer) > 50
    results = {row.key: row.effect for row in vast.assumptions}
    assert results["sensitivity"].startswith("a unit that contributes k times as much")
