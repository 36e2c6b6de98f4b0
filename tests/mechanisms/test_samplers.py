"""Noise samplers: goodness of fit, exact coins, and what is refused."""

import hashlib
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import special, stats

import dpacct as dp
from dpacct.mechanisms.laws.draw import (
    Keystream,
    below,
    coin,
    enclosed_coin,
    exponential_coin,
    generator,
    honesty,
    laplace,
    normal,
    staircase,
)
from dpacct.mechanisms.laws.staircase import height

# a fit worse than one in a million of all seeds is a fault
LEAST = 1e-6


def kolmogorov(sample: np.ndarray, distribution: np.ndarray) -> float:
    """p-value of the largest gap between the empirical and the true distribution function."""
    n = sample.size
    steps = np.arange(1, n + 1) / n
    gap = max(np.abs(distribution - steps).max(), np.abs(distribution - steps + 1 / n).max())
    return float(special.kolmogorov(math.sqrt(n) * gap))


def chi_squared(counts: list[int], chances: list[float]) -> float:
    """p-value of the counts, the last cell being all the rest."""
    total = sum(counts)
    statistic = sum(
        (n - total * p) ** 2 / (total * p) for n, p in zip(counts, chances, strict=True)
    )
    return float(special.gammaincc((len(counts) - 1) / 2, statistic / 2))


def staircase_below(x: np.ndarray, lam: float, nu: float) -> np.ndarray:
    """Distribution function, from the lengths and heights of the steps."""
    size = np.abs(x)
    level = np.where(size < nu, 0, np.floor(size - nu) + 1)
    fall, top = math.exp(-lam), height(lam, nu)
    start = np.where(level == 0, 0.0, level - 1 + nu)
    whole = np.where(level == 0, 0.0, nu + (fall - fall ** np.maximum(level, 1)) / (1 - fall))
    half = top * (whole + (size - start) * fall**level)
    return 0.5 + np.sign(x) * half


@pytest.mark.parametrize(("lam", "nu"), [(1.0, None), (0.2, 0.9), (3.0, 0.1), (2.0, 0.0)])
def test_staircase(lam: float, nu: float | None) -> None:
    mechanism = dp.Staircase(eps0=lam, nu=nu)
    drawn = np.sort(mechanism.sample(40_000, rng=7))
    assert kolmogorov(drawn, staircase_below(drawn, lam, mechanism.step_at)) > LEAST
    # the fit can fail: noise of a slightly larger epsilon is told apart
    other = staircase_below(drawn, 1.2 * lam, mechanism.step_at)
    assert kolmogorov(drawn, other) < LEAST
    assert np.mean(np.abs(drawn)) == pytest.approx(mechanism.mean_size, rel=0.03)
    assert np.std(drawn) == pytest.approx(mechanism.std, rel=0.05)


def test_gaussian() -> None:
    for mechanism, std in (
        (dp.Gaussian(sigma="2.5"), 2.5),
        (dp.Gaussian(noise_multiplier=2, clip="0.5"), 1.0),
    ):
        drawn = np.sort(mechanism.sample(40_000, rng=3))
        assert kolmogorov(drawn, special.ndtr(drawn / std)) > LEAST
        assert kolmogorov(drawn, special.ndtr(drawn / std * 1.05)) < LEAST


def test_laplace() -> None:
    drawn = np.sort(dp.Laplace(b=2).sample(40_000, rng=3))
    below_zero = 0.5 * np.exp(np.minimum(drawn, 0) / 2)
    truth = np.where(drawn < 0, below_zero, 1 - 0.5 * np.exp(-np.maximum(drawn, 0) / 2))
    assert kolmogorov(drawn, truth) > LEAST


def test_noise_without_a_seed_is_of_a_keyed_cryptographic_generator() -> None:
    """PCG64's state follows from its outputs, and with it all other noise."""
    key = bytes(range(32))
    draws = (
        (lambda: normal(2.0, 40_000, Keystream(key)), lambda x: special.ndtr(x / 2)),
        (lambda: laplace(1.0, 40_000, Keystream(key)), lambda x: stats.laplace.cdf(x)),
        (
            lambda: staircase(0.2, 0.9, 40_000, Keystream(key)),
            lambda x: staircase_below(x, 0.2, 0.9),
        ),
    )
    for draw, share in draws:
        drawn = draw()
        assert np.array_equal(drawn, draw())  # the key decides
        drawn.sort()
        assert kolmogorov(drawn, share(drawn)) > LEAST
        assert kolmogorov(drawn, share(drawn * 1.2)) < LEAST
    source = Keystream(key)
    words = [hashlib.shake_256(key + n.to_bytes(8, "little")).digest(16) for n in (1, 2)]
    assert [source._words(2).tobytes() for _ in words] == words
    assert isinstance(generator(None), Keystream)
    assert normal(1.0, 4, None).tolist() != normal(1.0, 4, None).tolist()
    assert normal(1.0, (2, 3), None).shape == (2, 3) and normal(1.0, None, None).shape == ()


@pytest.mark.parametrize("rng", [11, np.random.default_rng(5)], ids=["seed", "generator"])
@pytest.mark.parametrize(
    ("mechanism", "log_weight"),
    [
        (dp.DiscreteLaplace(scale=2), lambda x: -abs(x) / 2),
        (dp.DiscreteLaplace(scale="7/3", sensitivity=3), lambda x: -abs(x) / (7 / 3)),
        (dp.DiscreteGaussian(scale="1.5"), lambda x: -x * x / 4.5),
        (dp.DiscreteGaussian(scale="0.4"), lambda x: -x * x / 0.32),
    ],
    ids=lambda case: repr(case) if isinstance(case, dp.Node) else "weight",
)
def test_discrete(mechanism: Any, log_weight: Any, rng: object) -> None:
    drawn = Counter(mechanism.sample(8_000, rng=rng).tolist())
    weights = {x: math.exp(log_weight(x)) for x in range(-90, 91)}
    total = sum(weights.values())
    cells = [x for x in range(-90, 91) if weights[x] / total > 1e-3]
    counts, chances = [drawn[x] for x in cells], [weights[x] / total for x in cells]
    assert chi_squared([*counts, 8_000 - sum(counts)], [*chances, 1 - sum(chances)]) > LEAST
    # the fit can fail: a fifth of the mass of one cell moved to the next is seen
    middle = len(chances) // 2
    wrong = [*chances]
    wrong[middle], wrong[middle + 1] = (
        chances[middle] * 0.8,
        chances[middle + 1] + (chances[middle] * 0.2),
    )
    assert chi_squared([*counts, 8_000 - sum(counts)], [*wrong, 1 - sum(wrong)]) < LEAST


def test_coins_are_exact() -> None:
    """Over every value that the source can give, a coin of p/q lands true in p of q cases."""
    for chance in (Fraction(1, 3), Fraction(5, 7), Fraction(0), Fraction(1)):
        landed = [coin(chance, lambda n, i=i: i) for i in range(chance.denominator)]
        assert Fraction(sum(landed), chance.denominator) == chance


def test_a_coin_of_enclosed_chance_throws_more_bits_where_it_must() -> None:
    """1/3 cannot be told from the first word's own value 0x5555...: the next word tells."""
    third = int("5" * 16, 16)
    words = iter([third, third + 1, third, third - 1, third])

    def bounds(bits: int) -> tuple[Fraction, Fraction]:
        return Fraction((1 << bits) // 3, 1 << bits), Fraction((1 << bits) // 3 + 1, 1 << bits)

    assert not enclosed_coin(bounds, lambda n: next(words))
    assert enclosed_coin(bounds, lambda n: next(words))


@pytest.mark.parametrize(("eps0", "k"), [("0.3", 2), ("20", 10**9), ("500", 3)])
def test_the_chance_of_a_true_answer_is_enclosed(eps0: str, k: int) -> None:
    bounds = honesty(Fraction(eps0), k)
    with mp.workdps(80):
        truth = 1 / (1 + (k - 1) * mp.exp(-mpf(eps0)))
        for bits in (64, 192):
            low, high = (mpf(end.numerator) / end.denominator for end in bounds(bits))
            assert low <= truth <= high <= low + mpf(2) ** -bits


def test_the_exponential_coin() -> None:
    uniform = below(4)
    for gamma in (Fraction(1, 3), Fraction(1), Fraction(5, 2)):
        heads = sum(exponential_coin(gamma, uniform) for _ in range(20_000))
        expected = 20_000 * math.exp(-gamma)
        assert abs(heads - expected) < 5 * math.sqrt(expected)
    assert exponential_coin(Fraction(0), uniform)


def test_discrete_noise_is_whole_and_repeatable() -> None:
    noise = dp.DiscreteGaussian(scale=3)
    assert noise.sample((2, 3), rng=1).shape == (2, 3)
    assert noise.sample(rng=1).shape == ()
    assert noise.sample(5, rng=2).tolist() == noise.sample(5, rng=random.Random(2)).tolist()
    assert noise.sample(5).dtype == np.int64  # from the system's entropy


def test_responses_have_their_chances() -> None:
    mechanism = dp.RandomizedResponse(eps0=1, k=4)
    answers = mechanism.sample(np.full(20_000, 2), rng=9)
    counts = [int(np.sum(answers == i)) for i in range(4)]
    lie = 1 / (math.e + 3)
    assert chi_squared(counts, [lie, lie, math.e * lie, lie]) > LEAST
    with pytest.raises(dp.InvalidArgument, match=r"answers must be whole numbers in \[0, 3\]"):
        mechanism.sample([0, 4])
    with pytest.raises(dp.InvalidArgument, match="answers must be whole"):
        mechanism.sample([0.5])


@pytest.mark.parametrize(
    ("mechanism", "wrong"),
    [
        (dp.Staircase(eps0=1), {"rng": "x"}),
        (dp.Staircase(eps0=1), {"rng": -1}),
        (dp.Gaussian(sigma=1), {"size": -1}),
        (dp.Laplace(b=1), {"size": 1.5}),
        (dp.DiscreteGaussian(scale=1), {"rng": 0.5}),
        (dp.DiscreteLaplace(scale=1), {"size": (2, True)}),
    ],
    ids=str,
)
def test_wrong_use_gets_one_sentence(mechanism: Any, wrong: dict[str, object]) -> None:
    with pytest.raises(dp.InvalidArgument) as caught:
        mechanism.sample(**wrong)
    assert caught.value.argument == next(iter(wrong))
