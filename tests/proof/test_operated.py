"""Branches after any operators: theorem 20, records exchanged, and an operator from a file of its own."""

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from flint import acb, arb

import dpacct as dp
from dpacct.pld.loss import normal
from dpacct.pld.operators import SampledLoss, exchanged_coins
from dpacct.proof.balls import precision
from dpacct.proof.direction import ProofDirection
from dpacct.proof.law import Through, add
from dpacct.proof.moments import ProofMoments
from dpacct.proof.operated import OperatedBranch, exponents
from dpacct.proof.plan import Step
from dpacct.proof.rule import QuadratureRule
from dpacct.proof.rules import Wanted, propose_rule
from tests.pld.test_exchanged import TABLE
from tests.pld.test_operators import replaced

SQUARE = Fraction(49, 100)


def branch(draw: random.Random) -> OperatedBranch:
    """The only branch of one exchanged Gaussian step."""
    rate, square = Fraction(draw.randint(1, 95), 100), Fraction(draw.randint(5, 150), 100)
    operator = exchanged_coins(rate, -1, square)
    (result,) = Step(normal, (square,), Through(operator), rate).law().branches
    assert isinstance(result, OperatedBranch)
    return result


@pytest.mark.parametrize("row", TABLE)
def test_records_exchanged_are_proved_by_default(row: tuple[str, str, int, str, float]) -> None:
    rate, noise, steps, delta, truth = row
    run = (dp.Poisson(rate)(dp.Gaussian(noise_multiplier=noise)) * steps).under("replace-one")
    answer = run.epsilon(delta)
    assert answer.strength is dp.Strength.PROVED
    assert answer.upper - answer.lower < 1e-11 * truth
    assert answer.lower == pytest.approx(truth, rel=1e-9)
    made = dp.certificate(run, delta=delta, digits=8)
    assert all(claim.holds for claim in made.check())


def test_laplace_exchanged_is_proved_by_default() -> None:
    run = (dp.Poisson("0.05")(dp.Laplace(noise_multiplier=2)) * 100).under("replace-one")
    answer = run.epsilon("1e-5")
    exact = run.epsilon("1e-5", method="exact")
    assert answer.strength is dp.Strength.PROVED
    assert exact.lower is not None and exact.lower <= answer.upper and answer.lower <= exact.upper


def test_the_integrand_on_boxes_theorem_20() -> None:
    """No point of an ellipse has more than the boxes say."""
    draw = random.Random(20)
    with precision(100):
        for _ in range(40):
            each, middle = branch(draw), arb(draw.uniform(-3, 4))
            half, rho = arb(draw.uniform(0.05, 0.6)), arb(4)
            y, t = arb(10 ** draw.uniform(-1, 1.3)), arb(10 ** draw.uniform(-1, 2))
            bound = exponents(each.boxes(middle, half, rho), y, t)
            for _ in range(30):
                turn = acb(0, draw.uniform(0, 6.3)).exp() * arb(draw.uniform(0, 1) ** 0.5)
                u = (rho * turn + (rho * turn) ** -1) / 2 if abs(turn) * rho > 1 else acb(0)
                loss, log_q = each.at(middle + half * u)
                if not loss.is_finite():
                    continue
                value = (log_q + (1 + acb(y, t)) * loss).real
                assert value.lower() <= bound.upper()


def test_what_is_left_out_beyond_an_end_theorem_20() -> None:
    draw, held = random.Random(21), 0
    with precision(100):
        for k in range(40):
            each, power = branch(draw), arb(draw.uniform(0, 6))
            side = 1 if k % 2 else -1
            deviation = float((1 / (2 * each.weight.square)).sqrt())
            at = arb(side * draw.uniform(2, 12) * max(1.0, deviation))
            bound = each.beyond(power, at, side)
            if not bound.is_finite():
                continue
            held += 1
            total, step = arb(0), arb(deviation / 32)
            for j in range(32 * 40):
                loss, log_q = each.at(at + side * step * (j + arb(1) / 2))
                total += step * (log_q + power * loss).exp()
            assert total.lower() * (1 - 2e-2) <= bound
    assert held > 15


def test_without_the_error_of_panels_a_moment_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels of five nodes each, beside those of the search."""
    step = Step(normal, (Fraction(1),), Through(exchanged_coins(Fraction(1, 5), -1, Fraction(1))))
    with precision(120):
        rule, _ = propose_rule(step, Wanted(3.0, 2.0, 4.0, 40.0, 30, 40.0))
        assert rule is not None
        truth = step.prepare(arb(3), rule).at_c
        nodes = replace(rule.branches[0].nodes, nodes=5)
        coarse = QuadratureRule((replace(rule.branches[0], nodes=nodes),))
        assert step.prepare(arb(3), coarse).at_c.overlaps(truth)
        monkeypatch.setattr(ProofMoments, "strip_error", lambda *_: arb(0))
        assert not step.prepare(arb(3), coarse).at_c.overlaps(truth)


def test_the_tilted_density_is_never_below_its_layers() -> None:
    """Truth: |M(3 + it) / M(3)| itself, at many frequencies."""
    step = Step(normal, (Fraction(1),), Through(exchanged_coins(Fraction(1, 5), -1, Fraction(1))))
    with precision(120):
        rule, _ = propose_rule(step, Wanted(3.0, 2.0, 4.0, 40.0, 30, 40.0, 40.0))
        ready_moments = step.prepare(arb(3), rule)
        assert isinstance(ready_moments, ProofMoments)
        for t in (0.3, 1.0, 3.0, 9.0, 25.0):
            size = abs(ready_moments.row(arb(t), 1)[1]) / ready_moments.at_c
            assert 0 < ready_moments.deficit(arb(t)) <= -size.log()


def test_the_sampled_law_as_an_operator_is_the_sampled_law() -> None:
    """Truth: the proof that knows what sampling is."""
    rate = Fraction(1, 10)
    known = ProofDirection(((Step(normal, (SQUARE,), add, rate), 40),)).enclose(Fraction(1), 1e-10)
    from dpacct.pld.operators import Operator, Reversed

    class Both(Through):
        def __call__(self, base, rate):  # type: ignore[no-untyped-def]
            law = super().__call__(base, rate)
            (each,) = law.branches
            turned = OperatedBranch(None, None, each.weight, Reversed().after(each.chain))
            return type(law)((), (turned,))

    operator: Operator = SampledLoss(rate)
    step = Step(normal, (SQUARE,), Both(operator), rate)
    result = ProofDirection(((step, 40),)).enclose(Fraction(1), 1e-10)
    assert result.lower <= known.upper and known.lower <= result.upper


@pytest.mark.parametrize("steps", [1, 40])
def test_a_proof_carries_another_operator(tmp_path: Path, steps: int) -> None:
    """Truth: by the mirror image of the axis it is Q against (1-r) Q + r P."""
    rate = Fraction(1, 10)
    known = ProofDirection(((Step(normal, (SQUARE,), add, rate), steps),))
    step = Step(normal, (SQUARE,), Through(replaced(tmp_path, rate)), rate)
    for epsilon in (Fraction(1, 20), Fraction(1, 2)):
        if steps == 1 and epsilon > Fraction(1, 10):
            continue  # beyond the largest loss
        ours = ProofDirection(((step, steps),)).enclose(epsilon, 1e-9)
        truth = known.enclose(epsilon, 1e-10)
        assert ours.lower <= truth.upper and truth.lower <= ours.upper
        assert ours.relative_width <= 1e-9


def test_atoms_are_left_in_a_law_that_is_exchanged() -> None:
    """No total variation is known of its density, so too few nodes must end in a bracket, not in a crash."""
    plan = dp.Poisson("0.1342")(dp.Laplace(b="3.918")) * 20
    answer = plan.epsilon("2.366e-9", adjacency="replace-one")
    bracket = plan.epsilon("2.366e-9", adjacency="replace-one", method="bracket")
    assert answer.lower <= bracket.upper and bracket.lower <= answer.upper
