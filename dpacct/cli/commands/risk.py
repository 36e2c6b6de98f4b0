"""`dpacct risk`: the same privacy as attack success."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import write_json, write_lines
from dpacct.cli.plan import PlanOptions, plain, whole
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, plan_line, relation, safe_number
from dpacct.cli.values import Number
from dpacct.declare.domain import Real

if TYPE_CHECKING:
    from dpacct.answer import Answer

_SECTION = "Attack"
_CHANCE = Number(Real(0, 1))


@click.command(
    "risk",
    cls=ExampleCommand,
    rank=55,
    short_help="The same privacy as attack success.",
    examples=(
        "risk --sigma 1.1 --rate 0.01 --steps 1000",
        "risk --sigma 1.1 --rate 0.01 --steps 1000 --fpr 0.001 --fpr 1e-5 --prior 0.01",
        "risk --sigma 4 --baseline 1e-6 --json",
    ),
)
@options.noise_options
@options.sampling_options
@options.steps_options
@option(
    "--fpr",
    "alarms",
    section=_SECTION,
    type=_CHANCE,
    multiple=True,
    default=("0.1", "0.01", "0.001"),
    show_default="0.1, 0.01 and 0.001",
    metavar="A",
    help="False positive rate of the attack; may be given several times.",
)
@option(
    "--prior",
    section=_SECTION,
    type=_CHANCE,
    default="0.5",
    show_default=True,
    metavar="P",
    help="Probability that a record is a member, before the attack.",
)
@option(
    "--baseline",
    section=_SECTION,
    type=_CHANCE,
    metavar="K",
    help="Also bound a reconstruction that succeeds with this probability without the release.",
)
@options.meaning_options
@options.json_option
def command(
    alarms: tuple[Fraction, ...],
    prior: Fraction,
    baseline: Fraction | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Bound what any attack on a plan can achieve, whatever it knows beside the release.

    Membership advantage (true minus false positive rate), accuracy at a prior, and for each false
    positive rate the true positive rate and the precision. All are rounded up.
    """
    from dpacct.risk import Risk

    node, notes = whole(PlanOptions.take(values))
    risk = Risk(node)
    general = [("advantage", risk.advantage()), ("accuracy", risk.accuracy(prior))]
    if baseline is not None:
        general.append(("reconstruction", risk.reconstruction(baseline)))
    rates = [
        (alarm, risk.true_positive_rate(alarm), risk.precision(alarm, prior)) for alarm in alarms
    ]
    if as_json:
        body: dict[str, Any] = {"schema": SCHEMA, "command": "risk", "prior": float(prior)}
        body |= {name: _numbers(answer) for name, answer in general}
        body["rates"] = [
            {
                "false_positive_rate": float(alarm),
                "true_positive_rate": _numbers(hits),
                "precision": _numbers(sure),
            }
            for alarm, hits, sure in rates
        ]
        body |= {"plan": node.to_dict()} | ({"notes": notes} if notes else {})
        write_json(body)
        return
    explained = {
        "advantage": "largest true minus false positive rate of any attack",
        "accuracy": f"of telling members, each with prior probability {plain(prior)}",
        "reconstruction": f"chance of success, {float(baseline or 0):.6g} without the release",
    }
    lines = ["attack success, whatever the attacker knows"]
    lines += aligned(
        ("quantity", "at most", "meaning", "grade"),
        [(name, safe_number(a), explained[name], grade(a)) for name, a in general],
    )
    lines += [""]
    lines += aligned(
        ("false positive rate", "true positive rate", "precision", "grade"),
        [
            (
                f"{float(alarm):.6g}",
                f"{relation(hits)} {safe_number(hits)}",
                f"{relation(sure)} {safe_number(sure)}",
                grade(hits),
            )
            for alarm, hits, sure in rates
        ],
    )
    first = general[0][1]
    lines += [f"  adjacency {first.adjacency}; unit {first.unit}", f"  plan: {plan_line(node)}"]
    write_lines(lines + [f"  note: {line}" for line in notes])


def _numbers(answer: Answer) -> dict[str, Any]:
    """An Answer object without the plan, which is told once."""
    told = replace(answer, alternatives=(), tree=None).to_dict()
    return {key: told[key] for key in told if key not in ("schema", "plan")}
