"""Engines by name: where the clients' training runs, which algorithms do not know.

An engine carries tasks to hosts and replies back. Here are the two engines for one machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

from dpacct import InvalidArgument
from dpacct_training.accept import Settings, one_of, positive, setting, whole
from dpacct_training.algorithm import Algorithm, Setting
from dpacct_training.plan import Plan
from dpacct_training.site import Host, Reply, Task

if TYPE_CHECKING:
    from dpacct_training.experiment import Prepared


CHUNK = 100
"""Clients per task at most. It decides the bits of float32 sums, so all engines share it."""


class Engine(ABC):
    """Replies come in any order; who does not answer in time is missing from the round, for good."""

    @property
    def local(self) -> bool:
        """Return whether clients live on the server's machine: the run then keeps their memories and keys."""
        return True

    def where(self, client: int) -> int:
        """Return the host that must be asked about a client; 0 where any host can be.

        Tasks are about clients of one host.
        """
        return 0

    @abstractmethod
    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """A reply for each task, or one that is `refused`."""

    @abstractmethod
    def close(self) -> None:
        """End what was started."""


class InProcess(Engine):
    """Answers each task at once."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Answer the tasks one after another."""
        return map(self.host.answer, tasks)

    def close(self) -> None:
        """Drop the caches; nothing was started."""
        self.host.grams.clear()


_hosts: list[Host] = []  # of this process


def _begin(algorithm: Algorithm, plan: Plan, setting: Setting) -> None:
    _hosts.append(Host(algorithm, plan, setting))


def _answer(task: Task) -> Reply:
    return _hosts[0].answer(task)


class Pool(Engine):
    """Any process can answer for any client."""

    def __init__(self, hosts: int, algorithm: Algorithm, plan: Plan, setting: Setting) -> None:
        parts = (algorithm, plan, setting.for_hosts())
        self._pool = ProcessPoolExecutor(hosts, get_context("spawn"), _begin, parts)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Answer the tasks in the pool's processes."""
        return self._pool.map(_answer, tasks)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()


NAMES = ("in_process", "pool", "flower", "ray")
FLOWER = NAMES[2:]
"""Engines whose hosts are Flower's nodes, to which messages go."""


@dataclass(frozen=True, kw_only=True)
class EngineSetting(Settings):
    """[engine]: `name`, and how many `hosts` train at once; the results are the same, bit for bit.

    "flower": hosts are the SuperNodes of the SuperLink at `superlink` (host:port); without it one is
    started on this machine, with a SuperNode for each host, and ended with the run. "ray": hosts are
    virtual nodes of Flower's simulation. Of both, `deadline`: seconds for a round's answers (600).
    `root_certificates`: a file with what the SuperLink's TLS certificate is checked by; without it nothing
    is encrypted, which only loopback allows. Raises `InvalidArgument`.
    """

    name: str = "in_process"
    hosts: int = setting(1, whole, 1, 1024)
    superlink: str | None = None
    deadline: float | None = setting(None, positive)
    root_certificates: str | None = None

    def __post_init__(self) -> None:
        one_of("engine", self.name, NAMES)
        super().__post_init__()
        for key, default, names in (
            ("hosts", 1, NAMES[1:]),
            ("deadline", None, FLOWER),
            ("superlink", None, ("flower",)),
            ("root_certificates", None, ("flower",) if self.superlink else ()),
        ):
            if vars(self)[key] != default and self.name not in names:
                engines = " or ".join(names) or "flower with a superlink"
                message = f"{key} must be left out unless the engine is {engines}"
                raise InvalidArgument(f"{message}, got {vars(self)[key]!r}", argument=key)
        host, colon, port = (self.superlink or "").rpartition(":")
        if self.superlink is not None and not (host and colon and port.isdigit()):
            message = f"superlink must be HOST:PORT, got {self.superlink!r}"
            raise InvalidArgument(message, argument="superlink")
        here = host in ("127.0.0.1", "localhost", "[::1]")
        if self.root_certificates is None and self.superlink is not None and not here:
            message = "root_certificates must be given for a SuperLink on another machine"
            raise InvalidArgument(f"{message}, got none", argument="root_certificates")

    @property
    def patience(self) -> float:
        """Seconds for a round's answers."""
        return 600.0 if self.deadline is None else self.deadline

    def start(self, prepared: Prepared) -> Engine:
        """The engine, started; whoever starts it closes it. Raises `InvalidArgument`."""
        parts = (prepared.algorithm, prepared.plan, prepared.setting)
        if self.name == "pool":
            return Pool(self.hosts, *parts)
        if self.name in FLOWER:
            message = "engine must be in_process or pool here: its hosts cannot be seen into"
            raise InvalidArgument(f"{message}, got {self.name!r}", argument="engine")
        return InProcess(Host(*parts))
