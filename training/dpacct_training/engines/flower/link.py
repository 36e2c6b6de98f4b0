"""A SuperLink: one of our own on loopback, or one that runs already; this process is its ServerApp.

So the run's folder, key and ledger never leave the machine of the one who started the run. Of Flower's
internals only this file knows any: how a process takes a task over and gets the grid to it (1.41).
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct_training.durable import write_text
from dpacct_training.engines.flower.app import write_app
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.experiment import Experiment

if TYPE_CHECKING:
    from dpacct_training.engines import EngineSetting

_COMMANDS = {
    "flower-superlink": "flwr.superlink.cli:flower_superlink",
    "flower-supernode": "flwr.supernode.cli:flower_supernode",
    "flower-superexec": "flwr.supercore.cli:flower_superexec",
    "flwr-serverapp": "flwr.superlink.cli:flwr_serverapp",
    "flwr-clientapp": "flwr.supernode.cli:flwr_clientapp",
    "flwr": "flwr.cli.app:app",
}
_ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.05",
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
}
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
_PAUSE = 0.1
_PATIENCE = 60.0  # seconds that one call to a SuperLink is tried again


class Home:
    """A folder with Flower's commands of this very Python, its settings and its logs."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        for name, target in _COMMANDS.items():
            module, _, function = target.partition(":")
            main = f"from {module} import {function} as main; sys.exit(main())"
            code = f"import sys; sys.argv[0] = '{name}'; {main}"
            script = f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n'
            write_text(self.path / "bin" / name, script)
            (self.path / "bin" / name).chmod(0o755)
        path_list = f"{self.path / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        self.environment = {
            **os.environ,
            **_ENVIRONMENT,
            "FLWR_HOME": str(self.path),
            "PATH": path_list,
        }

    def start(self, name: str, log: str, *words: str) -> subprocess.Popen[bytes]:
        """A process that ends with this one, however this one ends."""
        prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

        def bound() -> None:
            if prctl is not None:
                prctl(_DIE_WITH_PARENT, signal.SIGTERM)

        with (self.path / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                [str(self.path / "bin" / name), *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self.environment,
                preexec_fn=bound,
            )

    def connection(self, address: str, root: str | None) -> None:
        """Write the connection that `flwr` calls "it"."""
        how = "insecure = true" if root is None else f"root-certificates = {json.dumps(root)}"
        text = f'[superlink]\ndefault = "it"\n[superlink.it]\naddress = "{address}"\n{how}\n'
        write_text(self.path / "config.toml", text)

    def submit(self, app: Path, address: str, root: str | None) -> int:
        """The number of a new run of an app."""
        self.connection(address, root)
        words = [str(self.path / "bin" / "flwr"), "run", str(app), "it", "--format", "json"]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = {"success": False, "error-message": done.stdout + done.stderr}
        if not answer["success"]:
            said = " ".join(str(answer["error-message"]).split())
            raise ConnectionError(f"the SuperLink at {address} took no run: {said:.300}")
        return int(answer["run-id"])


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here."""
    process.terminate()
    try:
        process.wait(timeout=5.0)
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


def own_superlink(home: Home, stack: ExitStack, deadline: float) -> str:
    """Start a SuperLink on loopback; its address."""
    port = free_port()
    words = ("--insecure", "--isolation", "process", "--host", "127.0.0.1", "--port", str(port))
    link = home.start("flower-superlink", "superlink", *words)
    stack.callback(ended, link)
    address = f"127.0.0.1:{port}"
    listening(address, deadline, lambda: link.poll() is None)
    return address


def node_words(address: str, host: int, folder: Path, *more: str) -> tuple[str, ...]:
    """Return the arguments that start a SuperNode of this host."""
    config = f'partition-id={host} folder="{folder.resolve()}"'
    port = str(free_port())
    return (
        "--superlink",
        address,
        "--port",
        port,
        "--node-config",
        config,
        *(more or ("--insecure",)),
    )


def connect(setting: EngineSetting, experiment: Experiment, folder: Path | None) -> Flower:
    """The engine of a run: its SuperLink reached or started, its app submitted, its hosts there."""
    with ExitStack() as stack:
        if folder is None:
            base = Path(tempfile.mkdtemp(prefix="dpacct-flower-"))
            stack.callback(shutil.rmtree, base, ignore_errors=True)
        else:
            base = folder
        home = Home(base / "flower")
        if setting.superlink is None:
            address = own_superlink(home, stack, setting.deadline)
            for host in range(setting.hosts):
                words = node_words(address, host, base / "nodes" / str(host))
                stack.callback(ended, home.start("flower-supernode", f"node-{host}", *words))
        else:
            address = setting.superlink
            listening(address, setting.deadline)
        root = setting.root_certificates
        app = home.path / "app"
        write_app(app, experiment, setting.hosts, setting.deadline, str(base))
        run = home.submit(app, address, None if root is None else str(Path(root).resolve()))
        grid = _grid(address, run, setting, stack)
        engine = Flower(grid, setting.hosts, setting.deadline, close=stack.pop_all().close)
        return engine


def _grid(address: str, run: int, setting: EngineSetting, stack: ExitStack) -> Any:
    """The grid to a run's nodes: this process takes the run's ServerApp task over."""
    from flwr.common.serde import run_from_proto
    from flwr.proto.runtime_pb2 import (
        AcquireTaskRequest,
        PullTaskInputRequest,
        PushTaskOutputRequest,
    )
    from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
    from flwr.supercore.interceptors import (
        RuntimeVersionHttpInterceptor,
        SuperExecAuthHttpInterceptor,
    )
    from flwr.supercore.runtime import RuntimeHttpClient
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.superlink.grid import HttpGrid

    root = setting.root_certificates
    certificates = None if root is None else Path(root).read_bytes()
    interceptors = [RuntimeVersionHttpInterceptor(component_name="SuperExec")]
    if setting.secret_file is not None:
        secret = Path(setting.secret_file).read_bytes()
        methods = frozenset({"/flwr.proto.Runtime/AcquireTask"})
        interceptors.append(
            SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=methods)
        )
    with RuntimeHttpClient.from_server_address(
        server_address=address,
        insecure=root is None,
        root_certificates=certificates,
        interceptors=interceptors,
    ) as client:
        token, end = "", time.monotonic() + setting.deadline
        while not token:
            with _reached(address):
                asked = AcquireTaskRequest(supported_task_types=["flwr-serverapp"])
                task = client.AcquireTask(asked)
            if task.HasField("task") and task.task.run_id == run:
                token = task.token
            elif time.monotonic() > end:
                message = f"the SuperLink at {address} must be started with --isolation process"
                raise ConnectionError(f"{message}: its run {run} was taken to no one here")
            else:
                time.sleep(_PAUSE)
    grid = HttpGrid(address, root is None, certificates, token=token)
    grid._retry_invoker.max_time = min(setting.deadline, _PATIENCE)
    stack.callback(grid.close)
    runtime = grid._runtime_client
    with _reached(address):
        taken = runtime.PullTaskInput(PullTaskInputRequest())
    TaskIdentity.task_id, TaskIdentity.run_id = taken.task_id, taken.run.run_id
    TaskIdentity.node_id = taken.context.node_id
    grid.set_run(run_from_proto(taken.run))

    def over() -> None:
        """Best effort: a SuperLink that is gone need not be told."""
        grid._retry_invoker.max_tries = 1
        with suppress(ConnectionError), _reached(address):
            runtime.PushTaskOutput(PushTaskOutputRequest(sub_status="completed", details=""))

    stack.callback(over)
    heart = HeartbeatSender(make_task_heartbeat_fn_http(runtime))
    heart.start()
    stack.callback(heart.stop)
    return _Reached(grid, address)


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Raise `ConnectionError` where a SuperLink cannot be reached, or has ended the run."""
    import httpx
    from flwr.supercore.run import RunNotRunningException

    try:
        yield
    except (httpx.HTTPError, RunNotRunningException) as error:
        message = f"the SuperLink at {address} was lost ({type(error).__name__})"
        raise ConnectionError(f"{message}: the same command goes on from there") from error


class _Reached:
    """A grid whose losses are one sentence."""

    def __init__(self, grid: Any, address: str) -> None:
        self._grid, self._address = grid, address

    def get_node_ids(self) -> list[int]:
        with _reached(self._address):
            return list(self._grid.get_node_ids())

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        with _reached(self._address):
            return list(self._grid.push_messages(messages))

    def pull_messages(self, names: Iterable[str]) -> list[Any]:
        with _reached(self._address):
            return list(self._grid.pull_messages(names))
