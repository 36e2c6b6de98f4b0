"""A Flower app of an experiment: three small files, which `flwr run` and our own engine submit alike."""

from __future__ import annotations

import re
from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from dpacct_training.durable import write_text
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.node import Disk, HostNode, client_app
from dpacct_training.experiment import Experiment, prepare
from dpacct_training.site import Host

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
out = "{out}"  # the run's folder, on the SuperLink's machine
"""
_CLIENT = '''\
"""What a SuperNode runs: its clients train, bound and hide as experiment.toml says."""

from pathlib import Path

from dpacct_training.engines.flower.app import node_app

app = node_app(Path(__file__).with_name("experiment.toml"))
'''
_SERVER = '''\
"""What the SuperLink runs: coins, ledger, noise, checkpoint and report of experiment.toml."""

from pathlib import Path

from dpacct_training.engines.flower.app import server_app

app = server_app(Path(__file__).with_name("experiment.toml"))
'''


def write_app(folder: Path, experiment: Experiment, hosts: int, deadline: float, out: str) -> None:
    """The app of an experiment. Changes no file but its own four."""
    name = re.sub(r"[^a-z0-9-]+", "-", experiment.name.lower()).strip("-") or "experiment"
    out = out.replace("\\", "\\\\").replace('"', '\\"')
    project = _PROJECT.format(name=name, hosts=hosts, deadline=deadline, out=out)
    write_text(folder / "pyproject.toml", project)
    write_text(folder / "client.py", _CLIENT)
    write_text(folder / "server.py", _SERVER)
    write_text(folder / "experiment.toml", experiment.to_toml())


def node_app(path: Path) -> ClientApp:
    """A ClientApp of the experiment in a file.

    The node's number is its `partition-id`; its key, its clients' memories and what they have
    answered lie in the `folder` of its `--node-config`, by default under ~/.local/share.
    """

    def begin(context: Context) -> HostNode:
        prepared = prepare(Experiment.read(path))
        host = Host(prepared.algorithm, prepared.plan, prepared.setting.for_hosts())
        number = str(context.node_config["partition-id"])
        share = Path.home() / ".local" / "share" / "dpacct-train" / prepared.plan.mark / number
        disk = Disk(Path(str(context.node_config.get("folder", share))))
        return HostNode(host, disk)

    return client_app(begin)


def server_app(path: Path) -> ServerApp:
    """A ServerApp of the experiment in a file: `dpacct-train run` with Flower's own grid."""

    def main(grid: Grid, context: Context) -> None:
        from dpacct_training.cli.run import complete

        config = context.run_config
        prepared = prepare(Experiment.read(path))
        engine = Flower(grid, int(config["hosts"]), float(config["deadline"]))
        complete(
            prepared, Path(str(config["out"])), quiet=True, command="flwr run .", engine=engine
        )

    app = ServerApp()
    app.main()(main)
    return app
