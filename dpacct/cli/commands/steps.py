"""The most steps within a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpacct.cli.command import ANSWERING, PROVING, TARGET, CommandLine, command, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan
    from dpacct.plan.node import Node


@command(
    "steps",
    plan(steps=False),
    TARGET,
    ANSWERING,
    PROVING,
    examples=(
        "steps --noise-multiplier 1.1 --rate 0.01 --eps 2 --delta 1e-5",
        "steps --noise-multiplier 1 --batch-size 512 --dataset-size 50000 --eps 8 --delta 1e-5",
        "steps --noise-multiplier 20 --eps 1 --delta 1e-6 --quiet",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the most steps that stay within (epsilon, delta).

    The number printed is rounded down, so that many steps fit the budget.
    """
    from dpacct.answer.ask import BoundaryQuestion
    from dpacct.cli import screens
    from dpacct.plan.words import phrase

    line.needs("epsilon", "delta")
    stated, goal = line.stated(), line.pick(("epsilon", "delta"))
    question = BoundaryQuestion(**goal, name="steps", whole=True)

    def often(plan: StatedPlan) -> Callable[[float], Node]:
        release = plan.release()
        return lambda count: plan.repeated(release, int(count))

    answer = screens.asked(line, question, often(stated), beside=line.json)
    count, rate = int(answer), stated.steps.share
    more = []
    if rate is not None:
        answer = replace(answer, extra={**answer.extra, "epochs": float(count * rate)})
        more = [f"{answer.extra['epochs']:.6g} epochs"]
    said = screens.sure(answer, f"{count:,} steps fit the budget", "one more does not")
    within = screens.target(question.epsilon, question.delta)
    head = f"{count:,} step{'' if count == 1 else 's'}    within {within}"
    step = phrase(often(stated)(1)).removeprefix("1 step of ")
    screen = screens.Screen(answer, head, said, step, more=more, asked=question.settings)
    again = lambda other: screens.quickly(line, question, often(other))  # noqa: E731
    return screens.answered(line, screen, stated, again, steps=count)
