"""The server's side: an engine over a Grid, Flower's way to its nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp import Grid

from dpacct_training.engines import Engine
from dpacct_training.engines.flower.node import MALFORMED, from_task, to_reply
from dpacct_training.site import Reply, Task


class Flower(Engine):
    """Host h of `hosts` has the clients c with c mod hosts = h; who answers late is missing for good.

    `deadline`: seconds for a round, and for the hosts to come at all. A node that comes back, or comes
    in another's place, is asked for its host's number first. Raises `ConnectionError` where a host
    never comes, or where nobody answers a round: then the same command goes on from there.
    """

    def __init__(
        self, grid: Grid, hosts: int, deadline: float = 600.0, poll: float = 0.2, clock: Any = time
    ) -> None:
        self.grid, self.hosts, self.deadline, self.poll = grid, hosts, deadline, poll
        self._clock = clock
        self._told: dict[int, tuple[int, str]] = {}  # (host, name of its key) by node
        self._join()

    @property
    def local(self) -> bool:
        """The nodes have memories and keys of their own."""
        return False

    def where(self, client: int) -> int:
        """Return the host that has this client's data."""
        return client % self.hosts

    def _join(self) -> None:
        """Wait until every host has a node; nothing is charged before that."""
        end = self._clock.monotonic() + self.deadline
        while len(node := self._meet(end)) < self.hosts:
            if self._clock.monotonic() > end:
                message = f"{self.hosts} hosts were awaited for {self.deadline:g} s"
                raise ConnectionError(f"{message}, and those that came are {sorted(node)}")
            self._clock.sleep(self.poll)
        names = [self._told[node[host]][1] for host in range(self.hosts)]
        twice = [host for host, name in enumerate(names) if names.count(name) > 1]
        if twice:
            message = f"hosts {twice[0]} and {twice[1]} have the same key, and so the same noise"
            raise ConnectionError(f"{message}: give each node a folder of its own")

    def _meet(self, end: float) -> dict[int, int]:
        """The node of each host; those that were not here before are asked which one they are."""
        present = set(self.grid.get_node_ids())
        ttl = max(1.0, end - self._clock.monotonic())
        questions = [
            Message(RecordDict({}), dst_node_id=node, message_type=MessageType.QUERY, ttl=ttl)
            for node in sorted(present - self._told.keys())
        ]
        self._told = {node: told for node, told in self._told.items() if node in present}
        for _, reply in self._carried(questions, end):
            try:
                told = reply.content["who"]
                host, name, unfit = int(told["host"]), str(told["key"]), str(told["unfit"])
            except MALFORMED:
                continue
            if unfit:
                message = f"host {host} cannot take part, for its {unfit:.40}: its log says why"
                raise ConnectionError(message)
            if 0 <= host < self.hosts:
                self._told[reply.metadata.src_node_id] = (host, name)
        # the first to come is it, and one that came later when that one is gone
        return {host: node for node, (host, _) in reversed(self._told.items())}

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Each task's reply, or a refusal that says why there is none."""
        if not tasks:
            return
        end = self._clock.monotonic() + self.deadline
        nodes = self._meet(end)
        asked, messages = [], []
        for task in tasks:
            node = nodes.get(self.where(task.clients[0]))
            if node is None:
                yield Reply(task.clients, {}, refused="no such node")
                continue
            asked.append(task)
            how: Any = {"message_type": MessageType.TRAIN, "ttl": self.deadline}
            messages.append(Message(from_task(task), dst_node_id=node, **how))
        waiting, answered = dict(enumerate(asked)), False
        for place, message in self._carried(messages, end):
            reply = to_reply(message.content, waiting.pop(place))
            answered |= not reply.refused
            yield reply
        for task in waiting.values():
            yield Reply(task.clients, {}, refused="no answer")
        if not answered:
            message = f"no host answered round {tasks[0].round} within {self.deadline:g} s"
            raise ConnectionError(f"{message}: the same command goes on from there")

    def _carried(self, messages: list[Message], end: float) -> Iterator[tuple[int, Message]]:
        """(place in `messages`, its answer), as they come; each at most once, errors not at all.

        `Grid.send_and_receive` sleeps for seconds at a time, and loses refused messages silently.
        """
        names = self.grid.push_messages(messages) if messages else []
        places = {name: i for i, name in enumerate(names) if name}  # one not taken has no name
        nodes = [message.metadata.dst_node_id for message in messages]
        while places:
            for answer in self.grid.pull_messages(list(places)):
                place = places.pop(answer.metadata.reply_to_message_id, None)
                if place is None or answer.has_error():
                    continue
                if answer.metadata.src_node_id == nodes[place]:
                    yield place, answer
            if not places or self._clock.monotonic() > end:
                return
            self._clock.sleep(self.poll)

    def close(self) -> None:
        """Forget the nodes; the grid is Flower's."""
        self._told.clear()
