"""Operators: what each states agrees with itself; another one, from a file of its own, is carried too."""

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import dpacct as dp
from dpacct.plan.samplers.sampled import SampledRelease
from dpacct.pld import contour, stable
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.operators import (
    Blended,
    Exchanged,
    Operator,
    Reversed,
    SampledLoss,
    exchanged_coins,
)
from dpacct.pld.pair import Pairs
from dpacct.pld.pieces import Cut

THREE = Blended(((0.5, 0, 0.0), (0.3, 1, 0.0), (0.2, 2, 0.49)))
ONE = Blended(((0.7, 0, 0.0), (0.3, 1, 0.0)))
OPERATORS: dict[str, Operator] = {
    "reversed": Reversed(),
    "sampled": SampledLoss(0.1),
    "blended": THREE,
    "exchanged": exchanged_coins(0.1, -1, 0.49),
    "exchanged often": exchanged_coins(0.98, -1, 0.49),
    "exchanged beyond none": exchanged_coins(0.1, 0, 0.7),
    "exchanged records": Exchanged(THREE, ONE, -1, 0.49),
}
LOSSES = np.array([-30.0, -3.0, -0.7, -0.245, -1e-3, 0.0, 1e-6, 0.3, 2.0, 9.0, 40.0])


@pytest.mark.parametrize("name", OPERATORS)
def test_the_inverse_undoes(name: str) -> None:
    operator = OPERATORS[name]
    after = operator.apply(LOSSES, np.zeros(LOSSES.size), stable)[0]
    again = operator.apply(operator.undo(after), np.zeros(LOSSES.size), stable)[0]
    np.testing.assert_allclose(again, after, rtol=1e-12, atol=1e-14)
    assert (np.diff(after) * operator.sign >= 0.0).all()


@pytest.mark.parametrize("name", OPERATORS)
def test_the_slope_is_the_derivative_and_at_most_the_steepest(name: str) -> None:
    """Truth: differences of the operator in 50 digits."""
    operator = OPERATORS[name]

    class Digits:
        number = staticmethod(mp.mpf)
        exp = staticmethod(mp.exp)
        log = staticmethod(mp.log)

        @staticmethod
        def mixed_loss(rate: Any, loss: Any) -> Any:
            return mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(loss))

        @staticmethod
        def blended_loss(terms: Any, loss: Any) -> Any:
            return mp.log(sum(w * mp.exp(k * loss - mp.mpf(d)) for w, k, d in terms))

    with mp.workdps(50):
        for loss in LOSSES.tolist():
            step = mp.mpf(10) ** -20
            ends = [operator.apply(mp.mpf(loss) + s * step, mp.mpf(0), Digits)[0] for s in (-1, 1)]
            wanted = abs((ends[1] - ends[0]) / (2 * step))
            assert float(operator.slope(np.array(loss))) == pytest.approx(float(wanted), rel=1e-9)
            assert wanted <= operator.steepest * (1 + 1e-15)


@pytest.mark.parametrize("name", OPERATORS)
def test_log_q_moves_no_faster_than_the_drift(name: str) -> None:
    operator = OPERATORS[name]
    at = np.linspace(-40.0, 40.0, 4001)
    log_q = np.broadcast_to(operator.apply(at, np.zeros(at.size), stable)[1], at.shape)
    assert np.abs(np.diff(log_q)).max() <= operator.drift * (at[1] - at[0]) * (1.0 + 1e-9) + 1e-13


@pytest.mark.parametrize("name", OPERATORS)
def test_beside_the_axis_it_is_the_complex_operator(name: str) -> None:
    operator, height = OPERATORS[name], 0.9 * math.pi / max(1.0, OPERATORS[name].steepest)
    near = LOSSES[np.abs(LOSSES) < 10.0]
    real, imag, log_q = operator.aside(near, np.full(near.size, height), np.zeros(near.size))
    loss, weight = operator.apply(near + 1j * height, np.zeros(near.size), stable)
    np.testing.assert_allclose(real, loss.real, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(imag, loss.imag, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(log_q, np.real(weight), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["sampled", "exchanged", "exchanged often"])
def test_at_its_poles_the_loss_is_infinite(name: str) -> None:
    operator = OPERATORS[name]
    at = np.array(operator.poles) + 1j * math.pi
    with stable.quiet():
        loss = operator.apply(at, np.zeros(at.size), stable)[0]
    assert (np.abs(loss.real) > 20.0).all()


@pytest.mark.parametrize("name", OPERATORS)
def test_limits_are_those_of_large_losses(name: str) -> None:
    operator = OPERATORS[name]
    for end in (-math.inf, math.inf):
        far = float(operator.apply(np.array([math.copysign(600.0, end)]), 0.0, stable)[0][0])
        limit = operator.limit(end)
        assert limit == pytest.approx(far, abs=1e-9) or (
            abs(far) > 500.0 and limit * far == math.inf
        )


OWN = '''
"""P against (1-r) P + r Q: the pair of a unit whose presence is the rule."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpacct.pld import stable
from dpacct.pld.operators import Operator


@dataclass(frozen=True)
class Replaced(Operator):
    rate: Any

    def apply(self, loss, log_q, f):
        mixed = f.mixed_loss(f.number(self.rate), -loss)
        return -mixed, log_q + loss + mixed

    def limit(self, loss):
        if loss == -np.inf:
            return loss
        return float(self.apply(np.array(min(loss, 1e3)), 0.0, stable)[0])

    def undo(self, loss):
        return -stable.unmixed_loss(float(self.rate), -loss)

    def slope(self, loss, f=stable):
        rate = f.number(self.rate)
        return 1.0 / (1.0 + (1.0 - rate) / rate * f.exp(loss))

    @property
    def drift(self):
        return 1.0

    @property
    def poles(self):
        return (-np.log(1.0 - self.rate) + np.log(self.rate),)
'''


def replaced(folder: Path, rate: Any) -> Operator:
    """An operator from a file that the package knows nothing of."""
    path = folder / "replaced.py"
    path.write_text(OWN)
    spec = importlib.util.spec_from_file_location("replaced_by_a_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    operator: Operator = module.Replaced(rate)
    return operator


def one_step(law: LossDistribution, epsilon: float) -> float:
    return float(law.profile(np.array([epsilon]))[0][0])


def test_one_step_of_another_operator(tmp_path: Path) -> None:
    """Truth: the two densities integrated in 20 digits."""
    law, rate, mu = gaussian(0.8).through(replaced(tmp_path, 0.3)), mp.mpf("0.3"), mp.mpf("0.8")
    with mp.workdps(20):
        for epsilon in (0.0, 0.1, 0.25):
            growth = mp.exp(mp.mpf(epsilon))

            def gap(x: Any, growth: Any = growth) -> Any:
                p, q = mp.npdf(x, mu), mp.npdf(x)
                return max(p - growth * ((1 - rate) * p + rate * q), 0)

            truth = mp.quad(gap, mp.linspace(-12, 12, 49))
            assert one_step(law, epsilon) == pytest.approx(float(truth), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("rate", "steps"), [(0.1, 50.0), (0.5, 400.0)])
def test_a_line_carries_another_operator(tmp_path: Path, rate: float, steps: float) -> None:
    """Truth: by the mirror image of the axis it is Q against (1-r) Q + r P, composed as ever."""
    law = gaussian(0.8).through(replaced(tmp_path, rate))
    same = gaussian(0.8).sampled(rate).reversed()
    for epsilon in (0.5, 1.5):
        ours, ever = (contour.log_delta([(each, steps)], epsilon) for each in (law, same))
        assert ours.resolved and ever.resolved
        assert ours.value == pytest.approx(ever.value, abs=1e-10)


def test_a_bracket_carries_another_operator(tmp_path: Path) -> None:
    """Both ends of the universal bracket, beside the contour."""
    law = gaussian(0.8).through(replaced(tmp_path, 0.1))
    steps = dp.Poisson("0.1")(dp.Gaussian(sigma="1.25")) * 50
    truth = contour.log_delta([(law, 50.0)], 1.0).value

    class OneWay(SampledRelease):
        """A release of which only this direction is asked."""

        def pairs(self, adjacency: Any) -> Pairs:
            return Pairs((Cut(law),), ())

    (leaf, count), *_ = steps.releases()
    assert isinstance(leaf, SampledRelease)
    run = OneWay(leaf.sampler, leaf.node) * count
    answer = run.delta(1.0, method="bracket")
    assert answer.lower is not None
    assert math.log(answer.lower) <= truth <= math.log(answer.upper)
    assert answer.upper <= answer.lower * 1.001
