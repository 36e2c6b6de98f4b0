"""Planted errors are caught: some here, all of them by `python -m tests.theorems.mutation`."""

from __future__ import annotations

import re

from tests.theorems.mutation import PAGE, outcome, page, stored, targets

EVERY = 41  # of the constants; a prime, so that both directions are met


def test_planted_errors_are_caught() -> None:
    found = [outcome(module, place) for module, place in targets()[::EVERY]]
    risky = [one for one in found if one.told != "harmless"]
    alive = [one for one in risky if one.told == "survived"]
    assert len(risky) >= 6
    assert len(alive) <= 0.05 * len(risky), alive


def test_the_score_in_the_docs_is_enough() -> None:
    assert page(stored()) == PAGE.read_text("utf-8")
    score = re.search(r"Score: (\d+) of (\d+) unsafe changes are caught", PAGE.read_text("utf-8"))
    assert score is not None
    caught, of = int(score[1]), int(score[2])
    assert caught >= 0.95 * of and of >= 100
