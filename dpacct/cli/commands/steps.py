"""The most steps within a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpacct.cli.command import ANSWERING, PROVING, TARGET, CommandLine, command, plan

if TYPE_CHECKING:
    from dpacct.cli.output import Result


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
    from dpacct.answer.ask import BoundaryQuestion, ask
    from dpacct.cli import screens
    from dpacct.plan.words import phrase

    line.needs("epsilon", "delta")
    stated = line.stated()
    question = BoundaryQuestion(**line.pick(("epsilon", "delta")), name="steps", whole=True)
    answer = screens.asked(line, question, lambda n: stated.plan(int(n)), beside=line.json)
    count, rate, more = int(answer), stated.steps.share, []
    if rate is not None:
        answer = replace(answer, extra={**answer.extra, "epochs": float(count * rate)})
        more = [f"{answer.extra['epochs']:.6g} epochs"]
    sure = screens.sure(answer, f"{count:,} steps fit the budget", "one more does not")
    within = screens.target(question.epsilon, question.delta)
    head = f"{count:,} step{'' if count == 1 else 's'}    within {within}"
    step = phrase(stated.plan(1)).removeprefix("1 step of ")
    screen = screens.Screen(answer, head, sure, step, more=more, asked=question.settings)
    again = lambda other: ask(question, lambda n: other.plan(int(n)), method="exact")  # noqa: E731
    return screens.answered(line, screen, stated, again, steps=count)
