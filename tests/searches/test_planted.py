"""The program that plants errors, and what is stored of those that no test once noticed."""

import ast
import json

from tests.searches.planted import COUNT, NAMED, STORE, TARGETS, drawn
from tests.structure.project import ROOT


def test_forty_errors_are_drawn_the_same_again_and_can_be_planted() -> None:
    errors = drawn(ROOT)
    assert errors == drawn(ROOT) and len(errors) == COUNT
    assert {error.file for error in errors} == set(TARGETS)
    for error in errors:
        text = (ROOT / error.file).read_text(encoding="utf-8")
        assert text[error.start : error.stop] == error.before != error.after
        ast.parse(text[: error.start] + error.after + text[error.stop :])


def test_errors_that_once_passed_are_noticed() -> None:
    stored = json.loads(STORE.read_text(encoding="utf-8"))["errors"]
    became = {error["function"]: error["became"] for error in stored if error["kind"] == "named"}
    assert became == dict.fromkeys(NAMED, "noticed")


def test_each_drawn_error_that_passed_is_harmless_or_has_a_test() -> None:
    stored = json.loads(STORE.read_text(encoding="utf-8"))["errors"]
    drawn_once = [error for error in stored if error["kind"] != "named"]
    assert len(drawn_once) == COUNT
    for error in drawn_once:
        noticed, has_test = error["became"] == "noticed", "test" in error
        assert noticed + has_test + ("harmless" in error) == 1, error
        if has_test:
            file, test = error["test"].split("::")
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")
