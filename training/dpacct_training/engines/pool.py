"""A host in each of several processes on this machine: the same bits, on more cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from dpacct_training.algorithm import Algorithm
from dpacct_training.plan import Plan
from dpacct_training.setting import Setting
from dpacct_training.site import Host, Reply, Task

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
        """As the processes have time."""
        return self._pool.map(_answer, tasks)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()
