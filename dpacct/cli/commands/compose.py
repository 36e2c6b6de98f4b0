"""A plan of different steps, from a file."""

from __future__ import annotations

from fractions import Fraction

from dpacct.cli.command import AnswerCommand, File
from dpacct.cli.output import Result
from dpacct.declare.record import Exclusive, Parameter, Usage
from dpacct.declare.words import Meaning, Target


class ComposeCommand(AnswerCommand):
    """Compute the epsilon (or, with --eps, the delta) of the plan in a file; "-" is stdin.

    \b
    A plan, in TOML, is a list of steps, which may differ in everything:
      delta = 1e-5
      [[step]]
      sigma = 1.1
      batch_size = 256
      dataset_size = 60000
      epochs = 60
      [[step]]
      mechanism = "laplace"
      b = 20

    docs/plan-format.md has the rest. --delta and --eps take precedence over what the file asks.
    """  # noqa: D301 (\b tells click to leave the lines as they are)

    heading = "Target"
    plan_file: Parameter[str] = Parameter(File(), "the file", "PLAN", alias="plan", kw_only=False)
    epsilon: Parameter[Fraction | None] = Target.epsilon.optional()
    delta: Parameter[Fraction | None] = Target.delta.optional()
    adjacency: Parameter[str | None] = Meaning.adjacency
    unit: Parameter[str | None] = Meaning.unit
    examples = (
        "compose plan.toml",
        "compose plan.toml --delta 1e-6 --json",
        "compose plan.toml --eps 3",
    )

    def answer(self) -> Result:
        """Read the file and answer its question."""
        from dpacct.answer.ask import Delta, Epsilon, ask
        from dpacct.cli.screens import of_answer
        from dpacct.cli.words import read_plan

        file = read_plan(self.plan_file)
        node = file.node.under(self.adjacency, unit=self.unit or "")
        epsilon, delta = self.epsilon, self.delta
        if epsilon is None and delta is None:
            epsilon, delta = file.epsilon, file.delta
        if epsilon is not None and delta is not None:
            message = "give epsilon or delta, not both: a plan has one for each value of the other"
            raise Exclusive(message, argument="--delta")
        if delta is None and epsilon is None:
            message = "give --delta or --eps, or write one of them into the plan"
            raise Usage(message, argument="--delta")
        question = Delta(epsilon) if delta is None else Epsilon(delta)
        return self.shown(of_answer(ask(question, node, **self.how), question.settings))
