"""Every method that applies, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import QUIET, TARGET, CommandLine, command, group, plan
from dpacct.cli.output import Result, must_be_finite, within
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
    TARGET,
    group("Output", QUIET),
    examples=(
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "compare --noise-multiplier 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "compare --rate 0.01 --steps 1000 --eps 7 --delta 1e-5",
        "compare --noise-multiplier 2 --delta 1e-6 --json",
    ),
)
def main(line: CommandLine) -> Result:
    """Compare every method that applies: value, gap to the exact answer, grade and time.

    With noise and --delta it compares epsilons, with noise and --eps deltas, and with --eps and
    --delta but no noise the noise that each method asks for.
    """
    from dpacct.answer.answer import KNOWN, bounded, protected, safe_number
    from dpacct.cli import screens
    from dpacct.plan.words import phrase

    found, stated, asked = _ask(line)
    first = must_be_finite(found[0])
    answers = [answer for answer in found if math.isfinite(float(answer))]
    gaps = [_gap(answer, first) for answer in answers]
    notes = [*stated.steps.notes, *screens.two_readings(stated, first.adjacency)]
    assert first.tree is not None
    tree = first.tree

    def body() -> dict[str, Any]:
        return {
            "quantity": first.quantity,
            "adjacency": str(first.adjacency),
            "unit": str(first.unit),
            "plan": tree.to_dict(),
            "answers": [{**within(a), "gap": gap} for a, gap in zip(answers, gaps, strict=True)],
            **({"notes": notes} if notes else {}),
        }

    def lines() -> list[str]:
        at = " and ".join(f"{k} {short(v, 'up')}" for k, v in asked.items())
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
        return [
            f"{first.quantity} by {len(answers)} methods    at {at}",
            *screens.wrapped(phrase(tree, sizes=len(asked) == 1)),
            *aligned(("method", first.quantity, f"vs {first.method}", "grade", "time"), rows),
            *screens.labelled("protects", [protected(first)]),
            *screens.noted(notes),
        ]

    return Result(body, lines, lambda: [safe_number(first)], first)


def _ask(line: CommandLine) -> tuple[tuple[Answer, ...], StatedPlan, dict[str, Any]]:
    """The answers of all methods, the plan, and what was asked about it."""
    from dpacct.answer.ask import BoundaryQuestion, Delta, Epsilon, alternatives
    from dpacct.cli.plan_file import sizes

    target, stated = line.pick(("epsilon", "delta")), line.stated()
    if line.pick((*sizes(), "rho")):
        if len(target) == 2:
            message = "give --delta to compare epsilons or --eps to compare deltas, not both; to"
            message += " compare noise, give both and leave the noise out"
            raise Exclusive(message, argument="--eps")
        if not target:
            message = "give --delta to compare epsilons, or --eps to compare deltas"
            raise Usage(message, argument="--delta")
        asked = (Epsilon if "delta" in target else Delta).read(target, line.option).settings
        return stated.plan().compare(**asked), stated, asked
    if len(target) < 2:
        message = (
            "give the noise (--sigma, --noise-multiplier or --b) with --eps or --delta, or give"
        )
        message += " --eps and --delta to compare the noise that each method asks for"
        raise Usage(message, argument="--sigma" if target else "--eps")
    kind = stated.kind
    question = BoundaryQuestion(**target, name=kind.sought, bounds=kind.between)
    answers = alternatives(question, stated.sized)
    if not answers:
        raise Unsupported("no method can calibrate this plan")
    return answers, stated, question.settings


def _gap(answer: Answer, reference: Answer) -> float | None:
    """The relative distance to the reference's number; None where no float can tell it."""
    safe, other = float(answer), float(reference)
    if answer is reference or not other:
        return 0.0 if safe == other else None
    return safe / other - 1 if min(safe, other) > 1e-300 else None
