"""Commands that ask one question of a plan: method, proof, certificate and the amount of output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import DETAILS, QUIET, CommandLine, OptionGroup, option, switch
from dpacct.declare.record import Exclusive
from dpacct.declare.words import DIGITS, EFFORT, METHODS, MOST_EFFORT, PROOF_DIGITS
from dpacct.errors import DpacctError

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Question
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan
    from dpacct.cli.screens import Screen

_HOW = (
    f"how to compute it: {', '.join(METHODS.choices)}; auto proves the answer where that is cheap, and"
    " otherwise takes the strongest method"
)
METHOD = option("--method NAME", _HOW, METHODS, default="auto")
ANSWERING = OptionGroup(
    "Output",
    (
        METHOD,
        option(
            "--effort S",
            "estimated CPU seconds that a proof may cost; above it auto takes the fast method",
            MOST_EFFORT,
            default=Fraction(EFFORT),
        ),
        switch("-q --quiet", QUIET),
        switch("--details", DETAILS),
    ),
    shared=True,
)
PROOF = OptionGroup(
    "Output",
    (
        option("--digits N", f"prove this many digits; default {DIGITS}", PROOF_DIGITS),
        option(
            "--certificate FILE",
            "prove the answer and write the proof as JSON; dpacct verify checks it",
        ),
    ),
    shared=True,
)
SAVE = option("--save FILE", "write the plan as a file, for compose and report")
PROVING = OptionGroup("Output", (*PROOF.options, SAVE), shared=True)


def how(line: CommandLine) -> dict[str, Any]:
    """The keyword arguments for `dpacct.answer.ask.ask`."""
    return {"method": line.values["method"], "effort": line.values["effort"]}


def asked(line: CommandLine, question: Question, plan: Any, *, beside: bool) -> Answer:
    """The answer, with its certificate written on request; `beside` adds the other methods' answers."""
    from dpacct.answer.ask import alternatives, ask
    from dpacct.cli.output import as_text, write_file

    digits, certificate, method = (
        line.values[name] for name in ("digits", "certificate", "method")
    )
    proving = "--digits" if digits is not None else "--certificate" if certificate else ""
    if proving and method not in ("auto", "certified"):
        message = f"{proving} needs --method certified, and --method {method} was given"
        raise Exclusive(message, argument=proving)
    answer = ask(question, plan, digits=(digits or DIGITS) if proving else None, **how(line))
    if certificate is not None:
        text = as_text(answer.certificate, indent=1) + "\n"
        write_file(text.encode(), certificate, "--certificate")
    if beside:
        answer = replace(answer, alternatives=alternatives(question, plan, but=answer.method))
    return answer


def quickly(line: CommandLine, question: Question, plan: Any) -> Answer | None:
    """The answer without a proof; None where there is none."""
    from dpacct.answer.ask import ask

    method = line.values["method"]
    try:
        return ask(question, plan, method="exact" if method in ("auto", "certified") else method)
    except DpacctError:
        return None


def asked_of_plan(line: CommandLine, question: Question) -> Result:
    """The result of a question about the plan that the line states."""
    from dpacct.cli.screens import of_answer

    stated = line.stated()
    answer = asked(line, question, stated.plan(), beside=line.json)
    screen = of_answer(answer, question.settings)
    return answered(line, screen, stated, lambda other: quickly(line, question, other.plan()))


def answered(
    line: CommandLine,
    screen: Screen,
    stated: StatedPlan,
    ask: Callable[[StatedPlan], Answer | None] | None = None,
    **sought: object,
) -> Result:
    """The result as shown; the plan is saved on request, with the noise or steps that were sought.

    `ask` answers for another plan than the stated one.
    """
    target = screen.asked
    if (line.values["digits"] or 0) > 15:
        extra = screen.answer.extra
        proven = f"proven: between {extra['lower_decimal']} and {extra['upper_decimal']}"
        screen = replace(screen, more=[*screen.more, proven])
    if (path := line.values["save"]) is not None:
        from dpacct.cli.output import note, write_file
        from dpacct.cli.plan_file import written

        kept = {key: each for key, each in target.items() if len(target) == 1 or key == "delta"}
        # what was answered about, said or not: a report needs both words
        about = {"adjacency": screen.answer.adjacency, "unit": screen.answer.unit}
        said = {"mechanism": stated.kind.kind, **about, **line.typed, **kept, **sought}
        write_file(written(said).encode(), path, "--save")
        note(f"wrote {path}")
    size, delta = stated.steps.dataset_size, target.get("delta")
    notes = [*stated.steps.notes, *stated.two_readings(screen.answer.adjacency, ask)]
    if size is not None and delta is not None and delta * size > 1:
        unit = stated.meaning.unit or "record"
        notes.append(f"delta is above 1 / {size}: it belongs well below one over the {unit}s")
    return shown(line, screen, notes)


def shown(line: CommandLine, screen: Screen, notes: Sequence[str] = ()) -> Result:
    """The result of an answer, with notes."""
    return replace(screen, notes=(*notes, *screen.answer.notes)).result(line.values["details"])
