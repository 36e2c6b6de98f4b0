"""The vocabulary: parsing, order and meets."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Adjacency, Assumption, AssumptionStatus, Side, Strength, Unit

WORDS = [Adjacency, Unit, Side, Strength, AssumptionStatus]
sides = st.sampled_from(Side)


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_reads_back(kind: type[Adjacency]) -> None:
    for word in kind:
        assert kind.parse(word) is word
        assert kind.parse(f" {str(word).upper().replace('-', '_')} ") is word
        assert json.loads(json.dumps({"word": word})) == {"word": str(word)}


@pytest.mark.parametrize("bad", ["", "nothing", None, 3, b"user", "x" * 10_000, ["add-remove"]])
def test_what_is_no_word_is_refused_in_one_sentence(bad: object) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Adjacency.parse(bad)
    message = str(caught.value)
    assert message.startswith("adjacency must be add-remove, replace-one or zero-out, got ")
    assert len(message) < 150 and "\n" not in message
    assert caught.value.argument == "adjacency"


def test_a_near_miss_gets_a_hint() -> None:
    with pytest.raises(InvalidArgument, match=r"; did you mean replace-one\?$"):
        Adjacency.parse("replaceone", argument="neighbours")


def test_clip_factor_is_the_sensitivity_of_a_clipped_sum() -> None:
    factors = {adjacency: adjacency.clip_factor for adjacency in Adjacency}
    assert factors == {
        Adjacency.ADD_REMOVE: 1,
        Adjacency.REPLACE_ONE: 2,
        Adjacency.ZERO_OUT: 1,
    }


@given(sides, sides, sides)
def test_meet_is_a_meet(a: Side, b: Side, c: Side) -> None:
    assert a.meet(a) is a
    assert a.meet(b) is b.meet(a)
    assert a.meet(b).meet(c) is a.meet(b.meet(c))
    assert a.meet(Side.TWO_SIDED) is a
    assert a.meet(Side.NONE) is Side.NONE


def test_upper_and_lower_know_nothing_together() -> None:
    assert Side.UPPER.meet(Side.LOWER) is Side.NONE


def test_strengths_are_ordered_by_support_and_not_by_alphabet() -> None:
    falling = ["proved", "bracketed", "converged", "bound", "published", "estimate", "refuted"]
    assert [str(s) for s in sorted(Strength, reverse=True)] == falling
    for stronger, weaker in itertools.combinations(falling, 2):
        assert Strength(stronger) > Strength(weaker)
        assert Strength(stronger) >= weaker
        assert Strength(weaker) < stronger
        assert Strength(weaker) <= Strength(weaker)
        assert max(Strength(stronger), Strength(weaker)) is Strength(stronger)


@given(st.lists(st.sampled_from(Strength), min_size=1))
def test_the_weakest_is_no_stronger_than_any(strengths: list[Strength]) -> None:
    weakest = Strength.weakest(strengths)
    assert weakest in strengths
    assert all(weakest <= strength for strength in strengths)


def test_comparing_a_strength_with_no_strength_is_an_error() -> None:
    with pytest.raises(InvalidArgument, match="strength must be"):
        assert Strength.PROVED > "excellent"


def test_assumptions_print_their_status() -> None:
    assert Assumption("noise is fresh").status is AssumptionStatus.DECLARED
    assert str(Assumption("noise is fresh")) == "noise is fresh [declared]"
    held = Assumption("noise is fresh", "ledger", AssumptionStatus.HELD)
    assert str(held) == "noise is fresh [held; ledger]"
    assert hash(held) == hash(Assumption("noise is fresh", "ledger", AssumptionStatus.HELD))
