"""Finitely many outcomes: what is stated, the lattice theorem, and what it is without each of its terms."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

import dpacct as dp
from dpacct.errors import NotCertified
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan import certified
from dpacct.plan.combine import Under
from dpacct.plan.composition import Composition
from dpacct.proof import outcomes
from dpacct.proof.balls import ball, precision
from dpacct.proof.check import prove, sides
from dpacct.proof.closed import Period, TabulatedPeriod, finite_sum
from dpacct.proof.floats import FloatLaw
from dpacct.proof.law import Law, add, exchange, plain, remove
from dpacct.proof.outcomes import three_losses
from dpacct.proof.plan import Step, read_plan
from dpacct.proof.search import LatticeSeeker
from dpacct.vocabulary import Adjacency, Strength
from tests.work import calls

TABLES = (["0.2", "0.3", "0.5", "0"], ["0.3", "0.3", "0.3", "0.1"])
STATED = {
    "normal": dp.Gaussian(sigma="1.3"),
    "normal, clipped": dp.Gaussian(noise_multiplier="0.9"),
    "spaced": dp.Laplace(b="1.7"),
    "spaced, clipped": dp.Laplace(noise_multiplier="0.6"),
    "staircase": dp.Staircase(eps0="0.7"),
    "staircase early": dp.Staircase(eps0="0.7", nu="0.2"),
    "staircase late": dp.Staircase(eps0="0.7", nu="0.8"),
    "staircase two steps": dp.Staircase(eps0="0.7", clip=1).under("replace-one"),
    "two steps, late": dp.Staircase(eps0="0.7", nu="0.8", clip=1).under("replace-one"),
    "answers": dp.RandomizedResponse(eps0="1.5", k=5),
    "two answers": dp.RandomizedResponse(eps0="1.5"),
    "local": dp.LocalRandomizer(eps0="0.4"),
    "discrete Laplace, odd": dp.DiscreteLaplace(scale=3, sensitivity=5),
    "discrete Laplace, even": dp.DiscreteLaplace(scale="2.5", sensitivity=4),
    "pure": dp.PureDP(epsilon="0.3"),
    "approximate": dp.ApproxDP(epsilon="0.3", delta="1e-3"),
    "tables": dp.Custom(tables=TABLES),
    "one choice": dp.ExponentialMechanism(eps0="0.8"),
}
SAMPLED = {
    "": lambda node: node,
    "poisson": lambda node: dp.Poisson("0.3")(node),
    "poisson, exchanged": lambda node: dp.Poisson("0.3")(node).under("replace-one"),
    "fixed size": lambda node: dp.WithoutReplacement("0.3")(node),
}


EXCHANGED = ("poisson, exchanged", "fixed size")
# of tables under replace-one either may be with the unit: no proof, which `plan` says
CASES = [(a, b) for a in STATED for b in SAMPLED if a != "tables" or b not in EXCHANGED]


@pytest.mark.parametrize(("name", "sampled"), CASES)
def test_balls_and_floats_state_one_pair(name: str, sampled: str) -> None:
    """P and Q have mass 1, and every direction has the profile of the float core's law."""
    node, adjacency = STATED[name], Adjacency.ADD_REMOVE
    if "two" in name and isinstance(node, Under):
        node, adjacency = node.node, Adjacency.REPLACE_ONE
    if sampled in EXCHANGED:
        adjacency = Adjacency.REPLACE_ONE
    plan = SAMPLED[sampled](node)
    result = read_plan(plan, adjacency)
    engine = Composition(plan, adjacency)
    pairs = list(zip(result.upper, engine.upper, strict=True))
    if result.lower is not None:
        pairs += zip(result.lower, engine.lower or (), strict=False)
    for ((step, _),), direction in pairs:
        assert isinstance(step, Step)
        with precision(200):
            law = step.law()
            masses = _masses(law)
            assert all(abs(mass - 1) < 1e-40 for mass in masses)
            for epsilon in (0.0, 0.05, 0.4):
                delta = float(law.one_step(arb(epsilon)))
                assert delta == pytest.approx(_engine(direction, epsilon), rel=1e-9, abs=1e-14)


def _masses(law: Law) -> tuple[arb, arb]:
    p = law.infinite + sum((m for _, m in law.atoms), arb(0))
    q = law.lost + sum((m * (-x).exp() for x, m in law.atoms), arb(0))
    for branch in law.branches:
        more = branch.masses(branch.start, branch.end)
        p, q = p + more[0], q + more[1]
    return p, q


def _engine(direction: Any, epsilon: float) -> float:
    return float(np.exp(direction.log_delta(epsilon).value))


# --- the lattice theorem


def brute(laws: list[tuple[Law, int]], epsilon: arb) -> arb:
    """Every sum of losses, added up draw by draw."""
    points: dict[int, tuple[arb, arb]] = {0: (arb(0), arb(1))}
    kept = arb(1)
    for law, count in laws:
        for _ in range(count):
            following: dict[int, tuple[arb, arb]] = {}
            for loss, mass in points.values():
                for x, m in law.atoms:
                    total = loss + x
                    key = round(float(total) * 1e9)
                    before = following.get(key, (total, arb(0)))[1]
                    following[key] = total, before + mass * m
            points = following
            kept *= 1 - law.infinite
    gaps = ((-(epsilon - x).expm1(), m) for x, m in points.values())
    return 1 - kept + sum((m * gap for gap, m in gaps if gap > 0), arb(0))


def step(
    mechanism: Mechanism, how: Callable[[Law, arb], Law] = plain, rate: Fraction = Fraction(1)
) -> Step:
    """One release, sampled."""
    return replace(Step.of(mechanism.stated(Adjacency.ADD_REMOVE)), sampled=how, rate=rate)


PLANS = {
    "answers": ((step(dp.RandomizedResponse("0.5", k=4)), 30),),
    "staircase": ((step(dp.Staircase("0.25")), 40),),
    "guarantees of two sizes": (
        (step(dp.ApproxDP(epsilon="0.5", delta="1e-4")), 12),
        (step(dp.PureDP(epsilon="0.75")), 9),
    ),
    "exchanged": (
        (step(dp.ApproxDP(epsilon="0.5", delta=Fraction(1, 99)), exchange, Fraction(1, 3)), 60),
    ),
}


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(9, 2)])
@pytest.mark.parametrize("name", PLANS)
def test_one_period_is_the_whole_sum(name: str, epsilon: Fraction) -> None:
    """Epsilon 0 and 2 are losses that the sum takes: a tie that no precision settles."""
    steps = PLANS[name]
    seeker = LatticeSeeker(steps, [(FloatLaw(step), count) for step, count in steps])
    (evidence,) = seeker.propose(float(epsilon), None, 30.0)
    with precision(evidence["bits"]):
        lattice = TabulatedPeriod(steps, Period(**evidence["period"]))
    with precision(evidence["bits"] + 64):
        truth = brute([(step.law(), count) for step, count in steps], ball(epsilon))
        for item in (lattice.delta(ball(epsilon)), finite_sum(steps, ball(epsilon))):
            assert item.overlaps(truth)
            assert item.rad() < 1e-9 * truth


THREE = {
    "sampled staircase": step(dp.Staircase("0.25"), remove, Fraction(1, 9)),
    "sampled guarantee": step(dp.ApproxDP(epsilon="0.5", delta="0.02"), add, Fraction(1, 9)),
    "tables": step(
        dp.Custom(tables=(["0.6", "0.3", "0.1"], ["0.5", "0.3", "0.2"])), remove, Fraction(1, 7)
    ),
    "on a lattice": step(dp.Staircase("0.25")),
}


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 40), Fraction(1, 3), Fraction(5)])
@pytest.mark.parametrize("name", THREE)
def test_three_losses_are_the_whole_sum_eq_30(name: str, epsilon: Fraction) -> None:
    """Also where many sums of losses tie with epsilon, and where none is above it."""
    with precision(160):
        law = THREE[name].law()
        for count in (1, 2, 30):
            truth = brute([(law, count)], ball(epsilon))
            value = 1 - (1 - law.infinite) ** count + three_losses(law.atoms, count, ball(epsilon))
            assert value.overlaps(truth)
            assert value.rad() < 1e-30


@pytest.mark.parametrize(
    "what", ["a thousandth", "the larger loss of a new draw", "the first loss above epsilon"]
)
def test_without_a_part_of_the_sum_over_three_losses_eq_30(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    epsilon, tails = Fraction(3, 5), outcomes._Tails
    grow, value = tails.grow, tails.value

    def fewer(self: outcomes._Tails) -> None:
        before = self._b[1]
        self._b[1] = arb(0)
        grow(self)
        self._b[1] = before

    with precision(120):
        law = THREE["on a lattice"].law()
        truth = brute([(law, 20)], ball(epsilon))
        assert three_losses(law.atoms, 20, ball(epsilon)).overlaps(truth)
        if what == "a thousandth":
            monkeypatch.setattr(tails, "value", lambda self, j: value(self, j) * arb(1.001))
        elif what == "the first loss above epsilon":
            monkeypatch.setattr(tails, "value", lambda self, j: value(self, j) - self._term(j))
        else:
            monkeypatch.setattr(tails, "grow", fewer)
        assert not three_losses(law.atoms, 20, ball(epsilon)).overlaps(truth)


COARSE = {
    "copies above": (0, Fraction(1, 3), Period(3.0, 24, 2.0, 0.0)),
    "copies below": (1, Fraction(4), Period(0.05, 24, 2.0, 0.0)),
    "copies below, shifted": (1, Fraction(4), Period(1.0, 24, 2.0, 0.4)),
}


@pytest.mark.parametrize("name", COARSE)
def test_without_the_copies_of_a_coarse_lattice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies above eps matter where the tilt is high, those below where it is low."""
    which, epsilon, period = COARSE[name]
    steps = PLANS["answers"]
    with precision(200):
        truth = finite_sum(steps, ball(epsilon))
        lattice = TabulatedPeriod(steps, period)
        assert lattice.delta(ball(epsilon)).contains(truth)
        ends = [*lattice._ends]
        ends[which] = arb(0)
        monkeypatch.setattr(lattice, "_ends", tuple(ends))
        assert not lattice.delta(ball(epsilon)).overlaps(truth)


def test_without_the_share_of_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon as a wide ball around a loss: what the loss adds lies within the charge."""
    steps = PLANS["answers"]
    with precision(200):
        lattice = TabulatedPeriod(steps, Period(1.0, 4096, 1.0, 0.5))
        near = arb(2, 1e-3)
        below = finite_sum(steps, arb(2) - arb(1e-3))
        assert lattice.delta(near).upper() >= below
        terms = lattice.terms(near)
        assert terms["sum"].upper() - terms["tie"] < below <= terms["sum"].upper() + terms["tie"]


def test_without_the_open_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = PLANS["guarantees of two sizes"]
    with precision(200):
        truth = finite_sum(steps, arb(3))
        lattice = TabulatedPeriod(steps, Period(2.0, 4096, 1.0, 0.5))
        assert lattice.delta(arb(3)).contains(truth)
        monkeypatch.setattr(lattice, "_escaped", arb(0))
        assert not lattice.delta(arb(3)).overlaps(truth)


def test_a_period_that_is_made_up_proves_no_falsehood() -> None:
    """Random choices: refused, or an interval with the truth in it."""
    draw = random.Random(4)
    changes: list[Callable[[float], float]] = [
        lambda x: x * draw.uniform(0.05, 5.0),
        lambda x: -x,
        lambda x: 0.0,
        lambda x: x + 3.0,
    ]
    held = refused = 0
    for k in range(400):
        steps = PLANS[list(PLANS)[k % 3]]
        fields: dict[str, Any] = asdict(Period(1.0, 64, 1.0, 0.5))
        for name in draw.sample(list(fields), 2):
            value = draw.choice(changes)(fields[name])
            fields[name] = int(value) if name == "nodes" else value
        try:
            with precision(120):
                answer = TabulatedPeriod(steps, Period(**fields)).delta(arb(1.5))
                truth = finite_sum(steps, arb(1.5))
        except NotCertified:
            refused += 1
            continue
        held += 1
        assert not answer.is_finite() or answer.contains(truth), fields
    assert held > 50
    assert refused > 100


# --- answers


@pytest.mark.parametrize(
    "node",
    [
        dp.RandomizedResponse(eps0="0.01") * 100_000,
        dp.Staircase(eps0="0.3") * 60,
        dp.DiscreteLaplace(scale=10, sensitivity=3) * 40,
        dp.Poisson("0.1")(dp.PureDP(epsilon="0.5")) * 2000,
        dp.PureDP(epsilon="0.1") * 100 + dp.ApproxDP(epsilon="0.25", delta="1e-9") * 30,
        dp.ExponentialMechanism(eps0="0.5"),
        dp.Poisson("0.3")(dp.Custom(tables=TABLES)) * 20,
    ],
    ids=repr,
)
def test_proved_by_default_as_narrow_as_any(node: dp.Node) -> None:
    answer = node.epsilon("1e-6")
    assert answer.strength is Strength.PROVED
    assert answer.upper is not None and answer.lower is not None
    assert answer.upper - answer.lower <= 1e-12 * answer.upper
    exact = node.epsilon("1e-6", method="exact")
    assert exact.lower is not None and exact.upper is not None
    assert exact.lower <= answer.upper * (1 + 1e-9)
    assert answer.lower <= exact.upper * (1 + 1e-9)


def test_choices_that_may_depend_on_earlier_ones_are_not_proved_here() -> None:
    answer = (dp.ExponentialMechanism(eps0="0.1") * 20).epsilon("1e-6")
    assert answer.strength < Strength.PROVED
    assert "may depend on earlier ones" in answer.notes[0]


def test_what_only_failures_leave_is_exact() -> None:
    """Beyond all finite losses delta is 1 - (1 - delta)^T, to the last digit of an end."""
    node = dp.ApproxDP(epsilon="0.1", delta="1e-5") * 7
    answer = certified.delta(node, epsilon="0.7", digits=30)
    truth = 1 - (1 - Fraction(1, 10**5)) ** 7
    lower, upper = (Fraction(answer.answer.extra[f"{end}_decimal"]) for end in ("lower", "upper"))
    assert lower <= truth <= upper
    assert upper - lower < Fraction(1, 10**30)


def test_evidence_of_a_lattice_is_proved_again_from_the_plan() -> None:
    node = dp.RandomizedResponse(eps0="0.01") * 100_000
    certificate = certified.delta(node, epsilon=20, digits=6).certificate
    claim = certificate["claims"][0]
    assert claim["evidence"]["form"] == "lattice"
    laws = sides(claim["plan"], claim["adjacency"]).upper[0]
    result = prove(laws, Fraction(20), claim["evidence"])
    assert result.lower <= Fraction(certificate["upper"]) and result.upper >= Fraction(
        certificate["lower"]
    )


def test_more_fails_openly_than_the_target_allows() -> None:
    """No tilt bounds delta there: a proof is withheld in a sentence, and auto says what is computed."""
    run = dp.ApproxDP(epsilon="0.0000217", delta="4.403e-11") * 340_000_000
    assert run.epsilon(delta="0.0001507", method="auto").value == float("inf")
    with pytest.raises(dp.NotCertified):
        run.epsilon(delta="0.0001507", method="certified")


def test_draws_are_shared_as_by_listing_all_ways() -> None:
    """Truth: every sequence of outcomes, one after the other."""
    points = [(arb(loss), arb(mass) / 16) for loss, mass in ((0, 1), (1, 4), (5, 8), (7, 3))]
    folded = outcomes.folded(points, 3)
    assert len(folded) == outcomes.count_outcomes([(4, 3)])
    sums: dict[int, float] = {}
    for loss, mass in folded:
        sums[round(float(loss))] = sums.get(round(float(loss)), 0.0) + float(mass)
    listed: dict[int, float] = {}
    for ways in itertools.product(points, repeat=3):
        loss = round(sum(float(way[0]) for way in ways))
        listed[loss] = listed.get(loss, 0.0) + math.prod(float(way[1]) for way in ways)
    assert sums == pytest.approx(listed, rel=1e-12)


def test_a_sum_of_two_outcomes_takes_as_many_steps_as_it_has_terms() -> None:
    """The rows of fewer draws were filled and thrown away: 14.6 s for 2,589 steps."""
    points = [(arb(-1), arb(1) / 3), (arb(1), arb(2) / 3)]
    few, many = (calls(lambda n=n: outcomes.folded(points, n)) for n in (200, 2_000))
    assert many < 12 * few


def test_few_draws_of_many_outcomes_cost_what_they_are() -> None:
    """Lists of no draws at all were made anew for each of 581 outcomes: 30 s."""
    run = dp.Poisson("5.434e-7")(dp.DiscreteLaplace(scale="189.8", sensitivity=291)) * 2
    work = calls(lambda: run.epsilon(delta="0.006702"))
    assert work < 3_000_000
    assert str(run.epsilon(delta="0.006702", effort=3).strength) == "proved"


def test_a_delta_far_below_all_floats_is_not_proved_at_any_price() -> None:
    """Hills 1e13 deviations away took panels of a hundred million places."""
    run = dp.Poisson("4.372e-9")(dp.Gaussian(sigma=292_600)) * 37
    answer = run.delta(epsilon="0.1542")
    assert answer.upper < 1e-77
