"""The delta of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.cli.command import ANSWERING, EPSILON, PROVING, CommandLine, command, group, plan

if TYPE_CHECKING:
    from dpacct.cli.output import Result


@command(
    "delta",
    plan(),
    group("Target", EPSILON),
    ANSWERING,
    PROVING,
    examples=(
        "delta --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "delta --noise-multiplier 1 --sampling uniform --rate 0.05 --steps 200 --eps 5",
        "delta --noise-multiplier 1 --rate 0.01 --steps 1000 --eps 200 --json",
        "delta --mechanism laplace --b 20 --steps 100 --eps 2",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the smallest delta for which a plan is (epsilon, delta)-private.

    The number printed is the upper end of the answer, rounded up. A delta below the range of
    floats is printed as a power of ten.
    """
    from dpacct.answer.ask import Delta
    from dpacct.cli.screens import of_plan

    return of_plan(line, Delta, "epsilon")
