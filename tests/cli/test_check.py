"""`dpacct check`: what passes, what fails with which code, and what the page's hooks run."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpacct as dp
from tests.cli.runner import run
from tests.structure.project import ROOT

PLAN = """
delta = 1e-5
adjacency = "add-remove"
unit = "client"
[[step]]
noise_multiplier = 2
clip = 1
rate = 0.1
repeat = 20
"""
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("report.json").write_text(run("report", "plan.toml", "--format", "json").stdout)
    return tmp_path


def plan() -> dp.Node:
    step = dp.Poisson("0.1")(dp.Gaussian(noise_multiplier=2, clip=1))
    return (step * 20).under("add-remove", unit="client")


def checked(words: str) -> tuple[int, dict[str, bool], dict[str, Any]]:
    done = run("check", "plan.toml", *words.split(), "--json")
    body = done.json
    assert body["holds"] is (done.code == 0)
    return done.code, {each["name"]: each["holds"] for each in body["checks"]}, body


def test_limits(folder: Path) -> None:
    """By the safe end of the very answer that Python gives, to the last bit."""
    answer = plan().epsilon("1e-5")
    code, held, body = checked("--max-eps 8 --max-delta 1e-5")
    assert code == 0 and held == {"max-eps": True, "max-delta": True}
    assert body["epsilon"]["value"] == answer.value and body["epsilon"]["upper"] == answer.upper
    assert body["delta"] == "0.00001"
    safe = float(answer)
    assert checked(f"--max-eps {safe!r}")[0] == 0
    assert checked(f"--max-eps {safe * (1 - 1e-15)!r}")[:2] == (11, {"max-eps": False})
    assert checked("--max-delta 1e-6")[:2] == (11, {"max-delta": False})
    assert checked("--max-delta 1e-6 --delta 1e-6 --max-eps 8")[0] == 0
    quiet = run("check", "plan.toml", "--max-eps", "0.1", "--max-delta", "1e-5", "--quiet")
    assert quiet.code == 11 and quiet.stdout.count("\n") == 1 and "is above 0.1" in quiet.stdout


@pytest.mark.parametrize(
    ("old", "new", "failed"),
    [
        ("repeat = 20", "repeat = 21", {"plan", "against"}),
        ("noise_multiplier = 2", "noise_multiplier = 3", {"plan"}),
        ("delta = 1e-5", "delta = 1e-4", {"delta"}),
        ('unit = "client"', 'unit = "user"', {"plan", "unit"}),
        ('"add-remove"', '"zero-out"', {"plan", "adjacency"}),
    ],
)
def test_drift(folder: Path, old: str, new: str, failed: set[str]) -> None:
    assert checked("--against report.json")[:2] == (0, {"plan": True, "against": True})
    Path("plan.toml").write_text(PLAN.replace(old, new))
    code, held, _ = checked("--against report.json")
    assert code == 11 and failed <= {name for name, holds in held.items() if not holds}


def test_a_ledger(folder: Path) -> None:
    step = dp.Poisson("0.1")(dp.Gaussian(noise_multiplier=2, clip=1))
    with dp.Ledger("run.ledger", budget=(8, 1e-5), plan=plan()) as ledger:
        with ledger.release(step * 20):
            pass
        assert checked("--ledger run.ledger")[0] == 0
        Path("plan.toml").write_text(PLAN.replace("repeat = 20", "repeat = 19"))
        assert checked("--ledger run.ledger")[0] == 6  # more was counted than is planned
        Path("plan.toml").write_text(PLAN)
        ledger.observe(dp.Execution(steps=20, population=100, batch_sizes=[10] * 20))
    code, _, body = checked("--ledger run.ledger --max-eps 0.1")
    assert code == 6  # batches of one size
    unknown = [each for each in body["checks"] if each["unknown"]]
    assert any("noise_multiplier was not measured" in each["text"] for each in unknown)
    assert all(each["holds"] for each in unknown)
    whole = Path("run.ledger").read_bytes()
    Path("run.ledger").write_bytes(whole.replace(b"20", b"10", 1))
    assert run("check", "plan.toml", "--ledger", "run.ledger").code == 9


def test_what_the_plan_calls_violated(folder: Path) -> None:
    Path("plan.toml").write_text(PLAN + '[assumptions]\nsampling = "violated"\n')
    code, held, body = checked("--max-eps 8")
    assert code == 6 and held == {"max-eps": True, "assumptions": False}
    assert "sampling is violated" in body["checks"][1]["text"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("", 2, "give what to check: --max-eps"),
        ("--max-eps -1", 2, "--max-eps must be"),
        ("--max-eps 8 --delta 0", 4, "no finite epsilon"),
        ("--against plan.toml", 2, "--against must be the JSON of dpacct report"),
        ("--against absent.json", 2, "cannot read 'absent.json'"),
        ("--max-epsilons 8", 2, "did you mean --max-epsilon"),
    ],
)
def test_refusals(folder: Path, words: str, code: int, said: str) -> None:
    done = run("check", "plan.toml", *words.split())
    assert done.code == code and said in done.stderr and done.stderr.count("\n") == 1


def test_the_hooks_of_the_page_run(folder: Path) -> None:
    """Both snippets are YAML, and the lines in them hold for a plan and its report."""
    hooks, workflow = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.S))
    (hook,) = hooks["repos"][0]["hooks"]
    assert re.match(hook["files"], "plan.toml") and not hook["pass_filenames"]
    steps = workflow["jobs"]["check"]["steps"]
    for line in (hook["entry"], steps[-1]["run"]):
        program, *words = shlex.split(line)
        assert program == "dpacct" and run(*words).code == 0
