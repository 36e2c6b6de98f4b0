"""A report's facts beyond the numbers: free text from the plan's [report] table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from dpacct.declare.domain import Domain, did_you_mean
from dpacct.declare.number import shown
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument

_LONGEST = 20_000


class Prose(Domain[str]):
    """Free text."""

    words = f"a text of at most {_LONGEST} characters"

    def check(self, name: str, value: object) -> str:
        """The text without blanks around it."""
        if not isinstance(value, str) or len(value) > _LONGEST:
            raise self.refusal(name, value)
        return value.strip()


def _text(means: str) -> Parameter[str]:
    return Parameter(Prose(), means, default="")


class About(Record):
    """Free text about a deployment; what is left out is reported as not stated.

    >>> About.of_table({"name": "Model A", "output": "the final model"}).output
    'the final model'
    """

    name = _text("the name of the data product")
    output = _text('completes "Releasing ... is"')
    unit = _text("what one unit is")
    viewer = _text("against whom the guarantee holds")
    preprocessing = _text("what was computed from the data before the plan")
    tuning = _text("which runs chose hyperparameters, and on what data")
    unprotected = _text("what is released in the clear")

    @property
    def said(self) -> dict[str, Any]:
        """The texts that were given."""
        return {name: value for name, value in self.settings.items() if value}

    @classmethod
    def of_table(cls, table: Mapping[str, Any], place: str = "[report]") -> Self:
        """The texts of a table; raises `InvalidArgument` for a key or a word that is not known."""
        for key in table:
            if key not in cls.parameters:
                message = (
                    f"{place}: unknown key {shown(key)}{did_you_mean(str(key), cls.parameters)}"
                )
                raise InvalidArgument(message, argument=str(key))
        try:
            return cls.read(table, lambda name: f"{place}: {name}")
        except InvalidArgument as wrong:
            wrong.argument = (wrong.argument or "").rpartition(": ")[2]
            raise
