"""Data that live apart: hosts that read nothing but their own clients' files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training.data.federate import SERVER
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.node import Disk, HostNode, client_app
from dpacct_training.experiment import Experiment, Prepared, prepare
from dpacct_training.keys import Keys
from dpacct_training.run import Run
from dpacct_training.site import Host
from tests.training.laws import begun
from tests.training.loopback import Clock, LoopbackGrid
from tests.training.own_data import EACH, own_experiment

pytestmark = pytest.mark.usefixtures("flower_identity")


def node(experiment: Experiment, folder: Path, host: int, data: Path, disk: str = "") -> Any:
    """A node of two, whose data are in a folder of its own."""

    def begin(context: Any) -> HostNode:
        prepared = prepare(experiment, host, 2, str(data))
        parts = (prepared.algorithm, prepared.plan, prepared.setting.for_hosts())
        return HostNode(Host(*parts), Disk(folder / (disk or f"disk-{host}")))

    return client_app(begin)


def ended(prepared: Prepared, engine: Any) -> bytes:
    run = Run(prepared.algorithm, prepared.plan, prepared.setting, Keys.from_seed(1))
    run.finish(engine)
    return run.state.server["weights"].tobytes()


INSIDE = 'name = "prifedsync"\nsigma = 1.0\nsteps = 2'


@pytest.mark.parametrize("algorithm", ["", INSIDE])
def test_two_folders_train_what_one_does(algorithm: str, tmp_path: Path) -> None:
    """The server has no file but the test samples, and each node none of the other's."""
    text = own_experiment(tmp_path, algorithm=algorithm)
    if algorithm:
        text = text.replace("epsilon = 8\n", "")
    experiment = Experiment.from_text(text, "own")
    run, engine = begun(prepare(experiment), 1)
    run.finish(engine)
    whole = run.state.server["weights"].tobytes()
    for path in (tmp_path / "all").glob("client-*"):
        path.unlink()
    server = prepare(experiment, SERVER, 2)
    assert len(server.setting.federation.train) == 0 and len(server.setting.federation.test) == 16
    assert server.plan.mark == prepare(experiment, 1, 2, str(tmp_path / "host-1")).plan.mark
    held = prepare(experiment, 0, 2, str(tmp_path / "host-0")).setting.federation
    assert len(held.train) == 4 * EACH and [len(rows) for rows in held.clients] == [EACH, 0] * 4
    grid = LoopbackGrid(node(experiment, tmp_path, h, tmp_path / f"host-{h}") for h in (0, 1))
    assert ended(server, Flower(grid, 2, poll=60.0, clock=Clock())) == whole
    text = b"".join(str(message.content).encode() for message in grid.sent)
    assert b"client-0.npz" not in text


def test_a_function_gives_what_a_folder_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = own_experiment(tmp_path)
    (tmp_path / "mydata.py").write_text(
        "import numpy as np, pathlib\n"
        "def load(who):\n"
        "    name = 'test' if who == 'test' else f'client-{who}'\n"
        f"    held = np.load(pathlib.Path({str(tmp_path / 'all')!r}) / f'{{name}}.npz')\n"
        "    return held['x'], held['y']\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    by_folder = prepare(Experiment.from_text(text, "own")).setting.federation
    function = text.replace(str(tmp_path / "all"), "mydata:load")
    by_function = prepare(Experiment.from_text(function, "own")).setting.federation
    assert by_folder.fingerprint() == by_function.fingerprint()
    with pytest.raises(dp.InvalidArgument, match="path must name a function"):
        prepare(Experiment.from_text(function.replace(":load", ":lod"), "own"))


def spoilt(path: Path, what: str) -> None:
    x, y = np.zeros((EACH, 1, 4, 4), np.uint8), np.zeros(EACH, np.int64)
    match what:
        case "gone":
            path.unlink()
            return
        case "fewer":
            x, y = x[1:], y[1:]
        case "labels":
            y = y + 7
        case "shape":
            x = x[:, :, :3]
    np.savez(path, x=x, y=y)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("gone", "the data of 1 must be x and y in"),
        ("fewer", "client 1 must have the 10 samples that are declared, got 9"),
        ("labels", "labels of client 1 must be from 0 to 3, got 7 to 7"),
        ("shape", "samples of all clients must have one shape"),
    ],
)
def test_wrong_data_are_one_sentence_and_nothing_is_charged(
    what: str, says: str, tmp_path: Path
) -> None:
    experiment = Experiment.from_text(own_experiment(tmp_path), "own")
    host = tmp_path / "host-1"
    spoilt(host / "client-1.npz", what)
    with pytest.raises(dp.InvalidArgument, match=says):
        prepare(experiment, 1, 2, str(host))
    grid = LoopbackGrid(node(experiment, tmp_path, h, tmp_path / f"host-{h}") for h in (0, 1))
    with pytest.raises(ConnectionError, match="host 1 cannot take part, for its") as refused:
        Flower(grid, 2, poll=60.0, clock=Clock())
    assert "7" not in str(refused.value)  # what is wrong with the data stays in the node's log


def test_a_missing_folder_and_settings_that_do_not_apply(tmp_path: Path) -> None:
    text = own_experiment(tmp_path)
    with pytest.raises(dp.InvalidArgument, match="path must be a folder of client-0"):
        prepare(Experiment.from_text(text, "own"), 0, 2, str(tmp_path / "nowhere"))
    for old, new, says in (
        ("each = 10\n", "", "each must be given where data are each client's own"),
        ("each = 10", 'each = 10\npartition = "shards"', "partition must be left out where"),
        ('name = "own"', 'name = "synth"', "path must be left out unless name is own"),
    ):
        with pytest.raises(dp.InvalidArgument, match=says):
            prepare(Experiment.from_text(text.replace(old, new, 1), "own"))


def test_two_nodes_with_one_key_are_refused(tmp_path: Path) -> None:
    experiment = Experiment.from_text(own_experiment(tmp_path), "own")
    grid = LoopbackGrid(
        node(experiment, tmp_path, h, tmp_path / f"host-{h}", "copied") for h in (0, 1)
    )
    with pytest.raises(ConnectionError, match="hosts 0 and 1 have the same key"):
        Flower(grid, 2, poll=60.0, clock=Clock())
