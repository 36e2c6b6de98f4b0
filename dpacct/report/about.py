"""A report's facts beyond the numbers: free text from the plan's [report] table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

from dpacct.declare.domain import Domain, Word, did_you_mean
from dpacct.declare.number import shown
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument

# The words of the registry's schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml).
PRODUCTS = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
SETTINGS = ("Local", "Central", "Shuffle", "Federated")
RELEASES = ("One release", "Many releases")
SOURCES = ("Static", "Dynamic")
ACCESS = ("Interactive", "Non-interactive")
_LONGEST = 20_000


class Prose(Domain[str]):
    """Free text."""

    words = f"a text of at most {_LONGEST} characters"

    def check(self, name: str, value: object) -> str:
        """The text without blanks around it; TOML has dates of its own."""
        if isinstance(value, date):
            return value.isoformat()
        if not isinstance(value, str) or len(value) > _LONGEST:
            raise self.refusal(name, value)
        return value.strip()


class Day(Prose):
    """A date, which may be left out."""

    words = "a date as YYYY-MM-DD"

    def check(self, name: str, value: object) -> str:
        """The date as it was written."""
        text = super().check(name, value)
        try:
            if text:
                date.fromisoformat(text)
        except ValueError:
            raise self.refusal(name, text) from None
        return text


class Names(Domain[tuple[str, ...]]):
    """One name, or several."""

    words = "a list of names"

    def check(self, name: str, value: object) -> tuple[str, ...]:
        """The checked names."""
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            raise self.refusal(name, value)
        return tuple(Prose().check(name, each) for each in listed)


class RegistryWord(Word):
    """One of the registry's words, in any case."""

    def check(self, name: str, value: object) -> str:
        """The registry's own spelling."""
        spelling = {word.lower(): word for word in self.choices}
        return super().check(name, spelling.get(str(value).strip().lower(), value))


def _text(
    means: str, field: str = "", domain: Domain[Any] | None = None, default: Any = ""
) -> Parameter[Any]:
    return Parameter(domain or Prose(), means, field, default=default)


class About(Record):
    """Free text about a deployment; what is left out is reported as not stated.

    The registry's fields come first, in its order; `symbol` is each one's place in its schema.

    >>> About.of_table({"name": "Model A", "output": "the final model"}).output
    'the final model'
    """

    name = _text("the name of the data product", "basic.name")
    curators = _text("who publishes it", "basic.data_curators", Names(), ())
    intended_use = _text("what it is for", "basic.intended_use")
    product = _text("the type of data product", "basic.data_product_type", RegistryWord(*PRODUCTS))
    region = _text(
        "what region the data describe, or whose laws apply", "basic.data_product_region"
    )
    description = _text("a brief description of the data product", "basic.description")
    published = _text("when it was published", "basic.publication_date", Day())
    sector = _text("the sector", "basic.data_product_sector", RegistryWord(*SECTORS))
    data = _text("the data's domain", "dp_variant.data_domain")
    unprotected = _text("what is released in the clear", "dp_variant.unprotected_quantities")
    setting = _text("the deployment model", "deployment_model.model_name", RegistryWord(*SETTINGS))
    release_type = _text(
        "how often it is released", "deployment_model.release_type", RegistryWord(*RELEASES)
    )
    data_source = _text(
        "whether the data change", "deployment_model.data_source_type", RegistryWord(*SOURCES)
    )
    access = _text(
        "how the output is reached", "deployment_model.access_type", RegistryWord(*ACCESS)
    )
    post_processing = _text("what was done to the output", "accounting.post_processing")
    justification = _text("why these parameters", "implementation.justification")
    sources = _text("where more is said", "administrative.sources")
    authors = _text("who filled out this record", "administrative.registry_authors", Names(), ())
    output = _text('completes "Releasing ... is"')
    unit = _text("what one unit is")
    viewer = _text("against whom the guarantee holds")
    preprocessing = _text("what was computed from the data before the plan")
    tuning = _text("which runs chose hyperparameters, and on what data")
    implementation = _text("what implements the mechanism")

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
