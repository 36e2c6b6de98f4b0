"""Both sides of each bound of docs/theory/certificate.md, evaluated at high precision."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import pytest
from flint import arb

from dpacct.mechanisms.laws.bounded_range import bounded_range_loss
from dpacct.pld.pair import guarantee
from dpacct.proof.balls import ball, precision
from dpacct.proof.closed import finite_sum
from dpacct.proof.law import Law, add, exchange, plain, remove
from dpacct.proof.line import Contour, TabulatedLine, payoff_peak
from dpacct.proof.moments import flatness
from dpacct.proof.plan import Step
from dpacct.proof.rule import LineRule, QuadratureRule
from tests.proof.plans import (
    NAMES,
    at,
    bare,
    fine,
    nodes,
    normal,
    panels,
    prepared,
    size,
    spaced,
    steps,
)

BITS = 160
EXACT = 1e-30
CASES = steps(8, seed=3)


def ids(case: tuple[Step, float]) -> str:
    step, tilt = case
    return f"{NAMES[step.sampled]}-{1 / size(step):.3g}-{float(step.rate):.3g}-{tilt}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_inner_step_eq_4(case: tuple[Step, float]) -> None:
    """Coarser and coarser rules stay within what eq. (4) allows, at any frequency."""
    step, tilt = case
    with precision(BITS):
        truth, sigma = fine(step, tilt), 1 / size(step)
        for factor in (10.0, 14.0, 20.0):
            shift = min(0.45 * sigma, 1.0)
            width = 2 * 3.1416 * shift / factor
            line = nodes(step, shift, width, -14.0, 14 + (tilt + 3) / sigma)
            coarse = prepared(step, tilt, with_nodes(truth.rule, line))
            relative, absolute = coarse.slack(arb(tilt))
            for t in (0.3, 5.0, 40.0):
                exact, raw = at(truth, t), bare(coarse, t)
                assert abs(raw - exact) <= relative * truth.at_c + absolute
                assert at(coarse, t).overlaps(exact)


def with_nodes(rule: QuadratureRule, line: LineRule) -> QuadratureRule:
    (branch,) = rule.branches
    return replace(rule, branches=(replace(branch, nodes=line),))


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_cut_eq_5_and_6(case: tuple[Step, float]) -> None:
    """What a short window leaves out is within the bound, on each side."""
    step, tilt = case
    with precision(BITS):
        long = fine(step, tilt)
        whole = bare(long, 3.0)
        (branch,), line = long.law.branches, long.rule.branches[0].nodes
        assert isinstance(line, LineRule)
        checked = 0
        for part in (0.15, 0.25, 0.4, 0.6, 0.8):
            for first, last in (
                (int(part * line.first), line.last),
                (line.first, int(part * line.last)),
            ):
                cut = replace(line, first=first, last=last)
                short = prepared(step, tilt, with_nodes(long.rule, cut))
                bound = short.cut(branch, cut, arb(tilt))
                if bound.is_finite() and bound > EXACT:
                    checked += 1
                    assert abs(bare(short, 3.0) - whole) <= bound * (1 + EXACT)
        assert checked


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_layers_eq_7_and_damping_eq_8(case: tuple[Step, float]) -> None:
    """-log|M(c + it)/M(c)| is at least the proven deficit of every earlier t."""
    step, tilt = case
    with precision(BITS):
        moments = fine(step, tilt)
        scale = 1.0 / max(float(step.rate), 0.02)
        ts = [scale * 0.1 * 2.0**k for k in range(12)]
        sizes = [-(abs(at(moments, t)) / moments.at_c).log() for t in ts]
        for i, t in enumerate(ts):
            for proven in (moments.layers.deficit(arb(t)), moments.damped(arb(t))):
                for later in sizes[i:]:
                    assert proven <= later.upper()
        assert moments.layers.deficit(arb(ts[-1])) > 0.05
        assert moments.damped(arb(ts[-1])) > 0.05


def test_flatness_is_below_one_minus_sinc_and_grows() -> None:
    grid = [0.01 * 1.05**k for k in range(200)]
    values = [flatness(arb(u)) for u in grid]
    assert all(a <= b for a, b in pairwise(values))
    for i, u in enumerate(grid):
        for later in grid[i::7]:
            assert values[i] <= (1 - abs(arb(later).sinc())).upper(), (u, later)


@pytest.mark.parametrize("case", CASES[:4], ids=ids)
def test_aliasing_eq_2_is_one_sided(case: tuple[Step, float]) -> None:
    """The sum over a coarse lattice lies above the integral, by no more than eq. (2)."""
    step, tilt = case
    with precision(BITS):
        moments = fine(step, tilt)
        count = 200
        spread = float(abs(moments.moment(arb(tilt)).log())) * count + 1.0
        epsilon = arb(0.7 * spread / (tilt + 1))
        reach = 60.0 / max(float(step.rate), 0.02)
        exact = TabulatedLine(
            [(moments, count)], Contour(tilt, reach / 1200, 1200, 0.4 * tilt, 0.4 * tilt, 2)
        )
        truth = exact.terms(epsilon)["sum"]
        for coarse in (24, 60, 150):
            contour = Contour(tilt, reach / coarse, coarse, 0.3 * tilt, 0.3 * tilt, 2)
            terms = TabulatedLine([(moments, count)], contour).terms(epsilon)
            gap = terms["sum"] - truth
            rounding = arb(truth) * 1e-20
            assert gap > -rounding
            assert gap <= terms["aliasing above"] + terms["aliasing below"] + rounding


@pytest.mark.parametrize("case", CASES[:4], ids=ids)
def test_tail_eq_3(case: tuple[Step, float]) -> None:
    """What stands beyond the last node is below the bound."""
    step, tilt = case
    with precision(BITS):
        moments = fine(step, tilt)
        h = 2.0 / max(float(step.rate), 0.02) / 20
        long = TabulatedLine([(moments, 30)], Contour(tilt, h, 1200, 0.3 * tilt, 0.3 * tilt, 1))
        for count in (5, 20, 80, 300):
            short = TabulatedLine(
                [(moments, 30)], Contour(tilt, h, count, 0.3 * tilt, 0.3 * tilt, 3)
            )
            left = sum((abs(z) for z in long._table[count + 1 :]), arb(0)) * h / arb.pi()
            assert left <= short._decays


def test_payoff_peak() -> None:
    """sup_u (1 - e^{-u})_+ e^{-yu} is attained, and nowhere exceeded."""
    for y in (0.01, 0.5, 3.0, 80.0):
        best = arb((1 + y) / y).log()
        assert abs(payoff_peak(arb(y)) - (1 - (-best).exp()) * (-y * best).exp()) < 1e-12
        for u in (0.01, 0.1, 1.0, 5.0):
            assert (1 - arb(-u).exp()) * arb(-y * u).exp() <= payoff_peak(arb(y)).upper()


PANELLED = [
    normal(2, Fraction(1, 5), exchange),
    spaced(Fraction(1, 2), Fraction(1, 5), remove),
    spaced(1, Fraction(1, 3), add),
    spaced(3),
    spaced(1, Fraction(1, 10), exchange),
    Step(bounded_range_loss, (Fraction(3, 2),)),
    Step(bounded_range_loss, (Fraction(1),), add, Fraction(1, 4)),
]


@pytest.mark.parametrize(
    "step", PANELLED, ids=lambda step: f"{step.stated.__name__}-{NAMES[step.sampled]}"
)
def test_panels_eq_12_13(step: Step) -> None:
    with precision(BITS):
        c = arb(2)
        exact = prepared(step, 2, panels(step, 12, 60, 2.0, (17.0, 17.0)))
        for count, each in ((6, 3), (10, 4), (16, 6)):
            coarse = prepared(step, 2, panels(step, each, count, 2.0, (17.0, 17.0)))
            for t in (0.5, 4.0, 12.0):
                truth = exact.row(arb(t), 1)[1]
                coarse.row(arb(t), 1)
                assert abs(bare(coarse, t) - truth) <= coarse.slack(c)[1] + arb(1e-25)
        for t in (0.5, 4.0, 12.0):
            assert exact.deficit(arb(t)) <= -(abs(exact.row(arb(t), 1)[1]) / exact.at_c).log()


def outcomes(law: Law) -> list[tuple[arb, arb]]:
    """(P, Q) probability of each outcome."""
    results = [(m, m * (-x).exp()) for x, m in law.atoms]
    return [*results, (law.infinite, arb(0)), (arb(0), law.lost)]


def test_finite_sums_eq_18_against_every_outcome() -> None:
    """Four draws, spelled out: sum over outcomes of (P - e^eps Q)_+."""
    draw = random.Random(7)
    for how in (plain, remove, add, exchange):
        rate = Fraction(1) if how is plain else Fraction(1, 4)
        step = Step(guarantee, (Fraction(7, 10), Fraction(1, 50)), how, rate)
        epsilon = arb(draw.uniform(0.05, 1.0))
        with precision(120):
            total = arb(0)
            for combination in product(outcomes(step.law()), repeat=4):
                p, q = arb(1), arb(1)
                for a, b in combination:
                    p, q = p * a, q * b
                gap = p - epsilon.exp() * q
                total += gap if gap > 0 else arb(0)
            assert abs(total - finite_sum(((step, 4),), epsilon)) < 1e-25
            assert ball(Fraction(1, 3)).contains(ball(Fraction(1, 3)).mid())
