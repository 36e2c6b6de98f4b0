"""Experiment: a TOML file, read and checked before anything runs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from dpacct import InvalidArgument
from dpacct_training.accept import near

T = TypeVar("T")
Section = dict[str, Any]
SECTIONS = ("data", "model", "algorithm", "local", "privacy", "run")
TOP = ("name", "source", "note", "reduced", "sweep", "variant", "printed", *SECTIONS)


@dataclass(frozen=True)
class Experiment:
    r"""One run: what `SECTIONS` say. Sweeps make several of a file (`sweep.py`).

    >>> text = '[data]\nname = "synth"\n[local]\nepochs = 2'
    >>> one = Experiment.from_toml(text, "demo")
    >>> one.changed({"local.epochs": 5}).sections["local"], one.name
    ({'epochs': 5}, 'demo')
    """

    name: str
    sections: Mapping[str, Section]
    source: str = ""
    note: str = ""
    reduced: bool = False
    sweep: Mapping[str, list[Any]] = field(default_factory=dict)
    variants: tuple[Section, ...] = ()
    printed: tuple[Section, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Experiment:
        """From a file. Raises `InvalidArgument`."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            told = f"the experiment {str(path)!r} cannot be read: {error}"
            raise InvalidArgument(told, argument="experiment") from None
        return cls.from_toml(text, Path(path).stem)

    @classmethod
    def from_toml(cls, text: str, name: str) -> Experiment:
        """From the text of a file, named `name` unless it says otherwise."""
        try:
            held = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            told = f"the experiment {name!r} is not TOML: {error}"
            raise InvalidArgument(told, argument="experiment") from None
        known("experiment", held, TOP)
        sections = {section: table(section, held.get(section, {})) for section in SECTIONS}
        return cls(
            name=str(held.get("name", name)),
            sections=sections,
            source=str(held.get("source", "")),
            note=str(held.get("note", "")),
            reduced=held.get("reduced", False) is True,
            sweep={
                k: listed(f"sweep.{k}", v)
                for k, v in _flat(table("sweep", held.get("sweep", {}))).items()
            },
            variants=_tables("variant", held),
            printed=_tables("printed", held),
        )

    def changed(self, values: Mapping[str, Any]) -> Experiment:
        """The same with some settings replaced, each named "section.key"."""
        sections = {name: dict(section) for name, section in self.sections.items()}
        for path, value in values.items():
            section, _, key = path.partition(".")
            if section not in sections or not key:
                told = f"a setting must be named section.key, with one of {', '.join(SECTIONS)}"
                raise InvalidArgument(f"{told}, got {path!r}", argument=path)
            sections[section][key] = value
        return Experiment(self.name, sections, self.source, self.note, self.reduced)

    def to_json(self) -> str:
        """The settings that decide the bits, in one order: what a run's fingerprint covers."""
        decisive = {**self.sections, "run": {**self.sections["run"]}}
        for name in ("processes", "evaluate_every", "checkpoint_every"):
            decisive["run"].pop(name, None)
        return json.dumps(decisive, sort_keys=True, default=str)


def table(name: str, value: object) -> Section:
    """A TOML table."""
    if not isinstance(value, dict):
        raise InvalidArgument(f"[{name}] must be a table, got {value!r:.60}", argument=name)
    return value


def _tables(name: str, held: Section) -> tuple[Section, ...]:
    """The tables of [[name]], flat; none where there is none."""
    if name not in held:
        return ()
    return tuple(_flat(table(f"[{name}]", one)) for one in listed(f"[[{name}]]", held[name]))


def listed(name: str, value: object) -> list[Any]:
    """A list with something in it."""
    if not isinstance(value, list) or not value:
        raise InvalidArgument(f"{name} must be a list, got {value!r:.60}", argument=name)
    return value


def known(where: str, given: Mapping[str, Any], names: tuple[str, ...] | list[str]) -> None:
    """Refuse a key that nothing reads: a misspelt setting must not be silently ignored."""
    for key in given:
        if key not in names:
            takes = ", ".join(sorted(names)) or "no settings but its name"
            told = f"{where} takes {takes}, got {key!r}{near(key, names)}"
            raise InvalidArgument(told, argument=key)


def build(kind: type[T], section: str, given: Mapping[str, Any], **more: Any) -> T:
    """A dataclass out of a section: unknown and missing keys are errors, lists become tuples."""
    own = {f.name: f for f in fields(kind) if f.name not in more}  # type: ignore[arg-type]
    known(f"[{section}]", given, list(own))
    for name, one in own.items():
        if one.default is MISSING and one.default_factory is MISSING and name not in given:
            raise InvalidArgument(f"[{section}] must give {name}", argument=name)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return kind(**more, **values)


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} -> {"a.b": 1}: both ways of writing it in TOML."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        inner = _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else None
        found.update(inner if inner is not None else {f"{prefix}{key}": value})
    return found
