"""Units in bins: against inverse Laplace transforms, coins, and itself at other counts."""

import math
from pathlib import Path

import numpy as np
import pytest

import dpacct as dp
from dpacct.errors import InvalidArgument, OutsideDomain, Unsupported
from dpacct.plan.node import Node
from dpacct.pld import contour
from dpacct.pld.allocation import one_of
from dpacct.pld.loss import gaussian
from tests.cli.runner import run

# sigma, steps, and epsilon at delta 1e-6 if the unit is removed, and added
FIGURES = [
    ("1", 100, 0.857985977, 0.486425090),
    ("1", 1000, 0.171728685, 0.149430955),
    ("2", 1000, 0.059231457, 0.058876402),
    ("0.8", 1000, 0.450036738, 0.216163454),
    ("1", 10_000, 0.045822227, 0.044512455),
]


def epoch(sigma: str, steps: int, epochs: int = 1) -> Node:
    return dp.BallsInBins(steps, epochs=epochs)(dp.Gaussian(sigma=sigma))


def removed_and_added(sigma: float, steps: int, epsilon: float) -> tuple[float, float]:
    """E(S/t - e^eps)+ and e^eps E(e^-eps - S/t)+, from E exp(-uS/t), S of t lognormals."""
    z = np.linspace(-12.0, 12.0, 6001)
    weights = np.exp(-0.5 * z * z)
    weights /= weights.sum()
    x = np.exp(z / sigma)
    x /= weights @ x  # of mean 1
    scale = math.sqrt(steps / math.expm1(sigma**-2.0))  # the inverse of the deviation of S/t
    results = []
    for sign, level in ((-1.0, epsilon), (0.0, -epsilon)):
        excess, total = math.expm1(level), 0.0
        for k in range(4000):
            u = scale * (0.3 + 0.02j * k)
            moment = complex(weights @ np.expm1(-u / steps * x))
            size = 0.5 * math.log1p(2.0 * moment.real + abs(moment) ** 2)
            log = size + 1j * math.atan2(moment.imag, 1.0 + moment.real)
            value = np.exp(u * excess + steps * log + u) / u**2
            total += value.real * (0.5 if k == 0 else 1.0) * 0.02 * scale / math.pi
            if abs(value) * scale < 1e-19:
                break
        results.append(total + sign * excess)
    return results[0], math.exp(epsilon) * results[1]


@pytest.mark.parametrize(("sigma", "steps", "removed", "added"), FIGURES)
def test_figures(sigma: str, steps: int, removed: float, added: float) -> None:
    plan = epoch(sigma, steps)
    answer = plan.epsilon(delta=1e-6, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-10
    assert float(answer) == pytest.approx(removed, abs=7e-10)
    delta = removed_and_added(float(sigma), steps, added)[1]
    assert delta == pytest.approx(1e-6, rel=3e-7)
    assert answer.strength is dp.Strength.CONVERGED


@pytest.mark.parametrize(
    ("sigma", "steps", "epsilon"),
    [(1.0, 100, 0.5), (0.9, 60, 1.0), (3.0, 1000, 0.02), (1.5, 30, 0.2)],
)
def test_deltas_against_an_inverted_transform(sigma: float, steps: int, epsilon: float) -> None:
    removed, added = removed_and_added(sigma, steps, epsilon)
    assert added < removed
    answer = epoch(str(sigma), steps).delta(epsilon=epsilon, method="exact")
    assert float(answer) == pytest.approx(removed, rel=1e-9)


def test_two_bins_by_a_call_on_each() -> None:
    """E(X + Y - 2K)+ / 2: given X, a call on the lognormal Y, which is closed."""
    epsilon, mu = 0.8, 1.0 / 1.3
    z, width = np.linspace(-12.0, 12.0, 240_001, retstep=True)
    x = np.exp(mu * z - 0.5 * mu * mu)
    strikes = 2.0 * math.exp(epsilon) - x
    with np.errstate(invalid="ignore", divide="ignore"):
        d = -np.log(strikes) / mu + 0.5 * mu
        normal = np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2.0)))
        call = np.where(strikes > 0.0, normal(d) - strikes * normal(d - mu), 1.0 - strikes)
    delta = 0.5 * float(np.exp(-0.5 * z * z) @ call) * float(width) / math.sqrt(2.0 * math.pi)
    answer = epoch("1.3", 2).delta(epsilon=epsilon, method="exact")
    assert float(answer) == pytest.approx(delta, rel=1e-8)


def test_far_tails_are_those_of_one_large_term() -> None:
    """Far out delta is about P(the unit's own term alone is as large), and below that."""
    plan, epsilon, sigma = epoch("1", 100), 20.0, 1.0
    z = sigma * (epsilon + math.log(100.0) - 0.5 / sigma**2)
    alone = 0.5 * math.erfc(z / math.sqrt(2.0))
    delta = float(plan.delta(epsilon=epsilon, method="exact"))

    assert delta < alone
    assert delta > 0.02 * alone


def test_the_same_bins_are_less_noise() -> None:
    for epochs in (4, 9):
        plan = epoch(str(math.isqrt(epochs)), 50, epochs)
        once = epoch("1", 50)
        assert float(plan.epsilon(delta=1e-8)) == pytest.approx(
            float(once.epsilon(delta=1e-8)), rel=1e-12
        )


def test_bins_drawn_afresh_are_inside_their_lattice() -> None:
    plan = epoch("1", 100) * 10
    answer, lattice = (plan.epsilon(delta=1e-6, method=m) for m in ("exact", "lattice"))
    assert lattice.lower is not None and lattice.upper is not None
    assert lattice.lower <= float(answer) <= lattice.upper < 1.0001 * lattice.lower
    assert float(answer) < float(
        (dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 1000).epsilon(delta=1e-6)
    )


def test_two_bins_beside_each_other() -> None:
    """Epsilons of an odd count lie between those of its neighbours."""
    values = [float(epoch("2", steps).epsilon(delta=1e-5)) for steps in (2, 3, 4, 5, 6, 7, 8)]
    assert values == sorted(values, reverse=True)


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 2 to"):
        dp.BallsInBins(1)
    with pytest.raises(InvalidArgument, match="replace-one"):
        epoch("1", 10).epsilon(delta=1e-5, adjacency="replace-one")
    with pytest.raises(OutsideDomain, match=r"at least 0\.1"):
        epoch("1", 10, 200).epsilon(delta=1e-5)
    for noise in (dp.Laplace(b=1), dp.Gaussian(sigma=1) + dp.Laplace(b=1)):
        with pytest.raises(Unsupported, match="Gaussian noise alone"):
            dp.BallsInBins(10)(noise).epsilon(delta=1e-5)
    with pytest.raises(Unsupported, match="balls-in-bins"):
        epoch("1", 10).epsilon(delta=1e-5, method="certified")


def test_saved_and_on_the_command_line(tmp_path: Path) -> None:
    plan = epoch("1", 100, 3) * 2
    assert dp.from_json(plan.to_json()) == plan
    assert repr(plan) == "BallsInBins(100, 3)(Gaussian(sigma=1)) * 2"
    file = tmp_path / "plan.json"
    file.write_text(epoch("1", 100).to_json(), encoding="utf-8")
    result = run("compose", str(file), "--delta", "1e-6", "--json")
    assert result.code == 0
    assert result.json["value"] == pytest.approx(0.857985977, abs=1e-9)


@pytest.mark.parametrize("sigma", [1e5, 1e7])
def test_under_vast_noise_a_mean_of_lognormals_is_normal(sigma: float) -> None:
    """Shifts of the size of log 2 left losses of 1e-7 without digits: 19 s, and no answer."""
    count = 1854
    law, mu = one_of(count, 1.0 / sigma), 1.0 / (sigma * math.sqrt(count))
    for way in (law, law.reversed()):
        for epsilon in (0.0, 3.0 * mu):
            result = contour.log_delta([(way, 12)], epsilon)
            limit = contour.log_delta([(gaussian(mu), 12)], epsilon)
            assert result.value == pytest.approx(limit.value, abs=1e-10 + result.error)
