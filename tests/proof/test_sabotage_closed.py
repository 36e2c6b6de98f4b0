"""The identities and closed forms: what happens to the interval when a factor or a term is left out."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import acb, arb

from dpacct.mechanisms.laws.bounded_range import bounded_range_loss
from dpacct.pld.loss import normal as normal_law
from dpacct.pld.pair import guarantee
from dpacct.proof import closed, line
from dpacct.proof.balls import precision
from dpacct.proof.closed import finite_sum
from dpacct.proof.laplace import residues
from dpacct.proof.law import Law, ProofBranch, add, exchange, remove
from dpacct.proof.line import Contour, TabulatedLine
from dpacct.proof.moments import ProofMoments
from dpacct.proof.outcomes import stick
from dpacct.proof.plan import Step
from tests.proof.plans import (
    at,
    by_every_residue,
    fine_rule,
    grid,
    normal,
    panels,
    prepared,
    spaced,
)

# --- eq. (1): delta is the integral of M(s) e^{-s eps}/(s (s + 1))


def plain_line() -> tuple[TabulatedLine, arb]:
    """Fifty plain Gaussian steps on a line, and the closed form."""
    step = Step(normal_law, (Fraction(1, 16),))
    line = TabulatedLine([(step.prepare(arb(2), None), 50)], Contour(2.0, 0.2, 60, 1.0, 1.0, 2))
    return line, Step(normal_law, (Fraction(50, 16),)).one_step(arb(3))


@pytest.mark.parametrize(
    "kernel",
    [lambda s: s + 1, lambda s: s, lambda s: (s + 1) / s, lambda s: (s + 1) / (s + 2)],
    ids=["no (s+1)", "no s", "s^2", "s+2"],
)
def test_without_a_factor_of_the_integrand_eq_1(kernel: Callable[[acb], acb]) -> None:
    with precision(120):
        line, truth = plain_line()
        assert line.delta(arb(3)).contains(truth)
        c, h = arb(line.contour.c), arb(line.contour.step)
        line._table = [value * kernel(acb(c, k * h)) for k, value in enumerate(line._table)]
        assert not line.delta(arb(3)).overlaps(truth)


def test_with_a_whole_first_node_eq_1() -> None:
    with precision(120):
        line, truth = plain_line()
        line._table[0] = 2 * line._table[0]
        assert not line.delta(arb(3)).overlaps(truth)


# --- eq. (8): damping


def damped(shift: float) -> ProofMoments:
    """Two deviations' shift, in the noise's own units, and fine cells."""
    step, tilt = normal(4, Fraction(9, 10)), 0.5
    cells = grid(step, -9.0, (18 + 5 * (tilt + 3)) / 400, 400)
    return prepared(step, tilt, replace(fine_rule(step, tilt), lift=shift / 2, damped=(cells,)))


def test_without_the_lift_of_the_damped_bound_eq_8() -> None:
    """The bound is 5 per cent off the truth here, and e^{y^2/2} is more than that."""
    with precision(160):
        step_moments = damped(3.0)
        proven, true = (
            step_moments.damped(arb(30)),
            -(abs(at(step_moments, 30.0)) / step_moments.at_c).log(),
        )
        assert proven <= true
        assert proven > true * 0.95
        assert proven + 3.0**2 / 2 > true


def test_with_more_damping_than_proven_the_tail_is_too_small_eq_8(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two steps, cut early: e^{-D} claimed without e^{y^2} is below what stands beyond the cut."""
    with precision(160):
        step_moments = damped(3.0)
        short = Contour(0.5, 0.5, 50, 0.3, 0.3, 6)
        beyond = TabulatedLine([(step_moments, 2)], replace(short, count=52))._table[51:]
        left = sum((abs(z) for z in beyond), arb(0)) * arb(short.step) / arb.pi()
        assert left < TabulatedLine([(step_moments, 2)], short)._decays
        proven = step_moments.damped
        monkeypatch.setattr(type(step_moments), "deficit", lambda self, t: proven(t) + 3.0**2 / 2)
        assert left > TabulatedLine([(step_moments, 2)], short)._decays


# --- eq. (9): one step


def one_step_by_pieces(step: Step, epsilon: arb, count: int = 4000) -> arb:
    """E_P[(1 - e^{eps - L})_+] over atoms and branches, in small pieces."""
    law = step.law()
    total = sum((m * stick(epsilon - x) for x, m in law.atoms), arb(0))
    for branch in law.branches:
        low = branch.start if branch.start is not None else arb(-14)
        high = branch.end if branch.end is not None else arb(14)
        width = (high - low) / count
        for k in range(count):
            z = low + (k + arb(1) / 2) * width
            log_r = branch.log_r(z)
            mass = branch.weight(z).exp() * (log_r.exp() if branch.favoured else 1)
            total += mass * width * stick(epsilon - branch.loss(z))
    return total


ONE_STEP = [
    *(normal(1, Fraction(3, 10), how) for how in (remove, add, exchange)),
    *(spaced(1, Fraction(1, 4), how) for how in (remove, add, exchange)),
    *(Step(bounded_range_loss, (Fraction(3, 2),), how, Fraction(1, 3)) for how in (remove, add)),
    Step(normal_law, (Fraction(2),)),
    spaced(2),
]


@pytest.mark.parametrize("step", ONE_STEP, ids=lambda step: f"{step.stated.__name__}")
@pytest.mark.parametrize("epsilon", [-0.1, 0.1, 0.3])
def test_one_step_is_its_pieces_eq_9(
    step: Step, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two masses of each branch, against sums over it; either mass left out is far off."""
    with precision(80):
        e = arb(epsilon)
        total, result = one_step_by_pieces(step, e), step.one_step(e)
        assert abs(result - total) < 1e-5 * (1 + total)
        smooth = sum((branch.one_step(e) for branch in step.law().branches), arb(0))
        whole_mass = ProofBranch.mass
        for dropped in (0, 1):
            monkeypatch.setattr(
                ProofBranch,
                "mass",
                lambda self, low, high, power, dropped=dropped: (
                    whole_mass(self, low, high, power) if power != dropped else arb(0)
                ),
            )
            spoilt = step.one_step(e)
            assert abs(spoilt - total) > 1e-3 * total or smooth < 1e-4


# --- eq. (10): the moment bound


def test_half_of_the_moment_bound_is_false_eq_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law piled up at its largest loss: the bound is 5 per cent off."""
    laws = ((spaced(Fraction(1, 50)), 1),)
    with precision(120):
        epsilon, c = arb(40), 0.01
        rules = [panels(laws[0][0], 60, 24, 3.0)]
        truth = laws[0][0].one_step(epsilon)
        proven = closed.chernoff(laws, rules, c, epsilon)
        assert truth <= proven < truth * 1.1
        peak = line.payoff_peak
        for spoilt in (lambda y: peak(y) / 2, lambda y: y * peak(y)):
            monkeypatch.setattr(closed, "payoff_peak", spoilt)
            assert closed.chernoff(laws, rules, c, epsilon) < truth


# --- eq. (11): plain Laplace steps

CASES = [(1, "0.5", 0.7), (6, "2", 1.3), (60, "8", 3.0), (200, "60", 1.1), (90, "0.8", 20.0)]


@pytest.mark.parametrize(("count", "b", "epsilon"), CASES)
def test_plain_laplace_as_one_series_eq_11(count: int, b: str, epsilon: float) -> None:
    """Truth: every residue by itself."""
    scale, e = Fraction(b), arb(epsilon)
    with precision(1400):
        truth = by_every_residue(count, scale, e)
        assert truth.rad() < truth * 1e-40
        result = residues(count, scale, e)
        assert result.overlaps(truth) and result.rad() < result * 1e-14
        assert not (result * (1 + arb(1e-13))).overlaps(truth)


# --- eq. (18): finitely many outcomes


@pytest.mark.parametrize("what", ["escaped mass", "half of the outcomes"])
def test_without_a_part_of_the_finite_sum_eq_18(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four draws, spelled out: sum over outcomes of (P - e^eps Q)_+."""
    step, epsilon = Step(guarantee, (Fraction(7, 10), Fraction(1, 50))), arb(1)
    with precision(100):
        law = step.law()
        outcomes = [(m, m * (-x).exp()) for x, m in law.atoms]
        outcomes += [(law.infinite, arb(0)), (arb(0), law.lost)]
        truth = arb(0)
        pairs = [(arb(1), arb(1))]
        for _ in range(4):
            pairs = [(p * a, q * b) for p, q in pairs for a, b in outcomes]
        for p, q in pairs:
            gap = p - epsilon.exp() * q
            truth += gap if gap > 0 else arb(0)
        assert abs(finite_sum(((step, 4),), epsilon) - truth) < 1e-20
        atoms, failing = law.atoms, law.infinite
        spoilt = Law(atoms) if what == "escaped mass" else Law(atoms[:1], (), failing, failing)
        closed._composed.cache_clear()
        monkeypatch.setattr(Step, "law", lambda self: spoilt)
        assert abs(finite_sum(((step, 4),), epsilon) / truth - 1) > 1e-2
    closed._composed.cache_clear()


# --- eq. (19): the largest loss


def test_twice_the_largest_losses_share_is_false_eq_19() -> None:
    """Just below the largest loss there is nothing else."""
    laws = ((spaced(Fraction(1, 2)), 5),)
    with precision(200):
        epsilon = arb(10) - arb(1e-6)
        truth = by_every_residue(5, Fraction(1, 2), epsilon)
        top = closed.top_outcome(laws, epsilon)
        assert truth / 1.01 < top <= truth
        assert 2 * top > truth
