"""Planted errors are caught: some here, all of them by `python -m tests.papers.mutation`."""

import re

from tests.papers.mutation import PAGE, fingerprint, outcome, page, stored, targets

EVERY = 41  # of the constants; a prime, so that both directions are met


def test_planted_errors_are_caught() -> None:
    places = [place for those in targets().values() for place in those]
    outcomes = [outcome(place) for place in places[::EVERY]]
    risky = [each for each in outcomes if each.became != "harmless"]
    alive = [each for each in risky if each.became == "survived"]
    assert len(risky) >= 6
    assert len(alive) <= 0.05 * len(risky), alive


def test_the_score_in_the_docs_is_enough() -> None:
    assert page(stored()) == PAGE.read_text("utf-8")
    score = re.search(r"Score: (\d+) of (\d+) unsafe changes are caught", PAGE.read_text("utf-8"))
    assert score is not None
    caught, of = int(score[1]), int(score[2])
    assert caught == of and of >= 450


def test_the_score_is_of_the_formulas_as_they_stand() -> None:
    """`python -m tests.papers.mutation` tries again what has changed."""
    stale = [k for k, those in targets().items() if stored()[k]["file"] != fingerprint(those)]
    assert not stale
