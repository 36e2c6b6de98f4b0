"""Mechanisms: forms, domains, exactness, and what goes to the engine."""

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.declare.number import exact, literal
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.gaussian import Gaussian, GaussianStatistic, exact_root, short, square_root
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.mechanisms.opaque import ZCDP, ApproxDP, PureDP
from dpacct.mechanisms.staircase import Staircase
from dpacct.plan.node import READERS, Leaf
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.vocabulary import Adjacency

ONE_EACH: list[Mechanism] = [
    Gaussian(sigma=1.1),
    Gaussian(noise_multiplier=1.1, clip="0.3"),
    GaussianStatistic(per_sensitivity="2/3", per_clip=1),
    Gaussian(noise_multiplier="1/3"),
    Laplace(b=10),
    Laplace(noise_multiplier=10, clip="1/3"),
    Laplace(noise_multiplier=2),
    Staircase(eps0=1, clip="0.3"),
    PureDP(epsilon=0.1),
    ApproxDP(epsilon=0.1, delta=1e-6),
    ZCDP(rho=Fraction(1, 3)),
]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"sigma": None},
        {"sigma": 1, "noise_multiplier": 1},
        {"sigma": 1, "noise_multiplier": 1, "clip": 1},
        {"clip": 1},
        {"sigma": 1, "clip": 1},
    ],
    ids=str,
)
def test_gaussian_takes_exactly_one_form(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"sigma|noise_multiplier"):
        Gaussian(**wrong)


def test_sensitivity_comes_from_clip_and_adjacency() -> None:
    clipped = Gaussian(noise_multiplier=3, clip="0.5")
    assert [clipped.sigma_under(a) for a in Adjacency] == [3.0, 1.5, 3.0]
    assert [clipped.noise_std(a) for a in Adjacency] == [1.5, 1.5, 1.5]
    given_sigma = Gaussian(sigma=3)
    assert [given_sigma.sigma_under(a) for a in Adjacency] == [3.0, 3.0, 3.0]
    assert given_sigma.noise_std(Adjacency.ADD_REMOVE) is None
    results = [str(a) for a in clipped.assumptions(Adjacency.REPLACE_ONE)]
    assert results == [
        "the l2 sensitivity under replace-one is 2 * clip: each unit is clipped once [declared]"
    ]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("clip", [None, "0.3", 7])
def test_a_clipped_sum_moves_by_the_clip_or_by_twice_the_clip(
    adjacency: Adjacency, clip: Any
) -> None:
    """Only the ratio counts: the pairs are those of the noise per sensitivity, sampled or not."""
    factor = 2 if adjacency is Adjacency.REPLACE_ONE else 1
    laplace = Laplace(noise_multiplier="2.4", clip=clip), Laplace(b=Fraction(12, 5) / factor)
    gaussian = Gaussian(noise_multiplier=3, clip=clip), Gaussian(sigma=Fraction(3, factor))
    samplers = [Poisson(0.2)]
    samplers += [WithoutReplacement(0.2)] if adjacency is Adjacency.REPLACE_ONE else []
    for clipped, scaled in (laplace, gaussian):
        assert clipped.pairs(adjacency) == scaled.pairs(adjacency)
        for sampler in samplers:
            assert sampler(clipped).pairs(adjacency) == sampler(scaled).pairs(adjacency)
        for method in ("exact", "certified"):
            asked = {"delta": 1e-5, "adjacency": adjacency, "method": method}
            assert clipped.epsilon(**asked).value == scaled.epsilon(**asked).value


def test_a_clip_of_laplace_noise_needs_its_multiplier() -> None:
    with pytest.raises(
        InvalidArgument, match=r"\bb\b.* noise_multiplier|^clip needs noise_multiplier"
    ):
        Laplace(b=1, clip=1)
    for lone in ({"clip": 1}, {}, {"b": None}):
        with pytest.raises(
            InvalidArgument, match=r"\bb\b.* noise_multiplier|^clip needs noise_multiplier"
        ):
            Laplace(**lone)


def test_equality_is_of_what_was_meant() -> None:
    assert Gaussian(sigma=0.1) == Gaussian(sigma="1/10") == Gaussian(sigma=np.float32(0.1))
    assert hash(Gaussian(sigma=0.1)) == hash(Gaussian(sigma="0.10"))
    assert Gaussian(sigma=1) != Gaussian(noise_multiplier=1, clip=1)
    assert Gaussian(sigma=1) != Laplace(b=1)
    assert len({Laplace(b=1), Laplace(b=1.0), Laplace(b="1e0"), Laplace(b=2)}) == 2


@pytest.mark.parametrize("mechanism", ONE_EACH, ids=repr)
def test_printed_saved_pickled_and_copied_it_is_the_same(mechanism: Mechanism) -> None:
    assert eval(repr(mechanism)) == mechanism
    assert type(mechanism).from_fields(mechanism.fields()) == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert copy.deepcopy(mechanism) == mechanism
    assert mechanism.releases() == ((mechanism, 1),)
    assert all(isinstance(value, str) for value in mechanism.fields().values())


@pytest.mark.parametrize("mechanism", ONE_EACH, ids=repr)
def test_each_says_where_it_comes_from_and_what_it_assumes(mechanism: Mechanism) -> None:
    assert mechanism.citations()
    for adjacency in Adjacency:
        assumed = mechanism.assumptions(adjacency)
        assert assumed and all(str(adjacency) in str(each) for each in assumed)


@pytest.mark.parametrize("mechanism", ONE_EACH, ids=repr)
def test_they_cannot_be_changed(mechanism: Mechanism) -> None:
    for parameter in type(mechanism).parameters.values():
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(mechanism, parameter.attribute, 7)


def test_questions_are_not_hidden_by_parameters() -> None:
    for mechanism in ONE_EACH:
        for question in ("epsilon", "delta", "rdp", "profile", "tradeoff", "compare"):
            assert callable(getattr(mechanism, question))


def test_every_file_of_the_room_is_registered() -> None:
    import dpacct.mechanisms

    assert {type(m).kind for m in ONE_EACH} <= set(READERS)
    dpacct.mechanisms.load_plugins()


def test_adding_a_mechanism_is_defining_it() -> None:
    class Shifted(Laplace, kind="shifted-for-a-test"):
        pass

    try:
        assert READERS["shifted-for-a-test"]({"b": "2"}) == Shifted(b=2)
        with pytest.raises(InvalidArgument, match="is taken"):

            class Again(Laplace, kind="shifted-for-a-test"):
                pass

    finally:
        del READERS["shifted-for-a-test"]


# --- Gaussians on one sample are one Gaussian


def test_equal_gaussians_fuse_to_sigma_over_root_k() -> None:
    assert fuse((Gaussian(sigma=3), 9)) == Gaussian(sigma=1)
    clipped = Gaussian(noise_multiplier=3, clip=2)
    assert fuse((clipped, 9)) == Gaussian(noise_multiplier=1, clip=2)


def test_an_irrational_root_keeps_its_square_exact() -> None:
    fused = fuse((Gaussian(sigma=1), 3), (Gaussian(sigma=2), 5))
    assert fused == GaussianStatistic(per_sensitivity="17/4")
    assert fused.sigma_squared(Adjacency.ADD_REMOVE) == Fraction(4, 17)


def test_the_two_forms_stay_apart_until_the_adjacency_is_known() -> None:
    fused = fuse((Gaussian(sigma=1), 1), (Gaussian(noise_multiplier=1, clip=5), 2))
    assert fused.sigma_squared(Adjacency.ADD_REMOVE) == Fraction(1, 3)
    assert fused.sigma_squared(Adjacency.REPLACE_ONE) == Fraction(1, 9)
    assert fuse((fused, 2)).sigma_squared(Adjacency.REPLACE_ONE) == Fraction(1, 18)


def test_different_clips_fuse_to_a_statistic() -> None:
    narrow, wide = (Gaussian(noise_multiplier=1, clip=clip) for clip in (1, 2))
    assert fuse((narrow, 1), (wide, 3)) == GaussianStatistic(per_clip=4)


def test_only_gaussians_fuse() -> None:
    assert Gaussian(sigma=1).fused(((Gaussian(sigma=1), 1), (Laplace(b=1), 1))) is None
    assert Laplace(b=1).fused(((Laplace(b=1), 2),)) is None


def test_many_different_gaussians_fuse_on_the_safe_side() -> None:
    many = tuple((Gaussian(sigma=1 + k / 997), 1 + k) for k in range(2000))
    fused = fuse(*many)
    precision = sum(count / leaf.sigma**2 for leaf, count in many if leaf.sigma)
    assert precision <= fused.precision()[0] <= precision * (1 + Fraction(1, 2**900))
    assert type(fused).from_fields(fused.fields()) == fused


def fuse(*releases: tuple[Leaf, int]) -> Any:
    return releases[0][0].fused(releases)


def test_a_statistic_needs_some_precision() -> None:
    with pytest.raises(InvalidArgument, match="must be positive, got 0"):
        GaussianStatistic()


# --- numbers


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_square_roots(value: Fraction) -> None:
    assert square_root(value) == pytest.approx(math.sqrt(value), rel=4e-16)
    assert exact_root(value * value) == value


@given(st.floats(1e-150, 1e150))
def test_the_root_of_a_square_is_the_double_itself(value: float) -> None:
    assert square_root(Fraction(repr(value)) ** 2) == value


def test_roots_of_extreme_values() -> None:
    assert exact_root(Fraction(2)) is None
    assert square_root(Fraction(1, 10**600)) == 1e-300
    assert square_root(Fraction(10**600)) == 1e300


@given(st.integers(1, 2**3000), st.integers(1, 2**3000))
def test_short_rounds_up_by_next_to_nothing(over: int, under: int) -> None:
    value = Fraction(over, under)
    assert value <= short(value) <= value * (1 + Fraction(1, 2**990))


doubles = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: Fraction(repr(x)))


@given(st.fractions() | doubles)
def test_literals_read_back(value: Fraction) -> None:
    assert exact(eval(literal(value))) == value


def test_zcdp_knows_only_its_renyi_curve() -> None:
    curve = ZCDP(rho=0.25)
    assert not curve.has_pairs
    assert curve.renyi(np.array([2.0, 8.0]), Adjacency.ADD_REMOVE).tolist() == [0.5, 2.0]
    for ask in (curve.pairs, curve.pair):
        with pytest.raises(Unsupported, match=r"^ZCDP\(rho=0.25\) .* only method='rdp'"):
            ask(Adjacency.ADD_REMOVE)


@pytest.mark.parametrize("mechanism", [m for m in ONE_EACH if m.has_pairs], ids=repr)
def test_the_others_leave_renyi_to_their_pairs(mechanism: Mechanism) -> None:
    with pytest.raises(Unsupported, match="through its pairs"):
        mechanism.renyi(np.array([2.0]), Adjacency.ADD_REMOVE)
