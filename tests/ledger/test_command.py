"""`dpacct ledger show|check|report`: words, JSON, exit codes; the file is never touched."""

from pathlib import Path

import pytest

import dpacct as dp
from tests.cli.runner import run
from tests.ledger.ledgers import STEP, small


@pytest.fixture
def path(tmp_path: Path) -> Path:
    small(tmp_path / "a.ledger")
    return tmp_path / "a.ledger"


def test_show(path: Path) -> None:
    document = run("ledger", "show", str(path), "--json").json
    assert (document["schema"], document["command"], document["action"]) == (1, "ledger", "show")
    assert document["intents"] == 3 and document["outcomes"] == {
        "released": 0,
        "failed": 0,
        "unknown": 3,
    }
    assert document["budget"] == {
        "epsilon": "4",
        "delta": "0.00001",
        "adjacency": "add-remove",
        "unit": "record",
    }
    assert document["spent"]["upper"] == float(dp.Ledger(path).spent())
    assert dp.from_dict(document["plan"]) == dp.Ledger(path).plan
    shown = run("ledger", "show", str(path)).stdout
    assert "epsilon 4 at delta 1e-5 per record, add-remove" in shown and "3 releases" in shown


def test_check_prints_a_head_that_tells_a_rollback(path: Path) -> None:
    kept = path.read_bytes()
    with dp.Ledger(path) as ledger:
        ledger.spend(STEP)
    head = run("ledger", "check", str(path), "--json").json["head"]
    assert head in run("ledger", "show", str(path)).stdout
    assert run("ledger", "check", str(path), "--head", head).code == 0
    path.write_bytes(kept)  # put back: whole, and older
    assert run("ledger", "check", str(path)).code == 0
    refused = run("ledger", "check", str(path), "--head", head)
    assert refused.code == 9 and "put back" in refused.stderr


def test_a_damaged_file_is_told_where(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(rb"\"sigma\": \"50\"", rb"\"sigma\": \"51\""))
    assert path.read_bytes() != content
    for action in ("show", "log", "check", "report"):
        refused = run("ledger", action, str(path))
        assert refused.code == 9 and refused.stdout == ""
        output = run("ledger", action, str(path), "--json")
        assert output.code == 9 and output.json["error"]["kind"] == "ledger-damaged"


def test_an_officer_keeps_a_budget_without_python(tmp_path: Path) -> None:
    path = str(tmp_path / "year.ledger")
    made = run("ledger", "init", path, "--eps", "2", "--delta", "1e-6", "--unit", "user")
    assert made.code == 0 and "epsilon 2 at delta 1e-6 per user" in made.stdout
    again = run("ledger", "init", path, "--eps", "3", "--delta", "1e-6")
    assert again.code == 2 and "budget must be the ledger's own" in again.stderr
    for week in range(3):
        spent = run("ledger", "spend", path, "Laplace(b=100)", "--label", f"week {week}")
        assert spent.code == 0 and "release it now" in spent.stdout
    body = run(
        *("ledger", "spend", path, "Gaussian(sigma=50)", "Laplace(b=100) * 2", "--json")
    ).json
    assert body["number"] == 4
    whole = dp.Laplace(b=100) * 5 + dp.Gaussian(sigma=50)
    with dp.Ledger(path) as ledger:
        assert ledger.plan.equivalent(whole)
        spent = float(ledger.spent())
    shown = run("ledger", "show", path, "--json").json
    assert shown["spent"]["upper"] == spent and shown["intents"] == 4
    rows = run("ledger", "log", path, "--json").json["releases"]
    assert [row["label"] for row in rows] == ["week 0", "week 1", "week 2", ""]
    assert rows[0]["charges"] == {"run": "Laplace(b=100)"}
    assert "Laplace(b=100)  'week 1'" in run("ledger", "log", path).stdout
    refused = run("ledger", "spend", path, "Laplace(b=0.1)")
    assert refused.code == 4 and "no room for Laplace(b=0.1)" in refused.stderr
    assert run("ledger", "show", path, "--json").json["intents"] == 4


def test_a_declared_plan_comes_from_a_file(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    step = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1"))
    plan.write_text('[[step]]\nmechanism = "gaussian"\nsigma = "1.1"\nrate = "0.01"\nsteps = 100\n')
    path = str(tmp_path / "run.ledger")
    words = ("ledger", "init", path, "--eps", "3", "--delta", "1e-5", "--plan", str(plan))
    assert run(*words).code == 0
    spent = run("ledger", "spend", path, str(plan))
    assert spent.code == 0 and "the plan has ended, all 100 of its releases" in spent.stdout
    with dp.Ledger(path) as ledger:
        assert ledger.plan == ledger.planned == step * 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "new", "--eps", "1"], "--delta must be given"),
        (["init", "new", "--eps", "nan", "--delta", "1e-5"], "--eps"),
        (["spend", "{}"], "takes a STEP"),
        (["spend", "{}", "Laplas(b=1)"], "must be a plan such as Laplace(b=100)"),
        (["spend", "{}", "Laplace(b=1) ** 2"], "must be a plan such as"),
        (["spend", "{}", "__import__('os').system('x')"], "must be a plan such as"),
        (["spend", "{}", "Laplace(b=-1)"], "b must be a number above 0"),
        (["spend", "{}", "absent.toml"], "absent.toml"),
        (["show", "{}", "more"], "takes nothing more"),
        (["show", "{}", "--label", "x"], "--label is for ledger spend only"),
        (["spend", "{}", "Laplace(b=9)", "--eps", "3"], "--eps is for ledger init only"),
        (["check", "{}", "--head", "12"], "--head must be the hash"),
    ],
    ids=str,
)
def test_a_wrong_ledger_line_is_one_sentence(
    path: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    refused = run("ledger", *[word.format(path) if word == "{}" else word for word in words])
    assert refused.code in (2, 9) and message in refused.stderr and not Path("new").exists()
    assert len(refused.stderr.splitlines()) == 1


def test_a_violated_assumption_is_exit_code_6(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        ledger.observe(dp.Execution(steps=13))  # 12 were counted
    output = run("ledger", "report", str(path), "--json")
    assert output.code == 6 and output.json["violated"] == ["no more steps ran than were accounted"]
    assert "NOT SO" in run("ledger", "report", str(path)).stdout


def test_reading_leaves_no_trace(path: Path, tmp_path: Path) -> None:
    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    for action in ("show", "check", "report"):
        run("ledger", action, str(path))
    assert before == {p: p.read_bytes() for p in path.parent.iterdir()}
    missing = run("ledger", "show", str(tmp_path / "none"))
    assert missing.code == 2 and "cannot be opened" in missing.stderr


def test_a_ledger_is_no_plan_file(path: Path) -> None:
    refused = run("report", str(path), "--delta", "1e-5")
    assert refused.code == 2 and "is a ledger, which dpacct ledger show, log" in refused.stderr


def test_a_foreign_file_is_quoted_as_text(tmp_path: Path) -> None:
    path = tmp_path / "keyboard.toml"
    path.write_text("# A keyboard's\n")
    refused = run("ledger", "check", str(path))
    assert refused.code == 9 and "it begins with \"# A keyboard's" in refused.stderr


def test_a_folder_is_answered_with_the_ledger_in_it(tmp_path: Path) -> None:
    empty = run("ledger", "show", str(tmp_path))
    assert empty.code == 2 and empty.stderr.endswith("cannot be opened: a folder.\n")
    small(tmp_path / "run.ledger")
    assert "a folder; try run.ledger in it" in run("ledger", "show", str(tmp_path)).stderr
