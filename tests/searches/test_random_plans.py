"""A few of the cases that the long searches judge, and the program itself."""

import json

import pytest

from tests.searches.cases import MECHANISMS, NESTED, SAMPLINGS, drawn
from tests.searches.random_plans import PAGE, STORE, judged, page


@pytest.mark.parametrize(
    ("stream", "index"),
    [*(("exact", k) for k in range(8)), ("auto", 0), ("nested", 0)],
)
def test_first_cases(stream: str, index: int) -> None:
    assert not judged(drawn(stream, index)).fault


def test_cases_are_drawn_the_same_again() -> None:
    assert drawn("exact", 17) == drawn("exact", 17) != drawn("auto", 17)


def test_everything_is_drawn() -> None:
    cases = [drawn("exact", k) for k in range(2000)]
    parts = [part for case in cases for part in case.parts]
    assert {part.mechanism for part in parts} | {"shuffle"} == set(
        MECHANISMS
    )  # which is dear, and rare
    assert {part.sampling for part in parts} == set(SAMPLINGS)
    nested = [drawn("nested", k).parts[0].sampling for k in range(200)]
    assert set(nested) == set(NESTED)


def test_the_page_is_the_stored_summary() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(STORE.read_text(encoding="utf-8")))
