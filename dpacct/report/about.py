"""A report's facts beyond the numbers: free text from the plan's [report] table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

_LONGEST = 20_000


@dataclass(frozen=True)
class About:
    """Free text about a deployment; what is left out is reported as not stated.

    >>> About.of_table({"name": "Model A", "output": "the final model"}).output
    'the final model'
    """

    name: str = ""  # of the data product
    output: str = ""  # completes "Releasing ... is"
    unit: str = ""  # what one unit is
    viewer: str = ""  # against whom the guarantee holds
    preprocessing: str = ""  # what was computed from the data before the plan
    tuning: str = ""  # which runs chose hyperparameters, and on what data
    unprotected: str = ""  # what is released in the clear

    @property
    def said(self) -> dict[str, str]:
        """The texts that were given."""
        return {name: text for name, text in asdict(self).items() if text}

    @classmethod
    def of_table(cls, table: Mapping[str, Any], place: str = "[report]") -> Self:
        """The texts of a table; raises `InvalidArgument` for a key or a word that is not known."""
        names = [field.name for field in fields(cls)]
        for key, text in table.items():
            if key not in names:
                message = f"{place}: unknown key {shown(key)}{did_you_mean(str(key), names)}"
                raise InvalidArgument(message, argument=str(key))
            if not isinstance(text, str) or len(text) > _LONGEST:
                message = f"{place}: {key} must be a text of at most {_LONGEST} characters"
                raise InvalidArgument(f"{message}, got {shown(text)}", argument=key)
        return cls(**{key: text.strip() for key, text in table.items()})
