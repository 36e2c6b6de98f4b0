"""Reports of federated plan files: the numbers of `dpacct federated`, and what the algorithm promises."""

from pathlib import Path

import pytest

from tests.cli.runner import Run, run

SYNC = """
clients = 10
client_rate = 1
batch_size = 8
records = 80
local_steps = 20
rounds = 3
sigma = 2
delta = 1e-5
"""
CLIENTS = """
algorithm = "dp-fed"
clients = 900
client_rate = 0.05
rounds = 90
noise_multiplier = 1
delta = 1e-5
[assumptions]
randomness = "held"
[report]
name = "Model"
"""
UDP = """
algorithm = "udp-fl"
rounds = 5
delta = 1e-5
[[client]]
name = "hospital"
sigma = 3
[[client]]
name = "phone"
mechanism = "laplace"
b = 9
epsilon = 0.4
"""


def report(folder: Path, text: str, *words: str) -> Run:
    (folder / "f.toml").write_text(text, encoding="utf-8")
    return run("report", str(folder / "f.toml"), *words)


@pytest.mark.parametrize(
    ("text", "notion", "words"),
    [
        (SYNC, "strong", ("record", "replace-one", "the server and all other clients together")),
        (CLIENTS, "client", ("client", "add-remove", "everyone who sees the released models")),
    ],
)
def test_the_guarantee_is_that_of_federated(
    tmp_path: Path, text: str, notion: str, words: tuple[str, str, str]
) -> None:
    body = report(tmp_path, text, "--json").json
    settings = "\n".join(text.split("[assumptions]")[:1])
    (tmp_path / "f.toml").write_text(settings, encoding="utf-8")
    prove = ("--prove",) if notion == "strong" else ()
    said = run("federated", str(tmp_path / "f.toml"), "--json", *prove).json
    route = next(row for row in said["routes"] if row["notion"] == notion)
    assert body["epsilon"]["upper"] == route["epsilon"]["upper"]
    assert body["epsilon"]["strength"] == "proved"
    unit, adjacency, viewer = words
    assert (body["unit"], body["adjacency"]) == (unit, adjacency)
    assert f"against {viewer}" in body["statement"]
    assumed = {row["text"] for row in body["assumptions"]}
    assert {*said["assumptions"]} <= assumed


def test_what_the_file_says_for_a_report_is_read(tmp_path: Path) -> None:
    body = report(tmp_path, CLIENTS, "--json").json
    held = next(row for row in body["assumptions"] if row["name"] == "randomness")
    assert held["status"] == "held"
    assert run("federated", str(tmp_path / "f.toml"), "--quiet").code == 0


def test_a_report_states_one_guarantee(tmp_path: Path) -> None:
    refused = report(tmp_path, UDP)
    assert refused.code == 2 and "dpacct federated f.toml has them" in refused.stderr


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (SYNC.replace("sigma = 2\n", ""), (), "f.toml has no noise"),
        (SYNC.replace("sigma = 2", "epsilon = 2"), (), "in place of `epsilon`"),
        (SYNC.replace("delta = 1e-5", ""), (), "f.toml has no delta"),
        (SYNC, ("--adjacency", "add-remove"), "--adjacency must be replace-one"),
        (SYNC, ("--unit", "client"), "--unit must be record"),
        (SYNC + "[assumptions]\nrandom = 1\n", (), "random"),
        (SYNC.replace("clients", "client"), (), "client"),
    ],
)
def test_refusals(tmp_path: Path, text: str, words: tuple[str, ...], says: str) -> None:
    done = report(tmp_path, text, *words)
    assert done.code == 2 and says in done.stderr and done.stdout == ""


def test_other_commands_say_who_reads_it(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(SYNC, encoding="utf-8")
    refused = run("compose", str(tmp_path / "f.toml"))
    assert refused.code == 2 and "is a federated plan" in refused.stderr
    assert "{federated_fdp," in run("cite", str(tmp_path / "f.toml")).stdout


@pytest.mark.parametrize("algorithm", ["dp-fedavg", "dp-fedsam"])
@pytest.mark.parametrize("by", ["server", "clients"])
def test_whoever_adds_the_noise(tmp_path: Path, algorithm: str, by: str) -> None:
    """The statement is about the released models, also where single messages have a row."""
    one_round = f'rounds = 1\nnoise_by = "{by}"'
    text = CLIENTS.replace("dp-fed", algorithm).replace("rounds = 90", one_round)
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    output = run("report", str(path), "--json")
    assert output.code == 0
    assert "against everyone who sees the released models" in output.json["statement"]
    answer = run("federated", str(path), "--json")
    assert output.json["epsilon"]["upper"] == pytest.approx(answer.json["upper"], rel=1e-9)
