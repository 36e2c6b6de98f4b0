"""Engine: carries tasks to hosts and replies back, and knows nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from dpacct_training.site import Reply, Task

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
