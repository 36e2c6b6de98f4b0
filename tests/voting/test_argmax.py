"""The exact argmax: quadrature against 50 digits, closed forms, brute force, and draws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpacct as dp
from dpacct.voting.argmax import GaussianNoise, LaplaceNoise, laws
from dpacct.voting.exact import Neighbours
from dpacct.voting.votes import Level

PLACES = [
    ((2, 0, 0), "1"),
    ((60, 5, 5), "4"),
    ((20, 20, 19), "0.5"),
    ((3, 3, 3, 3), "40"),
    ((9, 1), "0.7"),
]


def by_mpmath(votes: tuple[int, ...], scale: str, name: str) -> list[mpf]:
    """Each class's chance to win, by mpmath's quadrature to 50 digits."""
    with mp.workdps(50):
        s = mpf(scale)

        def pdf(t: mpf) -> mpf:
            return mp.npdf(t) if name == "gaussian" else mp.exp(-abs(t)) / 2

        def cdf(t: mpf) -> mpf:
            if name == "gaussian":
                return mp.ncdf(t)
            return mp.exp(t) / 2 if t < 0 else 1 - mp.exp(-t) / 2

        results = []
        for j, count in enumerate(votes):

            def height(t: mpf, j: int = j, count: int = count) -> mpf:
                value = pdf((t - count) / s) / s
                for i, other in enumerate(votes):
                    if i != j:
                        value *= cdf((t - other) / s)
                return value

            reach = 11 if name == "gaussian" else 60
            ends = sorted({min(votes) - reach * s, *map(mpf, votes), max(votes) + reach * s})
            fine = [mp.linspace(a, b, 4)[:-1] for a, b in itertools.pairwise(ends)]
            results.append(mp.quad(height, [*itertools.chain(*fine), ends[-1]]))
        return results


@pytest.mark.parametrize(
    ("votes", "scale", "name"),
    [
        (*PLACES[0], "gaussian"),
        (*PLACES[2], "gaussian"),
        *((*place, "laplace") for place in PLACES),
    ],
)
def test_labels_against_fifty_digits(votes: tuple[int, ...], scale: str, name: str) -> None:
    noise = {"gaussian": GaussianNoise, "laplace": LaplaceNoise}[name](Fraction(scale))
    ours = np.exp(laws(np.array([votes]), Level("agent"), noise).base[0])
    for probability, exact in zip(ours.tolist(), by_mpmath(votes, scale, name), strict=True):
        assert probability == pytest.approx(float(exact), rel=2e-12, abs=0)


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=6).filter(any),
    st.floats(0.5, 60),
    st.sampled_from(["agent", "instance"]),
    st.sampled_from([GaussianNoise, LaplaceNoise]),
)
def test_a_neighbour_is_the_votes_it_has(
    votes: list[int], scale: float, level: str, kind: type[GaussianNoise | LaplaceNoise]
) -> None:
    """A neighbour's law, made from its data set's densities, is that of its own votes."""
    counts = np.sort(np.array([votes]), axis=1)[:, ::-1]
    noise = kind(Fraction(scale))
    result = laws(counts, Level(level), noise)
    for source, target, log_p in zip(
        result.moves.source, result.moves.target, result.other, strict=True
    ):
        changed = counts[0].copy()
        if source >= 0:
            changed[source] -= 1
        if target >= 0:
            changed[target] += 1
        assert changed.min() >= 0
        order = np.argsort(-changed, kind="stable")
        expected = np.empty(changed.size)
        expected[order] = laws(changed[order][None, :], Level(level), noise).base[0]
        assert log_p == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert np.exp(result.base).sum() == pytest.approx(1.0, abs=1e-13)
    assert np.exp(result.other).sum(axis=1) == pytest.approx(1.0, abs=1e-13)


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.5, 30), st.floats(1.05, 40))
def test_two_classes_in_closed_form(v1: int, v2: int, sigma: float, order: float) -> None:
    """With two classes only the margin counts, and each label's chance is a normal tail."""
    from scipy.special import log_ndtr

    def tails(margin: float) -> tuple[float, float]:
        x = margin / (math.sqrt(2.0) * sigma)
        return float(log_ndtr(x)), float(log_ndtr(-x))

    def divergence(p: tuple[float, float], q: tuple[float, float]) -> float:
        terms = [order * a + (1.0 - order) * b for a, b in zip(p, q, strict=True)]
        return float(np.logaddexp(*terms)) / (order - 1.0)

    law = tails(v1 - v2)
    near = [tails(v1 - v2 + 1), tails(v1 - v2 - 1)]
    exact = max(max(divergence(law, other), divergence(other, law)) for other in near)
    ours = float(dp.GNMax(sigma=sigma, level="agent").renyi([[v1, v2]], order)[0])
    assert ours == pytest.approx(exact, rel=1e-7, abs=1e-13 * order / (order - 1.0))


def all_neighbours(votes: tuple[int, ...], level: str) -> set[tuple[int, ...]]:
    distinct = set()
    for i, j in itertools.product(range(len(votes)), repeat=2):
        for change in (
            [(i, 1)] if level == "agent" else [],
            [(i, -1)] if level == "agent" else [],
            [(i, -1), (j, 1)] if level == "instance" and i != j else [],
        ):
            other = list(votes)
            for place, step in change:
                other[place] += step
            if change and min(other) >= 0:
                distinct.add(tuple(other))
    return distinct


@pytest.mark.parametrize("level", ["agent", "instance"])
@pytest.mark.parametrize("voters", [1, 2, 3, 4])
def test_brute_force_on_all_small_histograms(voters: int, level: str) -> None:
    """Every histogram of so many votes on three classes, every neighbour, by scipy's own quadrature."""
    from scipy.integrate import quad
    from scipy.special import ndtr
    from scipy.stats import norm

    sigma, order = 1.3, 3.0
    laws: dict[tuple[int, ...], np.ndarray] = {}

    def law(votes: tuple[int, ...]) -> np.ndarray:
        if votes not in laws:
            laws[votes] = np.array(
                [
                    quad(
                        lambda t, j=j: (
                            norm.pdf(t, votes[j], sigma)
                            * math.prod(
                                ndtr((t - v) / sigma) for i, v in enumerate(votes) if i != j
                            )
                        ),
                        -15,
                        20,
                        epsabs=1e-12,
                    )[0]
                    for j in range(len(votes))
                ]
            )
        return laws[votes]

    every = [v for v in itertools.product(range(voters + 1), repeat=3) if sum(v) == voters]
    gnmax = dp.GNMax(sigma=sigma, level=level)
    for votes, divergence in zip(every, gnmax.renyi(every, order), strict=True):
        worst = 0.0
        for other in all_neighbours(votes, level):
            for p, q in ((law(votes), law(other)), (law(other), law(votes))):
                moment = float((p**order * q ** (1.0 - order)).sum())
                worst = max(worst, math.log(moment) / (order - 1.0))
        assert divergence == pytest.approx(worst, rel=1e-7)


def test_draws_agree() -> None:
    """A million noisy argmaxes, once, with a fixed seed."""
    votes, draws = np.array([12.0, 9.0, 7.0, 1.0]), 10**6
    rng = np.random.default_rng(2018)
    for noise, made in (
        (GaussianNoise(Fraction(4)), rng.normal(scale=4.0, size=(draws, 4))),
        (LaplaceNoise(Fraction(3)), rng.laplace(scale=3.0, size=(draws, 4))),
    ):
        seen = np.bincount(np.argmax(votes + made, axis=1), minlength=4) / draws
        exact = np.exp(laws(votes.astype(np.int64)[None, :], Level("agent"), noise).base[0])
        assert np.abs(seen - exact).max() < 5.0 * math.sqrt(0.25 / draws)


def test_a_wrong_label() -> None:
    """AE-DPFL, Lemma 12: votes (2, 0, 0), sigma = 1."""
    gnmax = dp.GNMax(sigma=1)
    assert 1.0 - gnmax.wrong([[2, 0, 0]])[0] == pytest.approx(0.8657671756348, abs=1e-13)
    # the printed margin of 7.8 votes is not enough: two classes, 8 votes, in closed form
    two = dp.GNMax(sigma=25).wrong([[100, 92]])
    assert two[0] == pytest.approx(0.5 * math.erfc(8 / (2 * 25)), rel=1e-12) and two[0] > 0.4


def test_kNN_votes_are_votes_of_a_smaller_weight() -> None:
    """k neighbours a voter: the same argmax as with k times the noise on the labels' counts."""
    counts = [[300, 20, 10], [120, 110, 100]]
    knn = dp.GNMax(sigma=2, neighbours=10).renyi(counts, 6)
    assert knn == pytest.approx(dp.GNMax(sigma=20).renyi(counts, 6), rel=1e-12)


def test_divergences_of_tiny_differences() -> None:
    """To all digits against 50, where log of the moment itself would have none left."""
    p, q = [mpf("1e-12"), mpf("3e-9")], [mpf("1.1e-12"), mpf("2.9e-9")]
    for order in ("1.05", "2", "30"):
        with mp.workdps(60):
            full = [[1 - sum(row), *row] for row in (p, q)]
            a = mpf(order)
            exact = mp.log(sum(x**a * y ** (1 - a) for x, y in zip(*full, strict=True))) / (a - 1)
            logs = [np.array([[float(mp.log(x)) for x in row]]) for row in full]
        side = Neighbours.of("from", np.array([0]), *logs, np.ones(1))
        assert side.divergences(float(order))[0] == pytest.approx(float(exact), rel=1e-9)


def test_agents_with_neighbours_have_no_exact_cost() -> None:
    """They may spread their votes, and no law of one class bounds all ways to do so."""
    votes = [[25, 5], [10, 20]]
    cost = dp.GNMax(sigma=6, level="agent", neighbours=5).cost(votes, 1e-5)
    assert cost.exact is None and "spread its vote" in cost.why
    assert dp.GNMax(sigma=6, neighbours=5).cost(votes, 1e-5).exact is not None
