"""From an experiment's words to the objects that run."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import metadata

import numpy as np

from dpacct import InvalidArgument
from dpacct_training import algorithms, models
from dpacct_training.accept import one_of, whole
from dpacct_training.algorithms.algorithm import Algorithm
from dpacct_training.data import imported, sources
from dpacct_training.data.dataset import Federation
from dpacct_training.data.partition import PARTITIONS
from dpacct_training.data.synth import Pieces, synth
from dpacct_training.engines.in_process import InProcess
from dpacct_training.experiment import Experiment, build
from dpacct_training.keys import Keys
from dpacct_training.local_sgd import LocalSGD
from dpacct_training.models.model import Model
from dpacct_training.plan import Plan
from dpacct_training.settings import Data, Privacy, Running


@dataclass(frozen=True)
class Prepared:
    """Everything a run needs but its key."""

    experiment: Experiment
    federation: Federation
    model: Model
    algorithm: Algorithm
    plan: Plan
    running: Running
    epsilon: float | None
    delta: Fraction | None

    def keys(self) -> Keys:
        """A new key: of the seed, or of the operating system."""
        seed = self.running.seed
        return Keys.fresh() if seed is None else Keys.from_seed(seed)

    def engine(self) -> InProcess:
        """The engine that [run] asks for."""
        running = self.running
        return InProcess(self.model, self.federation, running.engine, running.processes)

    def fingerprint(self) -> str:
        """A checksum of settings, data and the arithmetic: what a resumed run must share.

        The same noise added to other sums would reveal their difference.
        """
        mark = hashlib.sha256(self.experiment.to_json().encode())
        mark.update(json.dumps(self.plan.to_dict(), sort_keys=True).encode())
        mark.update(self.federation.fingerprint().encode())
        for library in ("torch", "numpy", "dpacct"):
            mark.update(f"{library} {metadata.version(library)}".encode())
        mark.update(platform.machine().encode())
        return mark.hexdigest()


def prepare(experiment: Experiment) -> Prepared:
    """Read, check and calibrate; trains nothing. Raises `DpacctError`."""
    sections = experiment.sections
    running = build(Running, "run", sections["run"])
    wanted = build(Data, "data", sections["data"])
    privacy = build(Privacy, "privacy", sections["privacy"])
    local = build(LocalSGD, "local", sections["local"])
    named, own = _named("algorithm", sections["algorithm"])
    algorithm = build(algorithms.by_name(named), "algorithm", own, local=local)
    federation = federate(wanted)
    cohort = privacy.cohort(len(federation.clients))
    named, own = _named("model", sections["model"])
    shape, classes = federation.train.x.shape[1:], federation.train.classes
    model = build(models.by_name(named), "model", own, inputs=shape, classes=classes)
    target = cohort.target
    return Prepared(
        experiment,
        federation,
        model,
        algorithm,
        algorithm.plan(cohort),
        running,
        None if target is None else target.epsilon,
        None if target is None else target.delta,
    )


def _named(section: str, given: dict[str, object]) -> tuple[str, dict[str, object]]:
    """(name, the rest) of a section that names what it sets up."""
    if "name" not in given:
        raise InvalidArgument(f"[{section}] must give name", argument="name")
    return str(given["name"]), {k: v for k, v in given.items() if k != "name"}


def _pieces(wanted: Data) -> Pieces:
    if wanted.name == "synth":
        made = {k: getattr(wanted, k) for k in ("samples", "side", "classes", "noise", "seed")}
        return synth(**made)
    names = sorted(sources.known())
    if wanted.name in imported.names():
        return imported.load(wanted.name)
    one_of("data", wanted.name, ["synth", *names, *imported.names()])
    return sources.load(wanted.name)


@lru_cache(maxsize=4)
def federate(wanted: Data) -> Federation:
    """The data of [data], divided among clients."""
    held = _pieces(wanted)
    own = wanted.validation
    size = len(held.train) - own if wanted.train is None else wanted.train
    whole("train + validation", size + own, 1, len(held.train))
    train = held.train.part(slice(0, size))
    rng = np.random.Generator(np.random.Philox(key=wanted.partition_seed))
    divide = PARTITIONS[wanted.partition]
    if wanted.partition == "roles":
        rows = divide(train, wanted.least, wanted.each)
    else:
        extra = {"iid": wanted.each, "shards": wanted.shards, "dirichlet": wanted.concentration}
        rows = divide(train, wanted.clients, rng, extra[wanted.partition])
    validation = held.train.part(slice(size, size + own))
    test = held.test
    if wanted.test is not None:
        kept = np.linspace(0, len(test) - 1, min(wanted.test, len(test))).astype(np.int64)
        test = test.part(kept)
    return Federation(train, tuple(rows), validation, test, wanted.scaling)
