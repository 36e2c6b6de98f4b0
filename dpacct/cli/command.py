"""Commands on click: options whose values stay text, and a decorator that makes a command of a function."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpacct.declare.domain import EFFORT, SYNONYMS, Domain, T_co, Word, did_you_mean
from dpacct.declare.number import text
from dpacct.declare.record import Parameter, Usage
from dpacct.errors import DpacctError
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan


def spelled(param: click.Parameter | None) -> str:
    """Return what the user types for a parameter: "--delta", or the metavar of an argument."""
    if isinstance(param, click.Argument):
        return (param.metavar or param.name or "").strip("[]").partition(" ")[0]
    return param.opts[0] if param is not None else "value"


def _sentence(means: str, default: str | None = None) -> str:
    end = f"; default {default}" if default else ""
    return f"{means[0].upper()}{means[1:]}{end}."


def _values(
    ctx: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """The values of an option; refuses another option in the place of one."""
    options = {word for each in ctx.command.params for word in each.opts}
    if options.intersection(values) and not ctx.resilient_parsing:  # which is a shell's
        raise Usage(f"{spelled(option)} needs a value after it", argument=spelled(option))
    return values


def _value(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    """The one value of an option; refuses a second one, which click would take silently."""
    if len(_values(ctx, option, values)) > 1:
        twice = f"{' or '.join(option.opts[:2])} may be given only once"
        raise Usage(twice, argument=spelled(option))
    return values[0] if values else None


def option(
    spelling: str,
    means: str,
    *,
    default: str | None = None,
    choices: Sequence[str] = (),
    multiple: bool = False,
) -> click.Option:
    """An option whose value stays text: "--output -o FILE" or, with another name, "--from start X"."""
    names = spelling.split()
    symbol = names.pop() if names[-1].isupper() else f"[{'|'.join(choices)}]" if choices else None
    return click.Option(
        names,
        type=str,
        metavar=symbol,
        default=None if default is None else [default],
        multiple=True,  # so that a second value is seen
        callback=_values if multiple else _value,
        shell_complete=lambda ctx, param, begun: [w for w in choices if w.startswith(begun)],
        help=_sentence(means, default),
    )


def switch(spelling: str, means: str, *, default: bool = False) -> click.Option:
    """An option without a value."""
    return click.Option(spelling.split(), is_flag=True, default=default, help=_sentence(means))


def _needed(ctx: click.Context, argument: click.Parameter, value: Any) -> Any:
    if value is None and not str(argument.metavar).startswith("[") and not ctx.resilient_parsing:
        message = f"{argument.metavar} must be given: {ctx.command_path} {argument.metavar}"
        raise Usage(message, argument=argument.metavar)
    return value


def argument(symbol: str, name: str = "path", *, many: bool = False) -> click.Argument:
    """An argument by position, or `many` of them; one in brackets may be left out."""
    return click.Argument(
        [name], metavar=symbol, required=False, nargs=-1 if many else 1, callback=_needed
    )


def declared(parameter: Parameter[Any], *names: str, means: str = "") -> click.Option:
    """A parameter of a mechanism, a plan or an algorithm."""
    spelling = " ".join(names or (f"--{parameter.name.replace('_', '-')}",))
    choices = parameter.domain.choices if isinstance(parameter.domain, Word) else ()
    means, default = means or parameter.means, parameter.default
    if default not in (..., None):
        means += f"; default {default if isinstance(default, str) else text(default)}"
    spelling = f"{spelling} {parameter.name} {parameter.symbol}".rstrip()
    return option(spelling, means, choices=choices)


class OptionGroup(NamedTuple):
    """Options under one heading of the help."""

    heading: str
    options: Sequence[click.Parameter]


def group(heading: str, *options: click.Parameter | Parameter[Any]) -> OptionGroup:
    """Options under one heading."""
    made = [declared(each) if isinstance(each, Parameter) else each for each in options]
    return OptionGroup(heading, made)


ADJACENCY = option(
    "--adjacency",
    "which data sets are neighbours; default: replace-one for uniform sampling, else add-remove",
    choices=[*Adjacency],
)
UNIT = option(
    "--unit",
    "whose data is protected; default: record; for the statement only, the number stays the same",
    choices=[*Unit],
)
PROTECTED = group("What is protected", ADJACENCY, UNIT)
EPSILON = option("--eps --epsilon epsilon E", "epsilon of the guarantee, at least 0")
DELTA = option("--delta D", "delta of the guarantee, strictly between 0 and 1")
PURE_DELTA = option("--delta D", "delta of the guarantee, below 1; 0 for pure differential privacy")
QUIET = switch("-q --quiet", "print only the safe end of the answer, for scripts")
DETAILS = switch("--details", "also the interval, the method, the sources and the assumptions")
TARGET = group("Target", EPSILON, PURE_DELTA)
METHOD = option(
    "--method NAME",
    "auto (proves where that is cheap, else takes the strongest), certified, exact, rdp, rdp-mironov,"
    " clt, bracket, bracket@1e-6, or a theorem: balle_wang.theorem8, dp_fed_ls.theorem1, dp_fed_ls.theorem2",
    default="auto",
)
EFFORTS = option("--effort S", "estimated CPU seconds that a proof may cost", default=str(EFFORT))
ANSWERING = group("Output", METHOD, EFFORTS, QUIET, DETAILS)
CERTIFICATE = option(
    "--certificate FILE", "prove the answer and write the proof, for dpacct verify"
)
PROOF = group("Output", CERTIFICATE)
PROVING = group(
    "Output", CERTIFICATE, option("--save FILE", "write the plan, for compose and report")
)


def plan(*, noise: bool = True, steps: bool = True) -> Callable[[], tuple[OptionGroup, ...]]:
    """The words of a plan, with the amount of noise and the number of steps or without."""

    def groups() -> tuple[OptionGroup, ...]:
        from dpacct.cli.plan_file import noises, sizes, uses
        from dpacct.plan.samplers.sampled import Sampler
        from dpacct.plan.samplers.steps import Steps

        kinds, hidden = noises(), frozenset() if noise else sizes()
        means = "by default the one that the options below belong to, else gaussian"
        sized = [
            option(
                "--mechanism NAME", f"the mechanism: {', '.join(kinds)}; {means}", choices=[*kinds]
            ),
            *(
                declared(each, means=means)
                for name, (each, means) in uses(kinds.values()).items()
                if name not in hidden
            ),
        ]
        if noise:
            sized.append(
                option("--zcdp rho RHO", "rho of a release known by its zero-concentrated DP")
            )
        drawn = [f"{word}: {kind.means}" for word, kind in Sampler.by_word.items()]
        said = {"sampling": "; ".join([Steps.sampling.means, *drawn, "none"])}
        more = {"rate": ("--rate", "--sample-rate"), "steps": ("--steps", "--rounds")}
        of_plan = [
            declared(each, *more.get(name, ()), means=said.get(name, ""))
            for name, each in Steps.parameters.items()
            if steps or name not in ("steps", "epochs")
        ]
        return group("Noise", *sized), group("Plan", *of_plan), PROTECTED

    return groups


class CommandLine:
    """The command line: every value is text, until the constructor that takes it reads it."""

    def __init__(self, command: Command, values: Mapping[str, Any]) -> None:
        self.command, self.values = command, values
        self.json: bool = values["json"]
        self._told, self._shown = time.monotonic(), False

    def get(self, name: str) -> Any:
        """The text of an option, a tuple of one that may be given several times; None if not typed."""
        return self.values.get(name)

    def pick(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these options that were typed."""
        return {name: self.values[name] for name in names if self.values.get(name) is not None}

    def read(self, name: str, domain: Domain[T_co]) -> T_co | None:
        """The value of an option that is the command line's own, as its domain reads it."""
        value = self.get(name)
        return None if value is None else domain.check(self.option(name), value)

    def needs(self, *names: str) -> None:
        """Raise `Usage` for the first of these that was not typed."""
        options = {p.name: p for p in self.command.params if isinstance(p, click.Option)}
        for each in (options[name] for name in names if self.values[name] is None):
            said, means = spelled(each), (each.help or "").rstrip(".")
            raise Usage(f"{said} must be given: {means[:1].lower()}{means[1:]}", argument=said)

    def option(self, name: str) -> str:
        """The spelling of a parameter on the command line."""
        params = {each.name: each for each in self.command.params}
        return spelled(params[name]) if name in params else f"--{name.replace('_', '-')}"

    @property
    def typed(self) -> dict[str, str]:
        """The words of a plan that were typed."""
        from dpacct.cli.plan_file import words

        return self.pick(words())

    def stated(self) -> StatedPlan:
        """The plan that the line states."""
        from dpacct.cli.plan_file import stated

        return stated(self.typed, self.option)

    def under(self) -> dict[str, Any]:
        """The adjacency and the unit that the line states, for `Node.under`."""
        return self.pick(("adjacency", "unit"))

    def tell(self, text: str) -> None:
        """Say on a terminal how far a command has come, twice a second, from the second second on."""
        if sys.stderr is not None and sys.stderr.isatty() and time.monotonic() - self._told > 2.0:
            self._told, self._shown = time.monotonic() - 1.5, True
            click.echo(f"\x1b[Kdpacct {self.command.name}: {text[:80]}\r", err=True, nl=False)

    def clear(self) -> None:
        """Take away what `tell` has said."""
        if self._shown:
            click.echo("\x1b[K", err=True, nl=False)

    def named(self, error: DpacctError) -> DpacctError:
        """The error, with the option's name in the place of Python's."""
        name = _PYTHON.get(error.argument or "", error.argument or "")
        options = {each.name for each in self.command.params if isinstance(each, click.Option)}
        known = name in options or ("rate" in options and name in ("steps", "epochs"))
        return error.named(self.option(name)) if known else error


_PYTHON = {"count": "steps", "n": "steps", "sample_rate": "rate"}
_PYTHON |= dict.fromkeys(("order", "orders", "alpha", "epsilons"), "start")
"""The option that carries each argument of Python."""

Makes = OptionGroup | Callable[[], tuple[OptionGroup, ...]]


class Command(click.Command):
    """A command of click, made from a function that gets the line."""

    def __init__(
        self,
        name: str,
        function: Callable[[CommandLine], Result],
        makes: Sequence[Makes],
        examples: Sequence[str],
    ) -> None:
        self.function, self.examples = function, tuple(examples)
        made = [each for m in makes for each in ((m,) if isinstance(m, OptionGroup) else m())]
        self.headings: dict[str, list[click.Parameter]] = {}
        json = group("Output", switch("--json", "answer in JSON"))
        for each in sorted([json, *made], key=lambda g: g.heading == "Output"):
            self.headings.setdefault(each.heading, []).extend(each.options)
        params = [each for listed in self.headings.values() for each in listed]
        super().__init__(name, params=params, help=inspect.cleandoc(function.__doc__ or ""))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; a command alone shows a line to copy."""
        ctx.meta["empty"] = not args
        try:
            return super().parse_args(ctx, args)
        except Usage as error:
            raise self._with_example(ctx, error) from None

    def _with_example(self, ctx: click.Context, error: Usage) -> Usage:
        if not (ctx.meta["empty"] and self.examples):
            return error
        example = f"{error.message}; for example: dpacct {self.examples[0]}"
        return Usage(example, argument=error.argument)

    def invoke(self, ctx: click.Context) -> None:
        """Answer, and print the answer in the form that was asked for."""
        from dpacct.cli import output

        line = CommandLine(self, ctx.params)
        try:
            result = self.function(line)
            line.clear()
            quiet = bool(line.get("quiet"))
            if line.json:
                lines = [*filter(None, [output.document(str(self.name), result.body())])]
            else:
                lines = [*(result.quiet if quiet else result.lines)()]
                if result.answer and lines and not quiet:
                    lines[0] = _bold(lines[0])
        except Usage as error:
            raise self._with_example(ctx, error) from None
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
        from dpacct.cli.plan_file import sizes

        name, here = typed.lstrip("-").replace("-", "_"), {each.name: each for each in self.params}
        if "rate" in here and name not in here and name in (*sizes(), "steps", "epochs"):
            return ", which dpacct eps has"
        if typed in ("--quiet", "-q"):
            return ": its answer is not a single number"
        listed = [word for each in self.params for word in (*each.opts, *each.secondary_opts)]
        ours = {word: name.replace("-", "_") for word, name in SYNONYMS.items()}
        also = {f"--{word}": spelled(here[name]) for word, name in ours.items() if name in here}
        return did_you_mean(typed, [*listed, "--help"], also)


def _bold(line: str) -> str:
    """The line that answers stands out on a terminal, unless NO_COLOR is set."""
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR")
    return line if plain else click.style(line, bold=True)


def command(
    name: str, *makes: Makes, examples: Sequence[str]
) -> Callable[[Callable[[CommandLine], Result]], Command]:
    """Make a function a command: it gets the `CommandLine`.

    Its docstring is the help; `examples` are lines without "dpacct", which tests run.
    """
    return lambda function: Command(name, function, makes, examples)
