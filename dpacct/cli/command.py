"""What a dpacct command is: a click command with examples, sectioned help and better refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from dpacct.cli.refusal import Refusal


class SectionOption(click.Option):
    """An option that knows the heading its help is printed under."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class ExampleCommand(click.Command):
    """A command with examples; each one is printed by --help and run by the tests.

    Attributes:
        examples: command lines, without the leading "dpacct".
        rank: the place in `dpacct --help`, small first.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), rank: int = 100, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.rank = rank

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option given twice or left without its value, then let click read the rest."""
        if not ctx.resilient_parsing:
            _check_options(self, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, section by section in the order they were declared."""
        sections: dict[str, list[tuple[str, str]]] = {}
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        for param in sorted(options, key=lambda p: not isinstance(p, SectionOption)):
            record = param.get_help_record(ctx)
            if record is not None:
                section = param.section if isinstance(param, SectionOption) else "Other"
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, exactly as they can be typed."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}dpacct {example}\n")


def option(*names: str, section: str, **kwargs: Any) -> Callable[[Any], Any]:
    """`click.option` under a heading of the help."""
    return click.option(*names, cls=SectionOption, section=section, **kwargs)


def stack(decorators: Iterable[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Several option decorators as one; the first is listed first in the help."""
    ordered = list(decorators)

    def apply(function: Any) -> Any:
        for decorate in reversed(ordered):
            function = decorate(function)
        return function

    return apply


def _check_options(command: click.Command, args: Sequence[str]) -> None:
    """Refuse what click lets pass: an option given twice, and `--eps --json` as eps = "--json"."""
    known = {
        name: param
        for param in command.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
    given: dict[str | None, str] = {}
    waiting = ""  # the option whose value comes next
    for word in args:
        name, equals, _ = word.partition("=")
        param = known.get(name)
        if waiting:
            if param is not None:
                break
            waiting = ""
        elif word == "--":
            return
        elif param is not None and not param.is_flag and not param.multiple:
            if param.name in given:
                earlier = given[param.name]
                both = name if earlier == name else f"{earlier} and {name}"
                raise Refusal(f"{both} may be given only once.", name)
            given[param.name] = name
            waiting = "" if equals else name
        elif param is not None and param.multiple:
            waiting = "" if equals else name
    if waiting:
        raise Refusal(f"{waiting} needs a value after it.", waiting)
