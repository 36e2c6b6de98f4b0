"""The most steps within a budget."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.cli.asking import ANSWERING, PROVING, answered, asked, quickly
from dpacct.cli.command import CommandLine, command, plan
from dpacct.cli.target import both, target

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan


@command(
    "steps",
    plan(steps=False),
    target(),
    ANSWERING,
    PROVING,
    examples=(
        "steps --noise-multiplier 1.1 --rate 0.01 --eps 2 --delta 1e-5",
        "steps --noise-multiplier 1 --batch-size 512 --dataset-size 50000 --eps 8 --delta 1e-5",
        "steps --noise-multiplier 20 --eps 1 --delta 1e-6 --quiet",
    ),
)
def main(line: CommandLine, epsilon: Fraction | None, delta: Fraction | None) -> Result:
    """Compute the most steps that stay within (epsilon, delta).

    The number printed is rounded down, so that many steps fit the budget.
    """
    from dpacct.answer.ask import BoundaryQuestion
    from dpacct.cli.screens import of_steps
    from dpacct.plan.words import phrase

    stated, goal = line.stated(), both(line, epsilon, delta)
    release = stated.release()
    question = BoundaryQuestion(epsilon=goal.epsilon, delta=goal.delta, name="steps", whole=True)
    answer = asked(
        line, question, lambda count: stated.repeated(release, int(count)), beside=line.json
    )
    rate = stated.steps.share(line.option)
    if rate is not None:
        answer = replace(answer, extra={**answer.extra, "epochs": float(int(answer) * rate)})
    step = phrase(stated.repeated(release, 1)).removeprefix("1 step of ")

    def again(other: StatedPlan) -> Answer | None:
        one = other.release()
        return quickly(line, question, lambda count: other.repeated(one, int(count)))

    screen = of_steps(answer, goal.epsilon, goal.delta, step)
    return answered(line, screen, stated, again, steps=int(answer))
