"""The privacy of a plan as attack success."""

from __future__ import annotations

from typing import Any

from dpacct.cli.command import CommandLine, command, group, option, plan, switch
from dpacct.cli.output import Result, within
from dpacct.declare.domain import Real
from dpacct.display import aligned

CHANCE = Real(0, 1)


@command(
    "risk",
    plan(),
    group(
        "Attack",
        option("--fpr A", "false positive rate; several; default 0.1, 0.01, 0.001", multiple=True),
        option("--prior P", "how likely a record is a member, before the attack", default="0.5"),
        option("--baseline K", "a reconstruction's success without the release; bounds it with it"),
    ),
    group("Output", switch("-q --quiet", "print the accuracy alone, in full, for scripts")),
    examples=(
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000",
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000 --fpr 0.001 --fpr 1e-5 --prior 0.01",
        "risk --noise-multiplier 4 --baseline 1e-6 --json",
    ),
)
def main(line: CommandLine) -> Result:
    """Bound the success of every attack on a plan, whatever else the attacker knows.

    Membership advantage (true minus false positive rate), accuracy at a prior, and for each false
    positive rate the true positive rate and the precision. All are rounded up.
    """
    from dpacct.answer.answer import KNOWN, protected, safe_number
    from dpacct.cli.screens import labelled, noted, two_readings, wrapped
    from dpacct.declare.number import rounded
    from dpacct.plan.node import resolve_adjacency
    from dpacct.plan.words import phrase
    from dpacct.risk import Risk

    prior, baseline = line.read("prior", CHANCE), line.read("baseline", CHANCE)
    alarms = [CHANCE.check("--fpr", each) for each in line.get("fpr") or ("0.1", "0.01", "0.001")]
    assert prior is not None
    stated = line.stated()
    node = stated.plan()
    notes = [*stated.steps.notes, *two_readings(stated, resolve_adjacency(node))]
    risk = Risk(node)
    general = {"advantage": risk.advantage(), "accuracy": risk.accuracy(prior)}
    if baseline is not None:
        general["reconstruction"] = risk.reconstruction(baseline)
    rates = [(a, risk.true_positive_rate(a), risk.precision(a, prior)) for a in alarms]

    def body() -> dict[str, Any]:
        names = ("false_positive_rate", "true_positive_rate", "precision")
        listed = [
            dict(zip(names, (float(a), within(hits), within(sure)), strict=True))
            for a, hits, sure in rates
        ]
        said = {name: within(answer) for name, answer in general.items()}
        more = {"plan": node.to_dict()} | ({"notes": notes} if notes else {})
        return {"prior": float(prior), **said, "rates": listed, **more}

    def share(answer: Any) -> str:
        return f"{rounded(100 * float(answer), 'up', 4)} %"

    def lines() -> list[str]:
        right, advantage = share(general["accuracy"]), general["advantage"]
        header = (
            "of non-members accused",
            "of members found, at most",
            "an accusation is right, at most",
        )
        shown = [
            f"an attacker who guesses who is a member is right in at most {right}"
            f"    {share(max(prior, 1 - prior))} without the release",
            *wrapped(phrase(node)),
            f"  whatever the attacker knows beside the release; {KNOWN[advantage.strength]}",
            *aligned(header, [tuple(map(share, row)) for row in rates]),
            "  advantage (true minus false positive rate) at most"
            f" {rounded(float(advantage), 'up', 4)}",
        ]
        if baseline is not None:
            most = f"{share(general['reconstruction'])}, {share(baseline)} without the release"
            shown.append(f"  a reconstruction succeeds in at most {most}")
        return [*shown, *labelled("protects", [protected(advantage)]), *noted(notes)]

    return Result(body, lines, lambda: [safe_number(general["accuracy"])], general["accuracy"])
