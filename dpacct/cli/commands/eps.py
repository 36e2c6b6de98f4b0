"""`dpacct eps`: the epsilon of a plan at a given delta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from dpacct.cli import options, question
from dpacct.cli.command import ExampleCommand
from dpacct.cli.plan import PlanOptions, whole
from dpacct.cli.rounding import short


@click.command(
    "eps",
    cls=ExampleCommand,
    rank=20,
    short_help="The epsilon of a plan.",
    examples=(
        "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
        "eps --noise-multiplier 0.8 --batch-size 256 --dataset-size 60000 --epochs 60 --delta 1e-5",
        "eps --sigma 3 --rate 0.2 --rounds 100 --delta 975^-1.1 --unit client",
        "eps --sigma 2 --sampling uniform --rate 0.05 --steps 200 --delta 1e-6 --json",
        "eps --mechanism laplace --b 10 --steps 30 --delta 1e-6",
        "eps --sigma 4 --delta 1e-5 --quiet",
        "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --certificate out.json",
    ),
)
@options.noise_options
@options.sampling_options
@options.steps_options
@options.delta_option(required=True)
@options.meaning_options
@options.answer_options
@options.proof_options
def command(delta: Fraction, **values: Any) -> None:
    """Compute the epsilon that a plan spends at a given delta.

    The number printed is the safe end of what is known, rounded up.
    """
    from dpacct.answer.ask import Epsilon

    how = question.taken(values)
    node, notes = whole(PlanOptions.take(values))
    question.answer("eps", Epsilon(delta), node, notes, meaning=f"at delta {short(delta)}", **how)
