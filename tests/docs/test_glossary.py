"""Every word of the first screens stands in the glossary."""

from __future__ import annotations

import re

from dpacct.answer.answer import KNOWN, PROTECTS
from dpacct.vocabulary import Adjacency, Side, Strength, Unit
from tests.structure.project import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^\| ([^|]+?) \|", PAGE, flags=re.MULTILINE)


def test_each_term_stands_once() -> None:
    named = [term for term in TERMS if term not in ("term", "---")]
    assert len(named) == len({*named}) > 40


def test_words_of_answers_are_explained() -> None:
    words = [*Strength, *Unit, *Adjacency, *Side, *PROTECTS]
    value = {str(word) for word in words} - {"refuted", "none"}
    assert not [word for word in value if word not in PAGE]
    shown = {text.split()[0].strip(",:;") for text in KNOWN.values()} - {"an", "as"}
    assert shown == {"proved", "computed"} and all(f"| {word} |" in PAGE for word in shown)


def test_words_of_the_first_line_are_explained() -> None:
    for word in ("epsilon", "delta", "noise multiplier", "sigma", "step", "epoch", "advantage"):
        assert word in TERMS
