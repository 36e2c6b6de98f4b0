"""Certificates: written, read, checked; tampered ones fail; the check shares no search."""

import copy
import json
import subprocess
import sys
from typing import Any

import pytest

import dpacct as dp
from dpacct.answer.ask import BoundaryQuestion
from dpacct.errors import InvalidArgument
from dpacct.plan import certified
from dpacct.proof.check import check
from dpacct.vocabulary import Side, Strength
from tests.structure.project import ROOT

FILES = ROOT / "tests" / "survival" / "files"

run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
PLANS = {
    "sampled": run,
    "plain": dp.Gaussian(sigma=3) * 7,
    "one-step": dp.Poisson(0.3)(dp.Gaussian(sigma=1)),
    "fixed-size": dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1)) * 200,
    "laplace": dp.Laplace(b=10) * 40,
    "laplace-many": dp.Laplace(b=10) * 2000,
    "laplace-sampled": dp.Poisson(0.1)(dp.Laplace(b=1)) * 300,
    "opaque": dp.ApproxDP(epsilon=0.1, delta=1e-8) * 20 + dp.PureDP(epsilon=0.3) * 4,
    "mixed": run + dp.Laplace(b=4) * 5 + dp.Gaussian(sigma=8),
}


def stored(document: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_plan_gives_a_certificate_that_holds(name: str) -> None:
    node = PLANS[name]
    answer = certified.epsilon(node, delta=1e-5)
    assert answer.answer.strength is Strength.PROVED
    assert answer.answer.side is Side.TWO_SIDED
    assert all(holds for _, holds in check(stored(answer.certificate)))
    at = certified.delta(node, epsilon=1)
    assert all(holds for _, holds in check(stored(at.certificate)))


def test_a_parameter_has_one_end_that_meets_the_target_and_one_that_does_not() -> None:
    result = certified.boundary(
        BoundaryQuestion(epsilon=7, delta=1e-5, name="sigma"),
        lambda sigma: dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000,
        0.611546,
    )
    outcome = stored(result.certificate)
    assert all(holds for _, holds in check(outcome))
    assert outcome["question"]["safe_end"] == "upper"
    assert float(outcome["upper"]) / float(outcome["lower"]) - 1 < 1e-9


def broken(document: dict[str, Any], change: str) -> dict[str, Any]:
    document = copy.deepcopy(document)
    if change == "lower end raised":
        document["lower"] = document["upper"]
    elif change == "upper end lowered":
        document["upper"] = document["lower"]
    elif change == "a direction left out":
        document["claims"] = [c for c in document["claims"] if c["direction"] == 0]
    elif change == "another plan":
        document["claims"][0]["plan"] = document["claims"][0]["plan"].replace("1.1", "1.2")
    elif change == "a bound lowered":
        document["claims"][0]["bound"] = "1e-6"
    elif change == "fewer nodes":
        document["claims"][0]["evidence"]["contour"]["count"] = 3
    elif change == "a coarser step":
        document["claims"][0]["evidence"]["contour"]["step"] *= 4
    else:
        document["claims"][0]["evidence"]["rules"][0]["branches"][0]["nodes"]["step"] *= 3
    return document


@pytest.mark.parametrize(
    "change",
    [
        "lower end raised",
        "upper end lowered",
        "a direction left out",
        "another plan",
        "a bound lowered",
        "fewer nodes",
        "a coarser step",
        "a coarser inner rule",
    ],
)
def test_a_certificate_that_was_tampered_with_fails(change: str) -> None:
    result = stored(certified.epsilon(run, delta=1e-5).certificate)
    assert all(holds for _, holds in check(result))
    assert not all(holds for _, holds in check(broken(result, change)))


@pytest.mark.parametrize("document", [{}, [], {"kind": "dpacct-certificate", "schema": 1}])
def test_what_is_no_certificate_is_refused(document: object) -> None:
    with pytest.raises(InvalidArgument):
        check(document)


def test_the_check_imports_no_search() -> None:
    program = (
        "import sys, dpacct.proof.check\n"
        "proof = ['search', 'rules', 'solve', 'direction']\n"
        "names = ['proof.' + name for name in proof]\n"
        "names += ['engine.' + name for name in ('saddle', 'contour', 'invert', 'discrete')]\n"
        "bad = [name for name in names if 'dpacct.' + name in sys.modules]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_balls_are_loaded_only_when_asked_for() -> None:
    program = (
        "import sys, dpacct as dp\n"
        "dp.Gaussian(sigma=1).epsilon(delta=1e-5, method='exact')\n"
        "assert 'flint' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_method_by_name() -> None:
    answer = run.epsilon(delta=1e-5, method="certified")
    assert answer.strength is Strength.PROVED
    assert answer.lower is not None
    assert answer.upper is not None
    assert answer.lower <= 1.51536191666448 <= answer.upper
    assert answer.upper / answer.lower - 1 < 1e-9
    at = run.delta(epsilon=1.5, method="certified")
    assert at.lower is not None
    assert at.lower <= 1.1537867345632738e-05 <= float(at)


def test_guarantees_beside_noise_are_proved_and_so_are_open_failures() -> None:
    for node in (
        dp.ApproxDP(epsilon=0.1, delta=1e-6) + dp.Gaussian(sigma=5),
        dp.Poisson(0.1)(dp.ApproxDP(epsilon=0.3, delta=1e-5)) * 4
        + dp.Poisson(0.1)(dp.Gaussian(sigma=2)) * 30,
        dp.PureDP(epsilon=0.1) * 3 + dp.Gaussian(sigma=5),
        dp.Staircase(eps0=0.2) * 2 + dp.Poisson(0.1)(dp.Gaussian(sigma=2)) * 30,
    ):
        answer = certified.epsilon(node, delta=1e-5)
        assert all(holds for _, holds in check(stored(answer.certificate)))
        exact = node.epsilon(1e-5, method="exact")
        proved, slack = float(answer.answer), 1 + 1e-11  # each is as wide as it was asked for
        assert exact.lower <= proved * slack and proved <= exact.upper * slack
        assert exact.upper < exact.lower * (1 + 1e-4)


@pytest.mark.parametrize("digits", [12, 80])
def test_a_delta_far_below_what_one_types_is_written_and_read(digits: int) -> None:
    node = dp.Poisson("0.1")(dp.Gaussian(sigma="0.5")) * 1000
    answer = certified.delta(node, epsilon=30000, digits=digits)
    assert answer.certificate["lower"].lower().endswith("e-50853")
    assert all(holds for _, holds in check(stored(answer.certificate)))


def test_a_parameter_of_a_fixed_size_sample_has_an_end_for_each_pair() -> None:
    """The safe end is of the dominating pair, the other one surely misses the target."""

    def step(sigma: object) -> dp.Node:
        return dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=sigma))

    question = BoundaryQuestion(epsilon=3, delta=1e-6, name="sigma")
    result = certified.boundary(question, lambda sigma: step(sigma) * 200, 1.504)
    assert all(holds for _, holds in check(stored(result.certificate)))
    answer = result.answer
    assert answer.value == answer.upper
    assert (
        1.40006
        < float(answer.lower or 0)
        < 1.40008
        < 1.504177
        < float(answer.upper or 0)
        < 1.504178
    )
    question = BoundaryQuestion(epsilon=3, delta=1e-6, name="steps", whole=True)
    whole = certified.boundary(question, lambda n: step(2) * n, 434)
    least, most = int(whole.certificate["lower"]), int(whole.certificate["upper"])
    assert all(holds for _, holds in check(stored(whole.certificate)))
    assert most > least + 1
    realised = dp.Poisson(0.05)(dp.Gaussian(sigma=2))  # the same pairs as the realised ones
    for steps, fine in ((most - 2, True), (most, False)):
        assert (float((realised * steps).delta(epsilon=3, method="exact")) <= 1e-6) is fine


@pytest.mark.parametrize("name", ["gaussian", "laplace", "uniform", "noise", "steps", "delta"])
def test_a_file_of_schema_1_is_proved_anew(name: str) -> None:
    """Made by a dpacct whose proofs had another form; only what it states is read."""
    document = json.loads((FILES / f"{name}.certificate.json").read_text())
    assert document["schema"] == 1
    statements = check(document)
    assert all(holds for _, holds in statements)
    assert "proved anew" in statements[0][0]
    for claim in document["claims"]:
        claim["evidence"] = {"form": "trust me"}
    assert all(holds for _, holds in check(document))
    false = copy.deepcopy(document)
    claim = false["claims"][0]
    claim["bound"] = {"at most": "1e-300", "more than": "0.999", "at least": "0.999"}[
        claim["relation"]
    ]
    assert not all(holds for _, holds in check(false))


def test_a_number_of_a_hundred_thousand_digits_is_not_echoed() -> None:
    """It was repeated whole in the sentence that refuses it."""
    digits = "x" + "9" * 10**5
    contents = dp.certificate(dp.Gaussian(sigma=4), delta="1e-5").contents
    claims = [{**contents["claims"][0], "bound": digits}, *contents["claims"][1:]]
    with pytest.raises(InvalidArgument) as refused:
        check({**contents, "claims": claims})
    assert len(str(refused.value)) < 200
