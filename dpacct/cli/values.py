"""The kinds of value an option takes: numbers with a range, counts, choices.

Every refusal names the option, the value and the accepted range in one sentence.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import did_you_mean
from dpacct.declare import domain
from dpacct.declare.domain import Integer, Real, one_of
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    NumberType = click.ParamType[Fraction]
    TextType = click.ParamType[str]
    ChoiceType = click.Choice[str]
else:  # older clicks have no generic types
    NumberType = TextType = click.ParamType
    ChoiceType = click.Choice

MAX_CHARACTERS = 200
"""Of one value on a command line."""


def option_name(param: click.Parameter | None) -> str:
    """What the user calls a parameter: "--delta", or the metavar of an argument."""
    if param is None:
        return "value"
    if isinstance(param, click.Option):
        return param.opts[0]
    return (param.name or "argument").upper()


class Number(NumberType):
    """A number of a domain, in the language of `dpacct.declare.number`; arrives as a `Fraction`."""

    name = "number"

    def __init__(self, domain: Real | Integer) -> None:
        self.domain = domain

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Read `value`; refuse what is no number or lies outside the range."""
        if isinstance(value, Fraction):
            return value
        return self.read(str(value), option_name(param))

    def read(self, text: str, name: str) -> Fraction:
        """The number in `text`, or a `Refusal` that calls it `name`."""
        if len(text) > MAX_CHARACTERS:
            told = f"{name} must be {self.domain.words}, got {shown(text, 40)}"
            told += f", which is longer than {MAX_CHARACTERS} characters"
            raise Refusal(told, name, kind="invalid-argument")
        try:
            return Fraction(self.domain.check(name, text))
        except InvalidArgument as error:
            raise Refusal(error.message, name, kind="invalid-argument") from None


class FilePath(TextType):
    """A file's name, taken as it is (click's own type looks at the file too early)."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave it to the shell, which knows the files."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Choice(ChoiceType):
    """One of a few words; a near miss is answered with the word it resembles."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        return self.read(str(value), option_name(param))

    def read(self, text: str, name: str) -> str:
        """The word, or a `Refusal` that calls the option `name`."""
        if text in self.choices:
            return text
        raise Refusal(
            f"{name} must be one of {one_of(self.choices)}, got {text[:40]!r}"
            + did_you_mean(text, self.choices),
            name,
            kind="invalid-argument",
        )


EPSILON = Number(domain.EPSILON)
DELTA = Number(domain.DELTA)
PURE_DELTA = Number(Real(0, 1, "left", as_float=False))
POSITIVE = Number(domain.POSITIVE)
RATE = Number(domain.RATE)
SHARE = Number(domain.SHARE)
STEPS = Number(domain.STEPS)
DIGITS = Number(Integer(3, 300))
COUNT = Number(Integer(1, 10**18))
SEED = Number(Integer(0, 10**18))
