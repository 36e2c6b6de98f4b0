"""The delta of a plan."""

from __future__ import annotations

from fractions import Fraction

from dpacct.cli.command import AskedOfPlan
from dpacct.cli.output import Result
from dpacct.declare.record import Parameter
from dpacct.declare.words import Target


class DeltaCommand(AskedOfPlan):
    """Compute the smallest delta for which a plan is (epsilon, delta)-private.

    The number printed is the upper end of the answer, rounded up. A delta below the range of
    floats is printed as a power of ten.
    """

    epsilon: Parameter[Fraction] = Target.epsilon
    examples = (
        "delta --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "delta --noise-multiplier 1 --sampling uniform --rate 0.05 --steps 200 --eps 5",
        "delta --noise-multiplier 1 --rate 0.01 --steps 1000 --eps 200 --json",
        "delta --mechanism laplace --b 20 --steps 100 --eps 2",
        "delta --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5 --digits 20",
    )

    def answer(self) -> Result:
        """The delta of the plan at the epsilon."""
        from dpacct.answer import ask

        return self.answered_of_plan(ask.Delta(self.epsilon))
