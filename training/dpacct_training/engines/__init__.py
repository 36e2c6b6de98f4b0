"""Engines by name: where the clients' training runs. Algorithms do not know of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpacct import InvalidArgument
from dpacct_training.accept import Settings, one_of, positive, setting, whole
from dpacct_training.engine import Engine

if TYPE_CHECKING:
    from dpacct_training.prepare import Prepared

NAMES = ("in_process", "pool", "flower")


@dataclass(frozen=True, kw_only=True)
class EngineSetting(Settings):
    """[engine]: `name`, and how many `hosts` train at once; the results are the same, bit for bit.

    `secure`: only sums of the clients' messages are seen, masked pairwise (`engines/secure.py`).

    Of "flower": `superlink` is the host:port of one that runs already, whose SuperNodes are the
    hosts; without it one is started on this machine, with a SuperNode for each host, and ended with
    the run. `deadline`: seconds for a round's answers. `root_certificates`: a file with what the
    SuperLink's TLS certificate is checked by; without it nothing is encrypted, which only loopback
    allows. `secret_file`: the SuperLink's `--superexec-auth-secret-file`. Raises `InvalidArgument`.
    """

    name: str = "in_process"
    hosts: int = setting(1, whole, 1, 1024)
    superlink: str | None = None
    secure: bool = False
    deadline: float = setting(600.0, positive)
    root_certificates: str | None = None
    secret_file: str | None = None

    def __post_init__(self) -> None:
        one_of("engine", self.name, NAMES)
        super().__post_init__()
        if self.secure and (self.name != "flower" or self.hosts < 2):
            message = "secure must be false but for the engine flower with at least 2 hosts"
            raise InvalidArgument(f"{message}, got {self.hosts} of {self.name}", argument="secure")
        if self.superlink is None:
            return
        host, colon, port = self.superlink.rpartition(":")
        if self.name != "flower" or not (host and colon and port.isdigit()):
            message = "superlink must be HOST:PORT, for the engine flower"
            raise InvalidArgument(f"{message}, got {self.superlink!r}", argument="superlink")
        if self.root_certificates is None and host not in ("127.0.0.1", "localhost", "[::1]"):
            message = "root_certificates must be given for a SuperLink on another machine"
            raise InvalidArgument(f"{message}, got none", argument="root_certificates")

    def start(self, prepared: Prepared, folder: Path | None) -> Engine:
        """The engine, started; whoever starts it closes it."""
        if not self.secure:
            return self._within(prepared, folder)
        from dpacct_training.engines.secure import SecureSum, lattices

        lattices(prepared.plan)  # refused before anything is started
        return SecureSum(self._within(prepared, folder), prepared.plan)

    def _within(self, prepared: Prepared, folder: Path | None) -> Engine:
        parts = (prepared.algorithm, prepared.plan, prepared.setting)
        if self.name == "pool":
            from dpacct_training.engine import Pool

            return Pool(self.hosts, *parts)
        if self.name == "flower":
            from dpacct_training.extras import required

            required("flwr")  # without it, one sentence
            from dpacct_training.engines.flower.link import connect

            return connect(self, prepared.experiment, folder)
        from dpacct_training.engine import InProcess
        from dpacct_training.site import Host

        return InProcess(Host(*parts))
