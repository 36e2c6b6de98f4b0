"""A plan of different steps, from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpacct.cli.command import (
    ANSWERING,
    PROOF,
    PROTECTED,
    TARGET,
    CommandLine,
    argument,
    command,
    group,
)
from dpacct.cli.output import Result
from dpacct.declare.record import Exclusive, Usage


@command(
    "compose",
    group("", argument("PLAN")),
    TARGET,
    ANSWERING,
    PROOF,
    PROTECTED,
    examples=(
        "compose plan.toml",
        "compose plan.toml --delta 1e-6 --json",
        "compose plan.toml --eps 3",
        "compose plan.toml --certificate proof.json",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the epsilon (or, with --eps, the delta) of the plan in a file; "-" is stdin.

    \b
    A plan, in TOML, is a list of steps, which may differ in everything:
      delta = 1e-5
      [[step]]
      noise_multiplier = 1.1
      batch_size = 256
      dataset_size = 60000
      epochs = 60
      [[step]]
      mechanism = "laplace"
      b = 20

    docs/plan-format.md has the rest. --delta and --eps take precedence over what the file asks.
    """  # noqa: D301 (\b tells click to leave the lines as they are)
    from dpacct.answer.ask import Delta, Epsilon
    from dpacct.cli import screens
    from dpacct.cli.plan_file import read_plan

    file = read_plan(line.get("path"))
    in_file: dict[str, Any] = {"epsilon": file.epsilon, "delta": file.delta}
    asked = line.pick(in_file) or {k: v for k, v in in_file.items() if v is not None}
    if len(asked) == 2:
        message = "give epsilon or delta, not both: a plan has one for each value of the other"
        raise Exclusive(message, argument="--delta")
    if not asked:
        message = "give --delta or --eps, or write one of them into the plan"
        raise Usage(message, argument="--delta")
    question = (Epsilon if "delta" in asked else Delta).read(asked, line.option)
    answer = screens.asked(line, question, file.node.under(**line.under()), beside=False)
    screen = screens.of_answer(answer, question.settings)
    return replace(screen, notes=answer.notes).result(line)
