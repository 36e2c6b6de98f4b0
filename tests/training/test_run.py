"""Runs: what was executed is what was planned, and a killed run ends where it would have ended."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training import aggregate, algorithms
from dpacct_training.aggregate import Release, Turn, Updates
from dpacct_training.algorithms.dp_fed_ls import DPFedLS
from dpacct_training.engines.in_process import InProcess
from dpacct_training.folder import Folder
from dpacct_training.plan import Plan
from dpacct_training.prepare import Prepared
from dpacct_training.run import Result, Run
from tests.training.experiments import TEXT, replaced, small

PRIVATE = [name for name in algorithms.names() if name != "fedavg"]


def ended(prepared: Prepared, folder: Path) -> tuple[Result, list[Any]]:
    result = Run(prepared, folder).finish()
    with dp.Ledger(folder / "ledger.jsonl", read_only=True) as ledger:
        return result, [record["label"] for record in ledger.intents]


@pytest.mark.parametrize(
    ("name", "scheme"), list(itertools.product(PRIVATE, ["poisson", "uniform", "none"]))
)
def test_what_ran_is_what_was_planned(name: str, scheme: str, tmp_path: Path) -> None:
    """Coins, clips and draws, counted where they happen, against the plan's own arithmetic."""
    rate = 1 if scheme == "none" else 0.25
    prepared = replaced(
        "algorithm", {"name": name}, privacy__scheme=scheme, privacy__rate=rate, data__samples=200
    )
    result, labels = ended(prepared, tmp_path)
    executed, size = result.executed, prepared.model.dimension
    taken = sum(executed.sizes)
    assert executed.rounds == len(executed.sizes) == 6
    assert executed.coins == (6 * 40 if scheme == "poisson" else 0)
    assert executed.clips == taken
    draws = taken if name == "dp_fedavg_clients" else 6
    assert (executed.noise_vectors, executed.noise_numbers) == (draws, draws * size)
    assert labels == [f"round {n}" for n in range(1, 7)]
    assert not [check for check in result.checks if str(check.status) == "violated"]
    assert result.spent is not None and float(result.spent) <= 8.0
    assert result.spent.tree is not None and prepared.plan.tree is not None
    assert result.spent.tree.equivalent(prepared.plan.tree)


class HalfTheNoise(DPFedLS):
    """Draws with half the standard deviation that is accounted."""

    def aggregate(self, updates: Updates, turn: Turn, plan: Plan) -> Release:
        from dataclasses import replace

        return super().aggregate(
            updates, turn, replace(plan, noise_multiplier=plan.noise_multiplier / 2)
        )


class NoNoiseInRound3(DPFedLS):
    def aggregate(self, updates: Updates, turn: Turn, plan: Plan) -> Release:
        from dataclasses import replace

        quiet = replace(plan, noise_multiplier=0.0) if turn.round == 3 else plan
        return super().aggregate(updates, turn, quiet)


def sabotaged(prepared: Prepared, kind: type[DPFedLS]) -> Prepared:
    from dataclasses import replace

    return replace(prepared, algorithm=kind(prepared.algorithm.local, 1.0))


def test_too_little_noise_is_seen(tmp_path: Path) -> None:
    result, _ = ended(sabotaged(small(), HalfTheNoise), tmp_path)
    violated = [c.text for c in result.checks if str(c.status) == "violated"]
    assert violated == ["the noise was at least the accounted one"]


def test_a_missing_draw_is_seen(tmp_path: Path) -> None:
    with pytest.raises(
        dp.AssumptionViolated, match="noise_vectors executed must be the plan's 6, got 5"
    ):
        Run(sabotaged(small(), NoNoiseInRound3), tmp_path).finish()


def test_a_run_learns() -> None:
    private, free = (
        Run(
            replaced(
                "algorithm", {"name": name}, privacy__clip=3.0, privacy__rounds=20, data__noise=20.0
            )
        ).finish()
        for name in ("dp_fed", "fedavg")
    )
    assert free.test_accuracy > 0.85 and free.spent is None
    assert free.test_accuracy >= private.test_accuracy > 0.4  # chance is 0.25


def test_dp_fed_is_dp_fed_ls_without_smoothing() -> None:
    plain = Run(replaced("algorithm", {"name": "dp_fed"})).finish()
    smoothed = Run(replaced("algorithm", {"name": "dp_fed_ls", "smoothing": 0})).finish()
    assert np.array_equal(plain.weights, smoothed.weights)


def test_smoothing_s_two_methods_end_alike() -> None:
    ends = [
        Run(replaced("algorithm", {"name": "dp_fed_ls", "smoothing_method": method}))
        .finish()
        .weights
        for method in ("fft", "recursive")
    ]
    np.testing.assert_allclose(*ends, atol=1e-6)


def test_a_seed_replays_and_no_seed_does_not() -> None:
    first, again, other = (Run(small(run__seed=s)).finish() for s in (1, 1, 2))
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)
    fresh = [Run(replaced("run", {})).finish() for _ in range(2)]
    assert not np.array_equal(fresh[0].weights, fresh[1].weights)
    assert {r.key_source for r in fresh} == {"operating system"} and first.key_source == "seed"


def test_each_round_is_on_the_disk_before_its_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from the file, at the moment when the noise is asked for."""
    seen: list[list[str]] = []
    drawn = aggregate.noise

    def noise(plan: Plan, turn: Turn, size: int) -> Any:
        written = (tmp_path / "ledger.jsonl").read_text(encoding="utf-8")
        seen.append([f"round {n}" for n in range(1, 7) if f'"round {n}"' in written])
        return drawn(plan, turn, size)

    monkeypatch.setattr(aggregate, "noise", noise)
    Run(small(), tmp_path).finish()
    assert seen == [[f"round {n}" for n in range(1, last + 1)] for last in range(1, 7)]


# --- killed and continued


class Killed(BaseException):
    """Stands for a crash: nothing catches it."""


def crash(monkeypatch: pytest.MonkeyPatch, thing: type, method: str, nth: int, after: bool) -> None:
    """The nth call of a method does not come back; `after`: its effect is already there."""
    whole, calls = getattr(thing, method), itertools.count(1)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        last = next(calls) == nth
        if last and not after:
            raise Killed
        found = whole(*args, **kwargs)
        if last:
            raise Killed
        return found

    monkeypatch.setattr(thing, method, wrapped)


PLACES = [
    (dp.Ledger, "spend"),
    (InProcess, "train"),
    (DPFedLS, "aggregate"),
    (DPFedLS, "server_step"),
    (Folder, "save"),
    (Folder, "measured"),
]


@pytest.mark.parametrize(("every", "seed"), [(1, 1), (4, 1), (1, None)])
def test_killed_anywhere_it_ends_in_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, seed: int | None
) -> None:
    """Before and after each durable step, in every round, and twice in a row."""
    run = {"checkpoint_every": every} | ({} if seed is None else {"seed": seed})
    prepared = replaced("run", run)
    for number, ((thing, method), after) in enumerate(itertools.product(PLACES, [False, True])):
        folder, nth = tmp_path / str(number), 1 + number % (6 if every == 1 else 2)
        begun = Run(prepared, folder)  # its key: drawn once, kept in the folder
        reference = Run(prepared)
        reference.keys, reference.state = begun.keys, begun.state
        wanted = reference.finish().weights
        killed = 0
        for again in (nth, 1):
            with monkeypatch.context() as patch:
                crash(patch, thing, method, again, after)
                try:
                    Run(prepared, folder).finish()
                except Killed:
                    killed += 1
        where = (thing, method, nth, after)
        assert killed, where
        result, labels = ended(prepared, folder)
        assert result.weights.tobytes() == wanted.tobytes(), where
        assert labels == [f"round {n}" for n in range(1, 7)], where
        assert [row["round"] for row in Folder(folder).rows()] == list(range(1, 7)), where
        assert result.executed.rounds == 6
        assert not (folder / "noise.key").exists()


def test_killed_for_real(tmp_path: Path) -> None:
    """SIGKILL in the middle of a process; the same command then ends in the same bits."""
    toml = tmp_path / "small.toml"
    toml.write_text(TEXT.replace("rounds = 6", "rounds = 60"), encoding="utf-8")
    words = [sys.executable, "-m", "dpacct_training.cli", "run", str(toml), "--quiet"]
    folder = tmp_path / "killed"
    child = subprocess.Popen([*words, "--out", str(folder)], stdout=subprocess.PIPE)
    metrics = folder / "metrics.jsonl"
    while not metrics.exists() or metrics.read_text().count("\n") < 5:
        assert child.poll() is None, "it ended before it could be killed"
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    done = Folder(folder).rows()[-1]["round"]
    assert done < 60
    subprocess.run([*words, "--out", str(folder)], check=True, capture_output=True)
    from dpacct_training.experiment import Experiment
    from dpacct_training.prepare import prepare

    wanted = Run(prepare(Experiment.read(toml))).finish()
    prepared = prepare(Experiment.read(toml))
    state = Folder(folder).load(prepared.fingerprint())
    assert state is not None and state.round == 60
    assert state.weights.tobytes() == wanted.weights.tobytes()
    with dp.Ledger(folder / "ledger.jsonl", read_only=True) as ledger:
        assert len(ledger.intents) == 60
        assert float(ledger.spent()) <= 8.0


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one neither waits nor draws; and of two that begin at once the keys are the same."""
    prepared = replaced("run", {})
    one, two = Run(prepared, tmp_path), Run(prepared, tmp_path)
    assert one.keys == two.keys
    with Folder(tmp_path).held(), pytest.raises(dp.InvalidArgument, match="another process runs"):
        one.finish()
    assert not (tmp_path / "ledger.jsonl").exists()
    first = one.finish().weights
    assert two.finish().weights.tobytes() == first.tobytes()  # over: nothing is drawn again


# --- what must not be continued


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, prepared: Prepared) -> None:
    with monkeypatch.context() as patch:
        crash(patch, InProcess, "train", 3, after=False)
        with pytest.raises(Killed):
            Run(prepared, folder).finish()


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
        Run(small(**changes), tmp_path)
    Run(small(run__processes=2, run__evaluate_every=3), tmp_path)  # these change no bit


def test_a_lost_key_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = replaced("run", {})
    interrupted(tmp_path, monkeypatch, prepared)
    key = tmp_path / "noise.key"
    assert key.stat().st_mode & 0o077 == 0, "others can read the key"
    key.unlink()
    with pytest.raises(dp.InvalidArgument, match=r"the key of the run .* is gone"):
        Run(prepared, tmp_path)


def test_a_lost_checkpoint_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path, monkeypatch, small())
    (tmp_path / "checkpoint.safetensors").unlink()
    with pytest.raises(dp.InvalidArgument, match="a ledger and no checkpoint"):
        Run(small(), tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_a_damaged_checkpoint_ends_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    interrupted(tmp_path, monkeypatch, small())
    checkpoint = tmp_path / "checkpoint.safetensors"
    data = checkpoint.read_bytes()
    checkpoint.write_bytes(data[: int(share * len(data))])
    with pytest.raises(dp.InvalidArgument, match=r"the checkpoint .* is damaged"):
        Run(small(), tmp_path)


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_after_it(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    toml, folder = tmp_path / "small.toml", tmp_path / "out"
    toml.write_text(TEXT, encoding="utf-8")
    block = (
        "import resource, signal, sys; from dpacct_training.cli.main import main; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2600, 2600)); "
        f"sys.exit(main(['run', {str(toml)!r}, '--out', {str(folder)!r}, '--quiet']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    result, labels = ended(small(), folder)
    assert labels == [f"round {n}" for n in range(1, 7)]
    assert result.weights.tobytes() == Run(small()).finish().weights.tobytes()


def test_a_plan_above_its_budget_draws_nothing(tmp_path: Path) -> None:
    prepared = small(privacy__noise=0.1)  # far too little for epsilon 8
    with pytest.raises(dp.BudgetExceeded):
        Run(prepared, tmp_path).finish()
    assert not (tmp_path / "ledger.jsonl").exists()
