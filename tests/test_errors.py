"""Errors: codes, kinds, and that they survive a process boundary."""

import pickle

import pytest

from dpacct import errors
from dpacct.errors import DpacctError

CODES = {
    errors.InvalidArgument: 2,
    errors.Unsupported: 2,
    errors.OutsideDomain: 3,
    errors.Unreachable: 4,
    errors.AssumptionViolated: 6,
    errors.MissingExtra: 7,
    errors.NotCertified: 8,
}


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_exit_codes_are_the_documented_ones(kind: type[DpacctError], code: int) -> None:
    assert kind.exit_code == code
    assert issubclass(kind, DpacctError)


def test_kinds_are_distinct_words() -> None:
    kinds = [kind.kind for kind in CODES]
    assert len(set(kinds)) == len(kinds)
    assert all(word.replace("-", "").isalpha() and word.islower() for word in kinds)


@pytest.mark.parametrize("kind", CODES)
def test_pickle_keeps_all(kind: type[DpacctError]) -> None:
    again = pickle.loads(pickle.dumps(kind("rate must be in (0, 1], got 2", argument="rate")))
    assert type(again) is kind
    assert (str(again), again.argument, again.message) == (
        "rate must be in (0, 1], got 2",
        "rate",
        "rate must be in (0, 1], got 2",
    )


def test_what_a_caller_may_already_catch() -> None:
    assert issubclass(errors.InvalidArgument, ValueError)
    assert issubclass(errors.OutsideDomain, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
