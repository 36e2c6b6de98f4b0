"""Gaussian noise on random moves, against quadrature, dp_accounting's numbers and its special cases."""

import math
import random

import mpmath as mp
import pytest

import dpacct as dp

SEEDS = range(6)


def drawn(seed: int) -> dp.GaussianMixture:
    draw = random.Random(seed)
    parts = [draw.randint(1, 9) for _ in range(draw.randint(1, 4))]
    moves = [0, *(round(draw.uniform(0.05, 4), 3) for _ in parts[1:])] if len(parts) > 1 else [1.5]
    weights = [f"{part}/{sum(parts)}" for part in parts]
    return dp.GaussianMixture(sigma=round(draw.uniform(0.4, 5), 3), moves=moves, weights=weights)


def truth(step: dp.GaussianMixture, epsilon: float) -> float:
    """The larger delta of the two directions, by quadrature at 30 digits."""
    sigma = mp.mpf(step.sigma.numerator) / step.sigma.denominator
    pairs = zip(step.moves, step.weights, strict=True)
    terms = [(mp.mpf(w.numerator) / w.denominator, m) for m, w in pairs]

    def normal(x: mp.mpf) -> mp.mpf:
        return mp.npdf(x, 0, sigma)

    def with_unit(x: mp.mpf) -> mp.mpf:
        return sum(w * normal(x - mp.mpf(m.numerator) / m.denominator) for w, m in terms)

    factor = mp.exp(epsilon)
    far = 12 * sigma + float(max(step.moves))

    def beyond(p: object, q: object) -> mp.mpf:
        def excess(x: mp.mpf) -> mp.mpf:
            return p(x) - factor * q(x)  # type: ignore[operator]

        # the ratio of the densities is monotone, so there is one crossing
        low, high = -far, far
        if (excess(low) > 0) == (excess(high) > 0):
            return mp.mpf(0)
        rises = excess(high) > 0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if (excess(middle) > 0) == rises else (middle, high)
        side = (low, low + far) if rises else (low - far, low)
        ends = [side[0] + (side[1] - side[0]) * k / 24 for k in range(25)]
        return mp.quad(excess, ends)

    with mp.workdps(30):
        return float(max(beyond(with_unit, normal), beyond(normal, with_unit)))


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_of_one_step_is_the_integral(seed: int) -> None:
    step = drawn(seed)
    for epsilon in (0.1, 1.0):
        answer = step.delta(epsilon)
        assert answer.lower is not None and answer.upper is not None
        exact = truth(step, epsilon)
        assert answer.lower * (1 - 1e-9) <= exact <= answer.upper * (1 + 1e-9), (step, epsilon)
        assert answer.upper - answer.lower <= 1e-4 * answer.upper + 1e-12


def test_dp_accountings_own_number() -> None:
    """Its test of a composition of two mixtures expects 17.193115, a pessimistic grid's."""
    two = dp.GaussianMixture(sigma=1, moves=[0, 1, 2], weights=[0.2, 0.6, 0.2]) * 3
    two += dp.GaussianMixture(sigma=2, moves=[0, 2, 3], weights=[0.33, 0.34, 0.33]) * 2
    answer = two.epsilon(1e-6)
    assert answer.lower is not None and answer.lower < 17.193115 < float(answer) < 17.1933


def test_a_coin_is_poisson_sampling_and_certain_moves_are_plain_noise() -> None:
    coin = dp.GaussianMixture(sigma="1.1", moves=[0, 1], weights=["0.99", "0.01"]) * 1000
    sampled = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
    assert float(coin.epsilon(1e-5)) == pytest.approx(float(sampled.epsilon(1e-5)), rel=1e-9)
    certain = dp.GaussianMixture(sigma=3, moves=[2], weights=[1]) * 5
    plain = dp.Gaussian(sigma="1.5") * 5
    assert float(certain.epsilon(1e-5)) == pytest.approx(float(plain.epsilon(1e-5)), rel=1e-9)


def test_records_of_a_user_are_a_mixture() -> None:
    weights = [math.comb(3, j) * 0.02**j * 0.98 ** (3 - j) for j in range(4)]
    mixture = dp.GaussianMixture(sigma=1, moves=[0, 1, 2, 3], weights=weights) * 300
    records = dp.RecordsPerUser(3, "0.02")(dp.Gaussian(sigma=1)) * 300
    assert float(mixture.epsilon(1e-6)) == pytest.approx(float(records.epsilon(1e-6)), rel=1e-7)


def test_it_is_saved_sampled_and_calibrated() -> None:
    step = dp.GaussianMixture(sigma="2.5", moves=[0, "1/3", 4], weights=["0.5", "0.25", "0.25"])
    assert dp.from_json((step * 7).to_json()) == step * 7
    assert eval(repr(step), {"GaussianMixture": dp.GaussianMixture}) == step
    sampled, whole = (dp.Poisson("0.1")(step) * 20).epsilon(1e-5), (step * 20).epsilon(1e-5)
    assert float(sampled) < float(whole)
    found = dp.calibrate(
        lambda s: dp.GaussianMixture(sigma=s, moves=[0, 1, 2], weights=["0.2", "0.6", "0.2"]) * 9,
        epsilon=2,
        delta=1e-6,
    )
    again = dp.GaussianMixture(sigma=float(found), moves=[0, 1, 2], weights=["0.2", "0.6", "0.2"])
    assert 1.999 < float((again * 9).epsilon(1e-6)) <= 2


@pytest.mark.parametrize(
    ("moves", "weights", "message"),
    [
        ([0], [1], "moves must not all be 0"),
        ([0, 1], ["0.5", "0.4"], "weights must add up to 1, got 0.9"),
        ([0, 1, 2], ["0.5", "0.5"], "weights must be 3 numbers"),
        ([0, -1], ["0.5", "0.5"], "moves must be a number from 0 to 1e6, got -1"),
        ([0, float("nan")], ["0.5", "0.5"], "moves must be a number from 0 to 1e6, got nan"),
        (3, [1], "moves must be a list of at most 1000 entries"),
        ([0, 1], [1, 0], "weights must be a number above 0 and at most 1, got 0"),
    ],
)
def test_wrong_moves_are_refused(moves: object, weights: object, message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message):
        dp.GaussianMixture(sigma=1, moves=moves, weights=weights)  # type: ignore[arg-type]


def test_replace_one_is_refused() -> None:
    step = dp.GaussianMixture(sigma=1, moves=[0, 1], weights=["0.5", "0.5"])
    with pytest.raises(dp.Unsupported, match="under add-remove and zero-out only, got replace-one"):
        step.epsilon(1e-5, adjacency="replace-one")
