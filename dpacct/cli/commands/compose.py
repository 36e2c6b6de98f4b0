"""A plan of different steps, from a file."""

from __future__ import annotations

from fractions import Fraction

from dpacct.cli.asking import ANSWERING, PROOF, asked, shown
from dpacct.cli.command import CommandLine, OptionGroup, argument, command, words
from dpacct.cli.output import Result
from dpacct.cli.target import target
from dpacct.declare.record import Exclusive, Usage
from dpacct.declare.words import Meaning

PROTECTED = words("What is protected", *Meaning.parameters.values())


@command(
    "compose",
    OptionGroup("", (argument("path", "PLAN"),)),
    target(),
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
def main(line: CommandLine, path: str, epsilon: Fraction | None, delta: Fraction | None) -> Result:
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
    from dpacct.cli.plan_file import read_plan
    from dpacct.cli.screens import of_answer

    file = read_plan(path)
    meaning = Meaning.read(line.typed, line.option)
    node = file.node.under(meaning.adjacency, unit=meaning.unit or "")
    if epsilon is None and delta is None:
        epsilon, delta = file.epsilon, file.delta
    if epsilon is not None and delta is not None:
        message = "give epsilon or delta, not both: a plan has one for each value of the other"
        raise Exclusive(message, argument="--delta")
    if delta is None and epsilon is None:
        message = "give --delta or --eps, or write one of them into the plan"
        raise Usage(message, argument="--delta")
    question = Delta(epsilon) if delta is None else Epsilon(delta)
    answer = asked(line, question, node, beside=False)
    return shown(line, of_answer(answer, question.settings))
