"""Experiment: a TOML file, read into the very dataclasses that run, and the objects of a run built from it.

One rule: a table becomes the dataclass that a field's type names; where several fit, `name` chooses;
a key that nothing reads is an error.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from dpacct import InvalidArgument
from dpacct_training import algorithms, models
from dpacct_training.accept import Settings, check_keys, one_of, setting, whole
from dpacct_training.algorithm import Algorithm, Setting
from dpacct_training.data.federate import Data, federate
from dpacct_training.engines import EngineSetting
from dpacct_training.keys import Keys
from dpacct_training.local import Local
from dpacct_training.models.model import Model
from dpacct_training.plan import AS_PRINTED, Cohort, Plan

T = TypeVar("T")
Section = dict[str, Any]
SECTIONS = ("data", "model", "algorithm", "local", "privacy", "run", "engine")
STUDY = ("paper", "seeds", "full", "measures", "until", "sweep", "claim")
"""Tables that only `dpacct-train replicate` reads (training/studies)."""
TOP = ("name", "source", "note", "reduced", "client", "variant", *STUDY, *SECTIONS)


@dataclass(frozen=True)
class Experiment:
    """One run: what `SECTIONS` and the tables [[client]] say.

    `variants`: changes of settings by name, [[variant]]. `study`: what is said for `replicate`.
    """

    name: str
    sections: Mapping[str, Section]
    clients: tuple[Section, ...] = ()
    source: str = ""
    note: str = ""
    reduced: bool = False
    variants: Mapping[str, Section] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Experiment:
        """Read an experiment file, TOML or (`to_text`) JSON. Raises `InvalidArgument`."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
            message = f"the experiment {str(path)!r} cannot be read: {str(why).lower()}"
            raise InvalidArgument(message, argument="experiment") from None
        return cls.from_text(text, Path(path).stem)

    @classmethod
    def from_text(cls, text: str, name: str) -> Experiment:
        """Parse the text of a file, named `name` unless it says otherwise."""
        try:
            top = json.loads(text) if text.startswith("{") else tomllib.loads(text)
        except ValueError as error:
            message = f"the experiment {name!r} is not TOML: {error}"
            raise InvalidArgument(message, argument="experiment") from None
        check_keys("experiment", top, TOP)
        variants = [flat(entry) for entry in _tables("variant", top)]
        return cls(
            name=str(top.get("name", name)),
            sections={section: table(section, top.get(section, {})) for section in SECTIONS},
            clients=_tables("client", top),
            source=str(top.get("source", "")),
            note=str(top.get("note", "")),
            reduced=top.get("reduced", False) is True,
            variants={str(v.pop("name", i + 1)): v for i, v in enumerate(variants)},
            study={name: top[name] for name in STUDY if name in top},
        )

    def changed(self, values: Mapping[str, Any]) -> Experiment:
        """Return the run with some settings replaced, each named "section.key"; no variant is left.

        "client" replaces all of the tables [[client]].
        """
        sections = {name: dict(section) for name, section in self.sections.items()}
        clients = self.clients
        for path, value in values.items():
            if path == "client":
                clients = _tables("client", {"client": value})
                continue
            section, _, key = path.partition(".")
            if section not in sections or not key:
                message = f"a setting must be named section.key, with one of {', '.join(SECTIONS)}"
                raise InvalidArgument(f"{message}, got {path!r}", argument=path)
            sections[section][key] = value
        return replace(self, sections=sections, clients=clients, variants={}, study={})

    def to_text(self) -> str:
        """The file that `read` reads as this run."""
        words = {word: vars(self)[word] for word in ("name", "source", "note", "reduced")}
        clients = {"client": self.clients} if self.clients else {}
        return json.dumps({**words, **self.sections, **clients}, indent=1) + "\n"

    def to_json(self) -> str:
        """The settings that decide the bits, in one order: what a run's fingerprint covers."""
        decisive = {name: self.sections[name] for name in SECTIONS if name not in ("run", "engine")}
        seed = self.sections["run"].get("seed")
        return json.dumps(
            {**decisive, "client": self.clients, "seed": seed}, sort_keys=True, default=str
        )


def table(name: str, value: object) -> Section:
    """A TOML table."""
    if not isinstance(value, dict):
        raise InvalidArgument(f"[{name}] must be a table, got {value!r:.60}", argument=name)
    return value


def _tables(name: str, top: Section) -> tuple[Section, ...]:
    """The tables of [[name]]; none where there is none."""
    if name not in top:
        return ()
    return tuple(table(f"[{name}]", entry) for entry in listed(f"[[{name}]]", top[name]))


def listed(name: str, value: object) -> list[Any]:
    """A list with something in it."""
    if not isinstance(value, list) or not value:
        raise InvalidArgument(f"{name} must be a list, got {value!r:.60}", argument=name)
    return value


def build(kind: type[T], where: str, section: Mapping[str, Any], **more: Any) -> T:
    """A dataclass out of a section; `more`: fields that the section cannot set.

    Its fields become what their types name: tables dataclasses, lists tuples; numbers and words are
    checked by the dataclass itself. Raises `InvalidArgument`.
    """
    every: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]  # T is a dataclass
    settable = [each for each in every if each.name not in more]
    check_keys(where, section, [each.name for each in settable])
    for each in settable:
        required = each.default is MISSING and each.default_factory is MISSING
        if required and each.name not in section:
            raise InvalidArgument(f"{where} must give {each.name}", argument=each.name)
    types_of = typing.get_type_hints(kind)
    values = {k: converted(types_of[k], f"{where} {k}", v) for k, v in section.items()}
    return kind(**more, **values)


def converted(kind: Any, where: str, value: Any) -> Any:
    """A TOML value as the field of this type wants it."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        inner = [k for k in typing.get_args(kind) if k is not types.NoneType]
        return converted(inner[0], where, value) if len(inner) == 1 else value
    if isinstance(value, list):
        inner = [k for k in typing.get_args(kind) if k is not ...][:1]
        return tuple(converted(inner[0], where, entry) if inner else entry for entry in value)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        chosen, section = _chosen(kind, where, value)
        return build(chosen, where, section)
    if kind is str and not isinstance(value, str):
        raise InvalidArgument(f"{where} must be a word, got {value!r:.60}", argument=where)
    if kind is bool and not isinstance(value, bool):
        raise InvalidArgument(f"{where} must be true or false, got {value!r:.60}", argument=where)
    return value


def _chosen(kind: type[Any], where: str, section: Section) -> tuple[type[Any], Section]:
    """Choose the kind by `name` where a type has kinds (noises); `name` is no setting of theirs."""
    kinds = {each.__name__.lower(): each for each in kind.__subclasses__()}
    if not kinds:
        return kind, section
    if "name" not in section:
        raise InvalidArgument(f"{where} must give name", argument="name")
    name = one_of(f"{where} name", section["name"], sorted(kinds))
    return kinds[name], {k: v for k, v in section.items() if k != "name"}


def flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} -> {"a.b": 1}: both ways of writing it in TOML."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


# --- prepared


@dataclass(frozen=True, kw_only=True)
class Running(Settings):
    """[run]: settings that change no result, except `seed`.

    Without a seed the key comes from the operating system; with one the run can be replayed, and
    whoever knows the seed knows the noise.
    """

    seed: int | None = setting(None, whole, 0, 2**63)
    evaluate_every: int = setting(1, whole, 1)


@dataclass(frozen=True)
class Prepared:
    """Everything that a run needs except its key."""

    experiment: Experiment
    algorithm: Algorithm
    plan: Plan
    setting: Setting
    running: Running
    engine: EngineSetting

    @property
    def as_printed(self) -> bool:
        """Return whether the noise is the paper's own."""
        return self.experiment.sections["privacy"].get("noise") == AS_PRINTED

    @property
    def cohort(self) -> Cohort:
        """[privacy], for this many clients."""
        return self.plan.cohort

    def keys(self) -> Keys:
        """A new key: of the seed, or of the operating system."""
        seed = self.running.seed
        return Keys.fresh() if seed is None else Keys.from_seed(seed)

    def fingerprint(self) -> str:
        """A checksum of settings, data and the arithmetic: what a resumed run must share.

        The same noise added to other sums would reveal their difference.
        """
        mark = hashlib.sha256(self.experiment.to_json().encode())
        mark.update(self.plan.mark.encode())
        mark.update(self.setting.federation.fingerprint().encode())
        for library in ("torch", "numpy", "dpacct"):
            mark.update(f"{library} {metadata.version(library)}".encode())
        mark.update(platform.machine().encode())
        return mark.hexdigest()


def prepare(
    experiment: Experiment, host: int | None = None, hosts: int = 1, path: str | None = None
) -> Prepared:
    """Read, check and calibrate; trains nothing. `host`, `hosts`, `path`: see `federate`.

    Raises `DpacctError`.
    """
    sections = experiment.sections
    running = build(Running, "[run]", sections["run"])
    engine = engine_setting(experiment)
    wanted = build(Data, "[data]", sections["data"])
    local = build(Local, "[local]", sections["local"])
    algorithm_name, settings = _named("algorithm", sections["algorithm"])
    kind = algorithms.by_name(algorithm_name)
    federation = federate(wanted, host, hosts, path)
    cohort = build(Cohort, "[privacy]", sections["privacy"], clients=len(federation.clients))
    kind_of_model, model_settings = models.settings_of(*_named("model", sections["model"]))
    shape = {"inputs": federation.shape, "classes": federation.train.classes}
    model: Model = build(kind_of_model, "[model]", model_settings, **shape)
    if experiment.clients:
        settings = {**settings, "members": _members(experiment.clients, model.dimension)}
    algorithm: Algorithm = build(kind, "[algorithm]", settings, local=local)
    kind.refuse_unused(sections)
    if cohort.noise == AS_PRINTED:
        algorithm, cohort = algorithm.as_printed(cohort)
    setting = Setting(model, federation, cohort.rate)
    plan = algorithm.plan(cohort, setting)
    if sections["privacy"].get("noise") == AS_PRINTED:  # its target is what the paper says
        plan = replace(plan, enforced=False)
    return Prepared(experiment, algorithm, plan, setting, running, engine)


def engine_setting(experiment: Experiment) -> EngineSetting:
    """[engine]. Raises `InvalidArgument`."""
    return build(EngineSetting, "[engine]", experiment.sections["engine"])


def _members(clients: tuple[Section, ...], dimension: int) -> list[Section]:
    """[[client]] for the algorithm's `members`: a noise need not say how many weights there are."""
    members = []
    for member in clients:
        noise = member.get("noise")
        sized = {"size": dimension, **noise} if isinstance(noise, dict) else noise
        members.append({**member, **({} if noise is None else {"noise": sized})})
    return members


def _named(section: str, settings: Section) -> tuple[str, Section]:
    """(name, the rest) of a section that names what it sets up."""
    if "name" not in settings:
        raise InvalidArgument(f"[{section}] must give name", argument="name")
    return str(settings["name"]), {k: v for k, v in settings.items() if k != "name"}
