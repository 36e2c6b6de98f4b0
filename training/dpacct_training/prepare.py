"""Build the objects of a run from an experiment."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from importlib import metadata

from dpacct import InvalidArgument
from dpacct_training import algorithms, models
from dpacct_training.accept import Settings, setting, whole
from dpacct_training.algorithm import Algorithm
from dpacct_training.data.federate import Data, federate
from dpacct_training.engines import EngineSetting
from dpacct_training.experiment import Experiment, Section, build
from dpacct_training.keys import Keys
from dpacct_training.local import Local
from dpacct_training.plan import AS_PRINTED, Cohort, Plan
from dpacct_training.setting import Setting


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
        """Whether the noise is the paper's own."""
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
        mark.update(json.dumps(self.plan.to_dict(), sort_keys=True).encode())
        mark.update(self.setting.federation.fingerprint().encode())
        for library in ("torch", "numpy", "dpacct"):
            mark.update(f"{library} {metadata.version(library)}".encode())
        mark.update(platform.machine().encode())
        return mark.hexdigest()


def prepare(experiment: Experiment) -> Prepared:
    """Read, check and calibrate; trains nothing. Raises `DpacctError`."""
    sections = experiment.sections
    running = build(Running, "[run]", sections["run"])
    engine = build(EngineSetting, "[engine]", sections["engine"])
    wanted = build(Data, "[data]", sections["data"])
    local = build(Local, "[local]", sections["local"])
    algorithm_name, settings = _named("algorithm", sections["algorithm"])
    kind = algorithms.by_name(algorithm_name)
    federation = federate(wanted)
    cohort = build(Cohort, "[privacy]", sections["privacy"], clients=len(federation.clients))
    model_name, model_settings = _named("model", sections["model"])
    model = build(
        models.by_name(model_name),
        "[model]",
        model_settings,
        inputs=federation.shape,
        classes=federation.train.classes,
    )
    if experiment.clients:
        settings = {**settings, "members": _members(experiment.clients, model.dimension)}
    algorithm: Algorithm = build(kind, "[algorithm]", settings, local=local)
    if cohort.noise == AS_PRINTED:
        algorithm, cohort = algorithm.as_printed(cohort)
    setting = Setting(model, federation, cohort.rate)
    plan = algorithm.plan(cohort, setting)
    return Prepared(experiment, algorithm, plan, setting, running, engine)


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
