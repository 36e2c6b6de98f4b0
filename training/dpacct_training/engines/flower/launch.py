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
import threading
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
_LINK = "dpacct"  # the name of the connection in Flower's configuration


def launched(
    experiment: Experiment,
    setting: EngineSetting,
    folder: Path,
    watches: Sequence[Callable[..., None]] = (),
) -> Outcome:
    """Run to the end on Flower's nodes. Raises `ConnectionError`, with what its result says."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        (folder / RESULT).unlink()
    app = folder / "app"
    out = str(folder.resolve())
    write_app(app, experiment, setting.hosts, setting.deadline, out)
    rows, over = _Rows(folder, experiment, watches), threading.Event()
    teller = threading.Thread(target=rows.until, args=(over,), daemon=True)
    teller.start()
    try:
        if setting.name == "ray":
            _simulated(app / "experiment.toml", setting, folder)
        else:
            _with_commands(app, setting, folder)
    finally:
        over.set()
        teller.join()
    if not (folder / RESULT).exists():
        message = (
            f"the run ended without a result in {out!r}: its log is {str(folder / 'flower')!r}"
        )
        raise ConnectionError(message)
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    if "error" in result:
        raise ConnectionError(result["error"])
    values = {**result["values"], "engine": setting.name}
    return Outcome(int(result["code"]), result["line"], values)


class _Rows:
    """Tells the measurements that another process writes."""

    def __init__(
        self, folder: Path, experiment: Experiment, watches: Sequence[Callable[..., None]]
    ) -> None:
        self.folder, self.watches = Folder(folder), watches
        self.rounds = int(experiment.sections["privacy"].get("rounds", 1))
        self.told = len(self.folder.rows())

    def until(self, over: threading.Event) -> None:
        """Tell them as they come, until the run is over."""
        while not over.wait(_PAUSE):
            self._tell()
        self._tell()

    def _tell(self) -> None:
        rows = self.folder.rows()
        for row in rows[self.told :]:
            for watch in self.watches:
                watch(row, self.rounds)
        self.told = len(rows)


# --- Flower's simulation


def _simulated(path: Path, setting: EngineSetting, folder: Path) -> None:
    """Virtual nodes in Ray's processes; the ServerApp is a thread of this one."""
    library("ray", "ray")
    simulation = library("flwr.simulation", "flwr")
    os.environ |= _ENVIRONMENT
    path = path.resolve()
    simulation.run_simulation(
        server_app=server_app(path, setting.hosts, setting.deadline, folder),
        client_app=node_app(path, folder.resolve() / "nodes"),
        num_supernodes=setting.hosts,
        backend_config={
            "client_resources": {"num_cpus": 1},
            "init_args": {
                "num_cpus": min(setting.hosts, os.cpu_count() or 1),
                "log_to_driver": False,
            },
        },
    )


# --- Flower's commands


class Home:
    """A folder with Flower's configuration and logs; `start` is one of its commands."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.path.mkdir(parents=True, exist_ok=True)
        commands = str(Path(sys.executable).parent)  # those of this very Python
        words = os.pathsep.join([commands, os.environ.get("PATH", "")])
        own = {**_ENVIRONMENT, "FLWR_HOME": str(self.path), "PATH": words}
        self.environment = {**os.environ, **own}
        self.commands = Path(commands)

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
        text = (
            f'[superlink]\ndefault = "{_LINK}"\n[superlink.{_LINK}]\naddress = "{address}"\n{how}\n'
        )
        write_text(self.path / "config.toml", text)


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here."""
    process.terminate()
    try:
        process.wait(timeout=10.0)
    except subprocess.TimeoutExpired:
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
                message = f"no SuperLink answers at {address}"
                raise ConnectionError(f"{message}: {error}") from None
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


def _with_commands(app: Path, setting: EngineSetting, folder: Path) -> None:
    """Start what is missing, submit the app, and wait until it is over."""
    home = Home(folder / "flower")
    with ExitStack() as stack:
        if setting.superlink is None:
            address = superlink(home, stack, setting.deadline)
            for host in range(setting.hosts):
                node = supernode(home, address, host, folder / "nodes" / str(host))
                stack.callback(ended, node)
        else:
            address = setting.superlink
            listening(address, setting.deadline)
        root = setting.root_certificates
        home.connection(address, None if root is None else str(Path(root).resolve()))
        run = home.start("flwr", "run", "run", str(app), _LINK, "--stream")
        stack.callback(ended, run)
        while run.poll() is None and not (folder / RESULT).exists():
            time.sleep(_PAUSE)
