"""Runs: what was executed is what was planned, and a killed run ends where it would have ended."""

import itertools
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training import algorithms
from dpacct_training.accounts import Accounts
from dpacct_training.algorithms.averages import DPFedLS
from dpacct_training.cli.main import main
from dpacct_training.engines import InProcess
from dpacct_training.experiment import Prepared
from dpacct_training.folder import Folder
from dpacct_training.noise import Noise
from dpacct_training.run import FinishedRun, Session
from tests.training.experiments import GIVEN_NOISE, replaced, small
from tests.training.laws import change_draws

TODAY = ["dp_fed", "dp_fed_ls", "dp_fedavg", "dp_fedavg_clients"]


def ended(prepared: Prepared, folder: Path) -> tuple[FinishedRun, list[Any]]:
    result = Session(prepared, folder).finish()
    with dp.Ledger(folder / "run.ledger", read_only=True) as ledger:
        return result, [record["label"] for record in ledger.intents]


def test_the_algorithms_are_there() -> None:
    assert {*TODAY, "fedavg"} <= set(algorithms.names())


@pytest.mark.parametrize(
    ("name", "scheme"), list(itertools.product(TODAY, ["poisson", "uniform", "none"]))
)
def test_what_ran_is_what_was_planned(name: str, scheme: str, tmp_path: Path) -> None:
    """Clips and draws, counted where they happen, against the plan's own arithmetic."""
    rate = 1 if scheme == "none" else 0.25
    prepared = replaced(
        "algorithm", {"name": name}, privacy__scheme=scheme, privacy__rate=rate, data__samples=200
    )
    result, labels = ended(prepared, tmp_path)
    size, sizes = prepared.setting.model.dimension, result.state.sizes
    taken = sum(sizes)
    topped = sum(n < prepared.plan.denominator for n in sizes)
    draws = taken + topped if name == "dp_fedavg_clients" else 6
    assert result.executed == {
        "rounds": 6,
        "update: rows clipped": taken,
        "update: noise vectors": draws,
        "update: noise numbers": draws * size,
    }
    assert result.planned == result.executed
    assert result.state.meters["update"].ratio == pytest.approx(1.0, abs=0.1)
    assert labels == [f"round {n}" for n in range(1, 7)]
    assert not [check for check in result.checks if str(check.status) == "violated"]
    assert result.spent is not None and float(result.spent) <= 8.0
    assert result.spent.tree is not None and prepared.plan.tree is not None
    assert result.spent.tree.equivalent(prepared.plan.tree)


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("factor", [0.1, 0.9])
def test_too_little_noise_is_refused_where_it_is_drawn(
    factor: float, in_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first release leaves, in memory and in sweeps as in a folder."""
    change_draws(monkeypatch, lambda drawn: factor * drawn)
    session = Session(small(data__side=28), tmp_path if in_folder else None)
    with pytest.raises(dp.AssumptionViolated, match="times the accounted variance"):
        session.finish()
    assert session.run.state.round == len(session.rows) == (0 if factor < 0.5 else 1)


def test_a_missing_draw_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = Noise.add, itertools.count(1)

    def forgetful(self: Noise, total: Any, *rest: Any) -> Any:
        return total if next(calls) == 3 else whole(self, total, *rest)

    monkeypatch.setattr(Noise, "add", forgetful)
    message = "update: noise vectors executed must be the plan's 6, got 5"
    with pytest.raises(dp.AssumptionViolated, match=message):
        Session(small()).finish()


def test_a_run_learns() -> None:
    private, free = (
        Session(
            replaced(
                "algorithm",
                {"name": name},
                privacy__clip=3.0,
                privacy__epsilon=30,
                privacy__rounds=20,
                data__noise=20.0,
                privacy__noise=noise,
            )
        ).finish()
        for name, noise in (("dp_fed", "exact"), ("fedavg", "none"))
    )
    assert free.test_accuracy > 0.85 and free.spent is None
    assert free.test_accuracy >= private.test_accuracy > 0.4  # chance is 0.25


def test_dp_fed_is_dp_fed_ls_without_smoothing() -> None:
    plain = Session(replaced("algorithm", {"name": "dp_fed"})).finish()
    smoothed = Session(replaced("algorithm", {"name": "dp_fed_ls", "smoothing": 0})).finish()
    assert np.array_equal(plain.weights, smoothed.weights)


def test_a_seed_replays_and_no_seed_does_not() -> None:
    first, again, other = (Session(small(run__seed=s)).finish() for s in (1, 1, 2))
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)
    fresh = [Session(replaced("run", {})).finish() for _ in range(2)]
    assert not np.array_equal(fresh[0].weights, fresh[1].weights)
    assert {r.key_source for r in fresh} == {"operating system"} and first.key_source == "seed"


def test_each_round_is_on_the_disk_before_its_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from the file, at the moment when the noise is asked for."""
    seen: list[list[str]] = []

    def noted(drawn: Any) -> Any:
        with dp.Ledger(tmp_path / "run.ledger", read_only=True) as ledger:
            seen.append([record["label"] for record in ledger.intents])
        return drawn

    change_draws(monkeypatch, noted)
    Session(small(), tmp_path).finish()
    assert seen == [[f"round {n}" for n in range(1, last + 1)] for last in range(1, 7)]


def test_each_round_is_saved_before_anyone_is_told(tmp_path: Path) -> None:
    """Another sum could follow from a repeated round: what is told must be on the disk."""
    session = Session(small(), tmp_path)
    saved: list[tuple[int, int]] = []

    def watch(row: dict[str, Any], rounds: int) -> None:
        state = Folder(tmp_path, session.prepared.fingerprint()).load()
        assert state is not None
        saved.append((row["round"], state.round))

    session.finish(watch)
    assert saved == [(n, n) for n in range(1, 7)]


# --- killed and continued


class Killed(BaseException):
    """Stands for a crash: nothing catches it."""


def crash(monkeypatch: pytest.MonkeyPatch, kind: type, method: str, nth: int, after: bool) -> None:
    """The nth call of a method does not come back; `after`: its effect is already there."""
    whole, calls = getattr(kind, method), itertools.count(1)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        last = next(calls) == nth
        if last and not after:
            raise Killed
        outcome = whole(*args, **kwargs)
        if last:
            raise Killed
        return outcome

    monkeypatch.setattr(kind, method, wrapped)


PLACES = [
    (dp.Ledger, "spend"),
    (InProcess, "ask"),
    (Noise, "add"),
    (DPFedLS, "server"),
    (Accounts, "release"),
    (Folder, "save"),
    (Folder, "measured"),
]


@pytest.mark.parametrize("seed", [1, None])
def test_killed_anywhere_it_ends_in_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int | None
) -> None:
    """Before and after each durable step, in every round, and twice in a row."""
    prepared = replaced("run", {} if seed is None else {"seed": seed})
    for number, ((kind, method), after) in enumerate(itertools.product(PLACES, [False, True])):
        folder, nth = tmp_path / str(number), 1 + number % 6
        begun = Session(prepared, folder)  # its key: drawn once, kept in the folder
        whole = tmp_path / f"{number} whole"
        whole.mkdir()
        (whole / "noise.key").write_bytes((folder / "noise.key").read_bytes())
        wanted = Session(prepared, whole).finish().weights
        assert begun.run.state.round == 0
        killed = 0
        for again in (nth, 1):
            with monkeypatch.context() as patch:
                crash(patch, kind, method, again, after)
                try:
                    Session(prepared, folder).finish()
                except Killed:
                    killed += 1
        where = (kind, method, nth, after)
        assert killed, where
        result, labels = ended(prepared, folder)
        assert result.weights.tobytes() == wanted.tobytes(), where
        assert labels == [f"round {n}" for n in range(1, 7)], where
        rows = Folder(folder).rows()
        assert [row["round"] for row in rows] == list(range(1, 7)), where
        assert result.executed == result.planned and result.executed["rounds"] == 6
        files = [(path / "checkpoint.safetensors").read_bytes() for path in (folder, whole)]
        assert files[0] == files[1], where
        assert not (folder / "noise.key").exists()


KILLED = """
import os, signal, sys
from dpacct_training.cli.main import main
from dpacct_training.folder import Folder

whole = Folder.save

def save(folder, state):
    if state.round == 5:  # its noise is drawn, and nothing of it is on the disk but the ledger's line
        os.kill(os.getpid(), signal.SIGKILL)
    whole(folder, state)

Folder.save = save
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.usefixtures("bare_reports")
def test_killed_for_real(tmp_path: Path) -> None:
    """SIGKILL in the middle of a process; the same command then ends in the same bits."""
    toml = tmp_path / "small.toml"
    toml.write_text(GIVEN_NOISE.replace("rounds = 6", "rounds = 12"), encoding="utf-8")
    words = ["run", str(toml), "--quiet", "--out"]
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    child = subprocess.run([sys.executable, "-c", KILLED, *words, str(folder)], check=False)
    assert child.returncode == -signal.SIGKILL
    assert [row["round"] for row in Folder(folder).rows()] == [1, 2, 3, 4]
    assert main([*words, str(folder)]) == main([*words, str(whole)]) == 0
    files = [(path / "checkpoint.safetensors").read_bytes() for path in (folder, whole)]
    assert files[0] == files[1]
    with dp.Ledger(folder / "run.ledger", read_only=True) as ledger:
        assert len(ledger.intents) == 12
        assert float(ledger.spent()) <= 8.0


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one neither waits nor draws; and of two that begin at once the keys are the same."""
    prepared = replaced("run", {})
    early, late = Session(prepared, tmp_path), Session(prepared, tmp_path)
    assert early.run.keys == late.run.keys
    with Folder(tmp_path).held(), pytest.raises(dp.InvalidArgument, match="another process runs"):
        early.finish()
    assert not (tmp_path / "run.ledger").exists()
    first = early.finish().weights
    assert late.finish().weights.tobytes() == first.tobytes()  # over: nothing is drawn again


# --- what must not be continued


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, prepared: Prepared) -> None:
    with monkeypatch.context() as patch:
        crash(patch, InProcess, "ask", 3, after=False)
        with pytest.raises(Killed):
            Session(prepared, folder).finish()


@pytest.mark.parametrize(
    "changes",
    [{"data__noise": 41.0}, {"privacy__clip": 0.4}, {"local__epochs": 3}, {"run__seed": 2}],
    ids=str,
)
def test_other_sums_do_not_get_the_same_noise(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path, monkeypatch, small())
    with pytest.raises(dp.InvalidArgument, match="begun with other settings, data or libraries"):
        Session(small(**changes), tmp_path)
    changed = small(engine__name="pool", engine__hosts=2, run__evaluate_every=3)
    Session(changed, tmp_path)  # these change no bit


def test_a_lost_key_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = replaced("run", {})
    interrupted(tmp_path, monkeypatch, prepared)
    key = tmp_path / "noise.key"
    assert key.stat().st_mode & 0o077 == 0, "others can read the key"
    key.unlink()
    with pytest.raises(dp.InvalidArgument, match=r"the key of the run .* is gone"):
        Session(prepared, tmp_path)


def test_a_lost_checkpoint_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path, monkeypatch, small())
    (tmp_path / "checkpoint.safetensors").unlink()
    with pytest.raises(dp.InvalidArgument, match="a ledger and no checkpoint"):
        Session(small(), tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_a_damaged_checkpoint_ends_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    interrupted(tmp_path, monkeypatch, small())
    checkpoint = tmp_path / "checkpoint.safetensors"
    data = checkpoint.read_bytes()
    checkpoint.write_bytes(data[: int(share * len(data))])
    with pytest.raises(dp.InvalidArgument, match=r"the checkpoint .* is damaged"):
        Session(small(), tmp_path)


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_after_it(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    toml, folder = tmp_path / "small.toml", tmp_path / "out"
    toml.write_text(GIVEN_NOISE, encoding="utf-8")
    block = (
        "import resource, signal, sys; from dpacct_training.cli.main import main; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2600, 2600)); "
        f"sys.exit(main(['run', {str(toml)!r}, '--out', {str(folder)!r}, '--quiet']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "could not be written" in done.stderr
    assert done.stderr.count("\n") == 1
    prepared = small(privacy__noise=0.25)
    result, labels = ended(prepared, folder)
    assert labels == [f"round {n}" for n in range(1, 7)]
    assert result.weights.tobytes() == Session(prepared).finish().weights.tobytes()


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_valid_plan_is_taken(rounds: int, tmp_path: Path) -> None:
    """Two rounds of the shipped experiment's plan were refused by their own ledger once."""
    prepared = small(
        data__clients=200,
        data__samples=400,
        privacy__rate=0.05,
        privacy__epsilon=1,
        privacy__rounds=rounds,
        privacy__delta="clients^-1.1",
    )
    result, _ = ended(prepared, tmp_path)
    assert result.spent is not None and float(result.spent) <= 1.0


def test_a_plan_above_its_budget_draws_nothing(tmp_path: Path) -> None:
    prepared = small(privacy__noise=0.1)  # far too little for epsilon 8
    with pytest.raises(dp.BudgetExceeded):
        Session(prepared, tmp_path).finish()
    assert not (tmp_path / "run.ledger").exists()
