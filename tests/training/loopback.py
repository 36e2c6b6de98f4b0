"""Flower's network without processes: a grid whose nodes are ClientApps in this process."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from flwr.app import Context, Message, Metadata, RecordDict
from flwr.clientapp import ClientApp

from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.node import Disk, HostNode, client_app
from dpacct_training.experiment import Prepared
from tests.training.laws import hosts

Fault = Callable[[Message, Callable[[Message], Message]], Iterable[Message]]
"""What a node sends back for a message, given how an honest one answers."""


def app_of(prepared: Prepared, folder: Path) -> ClientApp:
    """A node whose memory is a folder."""
    return client_app(lambda context: HostNode(*hosts(prepared), Disk(folder)))


class LoopbackGrid:
    """Nodes 100, 101, ... are hosts 0, 1, ...; `sent` is all that ever left the server."""

    def __init__(self, apps: Iterable[ClientApp]) -> None:
        self.apps = {100 + host: app for host, app in enumerate(apps)}
        self.number = {node: node - 100 for node in self.apps}
        self.faults: dict[int, Fault] = {}
        self.sent: list[Message] = []
        self.waiting: dict[str, list[Message]] = {}

    def get_node_ids(self) -> list[int]:
        return list(self.apps)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        return [self._push(message) for message in messages]

    def _push(self, message: Message) -> str:
        self.sent.append(message)
        name, node = f"m{len(self.sent)}", message.metadata.dst_node_id
        vars(message.metadata)["_message_id"] = name
        if node not in self.apps:
            return ""
        config = {"partition-id": self.number[node]}
        context = Context(1, node, config, RecordDict(), {})

        def honest(question: Message) -> Message:
            return self.apps[node](question, context)

        fault = self.faults.get(node)
        if fault is None or message.metadata.message_type != "train":
            self.waiting[name] = [honest(message)]
        else:
            self.waiting[name] = list(fault(message, honest))
        return name

    def pull_messages(self, names: Iterable[str]) -> Iterator[Message]:
        for name in names:
            for answer in self.waiting.pop(name, []):
                vars(answer.metadata)["_src_node_id"] = self._node(name)
                yield answer

    def _node(self, name: str) -> int:
        return self.sent[int(name[1:]) - 1].metadata.dst_node_id


def relabelled(answer: Message, **changes: Any) -> Message:
    """An answer with other metadata."""
    metadata: Metadata = answer.metadata
    vars(metadata).update({f"_{name}": value for name, value in changes.items()})
    return answer


class Clock:
    """Time passes where somebody waits, and nowhere else."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds


def flower(prepared: Prepared, folder: Path, count: int = 1) -> Flower:
    """The engine, its grid, and so many nodes."""
    grid = LoopbackGrid(app_of(prepared, folder / str(host)) for host in range(count))
    return Flower(grid, count, poll=60.0, clock=Clock())
