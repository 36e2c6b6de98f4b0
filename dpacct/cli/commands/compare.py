"""`dpacct compare`: every method side by side."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.answer.ask import alternatives
from dpacct.cli import options
from dpacct.cli.calibration import noise_question, plan_of_noise
from dpacct.cli.command import ExampleCommand
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import must_be_finite, write_json, write_lines
from dpacct.cli.plan import PlanOptions, check_mechanism, step_count, whole
from dpacct.cli.refusal import Refusal
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, plan_line, relation, safe_number

if TYPE_CHECKING:
    from dpacct.answer import Answer


@click.command(
    "compare",
    cls=ExampleCommand,
    rank=50,
    short_help="Every method side by side.",
    examples=(
        "compare --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "compare --sigma 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "compare --rate 0.01 --steps 1000 --eps 7 --delta 1e-5",
        "compare --sigma 2 --delta 1e-6 --json",
    ),
)
@options.noise_options
@options.sampling_options
@options.steps_options
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@options.meaning_options
@options.json_option
def command(epsilon: Fraction | None, delta: Fraction | None, as_json: bool, **values: Any) -> None:
    """Compare every method that applies: value, gap to the exact answer, grade and time.

    With noise and --delta it compares epsilons, with noise and --eps deltas, and with --eps and
    --delta but no noise the noise that each method asks for.
    """
    plan = PlanOptions.take(values)
    answers, notes = _ask(plan, epsilon, delta)
    must_be_finite(answers[0])
    answers = tuple(answer for answer in answers if math.isfinite(float(answer)))
    gaps = [_gap(answer, answers[0]) for answer in answers]
    if as_json:
        write_json(_payload(answers, gaps, notes))
        return
    rows = [
        (
            answer.method,
            f"{relation(answer)} {safe_number(answer)}",
            "unknown" if gap is None else f"{gap:+.3g}",
            grade(answer),
            f"{1000 * answer.seconds:.1f} ms",
        )
        for answer, gap in zip(answers, gaps, strict=True)
    ]
    first = answers[0]
    lines = [f"{first.quantity} by {len(answers)} methods"]
    lines += aligned(("method", first.quantity, f"gap to {first.method}", "grade", "time"), rows)
    lines += [f"  adjacency {first.adjacency}; unit {first.unit}"]
    lines += [f"  plan: {plan_line(first.tree)}"] if first.tree is not None else []
    write_lines(lines + [f"  note: {line}" for line in notes])


def _ask(
    plan: PlanOptions, epsilon: Fraction | None, delta: Fraction | None
) -> tuple[tuple[Answer, ...], list[str]]:
    if plan.has_noise:
        if epsilon is not None and delta is not None:
            raise Refusal(
                "give --delta to compare epsilons or --eps to compare deltas, not both;"
                " to compare noise, give both and leave the noise out.",
                "--eps",
                kind="exclusive-options",
            )
        if epsilon is None and delta is None:
            raise Refusal(
                "give --delta to compare epsilons, or --eps to compare deltas.", "--delta"
            )
        node, notes = whole(plan)
        return node.compare(delta=delta, epsilon=epsilon), notes
    if epsilon is None or delta is None:
        missing = "--sigma" if (epsilon is None) != (delta is None) else "--eps"
        raise Refusal(
            "give the noise (--sigma, --noise-multiplier or --b) with --eps or --delta, or give"
            " --eps and --delta to compare the noise that each method asks for.",
            missing,
        )
    check_mechanism(plan)
    _, note = step_count(plan)
    answers = alternatives(noise_question(plan, epsilon, delta), plan_of_noise(plan))
    if not answers:
        raise Refusal("no method can calibrate this plan.", kind="unsupported")
    return answers, [note] if note else []


def _gap(answer: Answer, reference: Answer) -> float | None:
    """The relative distance to the reference's value; None where no float can tell it."""
    safe, other = float(answer), float(reference)  # the numbers that are printed
    if min(safe, other) > 1e-300:
        return safe / other - 1
    if answer.log_value is not None and reference.log_value is not None:
        difference = answer.log_value - reference.log_value
        return math.expm1(difference) if difference < 700 else None
    return safe / other - 1 if other else None


def _payload(
    answers: tuple[Answer, ...], gaps: list[float | None], notes: list[str]
) -> dict[str, Any]:
    first = answers[0]
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "command": "compare",
        "quantity": first.quantity,
        "adjacency": str(first.adjacency),
        "unit": str(first.unit),
        "plan": None if first.tree is None else first.tree.to_dict(),
    }
    rows = []
    for answer, gap in zip(answers, gaps, strict=True):
        row = replace(answer, alternatives=(), tree=None).to_dict()
        rows.append({key: row[key] for key in row if key not in ("schema", "plan")} | {"gap": gap})
    return body | {"answers": rows} | ({"notes": notes} if notes else {})
