"""The epsilon of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.cli.command import ANSWERING, PROVING, PURE_DELTA, CommandLine, command, group, plan

if TYPE_CHECKING:
    from dpacct.cli.output import Result


@command(
    "eps",
    plan(),
    group("Target", PURE_DELTA),
    ANSWERING,
    PROVING,
    examples=(
        "eps --noise-multiplier 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "eps --noise-multiplier 3 --rate 0.2 --rounds 100 --delta 975^-1.1 --unit client",
        "eps --noise-multiplier 2 --sampling uniform --rate 0.05 --steps 200 --delta 1e-6 --json",
        "eps --b 10 --steps 30 --delta 1e-6",
        "eps --noise-multiplier 4 --delta 1e-5 --quiet",
        "eps --noise-multiplier 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --certificate out.json",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the epsilon that a plan spends at a given delta.

    The number printed is the upper end of the answer, rounded up.
    """
    from dpacct.answer.ask import Epsilon
    from dpacct.cli.screens import of_plan

    return of_plan(line, Epsilon, "delta")
