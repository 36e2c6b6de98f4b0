"""Every method that applies, side by side."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import QUIET, Command
from dpacct.cli.output import Result, must_be_finite, within
from dpacct.cli.words import sizes
from dpacct.declare.number import short
from dpacct.declare.record import Exclusive, Parameter, Usage, aligned
from dpacct.declare.words import Target
from dpacct.errors import Unsupported

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import StatedPlan


class Compare(Command):
    """Compare every method that applies: value, gap to the exact answer, grade and time.

    With noise and --delta it compares epsilons, with noise and --eps deltas, and with --eps and
    --delta but no noise the noise that each method asks for.
    """

    plan = True
    heading = "Target"
    epsilon: Parameter[Fraction | None] = Target.epsilon.optional()
    delta: Parameter[Fraction | None] = Target.delta.optional()
    quiet: Parameter[bool] = QUIET.but(means="print the first method's safe number alone")
    examples = (
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "compare --rate 0.01 --steps 1000 --eps 7 --delta 1e-5",
        "compare --noise-multiplier 2 --delta 1e-6 --json",
    )

    def answer(self) -> Result:
        """Answer by every method."""
        from dpacct.answer.answer import safe_number

        answers, stated = self._ask()
        first = must_be_finite(answers[0])
        answers = tuple(answer for answer in answers if math.isfinite(float(answer)))
        gaps = [_gap(answer, first) for answer in answers]
        notes = [*stated.steps.notes, *stated.two_readings(first.adjacency)]

        def body() -> dict[str, Any]:
            listed = zip(answers, gaps, strict=True)
            return {
                "quantity": first.quantity,
                "adjacency": str(first.adjacency),
                "unit": str(first.unit),
                "plan": None if first.tree is None else first.tree.to_dict(),
                "answers": [{**within(answer), "gap": gap} for answer, gap in listed],
                **({"notes": notes} if notes else {}),
            }

        return Result(body, lambda: self._lines(answers, gaps, notes), lambda: [safe_number(first)])

    def _lines(
        self, answers: tuple[Answer, ...], gaps: list[float | None], notes: list[str]
    ) -> list[str]:
        from dpacct.answer.answer import KNOWN, bounded, protected
        from dpacct.cli.screens import in_words, labelled, noted, wrapped

        first = answers[0]
        rows = [
            (
                answer.method,
                bounded(answer),
                "" if answer is first else "unknown" if gap is None else f"{100 * gap:+.3g} %",
                KNOWN[answer.strength].partition(",")[0].partition(";")[0].partition(":")[0],
                f"{1000 * answer.seconds:.1f} ms",
            )
            for answer, gap in zip(answers, gaps, strict=True)
        ]
        asked = {"epsilon": self.epsilon, "delta": self.delta}
        at = " and ".join(f"{k} {short(v, 'up')}" for k, v in asked.items() if v is not None)
        lines = [f"{first.quantity} by {len(answers)} methods    at {at}"]
        lines += wrapped(in_words(first, sizes=None in asked.values()))
        lines += aligned(("method", first.quantity, f"vs {first.method}", "grade", "time"), rows)
        lines += labelled("protects", [protected(first)])
        return lines + noted(notes)

    def _ask(self) -> tuple[tuple[Answer, ...], StatedPlan]:
        epsilon, delta = self.epsilon, self.delta
        if self.typed.keys() & sizes():
            if epsilon is not None and delta is not None:
                message = (
                    "give --delta to compare epsilons or --eps to compare deltas, not both; to"
                )
                message += " compare noise, give both and leave the noise out"
                raise Exclusive(message, argument="--eps")
            if epsilon is None and delta is None:
                message = "give --delta to compare epsilons, or --eps to compare deltas"
                raise Usage(message, argument="--delta")
            stated = self.stated()
            return stated.plan().compare(delta=delta, epsilon=epsilon), stated
        if epsilon is None or delta is None:
            missing = "--sigma" if (epsilon is None) != (delta is None) else "--eps"
            message = (
                "give the noise (--sigma, --noise-multiplier or --b) with --eps or --delta, or give"
            )
            message += " --eps and --delta to compare the noise that each method asks for"
            raise Usage(message, argument=missing)
        from dpacct.answer.ask import alternatives

        stated = self.stated(seeks_noise=True)
        answers = alternatives(stated.least(epsilon, delta), stated.sized)
        if not answers:
            raise Unsupported("no method can calibrate this plan")
        return answers, stated


def _gap(answer: Answer, reference: Answer) -> float | None:
    """The relative distance to the reference's value; None where no float can tell it."""
    safe, other = float(answer), float(reference)  # the numbers that are printed
    if min(safe, other) > 1e-300:
        return safe / other - 1
    if answer.log_value is not None and reference.log_value is not None:
        difference = answer.log_value - reference.log_value
        return math.expm1(difference) if difference < 700 else None
    gap = safe / other - 1 if other else math.inf
    return gap if math.isfinite(gap) else None
