"""Flower for real: SuperLink and SuperNodes as processes on loopback, killed, cut off and resumed.

Minutes, so only with `pytest -m processes -o faulthandler_timeout=1800 tests/training/test_superlink.py`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from safetensors import safe_open
from safetensors.numpy import load_file

import dpacct as dp
from dpacct_training.engines.flower.launch import (
    Home,
    ended,
    free_port,
    listening,
    supernode,
)
from dpacct_training.engines.flower.launch import superlink as own_superlink
from dpacct_training.experiment import Experiment, prepare
from tests.training.experiments import TEXT
from tests.training.own_data import own_experiment

pytestmark = [pytest.mark.processes, pytest.mark.timeout(3600)]

SHARES = (
    TEXT.replace('"dp_fed_ls"', '"dp_fedavg_clients"').replace("rounds = 6", "rounds = 4")
    + '[engine]\nname = "flower"\nhosts = 2\ndeadline = 900\n'
)
IMPATIENT = SHARES.replace("deadline = 900", "deadline = 120")
"""For runs that have to wait for a deadline; in others a busy machine may take its time."""
PATIENCE = 1800.0


def write(folder: Path, text: str = SHARES) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def command(experiment: Path, out: Path, *words: str) -> list[str]:
    main = [sys.executable, "-m", "dpacct_training.cli", "run", str(experiment), "--out", str(out)]
    return [*main, *words]


def run(experiment: Path, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(experiment, out, *words), capture_output=True, text=True, timeout=PATIENCE
    )


def weights(out: Path) -> dict[str, bytes]:
    return {k: v.tobytes() for k, v in load_file(out / "checkpoint.safetensors").items()}


def beside(experiment: Path, folder: Path) -> dict[str, bytes]:
    """The same run in one process."""
    done = run(experiment, folder / "beside", "--engine", "in_process", "--quiet")
    assert done.returncode == 0, done.stderr
    return weights(folder / "beside")


def until(what: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def measured(out: Path) -> list[dict[str, Any]]:
    with suppress(FileNotFoundError):
        return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return []


def children(process: int) -> set[int]:
    """All processes below one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                text = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(text[1])
    below, grown = {process}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in below} - below
        below, grown = below | more, bool(more)
    return below - {process}


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("hosts", [1, 2, 7])
def test_the_same_bits_in_process_and_over_flower(hosts: int, tmp_path: Path) -> None:
    experiment = write(tmp_path, SHARES.replace("rounds = 4", "rounds = 2"))
    done = run(experiment, tmp_path / "out", "--quiet", "--set", f"engine.hosts={hosts}")
    assert done.returncode == 0, done.stderr
    assert weights(tmp_path / "out") == beside(experiment, tmp_path)
    assert "hosts on other machines" in (tmp_path / "out" / "report.md").read_text()


def test_killed_at_any_moment_and_resumed_to_the_same_model_and_ledger(tmp_path: Path) -> None:
    """kill -9 of the server while nothing, something and a round is under way; its processes go too."""
    experiment, out = write(tmp_path), tmp_path / "out"
    for kill in range(3):
        with subprocess.Popen(command(experiment, out), stderr=subprocess.DEVNULL) as server:
            rounds = len(measured(out))
            if kill:
                until(lambda rounds=rounds: len(measured(out)) > rounds)
                time.sleep(2.0 * kill)  # in the middle of the next
            else:
                until(lambda: (out / "run.ledger").exists())
                time.sleep(8.0)
            below = children(server.pid)
            server.send_signal(signal.SIGKILL)
        until(lambda below=below: not any(map(alive, below)))
    done = run(experiment, out)
    assert done.returncode == 0, done.stderr
    assert weights(out) == beside(experiment, tmp_path)
    with dp.Ledger(out / "run.ledger", read_only=True) as ledger:
        assert [line["label"] for line in ledger.intents] == [f"round {n}" for n in range(1, 5)]


# --- nodes and a SuperLink of one's own


@contextmanager
def superlink(folder: Path) -> Iterator[tuple[Home, str]]:
    with ExitStack() as stack:
        home = Home(folder / "home")
        yield home, own_superlink(home, stack, PATIENCE)


def node(home: Home, address: str, host: int, folder: Path) -> subprocess.Popen[bytes]:
    process: subprocess.Popen[bytes] = supernode(home, address, host, folder / f"node-{host}")
    return process


def killed(process: subprocess.Popen[bytes]) -> None:
    """With all that it started, at once."""
    for each in {process.pid, *children(process.pid)}:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    process.wait()


def test_a_supernode_killed_in_a_round_is_missing_and_comes_back(tmp_path: Path) -> None:
    text = IMPATIENT.replace("rounds = 4", "rounds = 5")
    experiment, out = write(tmp_path, text), tmp_path / "out"
    with superlink(tmp_path) as (home, address):
        nodes = [node(home, address, host, tmp_path) for host in (0, 1)]
        try:
            words = command(experiment, out, "--superlink", address)
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
                until(lambda: len(measured(out)) == 1)
                killed(nodes[1])
                until(lambda: len(measured(out)) == 2)
                nodes[1] = node(home, address, 1, tmp_path)
                said, _ = server.communicate(timeout=PATIENCE)
            assert server.returncode == 11 and "answers are missing" in said, said
        finally:
            for process in nodes:
                ended(process)
    rows = measured(out)
    assert len(rows) == 5 and 0 < rows[-1]["missing"] < sum(row["clients"] for row in rows)
    assert rows[-1]["clients"] > rows[1]["clients"] / 2
    document = json.loads((out / "report.json").read_text())
    assert "violated" not in {a["status"] for a in document["assumptions"]}
    assert rows[-1]["epsilon"] <= 8.0


def test_four_engines_give_one_digest(tmp_path: Path) -> None:
    """In process, a pool, SuperNodes, and Flower's simulation on the same ClientApp and ServerApp."""
    pytest.importorskip("ray")
    experiment = write(tmp_path, SHARES.replace("rounds = 4", "rounds = 2"))
    for engine in ("pool", "flower", "ray"):
        words = ["--engine", engine, "--set", "engine.hosts=2"]
        done = run(experiment, tmp_path / engine, *words)
        assert done.returncode == 0, done.stderr
        assert weights(tmp_path / engine) == beside(experiment, tmp_path)


def test_nodes_with_folders_that_the_others_cannot_read(tmp_path: Path) -> None:
    """Two SuperNodes, each with the files of its own clients only; the server has the test samples."""
    text = own_experiment(tmp_path, clients=16, hosts=2)
    experiment, out = (
        write(tmp_path, text + '[engine]\nname = "flower"\nhosts = 2\n'),
        tmp_path / "out",
    )
    with superlink(tmp_path) as (home, address):
        nodes = []
        for host in (0, 1):
            config = f'partition-id={host} data="{tmp_path / f"host-{host}"}" folder="{tmp_path / str(host)}"'
            words = ("--superlink", address, "--port", str(free_port()), "--node-config", config)
            nodes.append(home.start("flower-supernode", f"n-{host}", *words, "--insecure"))
        (tmp_path / "all").rename(tmp_path / "hidden")  # nobody has all of it
        (tmp_path / "all").mkdir()
        (tmp_path / "hidden" / "test.npz").rename(tmp_path / "all" / "test.npz")
        try:
            done = run(experiment, out, "--superlink", address)
            assert done.returncode == 0, done.stderr
        finally:
            for process in nodes:
                ended(process)
    (tmp_path / "all" / "test.npz").rename(tmp_path / "hidden" / "test.npz")
    (tmp_path / "all").rmdir()
    (tmp_path / "hidden").rename(tmp_path / "all")
    assert weights(out) == beside(experiment, tmp_path)


# --- `flwr run` of what `dpacct-train flower init` wrote


def flwr_run(
    folder: Path, text: str, deadline: int, more: str = ""
) -> tuple[Path, dict[str, str], dict[str, Any]]:
    """(the run's folder, each log, the checkpoint's metadata) of an app on two SuperNodes.

    `more`: what is written at the end of its client.py, by which a node may be made to fail.
    """
    app = folder / "app"
    words = ["flower", "init", str(write(folder, text)), "--out", str(app), "--hosts", "2"]
    main = [sys.executable, "-m", "dpacct_training.cli", *words, "--deadline", str(deadline)]
    subprocess.run(main, check=True, capture_output=True)
    with (app / "client.py").open("a") as file:
        file.write(more)
    home, port = Home(folder / "home"), free_port()
    address = f"127.0.0.1:{port}"
    words = ["--insecure", "--disable-runtime-dependency-installation", "--host", "127.0.0.1"]
    processes = [home.start("flower-superlink", "superlink", *words, "--port", str(port))]
    try:
        listening(address, PATIENCE)
        processes += [node(home, address, host, folder) for host in (0, 1)]
        home.connection(address, None)
        flwr = [str(home.commands / "flwr"), "run", ".", "dpacct"]
        done = subprocess.run(flwr, cwd=app, env=home.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        until(lambda: (app / "run" / "report.json").exists())
    finally:
        for process in reversed(processes):
            ended(process)
    with safe_open(app / "run" / "checkpoint.safetensors", framework="numpy") as file:
        about = json.loads(file.metadata()["about"])
    return app / "run", {log.stem: log.read_text() for log in home.path.glob("*.log")}, about


def test_flwr_run_of_an_app_is_the_run_in_process(tmp_path: Path) -> None:
    text = SHARES.replace("rounds = 4", "rounds = 2")
    out, _, about = flwr_run(tmp_path, text, 900)
    assert weights(out) == beside(tmp_path / "experiment.toml", tmp_path)
    assert not about["missing"]


FAILING = """
import signal
import time
from dataclasses import replace

from dpacct_training.site import Host

answer = Host.answer


def failing(self, task):
    round = task.round * (task.clients[0] % 2)  # the second node's
    if round == 2:
        raise ValueError("the data were 3, 1, 4")
    if round == 3:
        time.sleep(3600.0)  # until the node's own limit ends it
    if round == 4:
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # a node without a limit
        time.sleep(DEADLINE + 5.0)
    reply = answer(self, task)
    if round in (5, 6):
        wrong = reply.rows["update"] * float("nan") if round == 5 else reply.rows["update"][:, 1:]
        return replace(reply, rows={"update": wrong})
    return reply


Host.answer = failing
"""


def test_supernodes_that_raise_hang_come_late_or_answer_wrongly_are_missing(tmp_path: Path) -> None:
    """Each in a round of its own; in the next one they are there again."""
    text, deadline = SHARES.replace("rounds = 4", "rounds = 7"), 120
    out, logs, about = flwr_run(tmp_path, text, deadline, f"DEADLINE = {deadline}\n{FAILING}")
    prepared = prepare(Experiment.from_text(text, "small"))
    samples = [prepared.plan.sample(n, prepared.keys()) % 2 for n in range(1, 8)]
    odd = [int(sample.sum()) for sample in samples]
    assert all(odd)
    reasons = {"failed": odd[1], "no answer": odd[2] + odd[3], "wrong rows": odd[4] + odd[5]}
    assert about["missing"] == reasons
    missing = [0, *odd[1:6], 0]
    assert about["sizes"] == [len(s) - n for s, n in zip(samples, missing, strict=True)]
    assert about["meters"]["update"]["vectors"] >= sum(about["sizes"])  # and the server's
    document = json.loads((out / "report.json").read_text())
    assert "violated" not in {a["status"] for a in document["assumptions"]}
    assert document["guarantee_holds"] and document["epsilon"]["upper"] <= 8.0
    assert "3, 1, 4" in logs["node-1"] and "no answer within" in logs["node-1"]
    assert "3, 1, 4" not in logs["superlink"]
    assert not any(b"3, 1, 4" in path.read_bytes() for path in out.rglob("*") if path.is_file())


# --- TLS, nodes that are known by their keys, and a secret


def certificates(folder: Path) -> dict[str, str]:
    """A certificate authority, and a server's certificate for loopback."""

    def key() -> Any:
        return ec.generate_private_key(ec.SECP256R1())

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def signed(subject: str, public: Any, issuer: str, by: Any, authority: bool) -> bytes:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            issuer_name=named(issuer),
            subject_name=named(subject),
            public_key=public,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - timedelta(hours=1),
            not_valid_after=now + timedelta(hours=2),
        )
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        for extension in (
            x509.BasicConstraints(ca=authority, path_length=None),
            x509.SubjectAlternativeName(names),
        ):
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    root, server = key(), key()
    (folder / "ca.crt").write_bytes(signed("ca", root.public_key(), "ca", root, True))
    (folder / "server.pem").write_bytes(signed("127.0.0.1", server.public_key(), "ca", root, False))
    (folder / "server.key").write_bytes(
        server.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return {name: str(folder / name) for name in ("ca.crt", "server.pem", "server.key")}


def node_key(folder: Path, host: int) -> Path:
    """A key pair as Flower reads it."""
    private = ec.generate_private_key(ec.SECP384R1())
    path = folder / f"key-{host}"
    path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_suffix(".pub").write_bytes(public)
    return path


def test_tls_and_nodes_that_are_known(tmp_path: Path) -> None:
    experiment, out = write(tmp_path, SHARES.replace("rounds = 4", "rounds = 2")), tmp_path / "out"
    files, home, port = certificates(tmp_path), Home(tmp_path / "home"), free_port()
    address = f"127.0.0.1:{port}"
    link = home.start(
        "flower-superlink",
        "superlink",
        *("--disable-runtime-dependency-installation", "--enable-supernode-auth"),
        *("--ssl-ca-certfile", files["ca.crt"], "--ssl-certfile", files["server.pem"]),
        *("--ssl-keyfile", files["server.key"], "--host", "127.0.0.1", "--port", str(port)),
    )
    processes = [link]
    try:
        listening(address, PATIENCE)
        home.connection(address, files["ca.crt"])
        for host in (0, 1, 2):
            path = node_key(tmp_path, host)
            if host < 2:  # the third is not registered
                registered = subprocess.run(
                    [str(home.commands / "flwr"), "supernode", "register", f"{path}.pub", "dpacct"],
                    env=home.environment,
                    capture_output=True,
                    text=True,
                )
                assert registered.returncode == 0, registered.stdout + registered.stderr
            safe = ("--root-certificates", files["ca.crt"])
            identity = ("--auth-supernode-private-key", str(path))
            place = tmp_path / f"node-{host}"
            processes.append(supernode(home, address, host, place, *safe, *identity))
        until(lambda: processes[3].poll() is not None)  # who is not known is sent away
        more = ("--set", f"engine.root_certificates={files['ca.crt']}")
        there = ("--superlink", address, *more)
        done = run(experiment, out, *there)
        assert done.returncode == 0, done.stderr
    finally:
        for process in reversed(processes):
            ended(process)
    assert weights(out) == beside(experiment, tmp_path)
