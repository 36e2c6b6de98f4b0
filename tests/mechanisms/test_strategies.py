"""Strategies of correlated noise, against all patterns of participation, JAX Privacy and dp_accounting."""

import random
from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

import dpacct as dp

Floats = NDArray[np.float64]
SEEDS = range(12)


def patterns(steps: int, times: int, apart: int, exactly: bool) -> Iterator[tuple[int, ...]]:
    """All sets of steps in which a unit may take part, one by one."""
    for size in range(1, times + 1):
        for chosen in combinations(range(steps), size):
            gaps = {b - a for a, b in pairwise(chosen)}
            if all(gap == apart if exactly else gap >= apart for gap in gaps):
                yield chosen


def square(matrix: Floats, *rule: object) -> float:
    """The largest squared norm of the columns of a pattern, with the worst signs."""
    worst = 0.0
    for chosen in patterns(matrix.shape[1], *rule):  # type: ignore[arg-type]
        for signs in product((1.0, -1.0), repeat=len(chosen)):
            worst = max(worst, float(((matrix[:, chosen] @ np.array(signs)) ** 2).sum()))
    return worst


def tree(steps: int) -> tuple[Floats, list[int]]:
    """The sums at the complete nodes, and the step after which each is known."""
    nodes = [(k << h, (k + 1) << h) for h in range(12) for k in range(steps >> h)]
    rows = [[float(low <= t < high) for t in range(steps)] for low, high in nodes]
    return np.array(rows), [high for _, high in nodes]


def column(strategy: dp.Strategy) -> Floats:
    """The first column of a Toeplitz strategy, from its parameters."""
    entries = np.eye(strategy.steps)[0]
    if isinstance(strategy, dp.Banded):
        given = list(map(float, strategy.coefficients))[: strategy.steps]
        entries[: len(given)] = given
    if isinstance(strategy, dp.BLT):
        buffers = [*zip(strategy.decay, strategy.scale, strict=True)]
        entries[1:] = [sum(s * d**t for d, s in buffers) for t in range(strategy.steps - 1)]
    return entries


def dense(strategy: dp.Strategy) -> Floats:
    """The matrix of any strategy."""
    if isinstance(strategy, dp.Matrix):
        return np.array(strategy.rows)
    if isinstance(strategy, dp.Tree):
        return tree(strategy.steps)[0]
    first, n = column(strategy), strategy.steps
    return np.array([[first[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


def drawn(seed: int) -> list[dp.Strategy]:
    draw = random.Random(seed)
    n = draw.randint(1, 12)
    falling = sorted(round(draw.uniform(0, 2), 3) + 0.01 for _ in range(draw.randint(1, n)))[::-1]
    mixed = [1.0, *(round(draw.uniform(-1, 1), 3) for _ in range(draw.randint(0, n)))]
    buffers = [(round(draw.random(), 3), round(draw.uniform(0, 0.9), 3)) for _ in range(2)]
    rows = [[draw.choice([0, 0, 1]) * draw.uniform(0, 2) for _ in range(n)] for _ in range(n)]
    lower = np.tril(rows, -1) + np.eye(n)
    return [
        *(dp.Tree(n), dp.Banded(falling, n), dp.Banded(mixed, n)),
        dp.BLT([d for d, _ in buffers], [s for _, s in buffers], n),
        *(dp.Matrix(lower), dp.Matrix(np.tril(np.linalg.inv(lower)))),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_sensitivity_is_that_of_all_patterns(seed: int) -> None:
    draw = random.Random(seed)
    for strategy in drawn(seed):
        rule = draw.randint(1, 5), draw.randint(1, 4), draw.random() < 0.4
        worst = square(dense(strategy), *rule)
        times, apart, exactly = rule
        found = strategy.sensitivity(times=times, apart=apart, exactly=exactly)
        where = strategy, rule
        assert float(found.squared) >= worst, where
        if (dense(strategy) >= 0).all():
            assert found.realised == found.squared, where
            assert float(found.squared) == pytest.approx(worst, rel=1e-8), where
        assert float(found.realised) <= worst * (1 + 1e-8), where


def test_a_tree_too_large_for_the_programme_is_bracketed() -> None:
    """Regular patterns are exact; any that are far enough apart lie between them and each level's worst."""
    matrix = tree(1100)[0]
    for times, apart in ((3, 300), (5, 128), (40, 20)):
        regular = dp.Tree(1100).sensitivity(times=times, apart=apart, exactly=True)
        starts = (range(first, 1100, apart)[:times] for first in range(1100))
        assert regular.squared == max((matrix[:, list(s)].sum(axis=1) ** 2).sum() for s in starts)
        free = dp.Tree(1100).sensitivity(times=times, apart=apart)
        draw, most = random.Random(times), 0.0
        for _ in range(200):
            slack = 1100 - (times - 1) * apart - 1
            shifts = sorted(draw.randint(0, slack) for _ in range(times))
            chosen = [apart * k + shift for k, shift in enumerate(shifts)]
            most = max(most, float((matrix[:, chosen].sum(axis=1) ** 2).sum()))
        assert free.realised <= free.squared <= 1.1 * float(free.realised)
        assert free.squared >= max(most, float(regular.squared))


@pytest.mark.parametrize("seed", SEEDS)
def test_error_is_that_of_least_squares(seed: int) -> None:
    for strategy in drawn(seed):
        matrix, n = dense(strategy), strategy.steps
        known = tree(n)[1] if isinstance(strategy, dp.Tree) else list(range(1, n + 1))
        variances = []
        for t in range(1, n + 1):  # of the sum of t steps, from all rows that are known by then
            rows = matrix[[end <= t for end in known]][:, :t]
            variances.append(float(np.ones(t) @ np.linalg.inv(rows.T @ rows) @ np.ones(t)))
        mean, largest = strategy.error(3)
        assert mean == pytest.approx(9 * np.mean(variances), rel=1e-6)
        assert largest == pytest.approx(9 * max(variances), rel=1e-6)


def test_jax_privacy_says_the_same() -> None:
    jax = pytest.importorskip("jax")
    factorization = pytest.importorskip("jax_privacy.matrix_factorization")
    toeplitz, sensitivity = factorization.toeplitz, factorization.sensitivity
    with jax.enable_x64(True):
        for n, bands, times, apart in ((200, 8, 5, 20), (200, 40, 5, 20), (333, 100, 40, 7)):
            strategy = dp.Banded.square_root(bands, n)
            first = jax.numpy.array(column(strategy))
            squared = toeplitz.minsep_sensitivity_squared(first, apart, times, n)
            found = strategy.sensitivity(times=times, apart=apart)
            assert float(found.squared) == pytest.approx(float(squared), rel=1e-8)
            errors = np.asarray(toeplitz.per_query_error(strategy_coef=first, n=n))
            assert strategy.error() == pytest.approx((errors.mean(), errors.max()), rel=1e-8)
            if bands <= apart:
                banded = sensitivity.get_sensitivity_banded(dense(strategy), apart, times)
                assert float(found) == pytest.approx(banded, rel=1e-8)
        lower = np.tril(np.random.default_rng(1).uniform(size=(60, 60))) + np.eye(60)
        epochs = dp.Matrix(lower).sensitivity(times=6, apart=10, exactly=True)
        assert float(epochs) == pytest.approx(
            sensitivity.fixed_epoch_sensitivity(lower, 6), rel=1e-8
        )
        blt = factorization.buffered_toeplitz.BufferedToeplitz.build([0.9, 0.5], [0.3, 0.2])
        ours = dp.BLT(["0.9", "0.5"], ["0.3", "0.2"], 150)
        assert column(ours) == pytest.approx(np.asarray(blt.toeplitz_coefs(150)), rel=1e-9)


def test_a_run_is_one_gaussian() -> None:
    run = dp.Tree(1600).mechanism("1.13")
    assert float(run.epsilon("1e-6")) == pytest.approx(
        17.667, abs=5e-4
    )  # dp_accounting's tree event
    wide, least = (
        run.but(realised=5),
        dp.Gaussian(sigma="1.13") * 5,
    )  # an upper end of 11, at least 5
    for steps in (1, 3):
        answer = (wide * steps).epsilon("1e-6")
        assert answer.lower == pytest.approx(float((least * steps).epsilon("1e-6")), rel=1e-4)
        assert float(answer) == pytest.approx(float((run * steps).epsilon("1e-6")), rel=1e-9)
    assert wide.rdp(8) == pytest.approx(8 * 11 / (2 * 1.13**2), rel=1e-12)
    with pytest.raises(dp.Unsupported, match="sensitivity is only bounded"):
        wide.epsilon("1e-6", method="certified")
    band = dp.Banded([1, "0.5"], 100).mechanism(2, times=4, apart=10)
    plain = dp.Gaussian(noise_multiplier=2) * 5  # 4 columns of squared norm 5/4
    for adjacency in ("add-remove", "replace-one"):
        ours, theirs = (p.epsilon("1e-6", adjacency=adjacency) for p in (band, plain))
        assert float(ours) == pytest.approx(float(theirs), rel=1e-8) and ours.upper >= theirs.upper
    plan = band * 2 + dp.Gaussian(sigma=3)
    assert dp.from_json(plan.to_json()) == plan
    assert "at most 4 steps, at least 10 apart" in str(band.epsilon("1e-6").assumptions[0])
    found = dp.calibrate(lambda z: dp.Tree(1600).mechanism(z), epsilon=8, delta=1e-6)
    assert 7.99 < float(dp.Tree(1600).mechanism(float(found)).epsilon(1e-6)) <= 8


def test_it_is_not_sampled() -> None:
    run, other = dp.Tree(8).mechanism(1), dp.Gaussian(sigma=1)
    for sampler in (dp.Poisson("0.1"), dp.WithoutReplacement("0.1"), dp.BallsInBins(9)):
        for plan in (run, run * 2, run + other, other + run):
            with pytest.raises(dp.Unsupported, match=r"not sampled|noise alone"):
                sampler(plan).epsilon("1e-5")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: dp.Banded([0, 1], 9),
            "coefficients must begin with a number of at least 1e-6, got 0",
        ),
        (lambda: dp.BLT([1], [1, 2], 9), "scale must be 1 numbers, one for each decay, got 2"),
        (lambda: dp.BLT([2], [1], 9), "decay must be a number from 0 to 1, got 2"),
        (lambda: dp.Matrix([[1, 1], [0, 1]]), "rows must be a lower-triangular matrix"),
        (lambda: dp.Matrix([[float("nan")]]), "rows must be a lower-triangular matrix"),
        (lambda: dp.Tree(9).sensitivity(times=0), "times must be a whole number from 1 to 50000"),
        (lambda: dp.Tree(9).mechanism(1).but(realised=5), "realised must be at most the squared"),
        (lambda: dp.Banded([1, 5], 9999).error(), "error must be within the range of floats"),
        (lambda: dp.Banded([1, 2], 2000).sensitivity(times=2), "steps must be at most 1000 if"),
    ],
)
def test_what_is_wrong_is_said(make: object, message: str) -> None:
    with pytest.raises(dp.DpacctError, match=message):
        make()  # type: ignore[operator]
