"""The privacy of a plan as attack success."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, command, group, option, plan, switch
from dpacct.cli.output import Result, within
from dpacct.declare.domain import Real
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.plan.node import Node

CHANCE = Real(0, 1)


@command(
    "risk",
    plan(),
    group(
        "Attack",
        option(
            "--fpr A",
            "false positive rate of the attack; may be given several times; default 0.1, 0.01 and"
            " 0.001",
            CHANCE,
            multiple=True,
        ),
        option(
            "--prior P",
            "probability that a record is a member, before the attack",
            CHANCE,
            default=Fraction(1, 2),
        ),
        option(
            "--baseline K",
            "also bound a reconstruction that succeeds with this probability without the release",
            CHANCE,
        ),
    ),
    group("Output", switch("-q --quiet", "print the accuracy alone, in full, for scripts")),
    examples=(
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000",
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000 --fpr 0.001 --fpr 1e-5 --prior 0.01",
        "risk --noise-multiplier 4 --baseline 1e-6 --json",
    ),
)
def main(
    line: CommandLine,
    fpr: tuple[Fraction, ...],
    prior: Fraction,
    baseline: Fraction | None,
    quiet: bool,
) -> Result:
    """Bound the success of every attack on a plan, whatever else the attacker knows.

    Membership advantage (true minus false positive rate), accuracy at a prior, and for each false
    positive rate the true positive rate and the precision. All are rounded up.
    """
    from dpacct.answer.answer import safe_number
    from dpacct.cli.screens import noted
    from dpacct.plan.node import resolve_adjacency
    from dpacct.risk import Risk

    stated = line.stated()
    node = stated.plan()
    notes = [*stated.steps.notes, *stated.two_readings(resolve_adjacency(node))]
    risk = Risk(node)
    general = {"advantage": risk.advantage(), "accuracy": risk.accuracy(prior)}
    if baseline is not None:
        general["reconstruction"] = risk.reconstruction(baseline)
    rates = [
        (alarm, risk.true_positive_rate(alarm), risk.precision(alarm, prior))
        for alarm in fpr or (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))
    ]

    def body() -> dict[str, Any]:
        listed = [
            {
                "false_positive_rate": float(alarm),
                "true_positive_rate": within(hits),
                "precision": within(sure),
            }
            for alarm, hits, sure in rates
        ]
        said = {name: within(answer) for name, answer in general.items()}
        more = {"plan": node.to_dict()} | ({"notes": notes} if notes else {})
        return {"prior": float(prior), **said, "rates": listed, **more}

    def lines() -> list[str]:
        return [*_lines(node, general, rates, prior, baseline), *noted(notes)]

    return Result(body, lines, lambda: [safe_number(general["accuracy"])], general["accuracy"])


def _lines(
    node: Node,
    general: dict[str, Answer],
    rates: list[tuple[Fraction, Answer, Answer]],
    prior: Fraction,
    baseline: Fraction | None,
) -> list[str]:
    from dpacct.answer.answer import KNOWN, protected
    from dpacct.cli.screens import labelled, wrapped
    from dpacct.declare.number import rounded
    from dpacct.plan.words import phrase

    def share(answer: Answer | Fraction) -> str:
        return f"{rounded(100 * float(answer), 'up', 4)} %"

    accuracy, advantage = general["accuracy"], general["advantage"]
    lines = [
        f"an attacker who guesses who is a member is right in at most {share(accuracy)}"
        f"    {share(max(prior, 1 - prior))} without the release",
        *wrapped(phrase(node)),
        f"  whatever the attacker knows beside the release; {KNOWN[advantage.strength]}",
    ]
    header = (
        "of non-members accused",
        "of members found, at most",
        "an accusation is right, at most",
    )
    lines += aligned(header, [(share(a), share(hits), share(sure)) for a, hits, sure in rates])
    bound = rounded(float(advantage), "up", 4)
    lines.append(f"  advantage (true minus false positive rate) at most {bound}")
    if baseline is not None:
        bound = f"at most {share(general['reconstruction'])}, {share(baseline)} without the release"
        lines.append(f"  a reconstruction succeeds in {bound}")
    return lines + labelled("protects", [protected(advantage)])
