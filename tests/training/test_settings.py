"""Each key of an experiment changes something, or is refused: for every algorithm."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

import dpacct as dp
from dpacct_training import algorithms
from dpacct_training.data.federate import Data
from dpacct_training.engines import EngineSetting
from dpacct_training.experiment import Experiment, Prepared, Running, prepare
from dpacct_training.local import Local
from dpacct_training.plan import Cohort
from dpacct_training.run import Session
from tests.training.systems import SYSTEMS, TEXT

pytestmark = pytest.mark.usefixtures("bare_reports")
SYSTEM = {SYSTEMS[name]["algorithm"]["name"]: name for name in reversed(SYSTEMS)} | {
    "dp_fed": "dp_fed_ls",
    "fedavg": "dp_fedavg",
}
"""The system that each algorithm is tried in, where its settings have something to do."""
OTHER: dict[str, Any] = {
    "privacy.rate": 0.5,
    "privacy.scheme": "uniform",
    "privacy.rounds": 2,
    "privacy.clip": 0.02,
    "privacy.epsilon": 2.0,
    "privacy.delta": 1e-4,
    "privacy.noise": 0.3,
    "local.epochs": 3,
    "local.batch_size": 3,
    "local.learning_rate": 0.03,
    "local.decay": 0.5,
    "local.weight_decay": 0.2,
    "local.momentum": 0.7,
    "local.optimiser": "adam",
    "algorithm.by": "each",
    "algorithm.follow": False,
    "algorithm.kind": "adagrad",
    "algorithm.level": "instance",
    "algorithm.shuffle": True,
    "algorithm.connect": 1,
    "algorithm.sample_rate": 0.5,
    "algorithm.sigma": 2.0,
    "algorithm.neighbours": 2,
    "algorithm.student_steps": 5,
    "algorithm.steps": 4,
    "algorithm.queries": 20,
    "algorithm.tau": 0.1,
    "algorithm.spread": 5.0,
}
"""Another value than the system's; numbers that are not here are halved."""


def keys(name: str) -> list[str]:
    kind = algorithms.by_name(name)
    own = [f"algorithm.{f.name}" for f in fields(kind) if f.name not in ("local", "members")]
    cohort = [f"privacy.{f.name}" for f in fields(Cohort) if f.name != "clients"]
    return [*own, *cohort, *(f"local.{f.name}" for f in fields(Local))]


def base(name: str) -> Experiment:
    experiment = Experiment.from_text(TEXT, name)
    wanted = dict(SYSTEMS[SYSTEM[name]])
    given = wanted.pop("algorithm")
    accepted = {f.name for f in fields(algorithms.by_name(name))}
    sections = {
        **experiment.sections,
        "algorithm": {k: v for k, v in given.items() if k in accepted} | {"name": name},
        **{k: v for k, v in wanted.items() if "." not in k and k != "clients"},
    }
    if name == "fedavg":
        sections["privacy"] = {"scheme": "poisson", "rate": 0.25, "rounds": 4}
    changes = {"data.side": 4, "privacy.rounds": 3} | {k: v for k, v in wanted.items() if "." in k}
    clients = tuple(wanted.get("clients", ()))
    return replace(experiment, clients=clients, sections=sections).changed(changes)


def ended(prepared: Prepared) -> Any:
    """What a run releases, costs and promises: nothing of its settings as such."""
    result = Session(prepared).finish()
    spent = {who: float(answer) for who, answer in result.spent_by.items()}
    state = {name: array.tobytes() for name, array in result.state.server.items()}
    targets = {who: (a.epsilon, a.delta) for who, a in prepared.plan.accounts.items()}
    return state, spent, targets, result.personal, result.state.sizes


@cache
def without_change(name: str) -> Any:
    return ended(prepare(base(name)))


@pytest.mark.parametrize("name", algorithms.names())
def test_a_key_changes_something_or_is_refused(name: str) -> None:
    experiment = base(name)
    idle = []
    for key in keys(name):
        section, _, word = key.partition(".")
        at = experiment.sections[section].get(word)
        value = OTHER[key] if key in OTHER else 0.5 * (at if at else algorithm_default(name, word))
        changes = {key: 0.25 if value == at else value}
        if key == "privacy.scheme" and at == "none":  # at rate 1 all schemes are the same
            changes["privacy.rate"] = 0.5
        try:
            there = ended(prepare(experiment.changed(changes)))
        except dp.DpacctError as refused:
            assert len(str(refused)) < 400, refused
            continue
        if there == without_change(name):
            idle.append(f"{key} = {value!r}")
    assert not idle


def algorithm_default(name: str, word: str) -> float:
    (default,) = (f.default for f in fields(algorithms.by_name(name)) if f.name == word)
    return 0.5 if default is None else float(default) or 0.5


def test_a_target_is_met_or_refused_by_every_algorithm() -> None:
    """Asked for 2, no run ends above it; none has it ignored."""
    for name in algorithms.names():
        experiment = base(name)
        sections = {key: dict(section) for key, section in experiment.sections.items()}
        sections["privacy"] |= {"epsilon": 2.0, "delta": 1e-3}
        sections["algorithm"].pop("sigma", None)
        try:
            prepared = prepare(replace(experiment, sections=sections))
        except dp.InvalidArgument as refused:
            assert refused.argument == "epsilon" and name in ("fedavg", "udp_fl"), refused
            continue
        result = Session(prepared).finish()
        assert result.spent is not None and 1.8 < float(result.spent) <= 2.0, name


def test_two_noises_for_one_target_are_refused() -> None:
    for name in ("prifedsync", "pate_fl", "knn_fl"):
        with pytest.raises(dp.InvalidArgument, match=r"sigma or .* epsilon must be given, and not"):
            prepare(base(name).changed({"privacy.epsilon": 2.0, "privacy.delta": 1e-3}))


def test_settings_of_another_kind_of_data_or_engine_are_refused() -> None:
    fine: dict[str, Any] = {"name": "synth", "clients": 4}
    Data(**fine)
    for change in (
        {"shards": 3},
        {"concentration": 0.1},
        {"least": 2},
        {"partition": "dirichlet", "each": 3},
    ):
        with pytest.raises(dp.InvalidArgument, match="must be left out unless"):
            Data(**(fine | change))
    for engine in ({"hosts": 2}, {"name": "pool", "deadline": 3.0}, {"root_certificates": "x"}):
        with pytest.raises(dp.InvalidArgument, match=r"must be (given|left out)"):
            EngineSetting(**engine)


def test_data_and_run_keys_change_what_is_run() -> None:
    experiment = base("dp_fedavg")
    whole = prepare(experiment).setting.federation.fingerprint()
    for key, value in {
        "data.clients": 20,
        "data.partition": "shards",
        "data.scaling": "symmetric",
        "data.train": 400,
        "data.validation": 300,
        "data.test": 100,
        "data.partition_seed": 1,
        "data.each": 5,
        "data.samples": 1500,
        "data.side": 5,
        "data.classes": 3,
        "data.noise": 4.0,
        "data.seed": 2,
    }.items():
        there = prepare(experiment.changed({key: value})).setting.federation
        assert there.fingerprint() != whole, key
    assert {f.name for f in fields(Running)} == {"seed", "evaluate_every"}
    rows = Session(prepare(experiment.changed({"run.evaluate_every": 3}))).finish().rows
    assert [row["round"] for row in rows] == [3]
