"""Records: what follows from a list of parameters."""

import copy
import inspect
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

from dpacct.declare.domain import POSITIVE, Integer, Text
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument
from tests.structure.project import ROOT


class Noise(Record):
    """Two ways to say one noise, and a count that stands beside both."""

    ways = (("sigma",), ("noise_multiplier", "clip"))
    sigma: Parameter[Fraction | None] = Parameter(POSITIVE, "std", default=None, kw_only=False)
    noise_multiplier: Parameter[Fraction | None] = Parameter(POSITIVE, "std / clip", default=None)
    clip: Parameter[Fraction | None] = Parameter(POSITIVE, "clip", default=None)
    count: Parameter[int] = Parameter(Integer(1, 9), "how many", default=1)


class Guarantee(Record):
    """Parameters whose names are taken by something else, and one of text."""

    eps0: Parameter[Fraction] = Parameter(POSITIVE, "epsilon of one release", alias="epsilon")
    delta0: Parameter[Fraction] = Parameter(POSITIVE, "delta of one release", alias="delta")
    title: Parameter[str] = Parameter(Text(), "what it is called", default="a guarantee")


class Longer(Guarantee):
    """One parameter more."""

    rounds: Parameter[int] = Parameter(Integer(1), "how often", default=3)


RECORDS: list[Record] = [
    Noise("1.1"),
    Noise(noise_multiplier=2, clip="1/3", count=4),
    Noise(noise_multiplier=2),
    Guarantee(epsilon=1, delta="1e-9"),
    Longer(epsilon=1, delta=2, title="it's", rounds=7),
]


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_printed_pickled_and_copied_it_is_the_same(record: Record) -> None:
    assert eval(repr(record)) == record
    for twin in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
        assert twin == record and hash(twin) == hash(record) and repr(twin) == repr(record)
    assert type(record)(**record.settings) == record


def test_values_are_exact_and_none_is_as_good_as_nothing() -> None:
    noise = Noise(sigma=0.1, clip=None)
    assert (noise.sigma, noise.clip, noise.count) == (Fraction(1, 10), None, 1)
    assert noise == Noise("1/10", count=1) != Noise(sigma=0.1, count=2)
    assert noise.settings == {"sigma": Fraction(1, 10), "count": 1}
    assert Noise(noise_multiplier="1/10") != noise


@pytest.mark.parametrize(
    ("wrong", "argument", "sentence"),
    [
        ({}, "sigma", "give the Noise by sigma (std) or noise_multiplier (std / clip)"),
        (
            {"sigma": 1, "noise_multiplier": 2},
            "sigma",
            "noise_multiplier (std / clip) with clip, got sigma and noise_multiplier",
        ),
        (
            {"sigma": 1, "noise_multiplier": 2, "clip": 1},
            "sigma",
            "got sigma, noise_multiplier and clip",
        ),
        ({"sigma": 1, "clip": 1}, "clip", "got sigma and clip"),
        ({"clip": 1}, "clip", "noise_multiplier (std / clip) with clip, got clip"),
        ({"sigma": 1, "count": 10}, "count", "count must be a whole number from 1 to 9, got 10"),
        ({"sigma": 1, "cuont": 1}, "cuont", "Noise takes no parameter cuont; did you mean count?"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_one_sentence(
    wrong: dict[str, Any], argument: str, sentence: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Noise(**wrong)
    assert caught.value.argument == argument
    assert sentence in caught.value.message and "\n" not in caught.value.message


def test_what_is_needed_and_missing_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"^delta must be given: delta of one release$"):
        Guarantee(epsilon=1)  # type: ignore[call-arg]
    for wrong in ((1, 2), (1,)):
        with pytest.raises(InvalidArgument, match="Guarantee takes nothing by position"):
            Guarantee(*wrong)  # type: ignore[call-arg,misc]
    with pytest.raises(InvalidArgument, match="Noise takes sigma by position"):
        Noise(1, sigma=2)  # type: ignore[misc]


def test_nothing_can_be_changed() -> None:
    noise = Noise(1)
    for name in ("sigma", "clip", "anything"):
        with pytest.raises(AttributeError, match="a Noise cannot be changed"):
            setattr(noise, name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del noise.sigma


def test_a_subclass_adds_to_what_it_inherits() -> None:
    assert list(Longer.parameters) == ["epsilon", "delta", "title", "rounds"]
    assert Longer.parameters["epsilon"] is Guarantee.eps0
    assert (Longer.eps0.name, Longer.eps0.attribute) == ("epsilon", "eps0")
    assert Longer(epsilon=2, delta=1).eps0 == 2


def test_help_shows_the_constructor() -> None:
    shown = "(sigma=None, *, noise_multiplier=None, clip=None, count=1)"
    assert str(inspect.signature(Noise)) == shown
    assert list(inspect.signature(Longer).parameters) == ["epsilon", "delta", "title", "rounds"]


def test_types_are_what_a_checker_derives(tmp_path: Any) -> None:
    """mypy --strict knows the constructors, and refuses what would fail at run time."""
    source = """
from fractions import Fraction
import dpacct as dp
sigma: Fraction | None = dp.Gaussian(1.1).sigma
scale: Fraction = dp.DiscreteLaplace("2").scale
answers: int = dp.RandomizedResponse(eps0=1).k
rate: Fraction = dp.Poisson(0.1).rate
dp.PureDP(epsilon=1)
dp.Gaussian(1, 2)
dp.Laplace(c=3)
dp.ApproxDP(epsilon=1)
dp.ZCDP(1).rho = 2
"""
    path = tmp_path / "typed.py"
    path.write_text(source, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(path)]
    stdout = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    lines = [int(line.split(":")[1]) for line in stdout.splitlines() if ": error:" in line]
    assert lines == [9, 10, 11, 12], stdout
