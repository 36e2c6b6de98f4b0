"""Poisson batches that are cut to a size: every small data set by enumeration, and the peers' numbers."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import dpacct as dp

X = np.linspace(-14.0, 16.0, 30_001)
STEP = float(X[1] - X[0])
SIGMA = 1.3


def batches(size: int, rate: float, most: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """(probability, the records in the batch)."""
    for coins in itertools.product((0, 1), repeat=size):
        drawn = [i for i, coin in enumerate(coins) if coin]
        chance = math.prod(rate if coin else 1 - rate for coin in coins)
        kept = list(itertools.combinations(drawn, most)) if len(drawn) > most else [tuple(drawn)]
        for batch in kept:
            yield chance / len(kept), batch


def density(values: tuple[float, ...], rate: float, most: int) -> NDArray[np.float64]:
    """The density of the noisy sum of a batch of these records."""
    total = np.zeros(X.shape)
    for chance, batch in batches(len(values), rate, most):
        total += chance * np.exp(-0.5 * ((X - sum(values[i] for i in batch)) / SIGMA) ** 2)
    return total / (SIGMA * math.sqrt(2 * math.pi))


def delta(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    return STEP * max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("rate", "most"), [(0.5, 2), (0.3, 1), (0.9, 3)])
@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out", "replace-one"])
def test_no_data_set_of_four_is_worse(rate: float, most: int, adjacency: str) -> None:
    noise = dp.Gaussian(noise_multiplier=SIGMA, clip=1)
    plan = dp.TruncatedPoisson(rate, max_batch=most, dataset_size=4)(noise)
    for epsilon in (0.2, 1.0):
        answer = plan.delta(epsilon, adjacency=adjacency)
        assert answer.lower is not None and answer.upper is not None
        worst = 0.0
        for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), 3):
            with_unit = density((*others, 1.0), rate, most)
            without = {
                "add-remove": lambda o=others: density(o, rate, most),
                "zero-out": lambda o=others: density((*o, 0.0), rate, most),
                "replace-one": lambda o=others: density((*o, -1.0), rate, most),
            }[adjacency]()
            found = delta(with_unit, without, epsilon)
            assert found <= answer.upper + 1e-8, others
            worst = max(worst, found)
        assert answer.lower <= worst + 1e-8  # where all others add 0, it is realised


@pytest.mark.parametrize(
    ("plan", "theirs"),
    [
        ([(0.5, 2, 4, 3), (0.5, 2, 3, 2)], 17.904330),
        ([(0.01, 16, 1000, 128)], 5.104805),
    ],
)
def test_dp_accountings_own_numbers_are_never_exceeded(
    plan: list[tuple[float, int, int, int]], theirs: float
) -> None:
    """Its batches exchange a record under replace-one, whatever the adjacency: ours are tighter."""
    noise = dp.Gaussian(noise_multiplier=1, clip=1)
    steps: list[dp.Node] = [
        dp.TruncatedPoisson(rate, max_batch=most, dataset_size=size)(noise) * count
        for rate, most, size, count in plan
    ]
    whole = sum(steps[1:], start=steps[0])
    assert 0.9 * theirs < float(whole.epsilon(1e-6)) < theirs
    assert float(whole.epsilon(1e-6)) < float(whole.epsilon(1e-6, adjacency="zero-out")) < theirs


def test_a_batch_that_is_never_full_is_a_poisson_sample() -> None:
    noise = dp.Gaussian(noise_multiplier=1, clip=1)
    cut = dp.TruncatedPoisson("0.001", max_batch=900, dataset_size=1000)(noise) * 500
    plain = dp.Poisson("0.001")(noise) * 500
    assert float(cut.epsilon(1e-6)) == pytest.approx(float(plain.epsilon(1e-6)), rel=1e-4)


def test_smaller_batches_cost_more_than_the_samples_they_are_cut_from() -> None:
    noise = dp.Gaussian(noise_multiplier=1, clip=1)
    cost = [
        float(
            (dp.TruncatedPoisson("0.02", max_batch=most, dataset_size=1000)(noise) * 200).epsilon(
                1e-6
            )
        )
        for most in (45, 40, 35, 30, 25)
    ]
    assert cost == sorted(cost)


def test_it_is_saved_and_calibrated() -> None:
    plan = dp.TruncatedPoisson("0.01", max_batch=16, dataset_size=1000)(dp.Gaussian(sigma=1)) * 9
    assert dp.from_json(plan.to_json()) == plan

    def run(z: float) -> dp.Node:
        noise = dp.Gaussian(noise_multiplier=z, clip=1)
        return dp.TruncatedPoisson("0.01", max_batch=16, dataset_size=1000)(noise) * 128

    noise = dp.calibrate(run, epsilon=2, delta=1e-6)
    assert 1.999 < float(run(float(noise)).epsilon(1e-6)) <= 2


def test_who_knows_the_batch_sees_an_exchange() -> None:
    """A report's "what if the sample is known": no less than what is accounted where it is secret."""
    noise = dp.Gaussian(noise_multiplier=1, clip=1)
    run = dp.TruncatedPoisson("0.9", max_batch=2, dataset_size=4)(noise) * 3
    known = run.unsampled().epsilon(1e-6)
    assert float(known) == pytest.approx(
        float((dp.Gaussian(sigma="0.5") * 3).epsilon(1e-6)), rel=1e-9
    )
    assert float(known) >= float(run.epsilon(1e-6))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda t: t(1, max_batch=2, dataset_size=4),
            "rate must be a number strictly between 0 and 1",
        ),
        (lambda t: t(0.5, max_batch=4, dataset_size=4), "max_batch must be below dataset_size, 4"),
        (lambda t: t(0.5, max_batch=0, dataset_size=4), "max_batch must be a whole number"),
        (lambda t: t(0.5), "max_batch must be given"),
    ],
)
def test_wrong_sizes_are_refused(build: object, message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message):
        build(dp.TruncatedPoisson)  # type: ignore[operator]


def test_what_is_not_known_is_refused() -> None:
    cut = dp.TruncatedPoisson(0.5, max_batch=2, dataset_size=4)
    gaussian = dp.Gaussian(noise_multiplier=1, clip=1)
    for plan, message in (
        (cut(dp.Laplace(b=1)), "for Gaussian noise alone"),
        (cut(dp.Laplace(b=1) + gaussian), "for one release of Gaussian noise"),
        (dp.Poisson(0.1)(cut(gaussian)), "has no known pair"),
    ):
        with pytest.raises(dp.Unsupported, match=message):
            plan.epsilon(1e-5)
