"""Engine: carries tasks to hosts and replies back; with the two engines for one machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Protocol

from dpacct_training.algorithm import Algorithm
from dpacct_training.plan import Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Host, Reply, Task

CHUNK = 100
"""Clients per task at most. It decides the bits of float32 sums, so all engines share it."""


class Engine(Protocol):
    """Replies come in any order; who does not answer in time is missing from the round, for good."""

    @property
    def local(self) -> bool:
        """Whether the clients live on the server's machine: then the run keeps their memories and keys."""
        ...

    def where(self, client: int) -> int:
        """Which host must be asked about a client; 0 where any host can be.

        Tasks are about clients of one host.
        """
        ...

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """A reply for each task, or one that is `refused`."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


@dataclass
class Around:
    """An engine around `inner`, which does the work."""

    inner: Engine

    @property
    def local(self) -> bool:
        """The same as the inner engine's."""
        return self.inner.local

    def where(self, client: int) -> int:
        """The same as the inner engine's."""
        return self.inner.where(client)

    def close(self) -> None:
        """End what the inner engine started."""
        self.inner.close()


class InProcess:
    """Answers each task at once."""

    local = True

    def __init__(self, host: Host) -> None:
        self.host = host

    def where(self, client: int) -> int:
        """0: every client is on this machine."""
        return 0

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


class Pool:
    """Any process can answer for any client."""

    local = True

    def __init__(self, hosts: int, algorithm: Algorithm, plan: Plan, setting: Setting) -> None:
        self._pool = ProcessPoolExecutor(
            hosts, get_context("spawn"), _begin, (algorithm, plan, setting.for_hosts())
        )

    def where(self, client: int) -> int:
        """Everyone is on this machine."""
        return 0

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Answer the tasks in the pool's processes."""
        return self._pool.map(_answer, tasks)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()
