"""The most steps within a budget."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.cli.command import AskedOfPlan
from dpacct.cli.output import Result
from dpacct.declare.record import Parameter
from dpacct.declare.words import Target

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import StatedPlan


class StepsCommand(AskedOfPlan):
    """Compute the most steps that stay within (epsilon, delta).

    The number printed is rounded down, so that many steps fit the budget.
    """

    without = frozenset(("steps", "epochs"))
    epsilon: Parameter[Fraction] = Target.epsilon
    delta: Parameter[Fraction] = Target.delta
    examples = (
        "steps --noise-multiplier 1.1 --rate 0.01 --eps 2 --delta 1e-5",
        "steps --noise-multiplier 1 --batch-size 512 --dataset-size 50000 --eps 8 --delta 1e-5",
        "steps --noise-multiplier 20 --eps 1 --delta 1e-6 --quiet",
    )

    def answer(self) -> Result:
        """The most steps within the target."""
        from dpacct.answer.ask import BoundaryQuestion
        from dpacct.cli.screens import of_steps
        from dpacct.plan.words import phrase

        stated = self.stated()
        release = stated.release()
        question = BoundaryQuestion(
            epsilon=self.epsilon, delta=self.delta, name="steps", whole=True
        )
        answer = self.ask(
            question, lambda count: stated.repeated(release, int(count)), beside=self.as_json
        )
        rate = stated.steps.share(self.option)
        if rate is not None:
            answer = replace(answer, extra={**answer.extra, "epochs": float(int(answer) * rate)})
        step = phrase(stated.repeated(release, 1)).removeprefix("1 step of ")
        screen = of_steps(answer, self.epsilon, self.delta, step)

        def again(other: StatedPlan) -> Answer:
            step = other.release()
            return self.quickly(question, lambda count: other.repeated(step, int(count)))

        return self.answered(screen, stated, again, steps=int(answer))
