"""Who holds which samples: IID, label shards, Dirichlet, or the data's own roles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.accept import positive, whole
from dpacct_training.data.dataset import Dataset

Rows = NDArray[np.int64]


def iid(
    data: Dataset, clients: int, rng: np.random.Generator, each: int | None = None
) -> list[Rows]:
    """A random split into equal parts; `each` samples per client, or as many as there are.

    >>> from dpacct_training.data.synth import synth
    >>> rows = iid(synth(samples=100).train, 9, np.random.default_rng(0))
    >>> len(rows), {len(part) for part in rows}
    (9, {11})
    """
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
    """One client for each role that holds at least `least` samples, in the order of the data.

    With `each`, only its first `each` samples.
    """
    if data.roles is None:
        message = (
            f"partition must be iid, shards or dirichlet for {data.name}, which names no roles"
        )
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
