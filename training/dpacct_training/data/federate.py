"""[data]: which samples, and who holds them: IID, label shards, Dirichlet, or the data's own roles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.accept import Settings, one_of, positive, setting, whole
from dpacct_training.data import imported, own, sources
from dpacct_training.data.dataset import SCALINGS, Dataset, Federation, synth

Rows = NDArray[np.int64]


def iid(
    data: Dataset, clients: int, rng: np.random.Generator, each: int | None = None
) -> list[Rows]:
    """A random split into equal parts; `each` samples per client, or as many as there are."""
    size = len(data) // clients if each is None else whole("each", each, 1)
    if not 0 < size * clients <= len(data):
        message = (
            f"{clients} clients with {max(size, 1)} samples each must fit into {len(data)} samples"
        )
        raise InvalidArgument(message, argument="clients")
    order = rng.permutation(len(data))[: size * clients]
    return [np.sort(part) for part in order.reshape(clients, size)]


def shards(
    data: Dataset, clients: int, rng: np.random.Generator, per_client: int = 2
) -> list[Rows]:
    """Sorted by label, cut into equal shards, `per_client` of them each (McMahan et al. 2017)."""
    count = clients * whole("shards", per_client, 1)
    size = len(data) // count
    if size == 0:
        message = f"{count} shards must fit into {len(data)} samples"
        raise InvalidArgument(message, argument="shards")
    jitter = rng.permutation(len(data))
    ordered = jitter[np.argsort(data.y[jitter], kind="stable")][: size * count]
    pieces = ordered.reshape(count, size)[rng.permutation(count)]
    return [np.sort(part) for part in pieces.reshape(clients, -1)]


def dirichlet(
    data: Dataset, clients: int, rng: np.random.Generator, concentration: float = 0.5
) -> list[Rows]:
    """Each class is divided in Dirichlet(concentration) proportions (Hsu et al. 2019).

    A client left without a sample takes one from the richest.
    """
    weight = positive("concentration", concentration)
    if clients > len(data):
        message = f"clients must be at most the number of samples, {len(data)}, got {clients}"
        raise InvalidArgument(message, argument="clients")
    held: list[list[int]] = [[] for _ in range(clients)]
    for label in range(data.classes):
        rows = rng.permutation(np.flatnonzero(data.y == label))
        cuts = (np.cumsum(rng.dirichlet(np.full(clients, weight)))[:-1] * len(rows)).astype(int)
        for part, piece in zip(held, np.split(rows, cuts), strict=True):
            part.extend(piece.tolist())
    for part in held:
        if not part:
            part.append(max(held, key=len).pop())
    return [np.sort(np.array(part, np.int64)) for part in held]


def by_role(data: Dataset, least: int = 1, each: int | None = None) -> list[Rows]:
    """One client for each role that holds at least `least` samples, of which its first `each` stay."""
    if data.roles is None:
        message = f"partition must not be roles for {data.name}, which names none"
        raise InvalidArgument(f"{message}, got 'roles'", argument="partition")
    order = np.argsort(data.roles, kind="stable")
    cuts = np.flatnonzero(np.diff(data.roles[order])) + 1
    return [rows[:each] for rows in np.split(order, cuts) if len(rows) >= least]


PARTITIONS: dict[str, Callable[..., list[Rows]]] = {
    "iid": iid,
    "shards": shards,
    "dirichlet": dirichlet,
    "roles": by_role,
}
_ONLY: dict[str, tuple[str, tuple[str, ...]]] = {
    "each": ("partition", ("iid", "roles")),
    "shards": ("partition", ("shards",)),
    "concentration": ("partition", ("dirichlet",)),
    "least": ("partition", ("roles",)),
    "path": ("name", ("own",)),
}
"""Settings that only some partitions or sets read: (another setting, its values)."""
_MADE_UP = ("samples", "side", "classes", "noise", "seed")
"""Settings of "synth"."""
_OWN = ("path", "clients", "each", "classes")
"""Settings of data that live apart; of the others only these and `name` and `scaling`."""


@dataclass(frozen=True, kw_only=True)
class Data(Settings):
    """[data]: which samples, and who holds them.

    `train` samples belong to clients, the next `validation` of the training set validate; both
    default to what there is; `test` keeps that many test samples, evenly spaced. `public`: what the
    server may look at, never the clients' data: "none" or "validation". `each`, `shards`,
    `concentration` and `least` are the partition's own settings; `samples`, `side`, `classes`,
    `noise` and `seed` those of "synth". `partition_seed` is public: who holds what is not a secret
    of the run. "own" is data that live apart, at `path` (`data/own.py`); a node may have them at another
    place. Every one of its `clients` has `each` samples of `classes`: that many are declared public.
    """

    name: str
    clients: int | None = setting(None, whole, 1)
    partition: str = setting("iid", one_of, PARTITIONS)
    scaling: str = setting("unit", one_of, SCALINGS)
    train: int | None = setting(None, whole, 1)
    validation: int = setting(0, whole)
    public: str = setting("none", one_of, ("none", "validation"))
    test: int | None = setting(None, whole, 1)
    partition_seed: int = setting(0, whole, 0, 2**63)
    path: str | None = None
    each: int | None = setting(None, whole, 1)
    shards: int | None = None
    concentration: float | None = None
    least: int | None = None
    samples: int | None = None
    side: int | None = None
    classes: int | None = None
    noise: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = vars(self)
        for field in fields(self) if self.name == "own" else ():
            if field.name in _OWN and given[field.name] is None:
                message = f"{field.name} must be given where data are each client's own"
                raise InvalidArgument(f"{message}, got none", argument=field.name)
            if field.name not in (*_OWN, "name", "scaling") and given[field.name] != field.default:
                message = f"{field.name} must be left out where data are each client's own"
                raise InvalidArgument(f"{message}, got {given[field.name]!r}", argument=field.name)
        for name, (key, values) in _ONLY.items():
            if given[name] is not None and given[key] not in values:
                message = f"{name} must be left out unless {key} is {' or '.join(values)}"
                raise InvalidArgument(f"{message}, got {given[name]!r:.60}", argument=name)
        if (self.clients is None) != (self.partition == "roles"):
            message = "clients must be given, except where the roles of the data are the clients"
            raise InvalidArgument(f"{message}, got {self.clients}", argument="clients")
        if self.public == "validation" and not self.validation:
            message = "validation must be at least 1 where public is validation, got 0"
            raise InvalidArgument(message, argument="validation")


SERVER = -1
"""The host that trains nobody: it reads what the model is judged on."""


@lru_cache(maxsize=4)
def federate(
    wanted: Data, host: int | None = None, hosts: int = 1, path: str | None = None
) -> Federation:
    """The data of [data], divided among clients.

    `host`: of so many `hosts`, has the clients c with c mod hosts = host only, and `SERVER` none; by default
    all. `path`: where this host has its own data.
    """
    if wanted.name == "own":
        return _own(wanted, _clients(wanted.clients or 0, host, hosts), host, path)
    everyone = _divided(wanted)
    if host is None:
        return everyone
    return everyone.of_clients(_clients(len(everyone.clients), host, hosts))


def _clients(count: int, host: int | None, hosts: int) -> range:
    if host == SERVER:
        return range(0)
    return range(count) if host is None else range(host, count, hosts)


def _own(wanted: Data, clients: range, host: int | None, path: str | None) -> Federation:
    each, classes, count = wanted.each or 0, wanted.classes or 0, wanted.clients or 0
    tested = host is None or host == SERVER
    held, rows = own.read(path or wanted.path or "", clients, each, classes, tested)
    nothing: Rows = np.empty(0, np.int64)
    everyone = tuple(rows.get(client, nothing) for client in range(count))
    validation = held.test.part(slice(0, 0))
    sizes = (each,) * count
    return Federation(held.train, everyone, validation, held.test, wanted.scaling, sizes=sizes)


def _divided(wanted: Data) -> Federation:
    made_up = {name: vars(wanted)[name] for name in _MADE_UP if vars(wanted)[name] is not None}
    if wanted.name == "synth":
        held = synth(**made_up)
    elif wanted.name in imported.names():
        held = imported.load(wanted.name)
    else:
        names = ["synth", *sorted(sources.by_name()), *imported.names()]
        held = sources.load(one_of("data", wanted.name, names))
    for name, value in made_up.items() if wanted.name != "synth" else ():
        message = f"{name} must be left out unless name is synth, got {value!r:.60}"
        raise InvalidArgument(message, argument=name)
    validation = wanted.validation
    size = len(held.train) - validation if wanted.train is None else wanted.train
    whole("train + validation", size + validation, 1, len(held.train))
    train = held.train.part(slice(0, size))
    rng = np.random.Generator(np.random.Philox(key=wanted.partition_seed))
    divide = PARTITIONS[wanted.partition]
    if wanted.partition == "roles":
        rows = divide(train, wanted.least or 1, wanted.each)
    else:
        extra = {"iid": wanted.each, "shards": wanted.shards, "dirichlet": wanted.concentration}
        option = [v for v in (extra[wanted.partition],) if v is not None]
        rows = divide(train, wanted.clients, rng, *option)
    rest = held.train.part(slice(size, size + validation))
    public, test = rest if wanted.public == "validation" else None, held.test
    if wanted.test is not None:
        kept = np.linspace(0, len(test) - 1, min(wanted.test, len(test))).astype(np.int64)
        test = test.part(kept)
    return Federation(train, tuple(rows), rest, test, wanted.scaling, public)
