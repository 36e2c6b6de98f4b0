"""Every system, small, on made-up data: what tests range over."""

from dataclasses import replace
from typing import Any

from dpacct_training.experiment import Experiment, Prepared, prepare

TEXT = """
name = "system"
[data]
name = "synth"
samples = 1600
clients = 40
validation = 400
public = "validation"
test = 200
[model]
name = "linear"
[local]
epochs = 2
batch_size = 5
learning_rate = 0.1
decay = 0.99
weight_decay = 1e-4
[privacy]
scheme = "poisson"
rate = 0.25
rounds = 4
clip = 0.05
epsilon = 4.0
delta = 1e-3
[run]
seed = 0
"""
EVERYONE = {"scheme": "none", "rounds": 4}
VOTES = {**EVERYONE, "delta": 1e-3}
COINS = {"scheme": "poisson", "rate": 0.5, "rounds": 4, "clip": 1.0, "delta": 1e-3}
AGENTS = {"epochs": 2, "batch_size": 5, "learning_rate": 0.1}
MEMBERS = (
    {"epsilon": 1.6, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 2.0}},
    {"epsilon": 0.2, "noise": {"name": "laplace", "clip": 1.0, "b": 9.0}},
    {"epsilon": 5.0, "noise": {"name": "staircase", "clip": 0.1, "eps0": 1e-4}},
)
SYSTEMS: dict[str, dict[str, Any]] = {
    "dp_fed_ls": {"algorithm": {"name": "dp_fed_ls"}},
    "dp_fedavg": {"algorithm": {"name": "dp_fedavg"}},
    "shares": {"algorithm": {"name": "dp_fedavg_clients"}},
    "each": {
        "algorithm": {"name": "dp_fedavg", "by": "each"},
        "privacy.scheme": "none",
        "privacy.rate": 1,
    },
    "uniform": {"algorithm": {"name": "dp_fedavg"}, "privacy.scheme": "uniform"},
    "fedprox": {"algorithm": {"name": "fedprox", "mu": 0.5}},
    "fed_opt": {"algorithm": {"name": "fed_opt", "kind": "yogi", "server_rate": 0.01}},
    "adaptive_clip": {"algorithm": {"name": "adaptive_clip"}},
    "scaffold": {"algorithm": {"name": "scaffold"}},
    "nbafl": {"algorithm": {"name": "nbafl"}, "privacy.scheme": "none", "privacy.rate": 1},
    "dp_fedsam": {"algorithm": {"name": "dp_fedsam", "rho": 0.1}},
    "dp_fedsam_topk": {"algorithm": {"name": "dp_fedsam_topk", "rho": 0.1, "keep": 0.4}},
    "fed_smp": {"algorithm": {"name": "fed_smp", "follow": True}},
    "blur": {"algorithm": {"name": "blur", "keep": 0.5}},
    "prifedsync": {
        "algorithm": {"name": "prifedsync", "sigma": 1.0, "steps": 3},
        "privacy": COINS,
        "local": {"batch_size": 5, "learning_rate": 0.1},
    },
    "adam": {
        "algorithm": {"name": "prifedsync", "sigma": 1.0, "steps": 3},
        "privacy": COINS,
        "local": {"batch_size": 5, "learning_rate": 0.01, "optimiser": "adam"},
    },
    "udp_fl": {
        "algorithm": {
            "name": "udp_fl",
            "steps": 2,
            "sample_rate": 0.25,
            "pull": 0.1,
            "connect": 3,
        },
        "privacy": EVERYONE,
        "clients": MEMBERS,
        "local": {"learning_rate": 0.005},
    },
    "shuffled": {
        "algorithm": {"name": "udp_fl", "sample_rate": 0.25, "connect": 1, "shuffle": True},
        "privacy": EVERYONE,
        "clients": MEMBERS[:1],
        "local": {"learning_rate": 0.1},
    },
    "pate_fl": {
        "algorithm": {"name": "pate_fl", "sigma": 5.0, "student_steps": 20},
        "privacy": VOTES,
        "local": AGENTS,
    },
    "knn_fl": {
        "algorithm": {"name": "knn_fl", "sigma": 5.0, "neighbours": 3, "student_steps": 20},
        "privacy": VOTES,
        "local": {},
    },
}


def system(name: str, **changes: Any) -> Prepared:
    """A system of `SYSTEMS`; `section__key=value` changes one setting more."""
    experiment = Experiment.from_text(TEXT, name)
    wanted = dict(SYSTEMS[name]) | {k.replace("__", "."): v for k, v in changes.items()}
    clients = tuple(wanted.pop("clients", ()))
    whole = {name: value for name, value in wanted.items() if "." not in name}
    parts = {name: value for name, value in wanted.items() if "." in name}
    experiment = replace(
        experiment, clients=clients, sections={**experiment.sections, **whole}
    ).changed(parts)
    return prepare(experiment)
