"""Theorem 16: laws on a grid, rounded up and down, and nested plans proved by them."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

import dpacct as dp
from dpacct.plan import certified
from dpacct.pld.loss import laplace
from dpacct.pld.loss import normal as normal_law
from dpacct.pld.pair import guarantee
from dpacct.proof import check, mesh
from dpacct.proof.balls import Unsound, ball, precision
from dpacct.proof.closed import finite_sum
from dpacct.proof.law import Law, add, back, coin, exchange, plain, remove
from dpacct.proof.mesh import Cells, Masses, Mesh, Rounded, Rounding
from dpacct.proof.plan import NestedPlan, Step, nothing_stated
from tests.proof.plans import NAMES

BITS = 192
STEPS = [
    Step(laplace, (Fraction(1, 2),)),
    Step(laplace, (Fraction(3, 2),), remove, Fraction(1, 10)),
    Step(laplace, (Fraction(3, 2),), add, Fraction(1, 10)),
    Step(laplace, (Fraction(1),), exchange, Fraction(1, 4)),
    Step(normal_law, (Fraction(1),)),
    Step(normal_law, (Fraction(1, 4),), remove, Fraction(1, 20)),
    Step(normal_law, (Fraction(1, 4),), add, Fraction(1, 20)),
    Step(normal_law, (Fraction(1, 2),), exchange, Fraction(1, 5)),
    Step(guarantee, (Fraction(7, 10), Fraction(1, 50)), plain),
    Step(guarantee, (Fraction(7, 10), Fraction(1, 50)), add, Fraction(1, 3)),
]
EPSILONS = (-0.9, -0.03, 0.0, 0.004, 0.06, 0.4, 1.1, 2.3)


def name(step: Step) -> str:
    return f"{step.stated.__name__} {NAMES[step.sampled]}"


def on(step: Step, unit: float, *, up: bool, reach: float = 9.0) -> Rounded:
    """A law on a grid from -reach to reach."""
    end = int(reach / unit)
    cells = Cells(-end, end)
    return Rounded.on(Mesh(up, unit, 128, -end, end, (cells,)), step, cells)


def order(step: Step, unit: float, up: bool) -> list[arb]:
    """By how much each delta, at these epsilons, and Q's mass lie on the side they should."""
    with precision(BITS):
        law, rounded = step.law(), on(step, unit, up=up).law()
        gaps = [rounded.one_step(arb(e)) - law.one_step(arb(e)) for e in EPSILONS]
        return gaps if up else [-gap for gap in gaps]


@pytest.mark.parametrize("step", STEPS, ids=name)
@pytest.mark.parametrize("up", [True, False])
def test_rounded_laws_bound_one_step_and_close_in(step: Step, up: bool) -> None:
    draw = random.Random(5)
    widths = []
    for unit in (0.1, 0.0125):
        gaps = order(step, unit * draw.uniform(0.8, 1.2), up)
        assert all(gap.upper() >= 0 and not gap < -1e-30 for gap in gaps)
        widths.append(max(float(gap.mid()) for gap in gaps))
    assert widths[1] < widths[0] / 4 + 1e-30


def composed(step: Step, count: int, unit: float, up: bool, epsilon: float) -> arb:
    """Delta of several steps on a grid of so many cells for a loss of 1."""
    end = round(1 / unit)
    cells = Cells(-end - 1, end + 1)
    grid = Mesh(up, unit * (1 - 2.0**-52), 128, -7 * end, 7 * end, (cells,))
    with precision(BITS):
        return grid.composed(((step, count),)).law(grid).one_step(arb(epsilon))


ONE = Step(laplace, (Fraction(1),))


def truth() -> arb:
    """Delta of 6 steps at 1.5, by (11)."""
    from dpacct.proof.between import residues

    with precision(BITS):
        return residues(6, Fraction(1), arb(1.5))


def test_composition_lies_on_either_side_of_the_closed_form() -> None:
    low, high = (composed(ONE, 6, 0.02, up, 1.5) for up in (False, True))
    assert low < truth() < high
    assert high - low < 1e-3 * truth()


# --- sabotage: each thing that the theorem needs, left out


def test_without_splitting_both_masses_the_end_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def lower_end(self: Rounding, a: int | None, b: int | None, p: arb, q: arb) -> arb:
        if b is None:
            return p
        self._give(b if a is None else a, p)
        return arb(0)

    monkeypatch.setattr(Rounding, "_split", lower_end)
    mesh._masses.cache_clear()
    assert composed(ONE, 6, 0.02, True, 1.5) < truth()


def test_without_what_lies_above_the_end_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    step, count = Step(normal_law, (Fraction(1),)), 2  # a third of P lies above 1
    with precision(BITS):
        right = Step(normal_law, (Fraction(2),)).one_step(arb(1.5))
    assert composed(step, count, 0.02, True, 1.5) > right
    real = Rounding._split

    def forgotten(self: Rounding, a: int | None, b: int | None, p: arb, q: arb) -> arb:
        real(self, a, b, p, q)
        return arb(0)

    monkeypatch.setattr(Rounding, "_split", forgotten)
    mesh._masses.cache_clear()
    assert composed(step, count, 0.02, True, 1.5) < right


def test_what_a_window_cuts_off_above_is_infinite() -> None:
    """A product that is cut at the window's end, and what that end is worth."""
    cells = Cells(-50, 50)
    grid = Mesh(True, 0.02, 128, -50, 60, (cells,))
    with precision(BITS):
        sums = grid.composed(((ONE, 6),))
        kept = Masses(sums.first, sums.masses, 0)
        assert sums.law(grid).one_step(arb(1.0)) > truth()
        assert kept.law(grid).one_step(arb(1.0)) < truth()


def test_what_a_window_cuts_off_below_is_lifted() -> None:
    """P and Q keep their order below the window: the mass of Q stays, and P's is that of the first point."""
    wide, narrow = (Mesh(True, 0.02, 128, low, 400, (Cells(-50, 50),)) for low in (-400, -20))
    with precision(BITS):
        a, b = (grid.composed(((ONE, 6),)).law(grid) for grid in (wide, narrow))
        for epsilon in (-0.3, 0.0, 1.0):
            assert b.one_step(arb(epsilon)) >= a.one_step(arb(epsilon)) - 1e-30
        lifted = sum((m * (-x).exp() for x, m in b.atoms), arb(0))
        assert lifted > 1 - arb(10) ** -30  # nothing of Q is lost


def test_a_group_of_a_lower_mean_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpacct.proof.mesh import Heap

    monkeypatch.setattr(Heap, "room", lambda self, level, other: arb(1))
    mesh._masses.cache_clear()
    with precision(BITS):
        law = Step(laplace, (Fraction(1, 2),))
        rounded = on(law, 0.0371, up=False).law()
        assert any(rounded.one_step(arb(e)) > law.one_step(arb(e)) for e in (0.0, 0.1, 0.2, 0.3))


def test_masses_rounded_to_the_wrong_side_are_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few bits, so that rounding is seen."""
    step = Step(guarantee, (Fraction(1), Fraction(1, 50)))
    cells = Cells(-4, 4)

    def at(up: bool) -> arb:
        grid = Mesh(up, 0.25, 16, -40, 40, (cells,))
        with precision(BITS):
            return grid.composed(((step, 9),)).law(grid).one_step(arb(3))

    with precision(BITS):
        right = finite_sum(((step, 9),), arb(3))
    assert at(False) < right < at(True)
    monkeypatch.setattr(Mesh, "_shifted", lambda self, mass: mass >> self.bits)
    real = mesh._whole
    monkeypatch.setattr(mesh, "_whole", lambda m, bits, *, up: real(m, bits, up=False))
    mesh._masses.cache_clear()
    assert at(True) < right


@pytest.fixture(autouse=True)
def fresh() -> None:
    """What was rounded by a spoilt program is not kept."""
    mesh._masses.cache_clear()
    mesh._law.cache_clear()


# --- samplers around a composition


def listed(parts: tuple[tuple[Step, int], ...], how: object, rate: Fraction) -> Law:
    """The law of a nested step."""
    return NestedPlan(nothing_stated, (), how, rate, None, parts).law()  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(9, 10)])
def test_samples_of_listed_compositions_are_those_of_their_outcomes(rate: Fraction) -> None:
    """P and Q of two answers and a failure, by hand: mixtures of products."""
    step, count = Step(guarantee, (Fraction(7, 10), Fraction(1, 50))), 3
    with precision(BITS):
        step_law = step.law()
        both = [(m, m * (-x).exp()) for x, m in step_law.atoms]
        both += [(step_law.infinite, arb(0)), (arb(0), step_law.lost)]
        pairs = [(arb(1), arb(1))]
        for _ in range(count):
            pairs = [(a * p, b * q) for a, b in pairs for p, q in both]
        q = ball(rate)
        mixed = {
            remove: [(q * a + (1 - q) * b, b) for a, b in pairs],
            back: [(b, q * a + (1 - q) * b) for a, b in pairs],
        }
        for how, outcomes in mixed.items():
            law = listed(((step, count),), how, rate)
            for epsilon in EPSILONS:
                e = arb(epsilon).exp()
                value = sum(((a - e * b).max(arb(0)) for a, b in outcomes), arb(0))
                assert abs(value - law.one_step(arb(epsilon))) < 1e-40
        law = listed(((step, count),), coin, rate)
        for epsilon in (0.0, 0.5, 1.5):
            plain_delta = sum(((a - arb(epsilon).exp() * b).max(arb(0)) for a, b in pairs), arb(0))
            assert abs(law.one_step(arb(epsilon)) - q * plain_delta) < 1e-40


def test_listed_compositions_agree_with_those_on_a_grid() -> None:
    """A lattice of three losses whose unit the grid's is: exact from both sides but for the last bits."""
    step = Step(guarantee, (Fraction(1), Fraction(1, 50)))
    for how in (remove, back):
        nested = NestedPlan(nothing_stated, (), how, Fraction(1, 5), None, ((step, 4),))
        ends = {}
        for up in (False, True):
            inner = Mesh(up, 0.25, 128, -16, 16, (Cells(-4, 4),))
            cells = Cells(-4000, 4000, inner)
            outer = Mesh(up, 2.0**-9, 128, -8000, 8000, (cells,))
            with precision(BITS):
                ends[up] = Rounded.on(outer, nested, cells).law().one_step(arb(0.3))
        with precision(BITS):
            exact = nested.law().one_step(arb(0.3))
        assert ends[False] <= exact <= ends[True] and ends[True] - ends[False] < 1e-4


# --- answers and certificates


def twice(laplace_b: int, runs: int, rate: str) -> dp.Node:
    return dp.Poisson(rate)(dp.Laplace(b=laplace_b) * runs)


def test_one_round_against_the_proof_of_what_runs_in_it() -> None:
    """Of one round delta is q delta(log(1 + (e^eps - 1)/q)) of what runs, which no grid is needed for."""
    plan, base = twice(2, 10, "0.1"), dp.Laplace(b=2) * 10
    answer = certified.delta(plan, epsilon="0.5").answer
    with precision(BITS):
        q = ball(Fraction(1, 10))
        at = (1 + arb("0.5").expm1() / q).log()
        inside = certified.delta(base, epsilon=str(Fraction(float(at)))).answer
    assert answer.lower <= inside.value * 0.1 * (1 + 1e-9)
    assert inside.value * 0.1 * (1 - 1e-9) <= answer.upper
    assert answer.upper - answer.lower < 1e-3 * answer.upper


PLANS = [
    twice(2, 10, "0.1") * 20,
    dp.Participation("0.1")(dp.Laplace(b=2) * 10) * 30,
    dp.WithoutReplacement("0.1")(dp.Laplace(b=2) * 10) * 20,
    dp.Poisson("0.1")(dp.RandomizedResponse(eps0=1, k=2) * 5) * 10,
    dp.Poisson("0.2")(dp.Poisson("0.1")(dp.Laplace(b=1) * 4) * 3) * 2 + dp.Gaussian(sigma=3),
]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_nested_plans_are_proved_and_their_certificates_hold(plan: dp.Node) -> None:
    proof = certified.epsilon(plan, delta="1e-5")
    engine = plan.epsilon(delta="1e-5", method="exact")
    assert proof.answer.lower <= engine.upper and engine.lower <= proof.answer.upper
    # no wider than a few brackets of the engine, beside what realised pairs differ by
    assert proof.answer.upper <= engine.upper * (1 + 3e-4)
    assert proof.answer.lower >= engine.lower * (1 - 3e-4)
    written = json.loads(json.dumps(proof.certificate))
    assert all(holds for _, holds in check.check(written))


def test_other_checks_say_that_a_grid_is_beyond_them() -> None:
    certificate = json.loads(json.dumps(certified.epsilon(PLANS[1], delta="1e-5").certificate))
    statements = check.check(certificate, independent=True)
    claims = [(text, holds) for text, holds in statements if "delta(" in text]
    assert claims and all("beyond two integrals" in text and not holds for text, holds in claims)
    old = check.check(certificate | {"schema": 1})
    assert not any(holds for text, holds in old if "delta(" in text)


def test_no_end_is_claimed_by_laws_of_the_other_side() -> None:
    """Forgery: a lower end from laws that are rounded up, and one within of the other kind."""
    certificate = json.loads(json.dumps(certified.epsilon(PLANS[0], delta="1e-5").certificate))
    for claim in certificate["claims"]:
        grid = claim["evidence"]["mesh"]
        assert grid["up"] == (claim["relation"] == "at most")
    changed = json.loads(json.dumps(certificate))
    for claim in changed["claims"]:
        grid = claim["evidence"]["mesh"]
        for each in (grid, *(cells[2] for cells in grid["cells"])):
            each["up"] = not each["up"]
    assert not any(holds for sentence, holds in check.check(changed) if "delta(" in sentence)
    mixed = json.loads(json.dumps(certificate))
    for claim in mixed["claims"]:
        for cells in claim["evidence"]["mesh"]["cells"]:
            cells[2]["up"] = not cells[2]["up"]
    assert not any(holds for sentence, holds in check.check(mixed) if "delta(" in sentence)


def test_forged_grids_prove_nothing_false() -> None:
    """Whatever grid is written down, what it proves is true of the plan."""
    certificate = json.loads(json.dumps(certified.delta(PLANS[0], epsilon=7).certificate))
    low, high = Fraction(certificate["lower"]), Fraction(certificate["upper"])
    leader = certificate["claims"][-1]["direction"]  # the other one's delta is far smaller
    certificate["claims"] = [c for c in certificate["claims"] if c["direction"] == leader]
    draw = random.Random(17)
    accepted = 0
    for _ in range(12):
        forged = json.loads(json.dumps(certificate))
        for claim in forged["claims"]:
            grid = claim["evidence"]["mesh"]
            for each in (grid, grid["cells"][0][2]):
                field = draw.choice(("unit", "low", "high", "bits", "cells"))
                if field == "cells":
                    each["cells"][0][draw.randint(0, 1)] += draw.choice((-300, -7, 7, 300))
                elif field == "unit":
                    each["unit"] *= draw.choice((-1.0, 0.5, 0.9, 1.7, 3.0))
                elif field == "bits":
                    each["bits"] = draw.choice((-1, 16, 24, 64))
                else:
                    each[field] = round(each[field] * draw.choice((-1, 0, 0.1, 0.3)))
            claim["bound"] = str(low if claim["relation"] == "at most" else high)
        accepted += sum(holds for sentence, holds in check.check(forged) if "delta(" in sentence)
    assert not accepted


def test_what_lies_far_below_the_window_is_lifted_all_the_way() -> None:
    """Both factors below the window's first point, with room between."""
    grid = Mesh(True, 0.5, 64, -2, 5, (Cells(-9, -8),))
    factor = Masses(-9, (1 << 62, 1 << 61), 0)
    product = grid._product(factor, factor)
    with precision(BITS):
        q_mass = sum((m * (-x).exp() for x, m in product.law(grid).atoms), arb(0))
        right = sum((m * (-x).exp() for x, m in factor.law(grid).atoms), arb(0)) ** 2
    assert product.first == -2 and q_mass > right * (1 - arb(2) ** -50)


@pytest.mark.parametrize(
    "change",
    [{"up": 1}, {"unit": 0.0}, {"unit": -1.0}, {"bits": 8}, {"low": 1}, {"high": 0}],
    ids=repr,
)
def test_a_grid_that_is_none_is_refused(change: dict[str, object]) -> None:
    right = Mesh(True, 0.1, 64, -5, 5, (Cells(-5, 5),))
    with pytest.raises(Unsound):
        replace(right, **change)  # type: ignore[arg-type]
    with pytest.raises(Unsound):
        Cells(3, 3)


@pytest.mark.parametrize("seed", range(8))
def test_random_nested_plans_on_random_grids_are_bounded(seed: int) -> None:
    """Several rounds of a composition on a sample, listed one by one; no loss is near a grid point."""
    draw = random.Random(seed)
    size, failing, rate = (
        draw.uniform(0.1, 1.5),
        draw.choice((0, 50)),
        Fraction(draw.randint(1, 9), 10),
    )
    step = Step(guarantee, (Fraction(round(size, 3)), Fraction(0 if not failing else 1, 50)))
    runs, rounds, how = draw.randint(1, 4), draw.randint(1, 3), draw.choice((remove, back, coin))
    nested = NestedPlan(nothing_stated, (), how, rate, None, ((step, runs),))
    for up in (False, True):
        fine, wide = draw.uniform(0.002, 0.05), draw.uniform(0.002, 0.05)
        reach = size * runs + 0.5
        cut = [
            round(reach / unit) * draw.choice((1, 1, 2)) // draw.choice((1, 1, 3))
            for unit in (fine, wide)
        ]
        inner = Mesh(up, fine, 96, -4 * cut[0], 3 * cut[0], (Cells(-cut[0], cut[0]),))
        outer = Mesh(up, wide, 96, -4 * cut[1], 4 * cut[1], (Cells(-cut[1], cut[1], inner),))
        with precision(BITS):
            laws = ((nested, rounds),)
            law = outer.composed(laws).law(outer)
            for epsilon in (-0.5, 0.0, 0.1, 0.7, 1.6):
                exact = finite_sum(laws, arb(epsilon))
                bound = law.one_step(arb(epsilon))
                gap = bound - exact if up else exact - bound
                assert gap > -1e-25, (how, epsilon, up)
