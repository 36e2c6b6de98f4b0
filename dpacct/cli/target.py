"""A guarantee on the command line: epsilon, delta or both, read by their domains."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dpacct.cli.command import EPSILON as NAMES
from dpacct.cli.command import CommandLine, OptionGroup, group, option
from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.record import Usage

MEANS = {
    "epsilon": "epsilon of the guarantee, at least 0",
    "delta": "delta of the guarantee, strictly between 0 and 1",
}


def target() -> OptionGroup:
    """Options for epsilon and delta."""
    return group(
        "Target",
        option(NAMES, MEANS["epsilon"], EPSILON),
        option("--delta D", MEANS["delta"], DELTA),
    )


class Goal(NamedTuple):
    """Epsilon and delta."""

    epsilon: Fraction
    delta: Fraction


def both(line: CommandLine, epsilon: Fraction | None, delta: Fraction | None) -> Goal:
    """Both, or a sentence about the one that is missing."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is None:
            said = line.option(name)
            raise Usage(f"{said} must be given: {MEANS[name]}", argument=said)
    assert epsilon is not None and delta is not None
    return Goal(epsilon, delta)
