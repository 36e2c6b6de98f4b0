"""Theorem 19: one release on a held sample, or by a coin, proved by what runs at another epsilon."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from mpmath import mp, mpf

import dpacct as dp
from dpacct.plan import certified
from dpacct.proof import check
from dpacct.proof.plan import NestedPlan

RESPONSES, ANSWER = 500, "0.1"
"""So many answers are not listed, but added up in closed form."""
RUNS = dp.RandomizedResponse(eps0=ANSWER, k=2) * RESPONSES
SAMPLERS: dict[str, Callable[[mpf, mpf, mpf], tuple[mpf, mpf]]] = {
    "remove": lambda q, a, b: (q * a + (1 - q) * b, b),
    "add": lambda q, a, b: (a, q * b + (1 - q) * a),
    "coin": lambda q, a, b: (q * a, q * b),
}


def by_counting(way: str, rate: str, epsilon: str) -> mpf:
    """Delta by every number of true answers, from the probabilities with and without the unit."""
    with mp.workdps(50):
        true = mp.exp(mpf(ANSWER)) / (mp.exp(mpf(ANSWER)) + 1)
        growth, total = mp.exp(mpf(epsilon)), mpf(0)
        for k in range(RESPONSES + 1):
            ways = mp.binomial(RESPONSES, k)
            a, b = (ways * p**k * (1 - p) ** (RESPONSES - k) for p in (true, 1 - true))
            p, q = SAMPLERS[way](mpf(rate), a, b)
            total += max(p - growth * q, mpf(0))
        return total


def ends(plan: dp.Node, epsilon: str) -> tuple[Fraction, Fraction]:
    proof = certified.delta(plan, epsilon=epsilon).certificate
    return Fraction(proof["lower"]), Fraction(proof["upper"])


def holds(interval: tuple[Fraction, Fraction], truth: mpf) -> bool:
    value, slack = Fraction(mp.nstr(truth, 40)), Fraction(1, 10**30)
    lower, upper = interval
    return lower <= value * (1 + slack) and value * (1 - slack) <= upper


@pytest.mark.parametrize("rate", ["0.03", "0.9"])
@pytest.mark.parametrize("epsilon", ["0", "0.02", "0.7", "5", "11"])
def test_finitely_many_outcomes_lie_inside(rate: str, epsilon: str) -> None:
    one_round = max(by_counting(way, rate, epsilon) for way in ("remove", "add"))
    sampled = ends(dp.Poisson(rate)(RUNS), epsilon)
    tossed = ends(dp.Participation(rate)(RUNS), epsilon)
    fixed = ends(dp.WithoutReplacement(rate)(RUNS), epsilon)
    assert holds(sampled, one_round) and holds(tossed, by_counting("coin", rate, epsilon))
    assert holds((Fraction(0), fixed[1]), by_counting("remove", rate, epsilon))
    assert fixed[0] <= fixed[1]
    for lower, upper in (sampled, tossed):
        assert upper - lower <= upper / 10**11


def test_a_sample_around_a_coin_around_gaussian_noise() -> None:
    """Both see the coin, so delta is its rate times that of one sampled step, in erfc."""
    plan = dp.Poisson("0.2")(dp.Participation("0.3")(dp.Gaussian(sigma=2) * 7))
    with mp.workdps(40):
        mu, q, growth = mp.sqrt(7) / 2, mpf("0.2"), mp.exp(mpf("0.1"))
        level = 1 + (growth - 1) / q
        at = mp.log(level) / mu
        tails = (mp.ncdf(mu / 2 - at), level * mp.ncdf(-mu / 2 - at))
        truth = mpf("0.3") * q * (tails[0] - tails[1])
        assert holds(ends(plan, "0.1"), truth)


PLANS = [
    dp.Poisson("0.1")(dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000),
    dp.Participation("0.1")(dp.Poisson("0.02")(dp.Laplace(b=1)) * 1000),
    dp.Poisson("0.1")(dp.Laplace(b=2) * 10 + dp.Gaussian(sigma=3)),
    dp.WithoutReplacement("0.1")(dp.Laplace(b=2) * 10),
    dp.Poisson("0.2")(dp.Participation("0.3")(dp.Poisson("0.1")(dp.Laplace(b=1)) * 1000)),
]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_answers_are_proved_by_default_and_checked_twice(plan: dp.Node) -> None:
    answer, engine = plan.epsilon(delta="1e-5"), plan.epsilon(delta="1e-5", method="exact")
    assert answer.method == "certified" and answer.upper - answer.lower < 2e-12 * answer.upper
    assert engine.lower * (1 - 1e-9) <= answer.upper and answer.lower <= engine.upper * (1 + 1e-9)
    proof = certified.epsilon(plan, delta="1e-5").certificate
    written = json.loads(json.dumps(proof))
    forms = {claim["evidence"]["form"] for claim in written["claims"]}
    assert "held sample" in forms <= {"held sample", "ceiling"}
    assert all(true for _, true in check.check(written))
    if "contour" in str(written):  # few steps with atoms have no line
        assert all(true for _, true in check.check(written, independent=True))


# --- sabotage and forgery


def changed(monkeypatch: pytest.MonkeyPatch, how: Callable[[NestedPlan, arb, arb], Any]) -> None:
    right = NestedPlan.inside
    monkeypatch.setattr(NestedPlan, "inside", lambda self, e: how(self, *right(self, e)))


def test_without_the_factor_delta_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, lambda sample, factor, moved: (arb(1), moved))
    assert not holds(ends(dp.Poisson("0.03")(RUNS), "0.7"), by_counting("remove", "0.03", "0.7"))


def test_without_the_moved_epsilon_delta_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NestedPlan.inside
    monkeypatch.setattr(NestedPlan, "inside", lambda self, e: (right(self, e)[0], e))
    assert not holds(ends(dp.Poisson("0.03")(RUNS), "0.7"), by_counting("remove", "0.03", "0.7"))


CLAIMS = json.loads(json.dumps(certified.delta(PLANS[0], epsilon="0.4").certificate))["claims"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["relation"])
def test_forged_claims_are_refused(claim: dict[str, Any]) -> None:
    assert check.Claim.from_json(claim).holds()
    if claim["evidence"]["form"] == "ceiling":
        return
    inner = claim["evidence"]["inner"]
    twice = {"form": "held sample", "bits": 128, "inner": claim["evidence"]}
    single = (dp.Poisson("0.1")(dp.Gaussian(sigma=1)) * 100).to_json()
    rounds = (PLANS[0] * 2).to_json()
    less = str(Fraction(claim["bound"]) * (Fraction(9, 10) if "most" in claim["relation"] else 2))
    for forged in (
        {"evidence": inner},
        {"evidence": twice},
        {"plan": single},
        {"plan": rounds},
        {"epsilon": "-0.4"},
        {"bound": less},
    ):
        assert not check.Claim.from_json(claim | forged).holds(), forged
