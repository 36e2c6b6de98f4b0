"""The program that plants errors."""

import ast

from tests.searches.planted import COUNT, drawn, package, planted
from tests.structure.project import ROOT


def test_sixty_errors_are_drawn_the_same_again_and_can_be_planted() -> None:
    errors = drawn(ROOT)
    assert errors == drawn(ROOT) and len(errors) == COUNT
    assert len({package(error.file) for error in errors}) > 8
    for error in errors:
        text = (ROOT / error.file).read_text(encoding="utf-8")
        assert text[error.start : error.stop] == error.before != error.after
        ast.parse(planted(text, error))
