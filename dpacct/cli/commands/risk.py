"""The privacy of a plan as attack success."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import QUIET, Command
from dpacct.cli.commands.noise import CHANCE
from dpacct.cli.output import Result, within
from dpacct.declare.record import Maybe, Parameter, Several, aligned

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import StatedPlan

_ALARMS = tuple(Fraction(1, 10**power) for power in (1, 2, 3))


class RiskCommand(Command):
    """Bound the success of every attack on a plan, whatever else the attacker knows.

    Membership advantage (true minus false positive rate), accuracy at a prior, and for each false
    positive rate the true positive rate and the precision. All are rounded up.
    """

    plan = True
    heading = "Attack"
    fpr: Parameter[tuple[Fraction, ...]] = Several(
        CHANCE,
        "false positive rate of the attack; may be given several times; default 0.1, 0.01 and 0.001",
        "A",
        default=_ALARMS,
    )
    prior: Parameter[Fraction] = Parameter(
        CHANCE,
        "probability that a record is a member, before the attack",
        "P",
        default=Fraction(1, 2),
    )
    baseline: Parameter[Fraction | None] = Maybe(
        CHANCE,
        "also bound a reconstruction that succeeds with this probability without the release",
        "K",
    )
    quiet: Parameter[bool] = QUIET.but(means="print the accuracy alone, in full, for scripts")
    examples = (
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000",
        "risk --noise-multiplier 1.1 --rate 0.01 --steps 1000 --fpr 0.001 --fpr 1e-5 --prior 0.01",
        "risk --noise-multiplier 4 --baseline 1e-6 --json",
    )

    def answer(self) -> Result:
        """Upper bounds on the success of attacks."""
        from dpacct.answer.answer import safe_number
        from dpacct.cli.screens import noted
        from dpacct.plan.node import resolve_adjacency
        from dpacct.risk import Risk as Attacks

        stated = self.stated()
        node = stated.plan()
        notes = [*stated.steps.notes, *stated.two_readings(resolve_adjacency(node))]
        risk = Attacks(node)
        accuracy, advantage = risk.accuracy(self.prior), risk.advantage()
        general = {"advantage": advantage, "accuracy": accuracy}
        if self.baseline is not None:
            general["reconstruction"] = risk.reconstruction(self.baseline)
        rates = [
            (alarm, risk.true_positive_rate(alarm), risk.precision(alarm, self.prior))
            for alarm in self.fpr
        ]

        def body() -> dict[str, Any]:
            body: dict[str, Any] = {"prior": float(self.prior)}
            body |= {name: within(answer) for name, answer in general.items()}
            body["rates"] = [
                {
                    "false_positive_rate": float(alarm),
                    "true_positive_rate": within(hits),
                    "precision": within(sure),
                }
                for alarm, hits, sure in rates
            ]
            said = {"notes": notes} if notes else {}
            return body | {"plan": node.to_dict()} | said

        return Result(
            body,
            lambda: [*self._lines(stated, general, rates), *noted(notes)],
            lambda: [safe_number(accuracy)],
        )

    def _lines(
        self,
        stated: StatedPlan,
        general: dict[str, Answer],
        rates: list[tuple[Fraction, Answer, Answer]],
    ) -> list[str]:
        from dpacct.answer.answer import KNOWN, protected
        from dpacct.cli.screens import labelled, wrapped
        from dpacct.declare.number import rounded
        from dpacct.plan.words import phrase

        def share(answer: Answer | Fraction) -> str:
            return f"{rounded(100 * float(answer), 'up', 4)} %"

        accuracy, advantage = general["accuracy"], general["advantage"]
        without = max(self.prior, 1 - self.prior)
        lines = [
            f"an attacker who guesses who is a member is right in at most {share(accuracy)}"
            f"    {share(without)} without the release",
            *wrapped(phrase(stated.plan())),
            f"  whatever the attacker knows beside the release; {KNOWN[advantage.strength]}",
        ]
        lines += aligned(
            (
                "of non-members accused",
                "of members found, at most",
                "an accusation is right, at most",
            ),
            [(share(alarm), share(hits), share(sure)) for alarm, hits, sure in rates],
        )
        bound = rounded(float(advantage), "up", 4)
        lines.append(f"  advantage (true minus false positive rate) at most {bound}")
        if self.baseline is not None:
            bound = f"at most {share(general['reconstruction'])}, {share(self.baseline)} without the release"
            lines.append(f"  a reconstruction succeeds in {bound}")
        lines += labelled("protects", [protected(advantage)])
        return lines
