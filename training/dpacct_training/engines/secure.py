"""An engine around another that lets only sums through, and what its hosts answer to it.

A party is a task: a host's clients with equally many samples. Four questions make a sum: for keys, for
shares of them, for the masked sums of those who answered so far, and, of those, for what takes the
masks off. A host that is lost before it sent its sum is missing from the round; where fewer than
two thirds are left, nothing is learned of anyone, and the round has no answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import dpacct as dp
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.engine import Around, Engine
from dpacct_training.keys import Keys
from dpacct_training.lattice import Lattice
from dpacct_training.noise import Meters
from dpacct_training.plan import SHARES, Plan
from dpacct_training.secure_sum import OPENED, PUBLIC, SEALED, Party, threshold, unmasked
from dpacct_training.site import (
    OPEN_SUM,
    SHARE_KEYS,
    SHOW_KEYS,
    SUM,
    TRAIN,
    Host,
    Reply,
    Task,
)

_SAID = "secure "  # before the names of what the protocol sends, beside what the algorithm does


def lattices(plan: Plan) -> dict[str, Lattice]:
    """The plan's noises, in the order of a masked vector. Raises `InvalidArgument`."""
    noises = {n: noise for n, noise in sorted(plan.noise.items()) if isinstance(noise, Lattice)}
    if plan.by != SHARES or len(noises) < len(plan.noise) or plan.records:
        message = 'a secure sum needs noise by = "shares" with [privacy] lattice = true'
        raise dp.InvalidArgument(f"{message}, got by = {plan.by!r}", argument="secure")
    return noises


def _bytes(rows: Sequence[bytes], size: int) -> Array:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size)


# --- a host


def answered(host: Host, task: Task) -> Reply:
    """A host's answer to one of the four questions."""
    noises = lattices(host.plan)
    said = {n.removeprefix(_SAID): a for n, a in task.sent.items() if n.startswith(_SAID)}
    plain = {name: array for name, array in task.sent.items() if not name.startswith(_SAID)}
    question = replace(task, kind=TRAIN, sent=plain)
    party = Party(_keys(host, question))
    if task.kind == SHOW_KEYS:
        return Reply(task.clients, {"public": _bytes([party.public], PUBLIC)})
    publics = [bytes(row) for row in said["publics"]]
    me = publics.index(party.public)
    if task.kind == SHARE_KEYS:
        sealed = party.shares(me, publics, threshold(len(publics)))
        return Reply(task.clients, {"sealed": _bytes(sealed, SEALED)})
    taking = [int(other) for other in said["taking"]]
    if task.kind == SUM:
        reply = host.train(question)
        whole = [noise.whole(reply.rows[n].sum(axis=0)) for n, noise in noises.items()]
        masked = party.masked(me, publics, taking, np.concatenate(whole))
        return replace(reply, rows={"masked": masked[None]})
    sealed_for_me = {o: bytes(row) for o, row in zip(taking, said["sealed"], strict=True)}
    opened = party.opened(me, publics, sealed_for_me, [int(o) for o in said["answered"]])
    rows = [opened[other].to_bytes(OPENED, "little") for other in taking]
    return Reply(task.clients, {"opened": _bytes(rows, OPENED)})


def _keys(host: Host, question: Task) -> Keys:
    """Of this question and these clients only: another one's masks are others."""
    about = f"secure {question.digest} {question.clients}"
    if host.keys is not None:
        return host.keys.derived(about)
    secrets = b"".join(question.keys[client].key for client in question.clients)
    return Keys(hashlib.blake2b(secrets, digest_size=32).digest(), "of its clients").derived(about)


# --- the server


class SecureSum(Around):
    """What it passes on of a round is one sum of all clients that answered."""

    def __init__(self, inner: Engine, plan: Plan) -> None:
        super().__init__(inner)
        self.noises = lattices(plan)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """One reply for all clients whose hosts saw it through, and a refusal for each other task."""
        if not tasks or tasks[0].kind != TRAIN:
            yield from self.inner.ask(tasks)
            return
        came = self._summed(tasks)
        if came is not None:
            yield came
        for task in tasks:
            if came is None or not set(task.clients) <= set(came.clients):
                yield Reply(task.clients, {}, refused="not in the secure sum")

    def _summed(self, tasks: Sequence[Task]) -> Reply | None:
        """The sum of all that saw it through; None where they are too few."""
        shown = self._answers(SHOW_KEYS, [(task, {}) for task in tasks], "public", (1, PUBLIC))
        members = [task for task in tasks if task.clients in shown]
        publics = [bytes(shown[task.clients].rows["public"][0]) for task in members]
        said: Arrays = {"publics": _bytes(publics, PUBLIC)}
        least, shape = max(2, threshold(len(members))), (len(members), SEALED)
        shared = self._answers(SHARE_KEYS, [(task, said) for task in members], "sealed", shape)
        taking = [place for place, task in enumerate(members) if task.clients in shared]
        if len(taking) < least:
            return None
        said = {**said, "taking": np.array(taking)}
        among, size = (
            [members[place] for place in taking],
            sum(n.size for n in self.noises.values()),
        )
        sums = self._answers(SUM, [(task, said) for task in among], "masked", (1, size), np.uint64)
        answered = [place for place in taking if members[place].clients in sums]
        if len(answered) < least:
            return None
        said = {**said, "answered": np.array(answered)}
        sealed = {
            me: [shared[task.clients].rows["sealed"][me] for task in among] for me in answered
        }
        asked = [(members[me], {**said, "sealed": np.stack(sealed[me])}) for me in answered]
        pieces = self._answers(OPEN_SUM, asked, "opened", (len(taking), OPENED))
        opened = {
            me: {
                other: int.from_bytes(bytes(row), "little")
                for other, row in zip(
                    taking, pieces[members[me].clients].rows["opened"], strict=True
                )
            }
            for me in answered
            if members[me].clients in pieces
        }
        if len(opened) < least:
            return None
        vectors = {me: sums[members[me].clients].rows["masked"][0] for me in answered}
        total = unmasked(vectors, publics, taking, opened, least)
        return self._reply([sums[members[me].clients] for me in answered], total)

    def _answers(
        self,
        kind: str,
        asked: Sequence[tuple[Task, Arrays]],
        name: str,
        shape: tuple[int, int],
        number: type[np.generic] = np.uint8,
    ) -> dict[tuple[int, ...], Reply]:
        """By clients, the answers that have one array of the name, shape and type that they must."""
        questions = [
            replace(task, kind=kind, sent={**task.sent, **{_SAID + n: a for n, a in said.items()}})
            for task, said in asked
        ]
        answers = {}
        for reply in self.inner.ask(questions):
            array = reply.rows.get(name)
            if array is not None and array.shape == shape and array.dtype == number:
                answers[reply.clients] = reply
        return answers

    def _reply(self, replies: Sequence[Reply], total: Array) -> Reply:
        rows, first, meters = {}, 0, Meters()
        for name, noise in self.noises.items():
            rows[name] = (total[first : first + noise.size] * noise.step)[None]
            first += noise.size
        memory: dict[int, Arrays] = {}
        for reply in replies:
            meters.add(reply.meters)
            memory |= reply.memory
        clients = tuple(sorted(client for reply in replies for client in reply.clients))
        return Reply(clients, rows, memory, meters, summed=True)
