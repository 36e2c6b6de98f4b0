"""The guarantee in one sentence, fit for a paper."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.report.about import About
from dpacct.report.rounding import upward
from dpacct.report.words import phrase
from dpacct.vocabulary import Adjacency, Strength, Unit

if TYPE_CHECKING:
    from dpacct.answer import Answer

DIGITS = 4
"""Digits of epsilon and delta in the sentence, rounded up."""
NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "one data set has one {unit} more than the other",
    Adjacency.REPLACE_ONE: "one {unit} of one data set is exchanged for another",
    Adjacency.ZERO_OUT: "the contribution of one {unit} is replaced by zero",
}
_LEVELS = {unit: f"{unit}-level" for unit in Unit}
_GRADES = {
    Strength.PROVED: "proved with interval arithmetic",
    Strength.CONVERGED: "computed by two agreeing methods",
    Strength.BOUND: "an upper bound from a verified theorem",
}


def statement(answer: Answer, delta: Fraction, about: About, *, holds: bool = True) -> str:
    """Who gets what guarantee, under which adjacency, for which mechanism, and how it is known.

    Where it does not hold, because an assumption is violated, the sentence says so of itself.
    """
    output = about.output or "all outputs of the plan"
    opening = f"Releasing {output} is"
    if not holds:
        opening = f"If no assumption were violated, releasing {output} would be"
    epsilon = upward(float(answer), DIGITS)
    private = f"{epsilon}-differentially private (pure: delta 0)"
    if delta:
        private = f"({epsilon}, {upward(delta, DIGITS)})-differentially private"
    unit = str(answer.unit)
    neighbours = NEIGHBOURS[answer.adjacency].format(unit=unit)
    whose = f", one {unit} being {about.unit}" if about.unit else ""
    viewer = f" against {about.viewer}" if about.viewer else ""
    assert answer.tree is not None
    return (
        f"{opening} {private}{viewer}, "
        f"{_LEVELS[answer.unit]} under {answer.adjacency} adjacency ({neighbours}{whose}), for "
        f"{phrase(answer.tree)}; the epsilon is {_GRADES[answer.strength]} (dpacct {version()})."
    )


def caveat(violated: int) -> str:
    """The warning above a statement some of whose assumptions are violated."""
    how = "one of its assumptions is" if violated == 1 else f"{violated} of its assumptions are"
    return f"The guarantee below does not hold: {how} violated. It is what would hold if they were true."


def version() -> str:
    """The version of dpacct."""
    from importlib import metadata

    return metadata.version("dpacct")
