"""A node's side: the same host as everywhere, with keys and memories of its own on its disk.

Tasks and replies travel as Flower's records: named arrays and plain words, and nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from dpacct import InvalidArgument
from dpacct_training.algorithm import Arrays
from dpacct_training.durable import secret
from dpacct_training.extras import required
from dpacct_training.keys import ELSEWHERE, Child, Keys
from dpacct_training.noise import Meters
from dpacct_training.plan import Plan
from dpacct_training.site import Host, Reply, Task

MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, EOFError)
"""The errors of reading a record that another program may have written."""


def packed(arrays: Arrays, **words: Any) -> RecordDict:
    """Named arrays and words; a list of words may not be empty."""
    names = sorted(arrays)
    numbers = ArrayRecord([np.asarray(arrays[name]) for name in names])
    return RecordDict({"arrays": numbers, "words": ConfigRecord({"names": names or [""], **words})})


def unpacked(record: RecordDict) -> tuple[Arrays, Any]:
    """Unpack what `packed` was given."""
    words = record["words"]
    arrays = record["arrays"].to_numpy_ndarrays()
    return dict(zip(words["names"], arrays, strict=False)), words


def from_task(task: Task) -> RecordDict:
    """A task as it travels; memories stay where the clients are."""
    keys = [task.keys[client].key for client in task.clients if task.keys]
    about = {"mark": task.mark, "round": task.round, "run": task.run}
    return packed(task.sent, clients=list(task.clients), keys=keys or [b""], **about)


def to_task(record: RecordDict, memory: Callable[[str, int, int], Arrays]) -> Task:
    """The task, with what `memory(run, client, round)` has of each client."""
    sent, words = unpacked(record)
    clients = tuple(int(client) for client in words["clients"])
    keys = {c: Child(key) for c, key in zip(clients, words["keys"], strict=False) if key}
    round, run = int(words["round"]), str(words["run"])
    kept = {client: memory(run, client, round) for client in clients}
    recalled = {client: arrays for client, arrays in kept.items() if arrays}
    return Task(str(words["mark"]), round, clients, sent, keys, recalled, run)


def from_reply(reply: Reply, task: Task) -> RecordDict:
    """A reply as it travels, with the digest of the question that it answers."""
    clients, meters = list(reply.clients), json.dumps(reply.meters.to_dict())
    about = {"refused": reply.refused, "digest": task.digest, "meters": meters}
    return packed(reply.rows, clients=clients, **about)


def to_reply(record: RecordDict, task: Task) -> Reply:
    """The answer to this very task; of anything else a refusal."""
    try:
        rows, words = unpacked(record)
        if words["refused"]:
            return Reply(task.clients, {}, refused=str(words["refused"]))
        if words["digest"] != task.digest or list(words["clients"]) != list(task.clients):
            return Reply(task.clients, {}, refused="another task's answer")
        meters = Meters.from_dict(json.loads(words["meters"]))
    except MALFORMED:
        return Reply(task.clients, {}, refused="not readable")
    return Reply(task.clients, {k: v for k, v in rows.items() if k}, {}, meters)


_log = logging.getLogger(__name__)
_TABLES = """
CREATE TABLE IF NOT EXISTS answered (client INT, run TEXT, round INT, digest TEXT,
    PRIMARY KEY (client, run, round));
CREATE TABLE IF NOT EXISTS memory (client INT, run TEXT, round INT, arrays BLOB,
    PRIMARY KEY (client, run, round));
"""
_ANSWERED = "SELECT digest FROM answered WHERE client = ? AND run = ? AND round = ?"
_NOTE = "INSERT OR IGNORE INTO answered (client, run, round, digest) VALUES (?, ?, ?, ?)"
_ROUNDS = "SELECT COUNT(*) FROM answered WHERE client = ?"
_RECALL = "SELECT arrays FROM memory WHERE client = ? AND run = ? AND round < ? ORDER BY round DESC"
_REMEMBER = "INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?)"
_FORGET = """DELETE FROM memory WHERE client = :client AND run = :run AND round <
    (SELECT MAX(round) FROM memory WHERE client = :client AND run = :run AND round < :round)"""
OTHER_TASK = "another task of this round was answered"
BUDGET = "budget"


class Disk:
    """A node's persistent memory: its key, what its clients keep, and what they have answered.

    A round that is asked twice gets the same answer, and with another question none. A client is not
    asked beyond its own budget, whoever asks and however often a run is begun anew.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._base = sqlite3.connect(folder / "node.sqlite", timeout=60.0)
        with self._base:
            self._base.executescript(_TABLES)

    def keys(self) -> Keys:
        """The node's own key, from its operating system."""
        return Keys(secret(self.folder / "node.key", os.urandom(32)), ELSEWHERE)

    def refusal(self, task: Task, plan: Plan) -> str:
        """Return why a task is not answered, in a fixed word; else "", after noting that it is."""
        with self._base:  # all of its clients or none, on the disk before any of them works
            self._base.execute("BEGIN IMMEDIATE")
            asked = [(client, task.run, task.round) for client in task.clients]
            for question in asked:
                answered = self._base.execute(_ANSWERED, question).fetchone()
                if answered is None and self._spent(question[0], plan):
                    return BUDGET
                if answered not in (None, (task.digest,)):
                    return OTHER_TASK
            self._base.executemany(_NOTE, [(*question, task.digest) for question in asked])
        return ""

    def _spent(self, client: int, plan: Plan) -> bool:
        """Return whether a client's own budget has no room for another round."""
        account = plan.accounts.get(f"client {client}")
        if account is None or account.epsilon is None:
            return False
        (rounds,) = self._base.execute(_ROUNDS, (client,)).fetchone()
        return int(rounds) >= account.times

    def recall(self, run: str, client: int, round: int) -> Arrays:
        """Return a client's memory before this round: a round that is asked twice starts from the same."""
        kept = self._base.execute(_RECALL, (client, run, round)).fetchone()
        arrays: Arrays = {} if kept is None else required("safetensors.numpy").load(kept[0])
        return arrays

    def remember(self, task: Task, memory: dict[int, Arrays]) -> None:
        """Store what clients keep after a round; the round before it stays until this one is over."""
        save = required("safetensors.numpy").save
        with self._base:
            for client, arrays in memory.items():
                content = save({k: np.ascontiguousarray(arrays[k]) for k in sorted(arrays)})
                self._base.execute(_REMEMBER, (client, task.run, task.round, content))
                where = {"client": client, "run": task.run, "round": task.round}
                self._base.execute(_FORGET, where)


def refused(why: str) -> RecordDict:
    """The answer that says why there is none."""
    return packed({}, clients=[-1], refused=why, digest="", meters="{}")


class HostNode:
    """A host behind its disk: answers records, whatever is in them."""

    def __init__(self, host: Host, disk: Disk) -> None:
        self.host, self.disk = host, disk
        key = disk.keys()
        self.name = key.name
        # other data have other noise: one noise over two sums would tell their difference
        host.keys = key.derived(host.setting.federation.fingerprint())

    def answer(self, record: RecordDict) -> RecordDict:
        """Answer a task of this very plan, unless the disk refuses it."""
        task, plan = to_task(record, self.disk.recall), self.host.plan
        why = "another plan" if task.mark != plan.mark else self.disk.refusal(task, plan)
        reply = Reply(task.clients, {}, refused=why) if why else self.host.answer(task)
        self.disk.remember(task, reply.memory)
        return from_reply(reply, task)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` where the block lasts longer: a node that hangs would miss all rounds."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's; there is one wherever Flower starts a process
        return

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def client_app(begin: Callable[[Context], HostNode]) -> ClientApp:
    """A ClientApp of one host; `begin` makes it where it is first asked, of each number once.

    It never raises: the text of an error could tell of the data, so it stays in the node's log.
    """
    nodes: dict[int, HostNode] = {}

    def node(context: Context) -> HostNode:
        number = int(context.node_config["partition-id"])
        if number not in nodes:
            nodes[number] = begin(context)
        return nodes[number]

    def who(message: Message, context: Context) -> Message:
        """Tell the host's number, its key's public name, and whether it can take part."""
        number, name, unfit = int(context.node_config["partition-id"]), "", ""
        try:
            with _within(message.metadata.ttl):
                name = node(context).name
        except Exception as error:
            _log.exception("a node cannot take part")
            unfit = "settings"
            if isinstance(error, InvalidArgument) and error.argument:
                unfit = error.argument  # not its sentence
        told = ConfigRecord({"host": number, "key": name, "unfit": unfit})
        return Message(RecordDict({"who": told}), reply_to=message)

    def train(message: Message, context: Context) -> Message:
        try:
            with _within(message.metadata.ttl):
                answer = node(context).answer(message.content)
        except Exception:
            _log.exception("a task failed")
            answer = refused("failed")
        return Message(answer, reply_to=message)

    app = ClientApp()
    app.query()(who)
    app.train()(train)
    return app
