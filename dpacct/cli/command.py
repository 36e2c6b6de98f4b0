"""Command: a record whose parameters are the options; click only splits the command line."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import click

from dpacct.declare.domain import Domain, Flag, Integer, Real, Text, Word
from dpacct.declare.number import shown, text
from dpacct.declare.record import Exclusive, Maybe, Parameter, Record, Several, Switch, Usage
from dpacct.declare.words import (
    DIGITS,
    EFFORT,
    METHODS,
    MOST_EFFORT,
    PROOF_DIGITS,
    SAMPLING,
    Meaning,
    Steps,
    Target,
)
from dpacct.errors import DpacctError, InvalidArgument

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dpacct.answer import Answer
    from dpacct.answer.ask import Question
    from dpacct.cli.output import Result
    from dpacct.cli.screens import Screen
    from dpacct.cli.words import StatedPlan

    ParamType = click.ParamType[Any]
else:  # older clicks have no generic types
    ParamType = click.ParamType

MAX_CHARACTERS = 200
"""The longest number that a command line may have, in characters."""
_SHORT = {"quiet": "-q", "output": "-o"}
_PYTHON = {"count": "steps", "n": "steps", "sample_rate": "rate"}
_PYTHON |= dict.fromkeys(("order", "orders", "alpha", "epsilons"), "from")
"""The option that carries each argument of Python."""

Group = Mapping[str, Parameter[Any]]
"""Parameters by their names."""


class File(Text):
    """The name of a file, not checked further."""


class Suggested(Text):
    """Any text, with suggestions that a shell can complete."""

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        self.suggestions = words


class Value(ParamType):
    """A click type that reads an option by its domain."""

    name = "value"

    def __init__(self, domain: Domain[Any]) -> None:
        self.domain = domain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, if it lies in the domain; an error names the option."""
        if not isinstance(value, str):
            return value
        name = option_name(param)
        if len(value) > MAX_CHARACTERS and isinstance(self.domain, Real | Integer):
            message = f"{name} must be {self.domain.words}, got {shown(value, 40)}"
            message += f", which is longer than {MAX_CHARACTERS} characters"
            raise InvalidArgument(message, argument=name)
        return self.domain.check(name, value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The possible words; file names are left to the shell."""
        from click.shell_completion import CompletionItem

        if isinstance(self.domain, File):
            return [CompletionItem(incomplete, type="file")]
        words: Iterable[str] = self.domain.choices if isinstance(self.domain, Word) else ()
        if isinstance(self.domain, Suggested):
            words = self.domain.suggestions()
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def option_name(param: click.Parameter | None) -> str:
    """Return the name of a parameter that the user types: "--delta", or an argument's metavar."""
    if param is None:
        return "value"
    return param.opts[0] if isinstance(param, click.Option) else (param.name or "value").upper()


class Command(Record):
    """A question on the command line, in a file of `commands`.

    Its parameters are the options (arguments, where they may be given by position), its docstring the
    help. The line in `dpacct --help` is the first of the file.

    Attributes:
        headings: of single options that have another than the class's `heading`.
        plan: whether it takes the words of a plan.
        without: those of them that it has no use for.
        examples: command lines without "dpacct"; the help shows them and the tests run them.
    """

    heading: ClassVar[str] = "Output"
    headings: ClassVar[Mapping[str, str]] = {}
    plan: ClassVar[bool] = False
    without: ClassVar[frozenset[str]] = frozenset()
    examples: ClassVar[tuple[str, ...]] = ()
    name: ClassVar[str]

    as_json: Parameter[bool] = Switch("answer in JSON", alias="json")
    if TYPE_CHECKING:
        typed: Mapping[str, Any]
        """The words of a plan that were given."""

    @abstractmethod
    def answer(self) -> Result:
        """Compute the result; print nothing."""

    def tell(self, line: str) -> None:
        """Report progress, of which a terminal hears after two seconds."""
        if (progress := self.__dict__.get("progress")) is not None:
            progress.tell(line)

    def run(self) -> None:
        """Compute the result and print it."""
        from dpacct.cli import output
        from dpacct.cli.progress import Progress

        with Progress(f"dpacct {self.name}") as progress:
            self.__dict__["progress"] = progress
            result = self.answer()
            if self.as_json:
                body = result.body()
                lines = [] if body is None else [output.as_text(output.payload(self.name, body))]
            else:
                lines = [*(result.quiet if self.values.get("quiet") else result.lines)()]
        for line in lines:
            click.echo(line)
        for line in result.notes:
            output.note(line)
        if result.status:
            raise click.exceptions.Exit(result.status)

    @classmethod
    def groups(cls) -> dict[str, Group]:
        """Every parameter under its heading."""
        groups: dict[str, dict[str, Parameter[Any]]] = {}
        if cls.plan:
            from dpacct.cli.words import noises, samplings, uses

            which = Parameter(
                Word(*noises(), also={"normal": "gaussian"}),
                f"the mechanism: {', '.join(noises())}; by default the one that the options below"
                " belong to, else gaussian",
                "NAME",
                alias="mechanism",
            )
            groups["Noise"] = {"mechanism": which, **uses(*noises().values())}
            how, ways = Steps.parameters["sampling"], samplings()
            drawn = [f"{word}: {ways[word].means}" for word in SAMPLING.choices if word in ways]
            means = "; ".join([how.means, *drawn, "none"])
            groups["Plan"] = {**Steps.parameters, "sampling": how.but(means=means)}
        for name, each in cls.parameters.items():
            groups.setdefault(cls.headings.get(name, each.heading), {})[name] = each
        if cls.plan:
            groups.setdefault(Meaning.heading, {}).update(Meaning.parameters)
        groups["Output"] = groups.pop("Output")
        hidden = cls.hidden()
        return {
            heading: {name: each for name, each in group.items() if name not in hidden}
            for heading, group in groups.items()
        }

    @classmethod
    def hidden(cls) -> frozenset[str]:
        """Options of a plan that the command does not offer."""
        return cls.without

    @classmethod
    def is_argument(cls, name: str) -> bool:
        """Return whether it is a positional argument."""
        return name in cls.parameters and not cls.parameters[name].kw_only

    @classmethod
    def spellings(cls, name: str, parameter: Parameter[Any]) -> list[str]:
        """Every spelling of an option or argument, without leading dashes."""
        words = [parameter.flag or parameter.name, parameter.name, *parameter.also]
        if cls.is_argument(name):
            symbol = parameter.symbol.strip("[]").lower()
            words = [name, *([symbol] if symbol.isalpha() else [])]
        return [*dict.fromkeys(word.replace("_", "-") for word in words)]

    @classmethod
    def option(cls, name: str) -> str:
        """The command-line name of a parameter or of an option of a plan."""
        for records in (cls, Steps, Meaning, Target):
            if name in records.parameters:
                each = records.parameters[name]
                return each.symbol if cls.is_argument(name) else spelled(each)
        return f"--{name.replace('_', '-')}"

    @classmethod
    def of_line(cls, values: Mapping[str, Any]) -> Self:
        """The command with the values that click parsed."""
        typed = {key: each for key, each in values.items() if not (each is None or each == ())}
        made = cls.read({key: typed[key] for key in cls.parameters if key in typed}, cls.option)
        made.__dict__["typed"] = {
            key: each for key, each in typed.items() if key not in cls.parameters
        }
        return made

    @property
    def values(self) -> dict[str, Any]:
        """Every parameter's value by its name."""
        return {name: self.__dict__[each.attribute] for name, each in self.parameters.items()}

    def stated(self, *, seeks_noise: bool = False) -> StatedPlan:
        """The plan that the line states."""
        from dpacct.cli.words import stated

        return stated(self.typed, self.option, seeks_noise=seeks_noise)


def spelled(parameter: Parameter[Any]) -> str:
    """The first spelling of an option."""
    return f"--{(parameter.flag or parameter.name).replace('_', '-')}"


def options(of: type[Command], groups: Mapping[str, Group]) -> Iterator[click.Parameter]:
    """The click parameters of the command."""
    for group in groups.values():
        for name, each in group.items():
            if of.is_argument(name):
                yield click.Argument(
                    [name],
                    type=Value(each.domain),
                    required=False,
                    metavar=each.symbol,
                    nargs=-1 if isinstance(each, Several) else 1,
                )
                continue
            typed = [f"--{word}" for word in of.spellings(name, each)]
            typed += [_SHORT[name]] if name in _SHORT else []
            how: dict[str, Any] = {
                "type": Value(each.domain),
                "multiple": isinstance(each, Several),
            }
            if isinstance(each.domain, Flag):
                how = {"is_flag": True, "default": each.default}
                if each.default:
                    typed = [f"{typed[0]}/--no-{typed[0][2:]}"]
            elif each.symbol:
                how["metavar"] = each.symbol
            elif isinstance(each.domain, Word):
                how["metavar"] = f"[{'|'.join(each.domain.choices)}]"
            yield click.Option([*typed, name], help=_help(each), **how)


def _help(parameter: Parameter[Any]) -> str:
    """The help text of an option."""
    sentence, default = parameter.means, parameter.default
    if (
        isinstance(default, Fraction | int | str)
        and not isinstance(default, bool)
        and default != ""
    ):
        sentence += f"; default {default if isinstance(default, str) else text(default)}"
    return f"{sentence[0].upper()}{sentence[1:]}."


class DeclaredCommand(click.Command):
    """A click command made from a `Command`."""

    def __init__(self, name: str, declared: type[Command]) -> None:
        declared.name = name
        self.declared = declared
        self.groups = declared.groups()
        self.every = {k: v for group in self.groups.values() for k, v in group.items()}
        self.known_as = {
            f"--{other.replace('_', '-')}": spelled(each)
            for each in self.every.values()
            for other in each.known_as
        }
        """The option here for each name that other tools give it."""
        super().__init__(
            name,
            params=list(options(declared, self.groups)),
            callback=self._typed,
            help=inspect.cleandoc(declared.__doc__ or ""),
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option given twice or without a value, then let click parse the rest."""
        if not ctx.resilient_parsing:
            _check_options(self, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options under their headings, in the order they were declared."""
        listed = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {param.name or "": param.get_help_record(ctx) for param in listed}
        sections: dict[str, list[str]] = {}
        for heading, group in self.groups.items():
            sections[heading] = [name for name in group if name in records]
        sections["Other"] = [name for name in records if name not in self.every]
        for heading, names in sections.items():
            shown = [record for name in names if (record := records[name]) is not None]
            if shown:
                with formatter.section(heading):
                    formatter.write_dl(shown)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, exactly as they can be typed."""
        if self.declared.examples:
            with formatter.section("Examples"):
                for example in self.declared.examples:
                    formatter.write(f"{'':{formatter.current_indent}}dpacct {example}\n")

    def _typed(self, **values: Any) -> None:
        with self.naming_options():
            self.declared.of_line(values).run()

    def answer(self, values: Mapping[str, Any]) -> Result:
        """The result for these values of the options; an error names the option."""
        with self.naming_options():
            return self.declared.of_line(values).answer()

    @contextmanager
    def naming_options(self) -> Iterator[None]:
        """Make every error within this block name the option."""
        try:
            yield
        except (Usage, Exclusive):  # which name what was typed, be it an option or a key of a file
            raise
        except DpacctError as error:
            name = _PYTHON.get(error.argument or "", error.argument)
            positional = {p.name for p in self.params if isinstance(p, click.Argument)}
            parameters = {p.name for p in self.params}
            if self.declared.plan:
                parameters |= {*Steps.parameters, *Meaning.parameters, *Target.parameters}
            if name is not None and name in parameters - positional:
                error.argument = self.declared.option(name)
                if error.message.startswith(f"{name} must "):
                    error.message = error.argument + error.message.removeprefix(name)
                    error.args = (error.message,)
            raise


def _check_options(command: click.Command, args: Sequence[str]) -> None:
    """Refuse what click lets pass: an option given twice, and `--eps --json` as eps = "--json"."""
    options = {
        name: param
        for param in command.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
    spellings: dict[str | None, str] = {}
    waiting = ""  # the option whose value comes next
    for word in args:
        name, equals, _ = word.partition("=")
        param = options.get(name)
        if waiting:
            if param is not None:
                break
            waiting = ""
        elif word == "--":
            return
        elif param is not None and not param.is_flag and not param.multiple:
            if param.name in spellings:
                earlier = spellings[param.name]
                both = name if earlier == name else f"{earlier} and {name}"
                raise Usage(f"{both} may be given only once", argument=name)
            spellings[param.name] = name
            waiting = "" if equals else name
        elif param is not None and param.multiple:
            waiting = "" if equals else name
    if waiting:
        raise Usage(f"{waiting} needs a value after it", argument=waiting)


# --- commands that answer one question: method, proof and amount of output

METHOD: Parameter[str] = Parameter(
    METHODS,
    f"how to compute it: {', '.join(METHODS.choices)}; auto proves the answer where that is cheap, and"
    " otherwise takes the strongest method",
    "NAME",
    default="auto",
)
QUIET: Parameter[bool] = Switch("print only the safe end of the answer, for scripts")
DETAILS: Parameter[bool] = Switch("also the interval, the method, the sources and the assumptions")


class AnswerCommand(Command):
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


class AskedOfPlan(AnswerCommand):
    """A command about the plan that its options state, with a certificate on request."""

    plan = True
    heading = "Target"
    headings = dict.fromkeys(("digits", "certificate", "save"), "Output")

    digits: Parameter[int | None] = Maybe(PROOF_DIGITS, "prove this many digits; default 12", "N")
    certificate: Parameter[str | None] = Maybe(
        File(), "prove the answer and write the proof as JSON; dpacct verify checks it", "FILE"
    )
    save: Parameter[str | None] = Maybe(
        File(), "write the plan as a file, for compose and report", "FILE"
    )

    def ask(self, question: Question, plan: Any, *, beside: bool) -> Answer:
        """The answer, with its certificate written on request; `beside` adds the other methods' answers."""
        from dpacct.answer.ask import alternatives, ask
        from dpacct.cli.output import as_text, write_file

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
        screen = of_answer(answer, question.settings)
        return self.answered(screen, stated, lambda other: self.quickly(question, other.plan()))

    def quickly(self, question: Question, plan: Any) -> Answer:
        """The answer without a proof."""
        from dpacct.answer.ask import ask

        method = "exact" if self.method in ("auto", "certified") else str(self.method)
        return ask(question, plan, method=method)

    def answered(
        self,
        screen: Screen,
        stated: StatedPlan,
        ask: Callable[[StatedPlan], Answer] | None = None,
        **sought: object,
    ) -> Result:
        """The result as shown; the plan is saved on request, with the noise or steps that were sought.

        `ask` answers for another plan than the stated one.
        """
        asked = screen.asked
        if (self.digits or 0) > 15:
            extra = screen.answer.extra
            proven = f"proven: between {extra['lower_decimal']} and {extra['upper_decimal']}"
            screen = replace(screen, more=[*screen.more, proven])
        if self.save is not None:
            from dpacct.cli.output import note, write_file
            from dpacct.cli.words import written

            target = {key: each for key, each in asked.items() if len(asked) == 1 or key == "delta"}
            # what was answered about, said or not: a report needs both words
            about = {"adjacency": screen.answer.adjacency, "unit": screen.answer.unit}
            said = {"mechanism": stated.kind.kind, **about, **self.typed, **target, **sought}
            write_file(written(said).encode(), self.save, "--save")
            note(f"wrote {self.save}")
        size, delta = stated.steps.dataset_size, asked.get("delta")
        notes = [*stated.steps.notes, *stated.two_readings(screen.answer.adjacency, ask)]
        if size is not None and delta is not None and delta * size > 1:
            unit = stated.meaning.unit or "record"
            notes.append(f"delta is above 1 / {size}: it belongs well below one over the {unit}s")
        return self.shown(screen, notes)
