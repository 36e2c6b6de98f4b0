"""Tasks and replies as Flower's records: named arrays and plain words; nothing else travels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from dpacct_training.algorithm import Arrays
from dpacct_training.keys import Child
from dpacct_training.noise import Meter, Meters
from dpacct_training.site import Reply, Task

MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, EOFError)
"""What reading a record raises that another program may have written."""
_METER = "meter "


def packed(arrays: Arrays, **words: Any) -> RecordDict:
    """Named arrays and words; a list of words may not be empty."""
    names = sorted(arrays)
    numbers = ArrayRecord([np.asarray(arrays[name]) for name in names])
    return RecordDict({"arrays": numbers, "words": ConfigRecord({"names": names or [""], **words})})


def unpacked(record: RecordDict) -> tuple[Arrays, Any]:
    """What `packed` was given."""
    words = record["words"]
    arrays = record["arrays"].to_numpy_ndarrays()
    return dict(zip(words["names"], arrays, strict=False)), words


def from_task(task: Task) -> RecordDict:
    """A task as it travels; memories stay where the clients are."""
    keys = [task.keys[client].key for client in task.clients if task.keys]
    return packed(
        task.sent,
        kind=task.kind,
        mark=task.mark,
        round=task.round,
        run=task.run,
        clients=list(task.clients),
        keys=keys or [b""],
    )


def to_task(record: RecordDict, memory: Callable[[str, int, int], Arrays]) -> Task:
    """The task, with what `memory(run, client, round)` has of each client."""
    sent, words = unpacked(record)
    clients = tuple(int(client) for client in words["clients"])
    keys = {c: Child(key) for c, key in zip(clients, words["keys"], strict=False) if key}
    round, run = int(words["round"]), str(words["run"])
    kept = {client: memory(run, client, round) for client in clients}
    recalled = {client: arrays for client, arrays in kept.items() if arrays}
    return Task(str(words["kind"]), str(words["mark"]), round, clients, sent, keys, recalled, run)


def from_reply(reply: Reply, task: Task) -> RecordDict:
    """A reply as it travels, with the digest of the question that it answers."""
    meters = {
        f"{_METER}{name}": [float(v) for v in vars(meter).values()]
        for name, meter in reply.meters.items()
    }
    clients = list(reply.clients)
    return packed(reply.rows, clients=clients, refused=reply.refused, digest=task.digest, **meters)


def to_reply(record: RecordDict, task: Task) -> Reply:
    """The answer to this very task; of anything else a refusal."""
    try:
        rows, words = unpacked(record)
        if words["refused"]:
            return Reply(task.clients, {}, refused=str(words["refused"]))
        if words["digest"] != task.digest or list(words["clients"]) != list(task.clients):
            return Reply(task.clients, {}, refused="another task's answer")
        meters = Meters()
        for name in words:
            if name.startswith(_METER):
                bounded, vectors, numbers, squares = words[name]
                meter = Meter(int(bounded), int(vectors), int(numbers), float(squares))
                meters[name.removeprefix(_METER)] = meter
    except MALFORMED:
        return Reply(task.clients, {}, refused="not readable")
    return Reply(task.clients, {k: v for k, v in rows.items() if k}, {}, meters)
