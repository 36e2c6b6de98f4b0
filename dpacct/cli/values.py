"""The kinds of value an option takes: numbers with a range, counts, choices.

Every refusal names the option, the value and the accepted range in one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.expression import ExpressionError, parse
from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    NumberType = click.ParamType[Fraction]
    TextType = click.ParamType[str]
    ChoiceType = click.Choice[str]
else:  # older clicks have no generic types
    NumberType = TextType = click.ParamType
    ChoiceType = click.Choice

# Magnitudes that a float can hold to full precision; beyond them an engine could only guess.
SMALLEST, LARGEST = Fraction(1, 10**307), Fraction(10**307)
MAX_STEPS = 10**15


def option_name(param: click.Parameter | None) -> str:
    """What the user calls a parameter: "--delta", or the metavar of an argument."""
    if param is None:
        return "value"
    if isinstance(param, click.Option):
        return param.opts[0]
    return (param.name or "argument").upper()


def shown(text: str) -> str:
    """The offending text, quoted when it is not plainly a number, and never longer than a line."""
    short = text if len(text) <= 40 else text[:37] + "..."
    plain = text.replace(".", "").replace("-", "").replace("e", "").isdigit()
    return short if plain else repr(short)


class Number(NumberType):
    """A real number in an interval, written as an expression; arrives as a `Fraction`."""

    name = "number"

    def __init__(
        self,
        range_in_words: str,
        *,
        above: Fraction | int | None = None,
        least: Fraction | int | None = None,
        below: Fraction | int | None = None,
        most: Fraction | int | None = None,
        whole: bool = False,
    ) -> None:
        self.range_in_words = range_in_words
        self.above, self.least, self.below, self.most = above, least, below, most
        self.whole = whole

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Read `value`; refuse what is no number or lies outside the range."""
        if isinstance(value, Fraction):
            return value
        return self.read(str(value), option_name(param))

    def read(self, text: str, name: str) -> Fraction:
        """The number in `text`, or a `Refusal` that calls it `name`."""
        must = f"{name} must be {self.range_in_words}"
        try:
            number = parse(text)
        except ExpressionError as error:
            raise Refusal(
                f"{must}; got {shown(text)}, {error}.", name, kind="invalid-argument"
            ) from None
        if not self.allows(number):
            raise Refusal(f"{must}; got {shown(text)}.", name, kind="invalid-argument")
        if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
            raise Refusal(
                f"{must}, and between 1e-307 and 1e307 in size; got {shown(text)}.",
                name,
                kind="invalid-argument",
            )
        return number

    def allows(self, number: Fraction) -> bool:
        """Whether the number lies in the range."""
        return (
            (self.above is None or number > self.above)
            and (self.least is None or number >= self.least)
            and (self.below is None or number < self.below)
            and (self.most is None or number <= self.most)
            and (not self.whole or number.denominator == 1)
        )


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
            f"{name} must be one of {one_of(self.choices)}; got {text[:40]!r}"
            + did_you_mean(text, self.choices),
            name,
            kind="invalid-argument",
        )


def one_of(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


EPSILON = Number("a number of at least 0", least=0)
DELTA = Number("a number strictly between 0 and 1", above=0, below=1)
PURE_DELTA = Number("a number of at least 0 and below 1", least=0, below=1)
POSITIVE = Number("a number above 0", above=0)
RATE = Number("a number above 0 and at most 1", above=0, most=1)
SHARE = Number("a number from 0 to 1", least=0, most=1)
STEPS = Number("a whole number from 1 to 1e15", least=1, most=MAX_STEPS, whole=True)
DIGITS = Number("a whole number from 3 to 300", least=3, most=300, whole=True)
COUNT = Number("a whole number of at least 1", least=1, most=10**18, whole=True)
SEED = Number("a whole number of at least 0", least=0, most=10**18, whole=True)
