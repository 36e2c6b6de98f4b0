"""Flower's engine and nodes with all faults of a network, in this process; the real one: test_superlink."""

import json
import runpy
import shutil
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Error, Message, RecordDict
from safetensors.numpy import load_file

import dpacct as dp
from dpacct_training.accounts import RUN
from dpacct_training.cli.main import main
from dpacct_training.engines.flower.app import server_app
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.launch import free_port
from dpacct_training.engines.flower.node import (
    BUDGET,
    OTHER_TASK,
    from_task,
    packed,
    to_task,
    unpacked,
)
from dpacct_training.experiment import Experiment, Prepared
from dpacct_training.keys import Keys
from dpacct_training.run import Run, Session
from dpacct_training.site import Host, Task
from tests.structure.project import ROOT
from tests.training.experiments import TEXT
from tests.training.laws import begun
from tests.training.loopback import Clock, Fault, LoopbackGrid, app_of, flower, relabelled
from tests.training.systems import MEMBERS, SYSTEMS, system

pytestmark = pytest.mark.usefixtures("flower_identity")

TRAVELLING = ["dp_fed_ls", "shares", "scaffold", "adaptive_clip", "prifedsync", "pate_fl"]
"""By who draws the noise, what clients keep, and what is sent."""


EXPERIMENTS = sorted((ROOT / "training" / "experiments").glob("*.toml"))


def weights(run: Run) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in run.state.server.items()}


def unseeded(prepared: Prepared, folder: Path | None = None) -> Run:
    return Run(prepared.algorithm, prepared.plan, prepared.setting, Keys.fresh(), folder)


@pytest.mark.parametrize("name", TRAVELLING)
def test_a_seeded_run_is_the_same_bits_on_flower(name: str, tmp_path: Path) -> None:
    prepared = system(name)
    beside, engine = begun(prepared)
    beside.finish(engine)
    for count in (1, 2, 7):
        there, _ = begun(prepared)
        there.finish(flower(prepared, tmp_path / str(count), count))
        assert weights(beside) == weights(there)
        assert there.state.counts(prepared.plan) == beside.state.counts(prepared.plan)


@pytest.mark.parametrize("name", sorted(set(SYSTEMS) - {"udp_fl"}))
def test_a_task_and_its_answer_survive_the_journey(name: str, tmp_path: Path) -> None:
    run, engine = begun(system(name))
    for task in run.tasks(engine, 1, [0, 1, 2]):
        back = to_task(from_task(task), lambda run, client, round: {})
        assert (back.digest, back.clients, back.keys) == (task.digest, task.clients, task.keys)
        assert {k: v.dtype for k, v in back.sent.items()} == {
            k: v.dtype for k, v in task.sent.items()
        }


@pytest.mark.parametrize("name", ["shares", "scaffold", "prifedsync"])
def test_without_a_seed_no_key_or_memory_travels(name: str, tmp_path: Path) -> None:
    prepared = system(name)
    run, engine = unseeded(prepared), flower(prepared, tmp_path, 2)
    run.finish(engine)
    tasks = [m for m in engine.grid.sent if m.metadata.message_type == "train"]
    assert tasks
    for message in tasks:
        arrays, words = unpacked(message.content)
        assert list(words["keys"]) == [b""]
        assert set(arrays) == set(run.algorithm.sent(run.state.server))
        carried = repr(dict(words)).encode() + b"".join(a.tobytes() for a in arrays.values())
        assert run.keys.secret not in carried and run.keys.secret.hex().encode() not in carried
    assert not run.state.memory


# --- a server that dies


class Killed(BaseException):
    """As kill -9: nothing after it runs."""


def _dying(run: Run, engine: Flower, step: str) -> None:
    """Let the run die at a step of the next round."""

    def die(*_: Any, **__: Any) -> Any:
        raise Killed

    if step == "before the charge":
        vars(run)["charges"] = die
    elif step == "charged":
        vars(engine)["ask"] = die
    elif step == "asked, not answered":
        engine.grid.pull_messages = die
    elif step == "half of the answers":
        ask = engine.ask

        def half(tasks: Any) -> Any:
            yield next(iter(ask(tasks)))
            raise Killed

        vars(engine)["ask"] = half
    elif step == "answered":
        vars(run)["_judge"] = die
    elif step == "released, not saved":
        assert run.folder is not None
        vars(run.folder)["save"] = die


STEPS = [
    "before the charge",
    "charged",
    "asked, not answered",
    "half of the answers",
    "answered",
    "released, not saved",
]


@pytest.mark.parametrize("name", ["shares", "scaffold", "prifedsync"])
def test_a_server_killed_at_any_step_goes_on_to_the_same_model_and_ledger(
    name: str, tmp_path: Path
) -> None:
    """Without a seed: nodes have keys of their own, and give the same answer again."""
    prepared = system(name)
    start = tmp_path / "start"
    run = unseeded(prepared, start / "run")
    with run.accounts:
        run.finish(flower(prepared, start / "nodes", 2), until=2)
    ended = []
    for number, step in enumerate(["never", *STEPS]):
        folder = tmp_path / str(number)
        shutil.copytree(start, folder)
        run, engine = unseeded(prepared, folder / "run"), flower(prepared, folder / "nodes", 2)
        if step != "never":
            with run.accounts, pytest.raises(Killed):
                _dying(run, engine, step)
                run.finish(engine)
            run, engine = unseeded(prepared, folder / "run"), flower(prepared, folder / "nodes", 2)
            assert run.state.round == 2
        with run.accounts:
            run.finish(engine)
            charged = {name: run.accounts.charged(name) for name in prepared.plan.accounts}
        ended.append((weights(run), charged, run.state.sizes))
        if RUN in prepared.plan.accounts:
            with dp.Ledger(folder / "run" / "run.ledger", read_only=True) as ledger:
                labels = [line["label"] for line in ledger.intents]
            assert labels == [f"round {n}" for n in (1, 2, 3, 4)]
    assert all(end == ended[0] for end in ended)


# --- nodes that fail


def silent(message: Message, honest: Any) -> Iterable[Message]:
    """A node that was killed, hangs, or is cut off."""
    return []


def raising(message: Message, honest: Any) -> Iterable[Message]:
    return [Message(Error(1, "the data were 3, 1, 4"), reply_to=message)]


def other_round(message: Message, honest: Any) -> Iterable[Message]:
    task = to_task(message.content, lambda run, client, round: {})
    earlier = Message(from_task(replace(task, round=task.round + 7)), 100, "train")
    return [Message(honest(earlier).content, reply_to=message)]


def _with_rows(change: Callable[[Any], Any]) -> Fault:
    def fault(message: Message, honest: Any) -> Iterable[Message]:
        rows, words = unpacked(honest(message).content)
        said = {k: v for k, v in words.items() if k != "names"}
        yield Message(
            packed({k: change(v) for k, v in rows.items() if k}, **said), reply_to=message
        )

    return fault


def _with_words(change: Callable[[dict[str, Any]], Any]) -> Fault:
    def fault(message: Message, honest: Any) -> Iterable[Message]:
        rows, words = unpacked(honest(message).content)
        said = {k: v for k, v in words.items() if k != "names"}
        change(said)
        yield Message(packed({k: v for k, v in rows.items() if k}, **said), reply_to=message)

    return fault


def _of_meter(**changes: Any) -> Fault:
    """What the node says that it has measured, changed."""

    def change(said: dict[str, Any]) -> None:
        meters = json.loads(said["meters"])
        meters["update"] |= {k: v * meters["update"][k] for k, v in changes.items()}
        said["meters"] = json.dumps(meters if changes else {})

    return _with_words(change)


def _nan(rows: Any) -> Any:
    return rows * np.nan


FAULTS: dict[str, tuple[Fault, str]] = {
    "killed, hanging or cut off": (silent, "no answer"),
    "raises": (raising, "no answer"),
    "another round's answer": (other_round, "another task's answer"),
    "nan": (_with_rows(_nan), "wrong rows"),
    "wrong shape": (_with_rows(lambda rows: rows[:, :-1]), "wrong rows"),
    "one row less": (_with_rows(lambda rows: rows[:-1]), "wrong rows"),
    "integers": (_with_rows(lambda rows: rows.astype(np.int64)), "wrong rows"),
    "of other clients": (
        _with_words(lambda said: said.update(clients=[c + 1 for c in said["clients"]])),
        "another task's answer",
    ),
    "no words": (
        lambda message, honest: [Message(packed({}), reply_to=message)],
        "not readable",
    ),
    "a meter of less noise": (_of_meter(squares=0.5), "noise that is not the accounted one"),
    "a meter of no noise": (
        _of_meter(vectors=0, numbers=0, squares=0.0),
        "other counts than the plan's",
    ),
    "no meter": (_of_meter(), "other counts than the plan's"),
    "a meter of no numbers": (
        _with_words(lambda said: said.update(meters='{"update": {"bounded": "x"}}')),
        "not readable",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_of_a_node_that_fails_no_answer_is_taken(fault: str, tmp_path: Path) -> None:
    """Its clients are missing; the server draws their shares; what is told is what holds."""
    prepared = system("shares", privacy__rate=0.5)
    run, engine = unseeded(prepared), flower(prepared, tmp_path, 2)
    fails, why = FAULTS[fault]
    engine.grid.faults[101] = fails
    run.step(engine, 1)
    sample = run.plan.sample(1, run.keys).tolist()
    odd = [client for client in sample if client % 2]
    assert run.state.missing == {why: len(odd)}
    assert run.state.sizes == (len(sample) - len(odd),)
    meter = run.state.meters["update"]
    assert meter.vectors == run.state.sizes[0] + 1  # and the server's, for the missing shares
    run.check()
    assert run.spent()[RUN].value > 0


def test_what_a_client_raises_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepared = system("shares", privacy__rate=0.5)
    run, engine = unseeded(prepared), flower(prepared, tmp_path, 2)
    answer = Host.answer

    def fails(self: Host, task: Task) -> Any:
        if task.clients[0] % 2:
            raise ValueError("the data were 3, 1, 4")
        return answer(self, task)

    monkeypatch.setattr(Host, "answer", fails)
    run.step(engine, 1)
    assert set(run.state.missing) == {"failed"}
    assert "3, 1, 4" in caplog.text and "3, 1, 4" not in repr(run.state)


def test_an_answer_counts_once(tmp_path: Path) -> None:
    prepared = system("shares")
    once, twice = (begun(prepared)[0] for _ in range(2))
    once.step(flower(prepared, tmp_path / "a", 2), 1)
    engine = flower(prepared, tmp_path / "b", 2)
    for node in (100, 101):
        engine.grid.faults[node] = lambda message, honest: [honest(message), honest(message)]
    twice.step(engine, 1)
    assert weights(once) == weights(twice)
    assert once.state.sizes == twice.state.sizes


def test_another_node_cannot_answer(tmp_path: Path) -> None:
    prepared = system("shares")
    run, engine = begun(prepared)[0], flower(prepared, tmp_path, 2)
    pulled = engine.grid.pull_messages

    def from_elsewhere(names: Any) -> Any:
        for answer in pulled(names):
            yield relabelled(answer, src_node_id=100)

    engine.grid.pull_messages = from_elsewhere
    run.step(engine, 1)
    odd = [client for client in run.plan.sample(1, run.keys).tolist() if client % 2]
    assert run.state.missing == {"no answer": len(odd)}


def test_late_answers_are_missing_for_good(tmp_path: Path) -> None:
    """What comes after the deadline is taken in no later round."""
    prepared = system("shares")
    run, engine = begun(prepared)[0], flower(prepared, tmp_path, 2)
    kept: list[Message] = []

    def late(message: Message, honest: Any) -> Iterable[Message]:
        out, kept[:] = list(kept), [honest(message)]
        return out

    engine.grid.faults[101] = late
    for round in (1, 2, 3):
        run.step(engine, round)
    samples = [run.plan.sample(round, run.keys).tolist() for round in (1, 2, 3)]
    assert run.state.sizes == tuple(sum(c % 2 == 0 for c in sample) for sample in samples)


def test_a_round_that_nobody_answers_ends_the_run_and_costs_once(tmp_path: Path) -> None:
    """No release of nothing: the same command goes on, and is not charged again."""
    prepared = system("shares")
    run, engine = unseeded(prepared, tmp_path / "run"), flower(prepared, tmp_path, 2)
    engine.grid.faults = dict.fromkeys((100, 101), silent)
    with run.accounts, pytest.raises(ConnectionError, match=r"no host answered round 1 within"):
        run.finish(engine)
    again = unseeded(prepared, tmp_path / "run")
    with again.accounts:
        again.finish(flower(prepared, tmp_path, 2))
        assert again.accounts.charged(RUN) == prepared.cohort.rounds


def test_an_empty_round_asks_nobody_and_releases_noise(tmp_path: Path) -> None:
    prepared = system("dp_fedavg", privacy__rate=0.001, privacy__noise=0.1)
    run, engine = begun(prepared)[0], flower(prepared, tmp_path, 2)
    beside, other = begun(prepared)
    empty = 0
    for round in range(1, 5):
        released, same = run.step(engine, round)["update"], beside.step(other, round)["update"]
        assert np.array_equal(released, same) and np.count_nonzero(released) == released.size
        empty += run.state.sizes[-1] == 0
    assert empty


def test_a_host_that_never_comes_is_awaited_until_the_deadline(tmp_path: Path) -> None:
    grid = LoopbackGrid([app_of(system("shares"), tmp_path)])
    with pytest.raises(ConnectionError, match=r"2 hosts were awaited .* those that came are \[0\]"):
        Flower(grid, 2, clock=Clock())


def test_a_node_that_dies_is_replaced(tmp_path: Path) -> None:
    """A new node of the same host, with the old one's disk: the same bits as without the fault."""
    prepared = system("scaffold")
    beside, other = begun(prepared)
    beside.finish(other)
    run, engine = begun(prepared)[0], flower(prepared, tmp_path, 2)
    run.step(engine, 1)
    del engine.grid.apps[101]
    engine.grid.apps[777] = app_of(prepared, tmp_path / "1")
    engine.grid.number[777] = 1
    run.finish(engine)
    assert weights(run) == weights(beside) and not run.state.missing


def test_nobody_takes_a_living_hosts_place(tmp_path: Path) -> None:
    prepared = system("shares")
    run, engine = begun(prepared)[0], flower(prepared, tmp_path, 2)
    engine.grid.apps[50] = app_of(prepared, tmp_path / "thief")
    engine.grid.number[50] = 1
    run.step(engine, 1)
    asked = {m.metadata.dst_node_id for m in engine.grid.sent if m.metadata.message_type == "train"}
    assert asked == {100, 101}


# --- what a node refuses, whoever asks


def _refusals(engine: Flower, tasks: list[Task]) -> list[str]:
    replies = []
    with pytest.raises(ConnectionError):
        for reply in engine.ask(tasks):
            replies.append(reply.refused)
    return replies


def test_a_node_answers_one_question_a_round(tmp_path: Path) -> None:
    """The same one gets the same answer; another would put one noise over two sums."""
    prepared = system("shares")
    run, engine = unseeded(prepared), flower(prepared, tmp_path)
    (task,) = run.tasks(engine, 1, [0, 1])
    (first,), (again,) = list(engine.ask([task])), list(engine.ask([task]))
    assert not first.refused and np.array_equal(first.rows["update"], again.rows["update"])
    other = replace(task, sent={"weights": task.sent["weights"] + 1e-9})
    assert _refusals(engine, [other]) == [OTHER_TASK]
    restarted = flower(prepared, tmp_path)
    assert _refusals(restarted, [other]) == [OTHER_TASK]
    (renamed,) = engine.ask([replace(other, run="another")])  # a run of its own, with its own noise
    noise = renamed.rows["update"] - first.rows["update"]
    scale = (2 * prepared.plan.noise["update"].variance / float(prepared.plan.denominator)) ** 0.5
    assert 0.8 < noise.std() / scale < 1.2


def test_a_node_stops_at_its_clients_own_budget_in_whatever_run(tmp_path: Path) -> None:
    prepared = system("udp_fl", privacy__rounds=6, clients=MEMBERS[:1])
    run, engine = unseeded(prepared), flower(prepared, tmp_path)
    may = prepared.plan.accounts["client 0"].times
    assert 1 < may < 6
    (task,) = run.tasks(engine, 1, [0])
    asked = [replace(task, round=r, run=name) for name in ("a", "b") for r in range(1, 4)]
    for question in asked[:may]:
        assert [reply.refused for reply in engine.ask([question])] == [""]
    for question in asked[may:]:
        assert _refusals(engine, [question]) == [BUDGET]
    assert [reply.refused for reply in engine.ask([asked[0]])] == [""]  # was paid already


def test_a_question_that_is_refused_is_charged_to_nobody(tmp_path: Path) -> None:
    """A client whose budget is over must not use up the budgets of those asked together with it."""
    generous, strict = {**MEMBERS[0], "epsilon": 8.0}, MEMBERS[0]
    prepared = system("udp_fl", privacy__rounds=6, clients=[generous, strict])
    run, engine = unseeded(prepared), flower(prepared, tmp_path)
    alone, over = (prepared.plan.accounts[f"client {c}"].times for c in (0, 1))
    assert over < alone == 6
    (both,) = run.tasks(engine, 1, [0, 1])
    (single,) = run.tasks(engine, 1, [0])
    asked = [replace(both, round=r, run="a") for r in range(1, 7)]
    for question in asked[:over]:
        assert [reply.refused for reply in engine.ask([question])] == [""]
    for question in asked[over:]:
        assert _refusals(engine, [question]) == [BUDGET]
    for round in range(1, alone - over + 1):
        question = replace(single, round=round, run="b")
        assert [reply.refused for reply in engine.ask([question])] == [""]
    assert _refusals(engine, [replace(single, round=6, run="b")]) == [BUDGET]


def test_a_node_of_another_plan_is_refused(tmp_path: Path) -> None:
    prepared, other = system("shares"), system("shares", privacy__epsilon=8.0)
    run, engine = unseeded(prepared), flower(other, tmp_path)
    assert _refusals(engine, run.tasks(engine, 1, [0])) == ["another plan"]


def test_clients_elsewhere_tell_no_unprotected_accuracy(tmp_path: Path) -> None:
    run, engine = unseeded(system("prifedsync")), flower(system("prifedsync"), tmp_path)
    run.finish(engine)
    asked = len(engine.grid.sent)
    assert run.personal(engine) is None and len(engine.grid.sent) == asked


def test_the_report_names_what_hosts_elsewhere_are_believed(tmp_path: Path) -> None:
    from dpacct_training.report import report

    prepared = system("shares")
    result = Session(prepared, tmp_path / "run", engine=flower(prepared, tmp_path, 2)).finish()
    document = report(prepared, result)
    assert document is not None
    text = document.document().to_markdown()
    assert "hosts on other machines drew the noise that they say they measured" in text


# --- apps


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_an_experiment_is_the_same_after_its_journey(path: Path) -> None:
    read = Experiment.read(path).changed({"data.name": 'a "b" \\ c', "run.seed": 3})
    # of one run: what is claimed of several stays behind
    run = Experiment(read.name, read.sections, read.clients, read.source, read.note, read.reduced)
    assert Experiment.from_text(read.to_text(), "other") == run


def test_an_app_for_flwr_run_is_the_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    out = tmp_path / "app"
    words = ["flower", "init", str(tmp_path / "small.toml"), "--out", str(out), "--hosts", "3"]
    assert main([*words, "--set", "privacy.rounds=2"]) == 0
    assert capsys.readouterr().out.startswith(f"flwr run {out}")
    project = tomllib.loads((out / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert project["config"]["hosts"] == 3
    read = Experiment.read(out / "experiment.json")
    assert read.sections["privacy"]["rounds"] == 2
    for name, kind in project["components"].items():
        module, _, attribute = kind.partition(":")
        values = runpy.run_path(str(out / f"{module}.py"))
        assert type(values[attribute]).__name__.lower() == name
    assert main(words) == 2
    assert "out must be a new or an empty folder" in capsys.readouterr().err


@pytest.mark.usefixtures("bare_reports")
def test_a_flower_app_runs_to_its_report(tmp_path: Path) -> None:
    """What its ServerApp does, with a grid of this process."""
    prepared = system("dp_fed_ls", engine__name="flower", engine__hosts=2)
    grid = LoopbackGrid(app_of(prepared, tmp_path / str(host)) for host in (0, 1))
    (tmp_path / "experiment.json").write_text(prepared.experiment.to_text())
    out = str(tmp_path / "run")
    config = {"hosts": 2, "deadline": 60.0, "out": out}
    context = Context(1, 1, {}, RecordDict(), config)
    server_app(tmp_path / "experiment.json")(grid, context)
    result = json.loads((Path(out) / "result.json").read_text())
    assert result["code"] == 0
    assert 3.99 < result["values"]["epsilon"]["upper"] <= 4
    assert result["values"]["missing"] == {}
    beside, engine = begun(prepared)
    beside.finish(engine)
    saved = load_file(Path(out) / "checkpoint.safetensors")
    assert saved["server/weights"].tobytes() == weights(beside)["weights"]
    assert (Path(out) / "report.html").exists() and len(grid.sent) > 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["engine.name=flower", "engine.superlink=somewhere"], "superlink must be HOST:PORT"),
        (["engine.name=flower", "engine.superlink=far.example:8000"], "root_certificates must be"),
        (["engine.superlink=127.0.0.1:8000"], "superlink must be left out unless the engine is"),
        (["engine.name=flowers"], "did you mean 'flower'"),
        (["engine.deadline=0"], "deadline must be a finite number above 0"),
    ],
)
def test_a_wrong_engine_is_refused_in_a_sentence(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    changes = [word for text in words for word in ("--set", text)]
    assert main(["run", str(tmp_path / "small.toml"), "--out", str(tmp_path), *changes]) == 2
    assert says in capsys.readouterr().err


def test_a_superlink_that_is_not_there_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    words = ["--superlink", f"127.0.0.1:{free_port()}", "--set", "engine.deadline=0.01"]
    out = str(tmp_path / "out")
    assert main(["run", str(tmp_path / "small.toml"), "--out", out, *words]) == 2
    assert "no SuperLink answers at 127.0.0.1" in capsys.readouterr().err
