"""Commands on click: options as they are typed, and a decorator that makes a command of a function."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpacct.declare.domain import SYNONYMS, Domain, Word, did_you_mean
from dpacct.declare.number import text
from dpacct.declare.record import Exclusive, Parameter, Usage
from dpacct.declare.words import SAMPLING, Meaning, Steps
from dpacct.errors import DpacctError

if TYPE_CHECKING:
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan

    ParamType = click.ParamType[Any]
else:  # older clicks have no generic types
    ParamType = click.ParamType


class Checked(ParamType):
    """An option of the command line alone, which its domain reads; an error names the option."""

    name = "value"

    def __init__(self, domain: Domain[Any]) -> None:
        self.domain = domain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, if it lies in the domain."""
        return self.domain.check(spelled(param), value) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        """The words that may stand there; file names are left to the shell."""
        return _completed(self.domain, incomplete)


class Typed(ParamType):
    """Text that a constructor reads; its domain is only named and completed."""

    name = "text"

    def __init__(self, domain: Domain[Any] | None = None) -> None:
        self.domain = domain

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        """The words that may stand there."""
        return _completed(self.domain, incomplete)


def _completed(domain: Domain[Any] | None, begun: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    if not isinstance(domain, Word):
        return [CompletionItem(begun, type="file")]
    return [CompletionItem(word) for word in domain.choices if word.startswith(begun)]


def spelled(param: click.Parameter | None) -> str:
    """Return what the user types for a parameter: "--delta", or the metavar of an argument."""
    if isinstance(param, click.Argument):
        return (param.metavar or param.name or "").strip("[]").partition(" ")[0]
    return param.opts[0] if param is not None else "value"


def _names(spelling: str) -> tuple[list[str], str | None]:
    """The names of an option for click, and its symbol: "--from start X"."""
    words = spelling.split()
    symbol = words.pop() if words[-1].isupper() else None
    return words, symbol


def _sentence(means: str, default: Any = None) -> str:
    if default is not None and default is not ...:
        means += f"; default {default if isinstance(default, str) else text(default)}"
    return f"{means[0].upper()}{means[1:]}."


def _choices(domain: Domain[Any] | None) -> str | None:
    return f"[{'|'.join(domain.choices)}]" if isinstance(domain, Word) else None


def option(
    spelling: str,
    means: str,
    reads: Domain[Any] | None = None,
    *,
    default: Any = None,
    multiple: bool = False,
) -> click.Option:
    """An option, such as "--output -o FILE" or, with a name of its own for the function, "--from start X".

    What its domain reads is checked as it is parsed; without one the value stays text.
    """
    names, symbol = _names(spelling)
    return click.Option(
        names,
        type=Typed() if reads is None else Checked(reads),
        metavar=symbol or _choices(reads),
        default=default,
        multiple=multiple,
        help=_sentence(means, None if multiple else default),
    )


def switch(spelling: str, means: str, *, default: bool = False) -> click.Option:
    """An option without a value."""
    return click.Option(_names(spelling)[0], is_flag=True, default=default, help=_sentence(means))


class Positional(click.Argument):
    """An argument by position; a missing one is asked for in a sentence of our own."""

    def __init__(self, name: str, *, needed: bool, **more: Any) -> None:
        super().__init__([name], required=False, **more)
        self.needed = needed


def argument(
    name: str,
    symbol: str,
    reads: Domain[Any] | None = None,
    *,
    required: bool = True,
    many: bool = False,
) -> Positional:
    """An argument by position, or `many` of them."""
    kind = Typed() if reads is None else Checked(reads)
    needed, nargs = required and not many, -1 if many else 1
    return Positional(name, needed=needed, type=kind, metavar=symbol, nargs=nargs)


def declared(parameter: Parameter[Any], *names: str, means: str = "") -> click.Option:
    """A parameter of a mechanism, a plan or an algorithm, whose value stays text."""
    return click.Option(
        [*(names or (f"--{parameter.name.replace('_', '-')}",)), parameter.name],
        type=Typed(parameter.domain),
        metavar=parameter.symbol or _choices(parameter.domain),
        help=_sentence(means or parameter.means, parameter.default),
    )


class OptionGroup(NamedTuple):
    """Options under one heading of the help.

    Those of a plan (`words`) are for the constructors that read them; a `shared` one is for the line, and
    any other for the command's function.
    """

    heading: str
    options: tuple[click.Parameter, ...]
    words: bool = False
    shared: bool = False


def group(heading: str, *options: click.Parameter) -> OptionGroup:
    """Options of the command's own function."""
    return OptionGroup(heading, options)


def words(heading: str, *parameters: Parameter[Any]) -> OptionGroup:
    """Parameters whose values stay text until their constructor reads them."""
    return OptionGroup(heading, tuple(map(declared, parameters)), words=True)


def plan(*, noise: bool = True, steps: bool = True) -> Callable[[], tuple[OptionGroup, ...]]:
    """The words of a plan, with the amount of noise and the number of steps or without."""

    def groups() -> tuple[OptionGroup, ...]:
        from dpacct.cli.plan_file import noises, samplings, sizes, uses

        kinds, hidden = noises(), frozenset() if noise else sizes()
        means = f"the mechanism: {', '.join(kinds)}; by default the one that the options below belong to,"
        which = click.Option(
            ["--mechanism"],
            metavar="NAME",
            type=Typed(Word(*kinds)),
            help=f"{means[0].upper()}{means[1:]} else gaussian.",
        )
        of_noise = [
            declared(each) for name, each in uses(*kinds.values()).items() if name not in hidden
        ]
        if noise:
            of_noise.append(
                click.Option(
                    ["--zcdp"],
                    metavar="RHO",
                    help="Rho of a release known by its zero-concentrated DP.",
                )
            )
        ways = samplings()
        drawn = [f"{word}: {ways[word].means}" for word in SAMPLING.choices if word in ways]
        sampling = "; ".join([Steps.sampling.means, *drawn, "none"])
        more = {"rate": ("--rate", "--sample-rate"), "steps": ("--steps", "--rounds")}
        of_plan = [
            declared(each, *more.get(name, ()), means=sampling if name == "sampling" else "")
            for name, each in Steps.parameters.items()
            if steps or name not in ("steps", "epochs")
        ]
        return (
            OptionGroup("Noise", (which, *of_noise), words=True),
            OptionGroup("Plan", tuple(of_plan), words=True),
            words("What is protected", *Meaning.parameters.values()),
        )

    return groups


EPSILON = "--eps --epsilon epsilon E"
QUIET = "print only the safe end of the answer, for scripts"
DETAILS = "also the interval, the method, the sources and the assumptions"


class CommandLine:
    """The command line: `typed` are the words of a plan, `values` the options that commands share."""

    def __init__(
        self, command: Command, values: Mapping[str, Any], tell: Callable[[str], None]
    ) -> None:
        given = {name: value for name, value in values.items() if value not in (None, ())}
        self.command, self.tell = command, tell
        self.typed: dict[str, str] = {n: v for n, v in given.items() if n in command.words}
        self.values = {name: values[name] for name in command.shared}
        self.own = {n: v for n, v in values.items() if n not in command.words | command.shared}
        self.json: bool = self.own.pop("json")

    def option(self, name: str) -> str:
        """The spelling of a parameter on the command line."""
        params = {each.name: each for each in self.command.params}
        return spelled(params[name]) if name in params else f"--{name.replace('_', '-')}"

    def stated(self, *, seeks_noise: bool = False) -> StatedPlan:
        """The plan that the line states."""
        from dpacct.cli.plan_file import stated

        return stated(self.typed, self.option, seeks_noise=seeks_noise)

    def named(self, error: DpacctError) -> DpacctError:
        """The error, with the option's name in the place of Python's."""
        name = _PYTHON.get(error.argument or "", error.argument)
        options = {each.name for each in self.command.params if isinstance(each, click.Option)}
        options |= {*Steps.parameters, *Meaning.parameters} if self.command.words else set()
        if name in options and not isinstance(error, Usage | Exclusive):
            error.argument = self.option(name)
            if error.message.startswith(f"{name} must "):
                error.message = error.argument + error.message.removeprefix(name)
                error.args = (error.message,)
        return error


_PYTHON = {"count": "steps", "n": "steps", "sample_rate": "rate"}
_PYTHON |= dict.fromkeys(("order", "orders", "alpha", "epsilons"), "start")
"""The option that carries each argument of Python."""

Makes = OptionGroup | Callable[[], tuple[OptionGroup, ...]]


class Command(click.Command):
    """A command of click, made from a function that gets the line and its own options."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Result],
        groups: Sequence[Makes],
        examples: Sequence[str],
    ) -> None:
        made = [each for g in groups for each in ((g,) if isinstance(g, OptionGroup) else g())]
        json = OptionGroup("Output", (switch("--json", "answer in JSON"),))
        merged: dict[str, list[click.Parameter]] = {}
        for each in sorted([json, *made], key=lambda g: g.heading == "Output"):
            merged.setdefault(each.heading, []).extend(each.options)
        self.headings, self.examples, self.function = merged, tuple(examples), function
        self.words = frozenset(str(p.name) for g in made if g.words for p in g.options)
        self.shared = frozenset(str(p.name) for g in made if g.shared for p in g.options)
        params = [each for listed in merged.values() for each in listed]
        super().__init__(name, params=params, help=inspect.cleandoc(function.__doc__ or ""))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option given twice or without a value, both of which click lets pass."""
        if not ctx.resilient_parsing:
            ctx.meta["empty"] = not args
            values, _, order = self.make_parser(ctx).parse_args(list(args))
            every = {
                word for each in self.params if isinstance(each, click.Option) for word in each.opts
            }
            for each in order:
                value = values.get(each.name or "")
                if isinstance(each, click.Option) and isinstance(value, str) and value in every:
                    raise Usage(f"{spelled(each)} needs a value after it", argument=spelled(each))
                if isinstance(each, click.Option) and order.count(each) > 1 and not each.multiple:
                    raise Usage(
                        f"{' or '.join(each.opts[:2])} may be given only once",
                        argument=spelled(each),
                    )
        rest = super().parse_args(ctx, args)
        for each in self.params:
            if isinstance(each, Positional) and each.needed and ctx.params[each.name or ""] is None:
                said = spelled(each)
                raise Usage(f"{said} must be given: dpacct {self.name} {said}", argument=said)
        return rest

    def invoke(self, ctx: click.Context) -> None:
        """Answer, and print the answer in the form that was asked for."""
        from dpacct.cli import output
        from dpacct.cli.progress import Progress

        with Progress(f"dpacct {self.name}") as progress:
            line = CommandLine(self, ctx.params, progress.tell)
            try:
                result = self.function(line, **line.own)
                if line.json:
                    body = result.body()
                    lines = (
                        []
                        if body is None
                        else [output.as_text(output.payload(str(self.name), body))]
                    )
                else:
                    quiet = (line.own | line.values).get("quiet")
                    lines = [*(result.quiet if quiet else result.lines)()]
                    lines[:1] = map(_bold, lines[:1]) if not quiet and result.answer else lines[:1]
            except Usage as error:
                if ctx.meta.get("empty") and self.examples:
                    error.message += f"; for example: dpacct {self.examples[0]}"
                    error.args = (error.message,)
                raise
            except DpacctError as error:
                raise line.named(error) from error.__cause__
        for each in lines:
            click.echo(each)
        for each in result.notes:
            output.note(each)
        if result.status:
            raise click.exceptions.Exit(result.status)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options under their headings, in the order they were declared."""
        helping = [each for each in self.get_params(ctx) if each not in self.params]
        for heading, listed in {**self.headings, "Other": helping}.items():
            shown = [record for each in listed if (record := each.get_help_record(ctx)) is not None]
            if shown:
                with formatter.section(heading):
                    formatter.write_dl(shown)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, exactly as they can be typed."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}dpacct {example}\n")

    def refusal(self, typed: str) -> str:
        """The end of the sentence for an option that the command does not have."""
        name, here = typed.lstrip("-").replace("-", "_"), {each.name: each for each in self.params}
        if "rate" in self.words and name not in here and name in _noise_sizes():
            return ", which dpacct eps has"
        if typed in ("--quiet", "-q"):
            return ": its answer is not a single number"
        listed = [word for each in self.params for word in (*each.opts, *each.secondary_opts)]
        also = {f"--{word}": spelled(here[ours]) for word, ours in SYNONYMS.items() if ours in here}
        return did_you_mean(typed, [*listed, "--help"], also)


def _noise_sizes() -> Iterable[str]:
    from dpacct.cli.plan_file import sizes

    return {*sizes(), "steps", "epochs"}


def _bold(line: str) -> str:
    """The line that answers stands out on a terminal, unless NO_COLOR is set."""
    return (
        click.style(line, bold=True)
        if sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        else line
    )


def command(
    name: str, *groups: Makes, examples: Sequence[str]
) -> Callable[[Callable[..., Result]], Command]:
    """Make a function a command: it gets the `CommandLine` and the options of its own groups.

    Its docstring is the help; `examples` are lines without "dpacct", which tests run.
    """
    return lambda function: Command(name, function, groups, examples)
