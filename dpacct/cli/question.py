"""Options shared by commands that answer one question: method, proof and amount of output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import Command, File
from dpacct.cli.output import as_text, note, write_file
from dpacct.declare.domain import Word
from dpacct.declare.record import Exclusive, Maybe, Parameter, Switch
from dpacct.declare.words import EFFORT, METHOD_NAMES, MOST_EFFORT, PROOF_DIGITS

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Question
    from dpacct.cli.output import Result
    from dpacct.cli.screens import Screen
    from dpacct.cli.words import Stated

METHOD: Parameter[str] = Parameter(
    Word(*METHOD_NAMES, also={"prv": "exact", "pld": "exact", "moments": "rdp", "gdp": "clt"}),
    f"how to compute it: {', '.join(METHOD_NAMES)}; auto proves the answer where that is cheap, and"
    " otherwise takes the strongest method",
    "NAME",
    default="auto",
)
QUIET: Parameter[bool] = Switch("print only the safe end of the answer, for scripts")
DETAILS: Parameter[bool] = Switch("also the interval, the method, the sources and the assumptions")


class Asked(Command):
    """A command whose result is one answer."""

    method: Parameter[str] = METHOD
    effort: Parameter[Fraction] = Parameter(
        MOST_EFFORT,
        "estimated CPU seconds that a proof may cost; above it auto takes the fast method",
        "S",
        default=Fraction(EFFORT),
    )
    quiet: Parameter[bool] = QUIET
    details: Parameter[bool] = DETAILS

    @property
    def how(self) -> dict[str, Any]:
        """The keyword arguments for `ask`."""
        return {"method": self.method, "effort": self.effort}

    def shown(self, screen: Screen, notes: Sequence[str] = ()) -> Result:
        """The result of an answer, with notes and alternatives."""
        return replace(screen, notes=(*notes, *screen.answer.notes)).result(self.details)


class AskedOfPlan(Asked):
    """A command about the plan that its options state, with a certificate on request."""

    plan = True
    heading = "Target"
    headings = dict.fromkeys(("digits", "certificate", "save"), "Output")

    digits: Parameter[int | None] = Maybe(PROOF_DIGITS, "prove this many digits; default 12", "N")
    certificate: Parameter[str | None] = Maybe(
        File(), "prove the answer and write the proof as JSON; dpacct verify checks it", "FILE"
    )
    save: Parameter[str | None] = Maybe(
        File(), "write the plan as a file, for compose, report and sweep", "FILE"
    )

    def ask(self, question: Question, plan: Any, *, beside: bool) -> Answer:
        """The answer, with its certificate written on request; `beside` adds the other methods' answers."""
        from dpacct.answer.ask import DIGITS, alternatives, ask

        option = (
            "--digits" if self.digits is not None else "--certificate" if self.certificate else ""
        )
        if option and self.method not in ("auto", "certified"):
            message = f"{option} needs --method certified, and --method {self.method} was given"
            raise Exclusive(message, argument=option)
        digits = (self.digits or DIGITS) if option else None
        answer = ask(question, plan, digits=digits, **self.how)
        if self.certificate is not None:
            text = as_text(answer.certificate, indent=1) + "\n"
            write_file(text.encode(), self.certificate, "--certificate")
        if beside:
            answer = replace(answer, alternatives=alternatives(question, plan, but=answer.method))
        return answer

    def answered_of_plan(self, question: Question) -> Result:
        """The result of a question about the plan that the line states."""
        from dpacct.cli.screens import of_answer

        stated = self.stated()
        answer = self.ask(question, stated.plan(), beside=self.as_json)
        return self.answered(of_answer(answer, question.settings), stated)

    def answered(self, screen: Screen, stated: Stated, **sought: object) -> Result:
        """The result as shown; the plan is saved on request, with the noise or steps that were sought."""
        asked = screen.asked
        if (self.digits or 0) > 15:
            extra = screen.answer.extra
            proven = f"proven: between {extra['lower_decimal']} and {extra['upper_decimal']}"
            screen = replace(screen, more=[*screen.more, proven])
        if self.save is not None:
            from dpacct.cli.words import written

            target = {key: each for key, each in asked.items() if len(asked) == 1 or key == "delta"}
            # what was answered about, said or not: a report needs both words
            about = {"adjacency": screen.answer.adjacency, "unit": screen.answer.unit}
            said = {"mechanism": stated.kind.kind, **about, **self.typed, **target, **sought}
            write_file(written(said).encode(), self.save, "--save")
            note(f"wrote {self.save}")
        size, delta = stated.steps.dataset_size, asked.get("delta")
        notes = list(stated.notes)
        if size is not None and delta is not None and delta * size > 1:
            unit = stated.meaning.unit or "record"
            notes.append(f"delta is above 1 / {size}: it belongs well below one over the {unit}s")
        return self.shown(screen, notes)
