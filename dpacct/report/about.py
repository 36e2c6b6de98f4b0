"""What a report says of a deployment beyond the numbers: free text from the plan's [report] table."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
SETTINGS = ("Local", "Central", "Shuffle", "Federated")
RELEASES = ("One release", "Many releases")
SOURCES = ("Static", "Dynamic")
ACCESS = ("Interactive", "Non-interactive")
# The words of the registry's schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml).
_WORDS = {
    "product": PRODUCTS,
    "sector": SECTORS,
    "setting": SETTINGS,
    "release_type": RELEASES,
    "data_source": SOURCES,
    "access": ACCESS,
}
_LISTS = ("curators", "authors")
_LONGEST = 20_000


@dataclass(frozen=True, kw_only=True)
class About:
    """Free text about a deployment; what is left out is reported as not stated.

    `output` completes "Releasing ... is"; `unit` says what one unit is; `viewer` is against whom the
    guarantee holds; `setting` is Local, Central, Shuffle or Federated; `published` a date as
    YYYY-MM-DD. The remaining texts are about what the guarantee does not cover, and what the registry
    of deployments asks.

    >>> About.read({"name": "Model A", "output": "the final model"}).output
    'the final model'
    """

    name: str = ""
    output: str = ""
    unit: str = ""
    viewer: str = ""
    setting: str = ""
    description: str = ""
    intended_use: str = ""
    product: str = ""
    region: str = ""
    published: str = ""
    sector: str = ""
    curators: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    data: str = ""
    unprotected: str = ""
    preprocessing: str = ""
    tuning: str = ""
    post_processing: str = ""
    release_type: str = ""
    data_source: str = ""
    access: str = ""
    implementation: str = ""
    justification: str = ""
    sources: str = ""

    @classmethod
    def read(cls, told: Mapping[str, Any], place: str = "[report]") -> About:
        """The text of a table; raises `InvalidArgument` for a key or a word that is not known."""
        keys = [field.name for field in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in told.items():
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1, cutoff=0.6)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                raise _wrong(f"{place}: unknown key {shown(key)}{hint}", str(key))
            name = f"{place}: {key}"
            values[key] = _texts(name, key, value) if key in _LISTS else _text(name, key, value)
            if key in _WORDS:
                values[key] = _word(name, key, values[key])
        if values.get("published"):
            _day(f"{place}: published", values["published"])
        return cls(**values)


def _text(name: str, key: str, value: object) -> str:
    if isinstance(value, date):  # TOML has dates of its own
        return value.isoformat()
    if not isinstance(value, str) or len(value) > _LONGEST:
        message = f"{name} must be a text of at most {_LONGEST} characters, got {shown(value)}"
        raise _wrong(message, key)
    return value.strip()


def _texts(name: str, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise _wrong(f"{name} must be a list of names, got {shown(value)}", key)
    return tuple(_text(name, key, text) for text in value)


def _word(name: str, key: str, value: str) -> str:
    """The registry's own spelling of a word."""
    for word in _WORDS[key]:
        if value.lower() == word.lower():
            return word
    listed = ", ".join(_WORDS[key][:-1]) + " or " + _WORDS[key][-1]
    raise _wrong(f"{name} must be {listed}, got {shown(value)}", key)


def _day(name: str, value: str) -> None:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise _wrong(
            f"{name} must be a date as YYYY-MM-DD, got {shown(value)}", "published"
        ) from None


def _wrong(message: str, argument: str) -> InvalidArgument:
    return InvalidArgument(message, argument=argument)
