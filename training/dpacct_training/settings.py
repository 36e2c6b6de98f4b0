"""What the sections [data], [privacy] and [run] of an experiment hold."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct import InvalidArgument
from dpacct_training import accept
from dpacct_training.algorithms.algorithm import Cohort
from dpacct_training.calibration import Target
from dpacct_training.data.dataset import SCALINGS
from dpacct_training.data.partition import PARTITIONS
from dpacct_training.engines.in_process import MODES
from dpacct_training.sampling import SCHEMES


@dataclass(frozen=True, kw_only=True)
class Data:
    """[data]: which samples, and who holds them.

    `train` samples belong to clients, the next `validation` of the training set validate; both
    default to what there is; `test` keeps that many test samples, evenly spaced. `each`, `shards`,
    `concentration` and `least` are the partition's own settings; `samples`, `side`, `classes`,
    `noise` and `seed` those of "synth". `partition_seed` is public: who holds what is not a secret
    of the run.
    """

    name: str
    clients: int | None = None
    partition: str = "iid"
    scaling: str = "unit"
    train: int | None = None
    validation: int = 0
    test: int | None = None
    partition_seed: int = 0
    each: int | None = None
    shards: int = 2
    concentration: float = 0.5
    least: int = 1
    samples: int = 2000
    side: int = 8
    classes: int = 4
    noise: float = 40.0
    seed: int = 0

    def __post_init__(self) -> None:
        accept.one_of("partition", self.partition, PARTITIONS)
        accept.one_of("scaling", self.scaling, SCALINGS)
        accept.whole("validation", self.validation)
        accept.whole("partition_seed", self.partition_seed, 0, 2**63)
        for name in ("clients", "train", "test"):
            if getattr(self, name) is not None:
                accept.whole(name, getattr(self, name), 1)
        if (self.clients is None) != (self.partition == "roles"):
            told = "clients must be given, except where the roles of the data are the clients"
            raise InvalidArgument(f"{told}, got {self.clients}", argument="clients")


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """[privacy]: who is sampled, how often, the bound, and what must hold at the end.

    `noise`: "exact", a theorem's id, "none", or the standard deviation of the noise in the sum.
    `delta` may be written "clients^-1.1".
    """

    rate: float | str
    rounds: int
    scheme: str = "poisson"
    clip: float | None = None
    epsilon: float | None = None
    delta: float | str | None = None
    noise: str | float = "exact"

    def cohort(self, clients: int) -> Cohort:
        """Checked, for so many clients. Raises `InvalidArgument`."""
        target = None
        if self.epsilon is not None and self.delta is not None:
            epsilon = accept.positive("epsilon", self.epsilon)
            target = Target(epsilon, accept.delta("delta", self.delta, clients), self.noise)
        elif (self.epsilon, self.delta) != (None, None):
            told = "epsilon and delta must be given together"
            raise InvalidArgument(f"{told}, got one of them", argument="epsilon")
        return Cohort(
            clients=clients,
            rate=accept.share("rate", self.rate),
            scheme=accept.one_of("scheme", self.scheme, SCHEMES),
            rounds=accept.whole("rounds", self.rounds, 1, 10**7),
            clip=None if self.clip is None else accept.positive("clip", self.clip, 1e30),
            target=target,
        )


@dataclass(frozen=True, kw_only=True)
class Running:
    """[run]: what changes no result, but for `seed`.

    Without a seed the key comes from the operating system; with one the run can be replayed, and
    whoever knows the seed knows the noise.
    """

    seed: int | None = None
    engine: str = "auto"
    processes: int = 1
    evaluate_every: int = 1
    checkpoint_every: int = 1

    def __post_init__(self) -> None:
        if self.seed is not None:
            accept.whole("seed", self.seed, 0, 2**63)
        accept.one_of("engine", self.engine, MODES)
        accept.whole("processes", self.processes, 1, 1024)
        accept.whole("evaluate_every", self.evaluate_every, 1)
        accept.whole("checkpoint_every", self.checkpoint_every, 1)
