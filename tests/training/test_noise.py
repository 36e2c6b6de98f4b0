"""Bound, draw and node of each noise agree; what must not pass does not."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special, stats

import dpacct as dp
from dpacct_training.keys import Keys, Stream
from dpacct_training.noise import (
    Gaussian,
    Laplace,
    Meters,
    Noise,
    NoiseMeter,
    Staircase,
    Unprotected,
    Votes,
)
from dpacct_training.plan import Records, accounted, fixed_size, poisson
from dpacct_training.run import checked_rows

KEYS = Keys.from_seed(4)
ROWS = arrays(
    np.float64, st.tuples(st.integers(0, 5), st.integers(1, 6)), elements=st.floats(-1e300, 1e300)
)
KINDS: list[Noise] = [
    Gaussian(4, 0.7, 1.3),
    Laplace(4, 0.7, 1.3),
    Staircase(4, 0.7, 1.3),
    Staircase(4, 0.7, 0.05),
    Votes(4, 1.0, 3.0, 2),
]


def kind(noise: Noise) -> str:
    return type(noise).__name__


@given(ROWS, st.floats(1e-6, 1e6))
def test_no_row_is_longer_than_the_clip(rows: Any, clip: float) -> None:
    got = Gaussian(1, clip).bound(rows)
    for before, after in zip(rows, got, strict=True):
        assert sum(Fraction(v) ** 2 for v in after) <= Fraction(clip) ** 2  # exactly
        if math.hypot(*before) <= clip * (1 - 1e-9):
            assert np.array_equal(before, after)
        elif (peak := np.abs(before).max()) > 0:  # same direction
            np.testing.assert_allclose(
                after / np.abs(after).max(), before / peak, rtol=1e-12, atol=1e-300
            )


@given(ROWS, st.floats(1e-6, 1e6))
def test_the_other_norms_are_bounded_too(rows: Any, clip: float) -> None:
    rows = rows / 1e100  # sums of what is nearly the largest double overflow
    for row in Laplace(1, clip).bound(rows):
        assert sum(abs(Fraction(v)) for v in row) <= Fraction(clip) * (1 + Fraction(1, 2**45))
    assert np.abs(Staircase(1, clip).bound(rows)).max(initial=0.0) <= clip


@given(arrays(np.float64, (3, 12), elements=st.floats(-1e9, 1e9)))
def test_whatever_is_sent_is_one_vote_a_query(rows: Any) -> None:
    votes = Votes(12, 1.0, 3.0, 4).bound(rows).reshape(3, 3, 4)
    assert set(np.unique(votes)) <= {0.0, 1.0} and (votes.sum(axis=2) == 1).all()


@pytest.mark.parametrize("noise", KINDS, ids=kind)
def test_what_is_drawn_has_the_law_of_the_node(noise: Noise) -> None:
    """Variance and kurtosis are declared off the node; here against the draw."""
    drawn = noise.unit(400_000, KEYS.stream("x")) * noise.clip
    assert (drawn**2).mean() == pytest.approx(noise.variance, rel=0.015)
    assert (drawn**4).mean() / (drawn**2).mean() ** 2 <= noise.kurtosis * 1.05
    assert abs(drawn.mean()) < 6 * math.sqrt(noise.variance / drawn.size)


def test_the_whole_law_by_peers() -> None:
    """Kolmogorov and Smirnov: against scipy's normal and Laplace, and dpacct's own staircase."""
    size = 50_000
    normal, laplace = (
        kind(1, 1.0, 1.3).unit(size, KEYS.stream("law")) for kind in (Gaussian, Laplace)
    )
    assert stats.kstest(normal / 1.3, "norm").pvalue > 1e-3
    assert stats.kstest(laplace / 1.3, "laplace").pvalue > 1e-3
    for eps0 in (0.1, 1.3, 6.0):
        drawn = Staircase(1, 1.0, eps0).unit(size, KEYS.stream("law"))
        peer = dp.Staircase(eps0=eps0).sample(size, rng=5)
        assert stats.ks_2samp(drawn, peer).pvalue > 1e-3


def test_the_node_is_dpacct_s_and_free_of_scale() -> None:
    """Told of its clip, so that fixed-size samples are accounted at two clips."""
    assert Gaussian(4, 0.7, 1.3).node == dp.Gaussian(noise_multiplier=1.3, clip=1)
    assert Laplace(4, 0.7, 1.3).node == dp.Laplace(noise_multiplier=1.3, clip=1)
    assert Staircase(4, 0.7, 1.3).node == dp.Staircase(eps0=1.3, clip=1) * 4
    assert Votes(12, 1.0, 3.0, 4).node == dp.GNMax(sigma=3.0, level="agent").plan(3)
    for noise in KINDS:
        assert noise.at(0.1).node == noise.node and noise.at(0.1).clip == 0.1
    for noise in KINDS[:3]:
        assert noise.node is not None
        moved = accounted(noise.node, "uniform", Fraction(1, 4)).epsilon(delta=1e-3).value
        assert moved > dp.Poisson("0.25")(noise.node).epsilon(delta=1e-3).value * 1.5


@pytest.mark.parametrize("noise", KINDS[:3], ids=kind)
def test_noise_is_double_precision(noise: Noise) -> None:
    """No multiple of a grid of single precision: what would be rounded has an infinite loss."""
    stream = KEYS.stream("x")
    for drawn in (noise.unit(1000, stream), noise.add(np.zeros(1000), stream, NoiseMeter())):
        assert drawn.dtype == np.float64
        assert (drawn.astype(np.float32) == drawn).mean() < 0.01


@pytest.mark.parametrize("factor", [0.1, 0.9, 1.1, math.nan])
def test_other_noise_than_the_accounted_is_refused(factor: float) -> None:
    class Wrong(Gaussian):
        def unit(self, count: int, stream: Any) -> Any:
            return super().unit(count, stream) * factor

    meter = NoiseMeter()
    with pytest.raises(dp.AssumptionViolated, match="times the accounted variance"):
        Wrong(20_000, 1.0, 1.0).add(np.zeros(20_000), KEYS.stream("x"), meter)
    assert meter.vectors == 0


def test_few_numbers_are_judged_together() -> None:
    """A count is one number a round: 29 of them are not judged, 40 are."""
    meters = Meters()
    for _ in range(29):
        meters["count"].measure(np.array([1e-3]), 1.0, 3.0)
    meters["count"].check(3.0)
    for _ in range(11 * 10):
        meters["count"].measure(np.array([1e-3]), 1.0, 3.0)
    with pytest.raises(dp.AssumptionViolated):
        meters["count"].check(3.0)


def test_parts_of_the_noise_add_up_to_all_of_it() -> None:
    noise, meter = Gaussian(20_000, 0.5, 2.0), NoiseMeter()
    parts = [noise.add(np.zeros(20_000), KEYS.stream(str(i)), meter, 1 / 7) for i in range(7)]
    assert np.sum(parts, axis=0).std() == pytest.approx(1.0, rel=0.03)
    for part in parts:
        assert part.std() == pytest.approx(1.0 / math.sqrt(7), rel=0.03)
    assert (meter.vectors, meter.numbers) == (7, 140_000)
    assert meter.ratio == pytest.approx(1.0, abs=0.03)
    total = np.ones(3)
    assert noise.add(total, KEYS.stream("x"), meter, 0.0) is total and meter.vectors == 7


def test_without_noise_there_is_no_node() -> None:
    free, clipped = Unprotected(3), Unprotected(3, 1.0)
    rows = np.full((2, 3), 1e6)
    assert free.node is None and np.array_equal(free.bound(rows), rows) and not free.bounds
    assert np.linalg.norm(clipped.bound(rows), axis=1).max() <= 1.0 and clipped.bounds


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.ones((2, 3), np.int64), "floating-point numbers, got int64 from client 5"),
        (np.array([[1.0, 2, 3], [np.nan, 0, 0]]), "finite, got nan or infinity from client 9"),
        (np.array([[np.inf, 2, 3], [1.0, 0, 0]]), "finite, got nan or infinity from client 5"),
        (np.ones((3, 3)), "one row of 3 numbers for each of 2 clients"),
        (np.ones((2, 4)), "one row of 3 numbers for each of 2 clients"),
        (np.ones(2), "one row of 3 numbers"),
        (None, "got nothing from clients 5 to 9"),
    ],
)
def test_what_must_not_pass(rows: Any, says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        checked_rows((5, 9), rows, 3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gaussian(3, 1.0, 0.0), "multiplier must be a finite number above 0"),
        (lambda: Gaussian(3, -1.0, 1.0), "clip must be"),
        (lambda: Gaussian(0, 1.0, 1.0), "size must be a whole number from 1"),
        (lambda: Laplace(3, 1.0, math.nan), "b must be a finite number"),
        (lambda: Staircase(3, 1.0, 0.0), "eps0 must be a finite number above 0"),
        (lambda: Votes(3, 1.0, 1.0, 1), "classes must be a whole number from 2"),
        (lambda: Records(noise=KINDS[0], steps=0, rate=Fraction(1, 2)), "steps must be"),
        (lambda: Records(noise=KINDS[0], steps=1, rate=Fraction(3, 2)), "rate must be"),
    ],
)
def test_a_wrong_setting_is_one_sentence(make: Any, says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        make()


def test_records_account_what_a_round_draws() -> None:
    noise = Gaussian(5, 1.0, 2.0)
    step = dp.Poisson("0.25")(dp.Gaussian(noise_multiplier=2, clip=1))
    rate = Fraction(1, 4)
    plain = Records(noise=noise, steps=3, rate=rate)
    assert plain.node == (step * 3).under(unit="record")
    coin = Records(noise=noise, steps=3, rate=rate, coin=Fraction(1, 2))
    assert coin.node == dp.Participation("0.5")(step * 3).under(unit="record")
    budgeted = Records(noise=noise, steps=3, rate=rate, epsilon=3.0)
    last = budgeted.rounds(50)
    assert budgeted.node is not None and 0 < last < 50
    assert float((budgeted.node * last).epsilon(delta=1e-5)) <= 3.0
    assert float((budgeted.node * (last + 1)).epsilon(delta=1e-5)) > 3.0


@pytest.mark.parametrize("scheme", ["poisson", "uniform"])
def test_record_coins(scheme: str) -> None:
    """Of the accounted kind and rate, fresh in each step."""
    records = Records(noise=KINDS[0], steps=1, rate=Fraction(1, 4), scheme=scheme)
    stream = KEYS.stream("coins")
    batches = [tuple(records.batch(40, stream).tolist()) for _ in range(2000)]
    sizes = np.array([len(batch) for batch in batches])
    assert len(set(batches)) > 1900
    if scheme == "uniform":
        assert set(sizes) == {10}
    else:
        assert abs(sizes.mean() - 10) < 6 * math.sqrt(7.5 / 2000)
        assert 0.85 < sizes.var() / 7.5 < 1.15
    taken = np.bincount(np.concatenate(batches), minlength=40) / 2000
    assert np.abs(taken - 0.25).max() < 6 * math.sqrt(0.1875 / 2000)


# --- Keys, coins and normal numbers against AES by hand, closed forms and brute force.


def test_words_are_aes_of_a_counter() -> None:
    key = bytes(range(32))
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    wanted = b"".join(block.update(n.to_bytes(16, "big")) for n in range(5))
    stream = Stream(key)
    got = np.concatenate([stream.words(3), stream.words(7)])
    assert got.astype("<u8").tobytes() == wanted


def test_normals_are_box_muller_of_the_words() -> None:
    key = b"k" * 32
    words = Stream(key).words(6).tolist()
    wanted = []
    for turn in (math.cos, math.sin):
        for radial, angular in zip(words[:3], words[3:], strict=True):
            radius = math.sqrt(-2.0 * math.log((radial + 1) / 2**64))
            wanted.append(radius * turn(2 * math.pi * (angular >> 11) / 2**53))
    np.testing.assert_allclose(Stream(key).normals(6), wanted, rtol=1e-12, atol=1e-14)
    assert len(Stream(key).normals(5)) == 5


def test_normals_are_normal() -> None:
    """Kolmogorov-Smirnov at a fixed key; moments to the fourth."""
    x = np.sort(Keys.from_seed(3).stream("noise").normals(200_000))
    ranks = np.arange(1, len(x) + 1) / len(x)
    assert np.abs(special.ndtr(x) - ranks).max() * math.sqrt(len(x)) < 1.6  # chance 1 %
    assert abs(x.mean()) < 0.01 and abs(x.var() - 1) < 0.015 and abs((x**4).mean() - 3) < 0.1


def test_each_purpose_round_and_client_has_its_own_stream() -> None:
    keys = Keys.from_seed(1)
    named = [("a", 0, 1), ("a", 1, 0), ("b", 0, 1), ("a", 0, 11), ("a", 1, 1), ("a|1", 1, 1)]
    streams = {tuple(keys.stream(p, round=r, client=c).words(2).tolist()) for p, r, c in named}
    assert len(streams) == len(named)
    orders = {
        tuple(keys.generator(p, round=r, client=c).integers(2**62, size=2)) for p, r, c in named
    }
    assert len(orders) == len(named)
    assert Keys.from_seed(1).secret == keys.secret != Keys.from_seed(2).secret
    assert Keys.fresh().secret != Keys.fresh().secret
    assert "secret" not in repr(keys) and keys.secret.hex() not in repr(keys)


@given(st.fractions(0, 1).filter(lambda q: q > 0), st.integers(1, 300), st.integers(0, 2**32))
def test_coins_by_brute_force(rate: Fraction, population: int, seed: int) -> None:
    keys = Keys.from_seed(seed)
    sample = poisson(population, rate, keys.stream("sample"))
    words = keys.stream("sample").words(population).tolist()
    # a word wins where it is below rate * 2^64, rounded down: never above the accounted rate
    wanted = [i for i, w in enumerate(words) if rate == 1 or w < math.floor(rate * 2**64)]
    assert sample.tolist() == wanted


@given(st.integers(1, 300), st.data())
def test_a_fixed_size_is_that(population: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, population))
    got = fixed_size(population, size, Keys.from_seed(0).stream("sample"))
    assert len(set(got.tolist())) == size
    assert np.all(np.diff(got) > 0) and got[0] >= 0 and got[-1] < population


def test_every_subset_is_as_likely() -> None:
    """All 10 pairs out of 5: chi-squared at a fixed key (9 degrees, 99.9 % is 27.9)."""
    keys, draws = Keys.from_seed(5), 4000
    seen: dict[tuple[int, ...], int] = {}
    for n in range(draws):
        pair = tuple(fixed_size(5, 2, keys.stream("sample", round=n)).tolist())
        seen[pair] = seen.get(pair, 0) + 1
    assert len(seen) == 10
    assert sum((n - draws / 10) ** 2 for n in seen.values()) / (draws / 10) < 27.9


def test_coins_come_up_as_often_as_they_should() -> None:
    keys = Keys.from_seed(9)
    sizes = [
        poisson(1000, Fraction(1, 20), keys.stream("sample", round=n)).size for n in range(400)
    ]
    assert np.mean(sizes) == pytest.approx(50, abs=4 * math.sqrt(47.5 / 400))
    assert np.var(sizes) == pytest.approx(47.5, rel=0.3)


def test_a_child_tells_nothing_of_its_siblings() -> None:
    """Another client, another round, another run: another key; and the same words each time."""
    keys = Keys.from_seed(1)
    children = [keys.child(r, c) for r in (1, 2) for c in (1, 11)] + [Keys.from_seed(2).child(1, 1)]
    assert len({child.key for child in children}) == 5
    assert keys.secret not in {child.key for child in children}
    first, again = keys.child(1, 1), keys.child(1, 1)
    assert first.stream("a").words(2).tolist() == again.stream("a").words(2).tolist()
    assert first.stream("a").words(2).tolist() != first.stream("b").words(2).tolist()
    assert first.generator("a").integers(2**62) == again.generator("a").integers(2**62)
    assert first.key.hex() not in repr(first)


def test_uniforms_and_signs() -> None:
    stream = Keys.from_seed(3).stream("x")
    uniforms, signs = stream.uniforms(100_000), stream.signs(100_000)
    assert uniforms.min() > 0 and uniforms.max() <= 1 and set(signs) == {-1.0, 1.0}
    assert abs(uniforms.mean() - 0.5) < 0.005 and abs(signs.mean()) < 0.015
