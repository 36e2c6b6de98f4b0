"""The engines `flower` and `ray`: an experiment's app, run by Flower's own commands, or by its simulation.

The run is the app's ServerApp; this process starts it, tells its measurements, and its result.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from dpacct_training.cli.run import Outcome
from dpacct_training.durable import write_text
from dpacct_training.engines import EngineSetting
from dpacct_training.engines.flower.app import RESULT, node_app, server_app, write_app
from dpacct_training.experiment import Experiment
from dpacct_training.extras import library
from dpacct_training.folder import Folder

_ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
_PAUSE = 0.2
_STORE = 100_000_000
"""Bytes of Ray's object store, which messages hardly use; Ray would take a third of the memory."""
_LINK = "dpacct"  # the name of the connection in Flower's configuration
Watches = Sequence[Callable[..., None]]


def launched(
    experiment: Experiment, setting: EngineSetting, folder: Path, watches: Watches = ()
) -> Outcome:
    """Run to the end on Flower's nodes. Raises `ConnectionError`, with what its result says."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / RESULT
    result.unlink(missing_ok=True)
    app = folder / "app"
    write_app(app, experiment, setting.hosts, setting.patience, str(folder.resolve()))
    if setting.name == "ray":
        _simulated((app / "experiment.json").resolve(), setting, folder, watches)
    else:
        rounds = int(experiment.sections["privacy"].get("rounds", 1))
        _with_commands(app, setting, folder, _Told(folder, rounds, watches))
    if not result.exists():
        message = f"the run ended without a result: its log is {str(folder / 'flower')!r}"
        raise ConnectionError(message)
    outcome = json.loads(result.read_text(encoding="utf-8"))
    if "error" in outcome:
        raise ConnectionError(outcome["error"])
    values = {**outcome["values"], "engine": setting.name}
    return Outcome(int(outcome["code"]), outcome["line"], values)


def _simulated(path: Path, setting: EngineSetting, folder: Path, watches: Watches) -> None:
    """Virtual nodes in Ray's processes; the ServerApp is a thread of this one."""
    library("ray", "ray")
    os.environ |= _ENVIRONMENT
    cores = min(setting.hosts, os.cpu_count() or 1)
    library("flwr.simulation", "flwr").run_simulation(
        server_app=server_app(path, setting.hosts, setting.patience, folder, watches),
        client_app=node_app(path, folder.resolve() / "nodes"),
        num_supernodes=setting.hosts,
        backend_config={
            "client_resources": {"num_cpus": 1},
            "init_args": {"num_cpus": cores, "log_to_driver": False, "object_store_memory": _STORE},
        },
    )


class _Told:
    """Tells the measurements that another process writes, when it is called."""

    def __init__(self, folder: Path, rounds: int, watches: Watches) -> None:
        self.folder, self.rounds, self.watches = Folder(folder), rounds, watches
        self.told = len(self.folder.rows())

    def __call__(self) -> None:
        rows = self.folder.rows()
        for row in rows[self.told :]:
            for watch in self.watches:
                watch(row, self.rounds)
        self.told = len(rows)


# --- Flower's commands


class Home:
    """A folder with Flower's configuration and logs; `start` is one of its commands."""

    def __init__(self, path: Path) -> None:
        self.path, self.commands = path.resolve(), Path(sys.executable).parent  # of this Python
        self.path.mkdir(parents=True, exist_ok=True)
        words = os.pathsep.join([str(self.commands), os.environ.get("PATH", "")])
        own = {**_ENVIRONMENT, "FLWR_HOME": str(self.path), "PATH": words}
        self.environment = {**os.environ, **own}

    def start(self, name: str, log: str, *words: str) -> subprocess.Popen[bytes]:
        """A process that ends with this one, however this one ends."""
        prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

        def bound() -> None:
            if prctl is not None:
                prctl(_DIE_WITH_PARENT, signal.SIGTERM)

        with (self.path / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                [str(self.commands / name), *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self.environment,
                preexec_fn=bound,
            )

    def connection(self, address: str, root: str | None) -> None:
        """Write the connection that `flwr run` takes."""
        how = "insecure = true" if root is None else f"root-certificates = {json.dumps(root)}"
        text = f'default = "{_LINK}"\n[superlink.{_LINK}]\naddress = "{address}"\n{how}\n'
        write_text(self.path / "config.toml", f"[superlink]\n{text}")


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10.0)
        return
    process.kill()
    process.wait()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listening(address: str, deadline: float, alive: Callable[[], bool] = lambda: True) -> None:
    """Wait until somebody listens. Raises `ConnectionError`."""
    host, _, port = address.rpartition(":")
    end = time.monotonic() + deadline
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PAUSE).close()
            return
        except OSError as error:
            if time.monotonic() > end or not alive():
                raise ConnectionError(f"no SuperLink answers at {address}: {error}") from None
            time.sleep(_PAUSE)


def superlink(home: Home, stack: ExitStack, deadline: float) -> str:
    """Start a SuperLink on loopback; its address."""
    address = f"127.0.0.1:{free_port()}"
    words = ("--insecure", "--disable-runtime-dependency-installation", "--host", "127.0.0.1")
    link = home.start("flower-superlink", "superlink", *words, "--port", address.rpartition(":")[2])
    stack.callback(ended, link)
    listening(address, deadline, lambda: link.poll() is None)
    return address


def supernode(home: Home, address: str, host: int, folder: Path, *more: str) -> Any:
    """Start the SuperNode of a host, whose memory is a folder."""
    config = f'partition-id={host} folder="{folder.resolve()}"'
    words = ("--superlink", address, "--port", str(free_port()), "--node-config", config)
    return home.start("flower-supernode", f"node-{host}", *words, *(more or ("--insecure",)))


def _with_commands(app: Path, setting: EngineSetting, folder: Path, tell: _Told) -> None:
    """Start what is missing, submit the app, and wait until it is over."""
    home = Home(folder / "flower")
    with ExitStack() as stack:
        if setting.superlink is None:
            address = superlink(home, stack, setting.patience)
            for host in range(setting.hosts):
                node = supernode(home, address, host, folder / "nodes" / str(host))
                stack.callback(ended, node)
        else:
            address = setting.superlink
            listening(address, setting.patience)
        root = setting.root_certificates
        home.connection(address, None if root is None else str(Path(root).resolve()))
        run = home.start("flwr", "run", "run", str(app), _LINK, "--stream")
        stack.callback(ended, run)
        while run.poll() is None and not (folder / RESULT).exists():
            time.sleep(_PAUSE)
            tell()
        tell()
