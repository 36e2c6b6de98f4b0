"""Keys, coins and normal numbers against AES by hand, closed forms and brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from dpacct_training.keys import Keys, Stream
from dpacct_training.plan import fixed_size, poisson


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
    assert sample.clients.tolist() == wanted
    assert sample.coins == population


@given(st.integers(1, 300), st.data())
def test_a_fixed_size_is_that(population: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, population))
    got = fixed_size(population, size, Keys.from_seed(0).stream("sample")).clients
    assert len(set(got.tolist())) == size
    assert np.all(np.diff(got) > 0) and got[0] >= 0 and got[-1] < population


def test_every_subset_is_as_likely() -> None:
    """All 10 pairs out of 5: chi-squared at a fixed key (9 degrees, 99.9 % is 27.9)."""
    keys, draws = Keys.from_seed(5), 4000
    seen: dict[tuple[int, ...], int] = {}
    for n in range(draws):
        pair = tuple(fixed_size(5, 2, keys.stream("sample", round=n)).clients.tolist())
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
