"""A Flower app of an experiment: small files that `flwr run` and our own engine submit alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from dpacct import DpacctError
from dpacct_training.data.federate import SERVER
from dpacct_training.durable import write_text
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.node import Disk, HostNode, client_app
from dpacct_training.experiment import Experiment, prepare
from dpacct_training.site import Host

RESULT = "result.json"
_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0.0"
description = "Federated training whose noise is what dpacct accounts"
license = "Apache-2.0"
dependencies = []  # each machine has dpacct[training,flower] and its own data already

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "dpacct"

[tool.flwr.app.components]
serverapp = "server:app"
clientapp = "client:app"

[tool.flwr.app.config]
hosts = {hosts}  # SuperNodes; each is started with its partition-id, from 0
deadline = {deadline:.1f}  # seconds for a round's answers
out = {out}  # the run's folder, on the SuperLink's machine
"""
_APP = '''\
"""{says}"""

from pathlib import Path

from dpacct_training.engines.flower.app import {kind}_app

app = {kind}_app(Path(__file__).with_name("experiment.json"))
'''
_FILES = {
    "client": ("node", "What a SuperNode runs: its clients train as experiment.json says."),
    "server": ("server", "What the SuperLink runs: coins, ledger, noise and report."),
}


def write_app(folder: Path, experiment: Experiment, hosts: int, deadline: float, out: str) -> None:
    """The app of an experiment. Changes no file but its own four."""
    name = re.sub(r"[^a-z0-9-]+", "-", experiment.name.lower()).strip("-") or "experiment"
    project = _PROJECT.format(name=name, hosts=hosts, deadline=deadline, out=json.dumps(out))
    write_text(folder / "pyproject.toml", project)
    for file, (kind, says) in _FILES.items():
        write_text(folder / f"{file}.py", _APP.format(kind=kind, says=says))
    write_text(folder / "experiment.json", experiment.to_text())


def node_app(path: Path, base: Path | None = None) -> ClientApp:
    """A ClientApp of the experiment in a file, for the hosts that its pyproject.toml names.

    The node's number is its `partition-id`; its key, its clients' memories and what they have
    answered lie in the `folder` of its `--node-config`, by default below `base`. `data`: where its
    clients' own samples are.
    """

    def begin(context: Context) -> HostNode:
        config = context.node_config
        number, hosts = int(config["partition-id"]), int(context.run_config.get("hosts", 0))
        hosts = hosts or int(config["num-partitions"])
        data = str(config["data"]) if "data" in config else None
        prepared = prepare(Experiment.read(path), number, hosts, data)
        host = Host(prepared.algorithm, prepared.plan, prepared.setting.for_hosts())
        share = base or Path.home() / ".local" / "share" / "dpacct-train"
        folder = str(config.get("folder", share / prepared.plan.mark / str(number)))
        return HostNode(host, Disk(Path(folder)))

    return client_app(begin)


def server_app(
    path: Path,
    hosts: int = 0,
    deadline: float = 0.0,
    out: Path | None = None,
    watches: Sequence[Callable[..., None]] = (),
) -> ServerApp:
    """A ServerApp of the experiment in a file: `dpacct-train run` with Flower's own grid.

    `hosts`, `deadline`, `out`: in place of those of the app's pyproject.toml. `watches`: told each
    measurement. The outcome lies in the folder's result.json.
    """

    def main(grid: Grid, context: Context) -> None:
        from dpacct_training.cli.run import complete

        config = context.run_config
        count, patience = hosts or int(config["hosts"]), deadline or float(config["deadline"])
        folder = out or Path(str(config["out"]))
        try:
            prepared = prepare(Experiment.read(path), SERVER, count)
            engine, command = Flower(grid, count, patience), "flwr run ."
            result = complete(prepared, folder, True, command, engine=engine, watches=watches)
            outcome = {"code": result.code, "line": result.line, "values": result.values}
        except (DpacctError, OSError) as error:
            code = error.exit_code if isinstance(error, DpacctError) else 2
            outcome = {"code": code, "error": str(error)}
        write_text(folder / RESULT, json.dumps(outcome))

    app = ServerApp()
    app.main()(main)
    return app
