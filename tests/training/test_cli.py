"""The command: what it writes, what it refuses, and how it ends."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from studies.replicate import Study

import dpacct as dp
from dpacct.proof import effort
from dpacct_training import algorithms, engines
from dpacct_training.cli.log import log
from dpacct_training.cli.main import main
from dpacct_training.data import sources
from dpacct_training.data.dataset import synth
from dpacct_training.experiment import Experiment, prepare
from tests.structure.project import ROOT
from tests.training.experiments import GIVEN_NOISE, TEXT
from tests.training.laws import Lossy, hosts

EXPERIMENTS = sorted((ROOT / "training" / "experiments").glob("*.toml"))


@pytest.fixture
def toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPACCT_DATA", str(tmp_path / "data"))
    path = tmp_path / "small.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_run_from_plan_to_report(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = toml.parent / "out"
    assert main(["run", str(toml), "--out", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("test accuracy ") and "epsilon 8" in out
    assert "round 6/6" in err and "epsilon <= 8" in err
    kept = {path.name for path in folder.iterdir()}
    wanted = {
        "report.md",
        "report.html",
        "report.json",
        "accuracy.svg",
        "epsilon.svg",
        "run.ledger",
        "checkpoint.safetensors",
        "metrics.jsonl",
    }
    assert wanted <= kept and "noise.key" not in kept
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "whoever knows the seed knows the noise" in report
    assert "| rounds | 6 | 6 |" in report
    assert "violated" not in report
    with dp.Ledger(folder / "run.ledger", read_only=True) as ledger:
        spent = float(ledger.spent())
    summary = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert (
        summary["epsilon"]["upper"] == pytest.approx(spent, rel=2e-5) and summary["guarantee_holds"]
    )
    assert spent <= 8.0
    held = {row["name"]: row for row in summary["assumptions"] if row["status"] == "held"}
    assert {"sensitivity", "sampling", "noise", "steps"} <= set(held)
    assert held["noise"]["evidence"].startswith("checked: ")
    assert summary["reproduce"]["command"] == f"dpacct-train run {toml}"
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    epsilons = [row["epsilon"] for row in rows]
    assert epsilons == sorted(epsilons) and epsilons[-1] <= 8.0
    # once more: it is over, and says the same
    assert main(["run", str(toml), "--out", str(folder), "--quiet"]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.usefixtures("bare_reports")
def test_missing_answers_are_in_the_last_line_and_the_exit_code(
    toml: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = lambda self, prepared: Lossy(hosts(prepared))  # noqa: E731
    monkeypatch.setattr(engines.EngineSetting, "start", lossy)
    assert main(["run", str(toml), "--out", str(toml.parent / "lossy"), "--quiet"]) == 11
    assert re.search(
        r"epsilon \S+, \d+ of \d+ answers are missing \(\d+ no answer\): ", capsys.readouterr().out
    )


@pytest.mark.usefixtures("bare_reports")
def test_a_run_and_what_refuses_it_are_json(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml.write_text(GIVEN_NOISE)
    folder = toml.parent / "json"
    assert main(["run", str(toml), "--out", str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    values = json.loads(printed.out)
    assert not printed.err and values["schema"] == 1 and values["rounds"] == 6
    report = json.loads((folder / "report.json").read_text())
    assert values["epsilon"]["upper"] == pytest.approx(report["epsilon"]["upper"], rel=1e-9)
    assert values["planned"] == values["executed"] and values["missing"] == {}
    assert len(values["clients"]) == 6 and 0 < values["test_accuracy"] <= 1
    assert main(["run", str(toml), "--out", str(folder), "--json", "--set", "run.seed=x"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == 2 and error["argument"] == "seed" and "'x'" in error["message"]
    assert main(["run", str(toml), "--json", "--no-such-option"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "usage"


@pytest.mark.usefixtures("bare_reports")
def test_without_privacy_the_report_says_none(
    toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXT.replace('"dp_fed_ls"', '"fedavg"').replace(
        "clip = 0.3\nepsilon = 8\ndelta = 1e-3\n", ""
    )
    toml.write_text(text)
    folder = toml.parent / "free"
    assert main(["run", str(toml), "--out", str(folder), "--quiet"]) == 0
    assert "epsilon" not in capsys.readouterr().out
    assert "No privacy is guaranteed" in (folder / "report.md").read_text()
    assert not (folder / "report.json").exists()
    assert not (folder / "run.ledger").exists()


SWEEP = """
[sweep]
"algorithm.smoothing" = [0, 1]
"run.seed" = [0, 1]
[[variant]]
"privacy.scheme" = "poisson"
[[variant]]
"privacy.scheme" = "uniform"
[[printed]]
"privacy.scheme" = "uniform"
"algorithm.smoothing" = 0
accuracy = 50.0
"""


def test_what_there_is_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["algorithms"]) == algorithms.names()
    assert {"linear", "package.module:function"} <= set(found["models"])
    assert {"mnist", "own", "synth"} <= set(found["data"])
    assert set(found["engines"]) == {"in_process", "pool", "flower", "ray"}
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name}" in listed for names in list(found.values())[2:] for name in names)
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("Usage: dpacct-train [OPTIONS] COMMAND")


def test_measurements_go_to_a_log(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml.write_text(GIVEN_NOISE)
    out = toml.parent / "logged"
    assert main(["run", str(toml), "--out", str(out), "--quiet", "--log", "csv"]) == 0
    with (out / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    kept = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [float(r["epsilon"]) for r in rows] == [r["epsilon"] for r in kept] and len(rows) == 6
    epsilons = [r["epsilon"] for r in kept]  # of each round, not of some
    assert epsilons == sorted(set(epsilons))
    capsys.readouterr()
    assert main(["run", str(toml), "--out", str(out), "--log", "tsv"]) == 2
    assert "log must be one of csv, tensorboard, wandb" in capsys.readouterr().err


def test_other_logs_are_their_own_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are told, by stand-ins of theirs; without them, one sentence."""
    told: list[Any] = []

    class Run:
        def log(self, values: dict[str, float], step: int) -> None:
            told.append((values, step))

    class Writer:
        def __init__(self, folder: Path) -> None:
            assert folder == tmp_path / "tensorboard"

        def add_scalar(self, key: str, value: float, step: int) -> None:
            told.append((key, value, step))

        def flush(self) -> None:
            pass

    row = {"round": 3, "accuracy": 0.5, "loss": 1.5, "epsilon": 0.25, "clients": 7, "seconds": 2.0}
    for name in ("wandb", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(dp.MissingExtra, match=f"pip install {name}"):
            log(name, tmp_path, "x")
    fake = SimpleNamespace(init=lambda **how: Run(), SummaryWriter=Writer)
    for name in ("wandb", "tensorboard", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, fake)
    log("wandb", tmp_path, "x")(row, 30)
    assert told.pop() == ({k: v for k, v in row.items() if k != "round"}, 3)
    log("tensorboard", tmp_path, "x")(row, 30)
    assert ("epsilon", 0.25, 3) in told and len(told) == 4


def test_a_variant_is_chosen_by_its_name(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml.write_text(
        GIVEN_NOISE + '[[variant]]\nname = "short"\n"privacy.rounds" = 2\n[[variant]]\n'
        'name = "long"\n"privacy.rounds" = 3\n'
    )
    words = ["run", str(toml), "--out", str(toml.parent / "v"), "--quiet"]
    assert main([*words, "--variant", "short"]) == 0
    rows = (toml.parent / "v" / "metrics.jsonl").read_text().splitlines()
    assert len(rows) == 2
    for wrong in ([], ["--variant", "shrt"]):
        capsys.readouterr()
        assert main([*words, *wrong]) == 2
        assert "variant must be one of short, long" in capsys.readouterr().err


def test_data_commands(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = toml.parent / "made.npz"
    parts = synth(samples=60)
    arrays = {"x_train": parts.train.x, "y_train": parts.train.y}
    np.savez(made, x_test=parts.test.x, y_test=parts.test.y, **arrays)
    assert main(["data", "import", str(made), "--name", "made"]) == 0
    assert main(["data", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in [*sources.by_name(), "made"])
    toml.write_text(TEXT.replace('"synth"\nsamples = 400', '"made"').replace("= 40", "= 4"))
    assert main(["run", str(toml), "--out", str(toml.parent / "o"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["run", "{toml}", "--set", "privacy.rate=2"],
            2,
            "rate must be a number above 0 and at most 1, got 2",
        ),
        (["run", "{toml}", "--set", "privacy.rte=2"], 2, "did you mean 'rate'?"),
        (["run", "{toml}", "--set", "rate=2"], 2, "must be named section.key"),
        (["run", "{toml}", "--set", "rate"], 2, "--set takes section.key=value"),
        (["run", "{toml}", "--set", "data.name=mnist"], 2, "dpacct-train data fetch mnist"),
        (
            ["run", "{toml}", "--set", "data.name=svhn"],
            2,
            "data must be one of synth, adult, cifar10",
        ),
        (["run", "{toml}", "--set", "algorithm.name=sgd"], 2, "algorithm must be one of "),
        (["run", "{toml}", "--set", "privacy.noise=dp_fed_ls.theorem9"], 2, "dp_fed_ls.theorem9"),
        (
            [
                "run",
                "{toml}",
                "--set",
                "privacy.noise=dp_fed_ls.theorem2",
                "--set",
                "privacy.epsilon=0.1",
            ],
            4,
            "epsilon",
        ),
        (["run", "{toml}", "--set", "privacy.noise=0.1"], 4, "costs epsilon"),
        (["run", "{toml}", "--set", "data.name=mnits"], 2, "did you mean 'mnist'?"),
        (["run", "{toml}", "--set", "privacy.clip=1e308"], 2, "clip must be from 0 to 1e+30"),
        (["run", "{toml}", "--set", "privacy.clip=nan"], 2, "clip must be a finite number"),
        (["run", "{toml}", "--set", "privacy.delta=clients^-1.1.1"], 2, "delta must be a number"),
        (["run", "{toml}", "--set", "model.hiden=[1]"], 2, "[model] takes"),
        (["run", "{toml}", "--set", 'model={name = "mlp"}'], 2, "must be named section.key"),
        (["run", "{toml}", "--set", "model.name=lstm"], 2, "model must be one of cnn, linear"),
        (["run", "{toml}", "--out", "{toml}"], 2, "File exists"),
        (["run", "{toml}.no"], 2, "cannot be read"),
        (["run"], 2, "Missing argument"),
        (["fly"], 2, "No such command"),
        (["data", "fetch", "svhn"], 2, "data must be one of adult, cifar10"),
        (["audit", "{toml}", "--canaries", "1"], 2, "canaries must be a whole number from 2 to 40"),
    ],
)
def test_refusals(
    words: list[str], code: int, says: str, toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [word.replace("{toml}", str(toml)) for word in words]
    if words[0] == "run" and len(words) > 1 and "--out" not in words:
        filled += ["--out", str(toml.parent / "out")]
    assert main(filled) == code
    out, err = capsys.readouterr()
    assert says in err and out == "" and "Traceback" not in err
    assert not (toml.parent / "out" / "run.ledger").exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "linear"', 'name = "mlp"\nhidden = [0]', "hidden must be a list of whole numbers"),
        ('name = "linear"', 'name = "mlp"\nhidden = 8', "hidden must be a list of whole numbers"),
        ('name = "linear"', 'name = "cnn"\nchannels = [4]', "pool must be a list of 1"),
        ('name = "dp_fed_ls"', 'name = "dp_fed"\nsmoothing = 1', "[algorithm] takes by, got"),
        ('name = "dp_fed_ls"', 'name = "fedavg"\nby = 1', "no settings but its name"),
        ('name = "small"', "variant = 5", "[[variant]] must be a list"),
        ("[privacy]", "[privcy]", "did you mean 'privacy'?"),
    ],
)
def test_a_hostile_experiment_is_one_sentence(
    old: str, new: str, says: str, toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in TEXT
    toml.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    assert main(["run", str(toml), "--out", str(toml.parent / "out")]) == 2
    out, err = capsys.readouterr()
    assert says in err and out == "" and err.count("\n") == 1


def test_audit_commands(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = TEXT.replace("samples = 400", "samples = 400\nside = 28\nclasses = 10").replace(
        "= 40\n", "= 400\n"
    )
    wide = (
        wide.replace('"poisson"', '"none"')
        .replace("rate = 0.25", "rate = 1")
        .replace("rounds = 6", "rounds = 1")
    )
    toml.write_text(
        wide.replace("epsilon = 8", "epsilon = 3").replace("1e-3\n[run]", "1e-5\n[run]")
    )
    scores = toml.parent / "scores.csv"
    assert main(["audit", str(toml), "--canaries", "400", "--scores", str(scores)]) == 0
    assert "proven at most 3" in (out := capsys.readouterr().out)
    assert len(scores.read_text(encoding="utf-8").splitlines()) == 401
    again, _ = dp.auditing.read_csv(str(scores))
    audited = dp.audit(again.values, included=again.included, delta=1e-5)
    assert str(audited).partition(" (")[0] in out
    assert main(["audit", str(toml), "--canaries", "400", "--weaken", "10", "--json"]) == 5
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["alarm"] and document["command"] == "audit" and document["findings"][0] in err


def test_without_torch_one_sentence(toml: Path) -> None:
    """In a process that cannot import it; help and data commands do without."""
    block = "import sys; sys.modules['torch'] = None; from dpacct_training.cli.main import main; "
    out = toml.parent / "out"

    def ran(words: str) -> subprocess.CompletedProcess[str]:
        code = f"{block}raise SystemExit(main({words}))"
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )

    done = ran(f"['run', {str(toml)!r}, '--out', {str(out)!r}]")
    assert (done.returncode, done.stdout) == (7, "")
    assert (
        done.stderr
        == "dpacct-train: torch is not installed: pip install '.[training]' in dpacct's checkout\n"
    )
    assert not out.exists()
    for words in ("['--help']", "['data', 'list']"):
        assert ran(words).returncode == 0


def test_help_does_not_load_torch() -> None:
    code = (
        "import sys; from dpacct_training.cli.main import main; main(['run', '--help']); "
        "raise SystemExit(any(m in sys.modules for m in ('torch', 'scipy', 'matplotlib')))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_each_experiment_is_well_formed(path: Path) -> None:
    """Every combination can be prepared, on made-up data of the same kind."""
    with effort.allowance(0.0):  # its form is the point, and not that its noise is proved
        well_formed(path)


def well_formed(path: Path) -> None:
    experiment = Experiment.read(path)
    assert experiment.source and experiment.note is not None
    settings = Study.of_experiment(path.stem, experiment).settings
    for _, _, values in settings[:: max(1, len(settings) // 8)]:
        changed = experiment.changed(values)
        source = sources.by_name()[changed.sections["data"]["name"]]
        data = {
            k: changed.sections["data"][k]
            for k in ("clients", "partition", "public")
            if k in changed.sections["data"]
        }
        if "public" in data:
            data |= {"validation": 500}
        data |= {
            "name": "synth",
            "samples": 4 * data["clients"] + data.get("validation", 0),
            "side": 32,
            "classes": source.classes,
        }
        prepared = prepare(replace(changed, sections={**changed.sections, "data": data}))
        assert prepared.cohort.clients == data["clients"]


def test_the_guide_names_what_trains() -> None:
    """Every algorithm, engine and experiment, in docs/training.md and training/README.md."""
    guide = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    for name in [*algorithms.names(), *engines.NAMES]:
        assert f"`{name}`" in guide or f" {name} " in guide or f"({name} " in guide, name
    readme = (ROOT / "training" / "README.md").read_text(encoding="utf-8")
    for path in EXPERIMENTS:
        assert f"`{path.name}`" in readme, path.name


@pytest.mark.usefixtures("bare_reports")
def test_a_client_of_its_own_kind(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[[client]] in the file: mechanisms by name, own budgets, and a report about the worst of them."""
    text = TEXT.replace('"dp_fed_ls"', '"udp_fl"')
    for line in (
        "clip = 0.3\n",
        "epsilon = 8\n",
        "delta = 1e-3\n",
        "epochs = 2\n",
        "batch_size = 4\n",
    ):
        text = text.replace(line, "")
    text += """
[[client]]
epsilon = 2.0
noise = { name = "gaussian", clip = 1.0, multiplier = 2.0 }
[[client]]
epsilon = 3.0
noise = { name = "gaussian", clip = 1.0, multiplier = 1.5 }
"""
    toml.write_text(text)
    folder = toml.parent / "own"
    short = ["--set", "privacy.rounds=1"]
    assert main(["run", str(toml), "--out", str(folder), "--quiet", *short]) == 0
    capsys.readouterr()
    report = (folder / "report.md").read_text()
    assert "Each client's own account" in report and "record-level" in report
    with dp.Ledger(folder / "run.ledger", read_only=True) as ledger:
        assert ledger.plan is None and len(ledger.accounts) > 1
    for old, new, says in [
        ('"gaussian"', '"gausian"', "did you mean 'gaussian'?"),
        ("multiplier", "multplier", "did you mean 'multiplier'?"),
        ("epsilon = 2.0\n", "", "must give epsilon"),
        ("epsilon = 2.0", "epsilon = -2", "epsilon must be at least 0"),
    ]:
        toml.write_text(text.replace(old, new, 1))
        assert main(["run", str(toml), "--out", str(toml.parent / "no")]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.usefixtures("bare_reports")
def test_an_engine_of_the_command_line_takes_the_place_of_the_file_s(toml: Path) -> None:
    toml.write_text(GIVEN_NOISE + '[engine]\nname = "flower"\nhosts = 2\ndeadline = 9\n')
    out = str(toml.parent / "here")
    assert main(["run", str(toml), "--out", out, "--engine", "in_process", "--quiet"]) == 0
