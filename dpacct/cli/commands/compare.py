"""Every method that applies, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, command, group, plan, switch
from dpacct.cli.output import Result, must_be_finite, within
from dpacct.cli.plan_file import sizes
from dpacct.cli.target import target
from dpacct.declare.number import short
from dpacct.declare.record import Exclusive, Usage
from dpacct.display import aligned
from dpacct.errors import Unsupported

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.plan_file import StatedPlan


@command(
    "compare",
    plan(),
    target(),
    group("Output", switch("-q --quiet", "print the first method's safe number alone")),
    examples=(
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "compare --rate 0.01 --steps 1000 --eps 7 --delta 1e-5",
        "compare --noise-multiplier 2 --delta 1e-6 --json",
    ),
)
def main(
    line: CommandLine, epsilon: Fraction | None, delta: Fraction | None, quiet: bool
) -> Result:
    """Compare every method that applies: value, gap to the exact answer, grade and time.

    With noise and --delta it compares epsilons, with noise and --eps deltas, and with --eps and
    --delta but no noise the noise that each method asks for.
    """
    from dpacct.answer.answer import safe_number

    answers, stated = _ask(line, epsilon, delta)
    first = must_be_finite(answers[0])
    answers = tuple(answer for answer in answers if math.isfinite(float(answer)))
    gaps = [_gap(answer, first) for answer in answers]
    notes = [*stated.steps.notes, *stated.two_readings(first.adjacency)]
    asked = {"epsilon": epsilon, "delta": delta}
    at = " and ".join(f"{k} {short(v, 'up')}" for k, v in asked.items() if v is not None)

    def body() -> dict[str, Any]:
        return {
            "quantity": first.quantity,
            "adjacency": str(first.adjacency),
            "unit": str(first.unit),
            "plan": None if first.tree is None else first.tree.to_dict(),
            "answers": [{**within(a), "gap": gap} for a, gap in zip(answers, gaps, strict=True)],
            **({"notes": notes} if notes else {}),
        }

    def lines() -> list[str]:
        from dpacct.cli.screens import in_words, noted, wrapped

        words = wrapped(in_words(first, sizes=None in asked.values()))
        head = f"{first.quantity} by {len(answers)} methods    at {at}"
        return [head, *words, *_rows(answers, gaps), *noted(notes)]

    return Result(body, lines, lambda: [safe_number(first)], first)


def _rows(answers: Sequence[Answer], gaps: Sequence[float | None]) -> list[str]:
    from dpacct.answer.answer import KNOWN, bounded, protected
    from dpacct.cli.screens import labelled

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
    lines = aligned(("method", first.quantity, f"vs {first.method}", "grade", "time"), rows)
    return lines + labelled("protects", [protected(first)])


def _ask(
    line: CommandLine, epsilon: Fraction | None, delta: Fraction | None
) -> tuple[tuple[Answer, ...], StatedPlan]:
    if line.typed.keys() & {*sizes(), "zcdp"}:
        if epsilon is not None and delta is not None:
            message = "give --delta to compare epsilons or --eps to compare deltas, not both; to"
            message += " compare noise, give both and leave the noise out"
            raise Exclusive(message, argument="--eps")
        if epsilon is None and delta is None:
            message = "give --delta to compare epsilons, or --eps to compare deltas"
            raise Usage(message, argument="--delta")
        stated = line.stated()
        return stated.plan().compare(delta=delta, epsilon=epsilon), stated
    if epsilon is None or delta is None:
        missing = "--sigma" if (epsilon is None) != (delta is None) else "--eps"
        message = (
            "give the noise (--sigma, --noise-multiplier or --b) with --eps or --delta, or give"
        )
        message += " --eps and --delta to compare the noise that each method asks for"
        raise Usage(message, argument=missing)
    from dpacct.answer.ask import alternatives

    stated = line.stated(seeks_noise=True)
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
