"""Engines by name: where the clients' training runs. Algorithms do not know of them."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct_training.accept import one_of, whole
from dpacct_training.algorithm import Algorithm
from dpacct_training.engine import Engine
from dpacct_training.plan import Plan
from dpacct_training.setting import Setting

NAMES = ("in_process", "pool")


@dataclass(frozen=True, kw_only=True)
class EngineSetting:
    """[engine]: `name`, and how many `hosts` train at once; the results are the same, bit for bit."""

    name: str = "in_process"
    hosts: int = 1

    def __post_init__(self) -> None:
        one_of("engine", self.name, NAMES)
        whole("hosts", self.hosts, 1, 1024)

    def start(self, algorithm: Algorithm, plan: Plan, setting: Setting) -> Engine:
        """The engine, started; whoever starts it closes it."""
        if self.name == "pool":
            from dpacct_training.engines.pool import Pool

            return Pool(self.hosts, algorithm, plan, setting)
        from dpacct_training.engines.in_process import InProcess
        from dpacct_training.site import Host

        return InProcess(Host(algorithm, plan, setting))
