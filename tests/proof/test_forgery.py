"""Whoever writes a certificate chooses the evidence: whatever it says, no falsehood is proven by it.

The evidence of a true certificate is changed, number by number and list by list, and the proof
evaluated. It is refused, or its interval holds the truth.
"""

import copy
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest

import dpacct as dp
from dpacct.answer.ask import BoundaryQuestion
from dpacct.errors import DpacctError, NotCertified
from dpacct.plan import certified
from dpacct.proof.check import Claim, about, check, prove, sides
from dpacct.proof.effort import TooCostly, allowance
from tests.proof.edited import Path, changed

MADE = {
    "remove and add": (dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000, "1.5"),
    "damped": (dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 5, "2"),
    "panels": (dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1)) * 200, "1"),
    "point masses": (dp.Poisson(0.1)(dp.Laplace(b=1)) * 300, "2"),
    "exchanged": ((dp.Poisson("0.2")(dp.Gaussian(sigma=1)) * 9).under("replace-one"), "3"),
}
NO_PROOF = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, NotCertified)


def parts(document: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every number and list of numbers."""
    if isinstance(document, dict | list):
        if isinstance(document, list):
            yield at, document
        for name, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from parts(value, (*at, name))
    elif isinstance(document, int | float):
        yield at, document


def others(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [[], value + value, value * 5, value[:-1], value[::-1]]
    results: list[Any] = [-value, 0, -1, value * 2, value / 10, -value / 10, math.nan, 10**30, "1"]
    return [
        int(x) if isinstance(value, int) and isinstance(x, float) and x == x else x for x in results
    ]


@pytest.mark.parametrize("name", MADE)
def test_no_evidence_proves_a_falsehood(name: str) -> None:
    node, at = MADE[name]
    epsilon = Fraction(at)
    document = json.loads(json.dumps(certified.delta(node, epsilon=at, digits=3).certificate))
    best = certified.delta(node, epsilon=at, digits=9)
    refused = proven = 0
    claims = [Claim.from_json(fields) for fields in document["claims"]]
    for claim in {(c.side, c.direction): c for c in claims if "rules" in str(c.evidence)}.values():
        both = sides(claim.plan, claim.adjacency)
        laws = (both.lower if claim.side == "lower" and both.lower else both.upper)[claim.direction]
        with allowance(5.0):
            truth = prove(laws, epsilon, claim.evidence)
        assert claim.direction or truth.upper >= Fraction(best.certificate["lower"])
        dear = 5 if name == "exchanged" else 1
        for k, (where, value) in enumerate(parts(claim.evidence)):
            for other in others(value)[k % dear :: dear]:
                try:
                    with allowance(0.15):
                        result = prove(laws, epsilon, changed(claim.evidence, where, other))
                except NO_PROOF:
                    refused += 1
                    continue
                proven += 1
                assert result.lower <= truth.upper, (where, value, other)
                assert result.upper >= truth.lower, (where, value, other)
    assert refused >= 15
    assert proven >= 10


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(19, 10), Fraction(3)])
def test_no_form_forgets_what_fails_openly(epsilon: Fraction) -> None:
    """Every form on a discrete plan: infinite losses belong to delta, and are no finite loss's mass."""
    node = dp.ApproxDP(epsilon=1, delta="1e-6") * 2
    laws = sides(node.to_json(), "add-remove").upper[0]
    answer = certified.delta(node, epsilon=epsilon, digits=9).certificate
    least, most = Fraction(answer["lower"]), Fraction(answer["upper"])
    rules = [{"branches": [], "lift": 0.0, "damped": []}]
    contour = {"c": 50.0, "step": 0.01, "count": 30, "up": 10.0, "down": 0.0, "doublings": 2}
    forged: list[dict[str, Any]] = [
        {"form": "largest loss"},
        {"form": "moment bound", "c": 50.0, "rules": rules},
        {"form": "contour", "contour": contour, "rules": rules},
        {"form": "closed"},
        {"form": "ceiling"},
    ]
    proven = 0
    for evidence in forged:
        with suppress(NotCertified):
            result = prove(laws, epsilon, evidence | {"bits": 100})
            assert result.lower <= most and least <= result.upper, evidence["form"]
            proven += 1
    assert proven >= 3


def certificate() -> Any:
    node, at = MADE["damped"]
    return json.loads(json.dumps(certified.delta(node, epsilon=at, digits=3).certificate))


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [[]], True, 10**400, math.nan])
def test_what_has_the_wrong_type_is_refused_in_a_sentence(value: Any) -> None:
    result = certificate()
    refused = 0
    for where, _ in _all(result):
        try:
            with allowance(1.0):
                refused += not all(holds for _, holds in check(changed(result, where, value)))
        except DpacctError:
            refused += 1
    assert refused >= 15


def _all(document: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    if at:
        yield at, document
    if isinstance(document, dict | list):
        for name, value in document.items() if isinstance(document, dict) else enumerate(document):
            if at[:1] != ("claims",) or at[1:2] in ((), (0,)):
                yield from _all(value, (*at, name))


def test_the_check_is_bounded_in_time_and_memory() -> None:
    result = certificate()
    many = changed(result, ("claims",), result["claims"] * 100)
    with pytest.raises(DpacctError, match="at most"):
        check(many)
    long = copy.deepcopy(result)
    for claim in long["claims"]:
        if "contour" in claim["evidence"]:
            claim["evidence"]["bits"] = 400_000
            claim["evidence"]["contour"]["count"] = 200_000
    with pytest.raises(TooCostly), allowance(1.0):
        check(long)


def test_what_is_printed_is_written_anew() -> None:
    result = certificate()
    shown = about(result)
    for claim in result["claims"]:
        claim["plan"] = claim["plan"].replace(", ", ",\n  holds: "[:2] + " ")
    assert all(holds for _, holds in check(result))
    assert about(result) == shown
    question = BoundaryQuestion(epsilon=1, delta=1e-6, name="sigma")
    sigma = certified.boundary(question, lambda s: dp.Gaussian(sigma=s) * 5, 10.9)
    named = changed(json.loads(json.dumps(sigma.certificate)), ("question", "parameter"), "\x1b[2J")
    with pytest.raises(DpacctError, match="name"):
        check(named)


def swapped(document: Any, old: str, new: str, only: str) -> Any:
    """A plan changed in one of the two places, and in the claims about it."""
    document = copy.deepcopy(document)
    plan = document["question"][only]
    document["question"][only] = plan.replace(old, new)
    assert document["question"][only] != plan
    for claim in document["claims"]:
        if claim["plan"] == plan:
            claim["plan"] = document["question"][only]
    return document


def test_the_two_ends_are_about_one_plan_and_one_adjacency() -> None:
    """Ends that are each true, of two different questions, are no interval."""
    question = BoundaryQuestion(epsilon=1, delta=1e-6, name="steps", whole=True)
    steps = certified.boundary(question, lambda n: dp.Gaussian(sigma=20) * n, 22)
    document = json.loads(json.dumps(steps.certificate))
    assert all(holds for _, holds in check(document))
    noisier = swapped(document, '"20"', '"21"', "meets")
    claims = [holds for claim, holds in check(noisier) if claim.startswith("delta")]
    assert all(claims)  # with more noise, 22 steps meet the target all the more
    assert not all(holds for _, holds in check(noisier))
    mixed = copy.deepcopy(document)
    for claim in mixed["claims"]:
        if claim["plan"] == mixed["question"]["meets"]:
            claim["adjacency"] = "zero-out"
    assert not all(holds for _, holds in check(mixed))


def test_delta_at_its_target_does_not_show_that_epsilon_is_larger() -> None:
    """Beyond its epsilon, an open failure keeps delta at its target for ever."""
    node = dp.ApproxDP(epsilon=1, delta="0.25")
    claim = {
        "plan": node.to_json(),
        "adjacency": "add-remove",
        "side": "upper",
        "direction": 0,
        "bound": "0.25",
        "evidence": {"form": "closed", "bits": 200},
        "terms": {},
    }
    results: dict[str, Any] = {
        "schema": 2,
        "kind": "dpacct-certificate",
        "quantity": "epsilon",
        "question": {"delta": "0.25"},
        "lower": "5",
        "upper": "6",
        "claims": [
            {**claim, "epsilon": "6", "relation": "at most"},
            {**claim, "epsilon": "5", "relation": "at least"},
        ],
    }
    statements = check(results)
    assert all(holds for claim, holds in statements if claim.startswith("delta"))
    assert not all(holds for _, holds in statements)
    results["claims"][1]["relation"] = "more than"
    assert not all(holds for _, holds in check(results))
