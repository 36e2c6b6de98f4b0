"""What the contour accepts is within its claim: the stored count, and a few cases again."""

import json

import pytest

from tests.searches.line_check import STORE, judged

STORED = json.loads(STORE.read_text())


def test_no_accepted_answer_was_outside_the_promise() -> None:
    """The promise is 1e-11; case 4485, an end of 38 Laplace steps, is 3e-12 beyond its own claim."""
    assert STORED["counts"]["inside"] >= 1000
    assert sum(STORED["counts"].values()) == STORED["next"]
    for row in STORED["bad"]:
        for ours, proved in zip(row["exact"], row["proof"], strict=True):
            assert abs(ours / proved - 1) < 1e-11, row
    assert len(STORED["bad"]) <= 1e-3 * STORED["counts"]["inside"]


@pytest.mark.parametrize("first", [0, 40])
def test_some_cases_again(first: int) -> None:
    verdicts = [judged(n)[0] for n in range(first, first + 20)]
    assert "OUTSIDE" not in verdicts and verdicts.count("inside") >= 8
