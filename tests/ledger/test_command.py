"""`dpacct ledger show|check|report`: words, JSON, exit codes; the file is never touched."""

from pathlib import Path

import pytest

import dpacct as dp
from tests.cli.runner import run
from tests.ledger.ledgers import BUDGET, STEP, edited, lines, small


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
    assert "epsilon 4 at delta 1e-5 per record, add-remove" in shown and "3 intents" in shown


def test_check_prints_a_mark_that_tells_a_rollback(path: Path) -> None:
    kept = {p: p.read_bytes() for p in path.parent.iterdir()}
    with dp.Ledger(path) as ledger:
        ledger.spend(STEP)
    mark = run("ledger", "check", str(path), "--json").json["mark"]
    assert run("ledger", "check", str(path), "--mark", mark).code == 0
    for file, content in kept.items():  # both files put back: whole, and older
        file.write_bytes(content)
    assert run("ledger", "check", str(path)).code == 0
    refused = run("ledger", "check", str(path), "--mark", mark)
    assert refused.code == 9 and "put back" in refused.stderr


def test_a_damaged_file_is_told_where(path: Path) -> None:
    place = len(lines(path)[0])
    edited(path, lambda data: data.replace(b'"30"', b'"31"'))
    for action in ("show", "check", "report"):
        refused = run("ledger", action, str(path))
        assert refused.code == 9 and refused.stdout == ""
        assert f"byte {place}" in refused.stderr
        output = run("ledger", action, str(path), "--json")
        assert output.code == 9 and output.json["error"]["kind"] == "ledger-damaged"


def test_report_states_the_budget_and_its_assumptions(path: Path) -> None:
    output = run("ledger", "report", str(path), "--json")
    assert output.code == 0 and output.json["guarantee"]["upper"] == BUDGET[0]
    shown = run("ledger", "report", str(path)).stdout
    assert "(4, 1e-5)-differentially private" in shown and "assumes: no release" in shown


def test_a_violated_assumption_is_exit_code_6(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        ledger.observe(dp.Execution(steps=13))  # 12 were counted
    output = run("ledger", "report", str(path), "--json")
    assert output.code == 6 and output.json["violated"] == ["no more steps ran than were accounted"]
    assert "NOT SO" in run("ledger", "report", str(path)).stdout


@pytest.mark.parametrize(
    "words",
    [[], ["show"], ["mend", "x"], ["show", "a", "b"], ["show", "a", "--mark", "0"]],
    ids=str,
)
def test_wrong_words(words: list[str]) -> None:
    refused = run("ledger", *words)
    assert refused.code == 2 and refused.stderr.startswith("error: ")


def test_reading_leaves_no_trace(path: Path, tmp_path: Path) -> None:
    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    for action in ("show", "check", "report"):
        run("ledger", action, str(path))
    assert before == {p: p.read_bytes() for p in path.parent.iterdir()}
    missing = run("ledger", "show", str(tmp_path / "none"))
    assert missing.code == 2 and "cannot be opened" in missing.stderr


def test_a_clean_run_of_a_plan_looks_clean(tmp_path: Path) -> None:
    step = dp.Poisson("0.01")(dp.Gaussian(noise_multiplier="1.1", clip=1))
    whole = (step * 500).epsilon("1e-5", method="exact")
    path = tmp_path / "planned"
    with dp.Ledger(path, budget=(3, "1e-5"), plan=step * 500) as ledger:
        for _ in range(5):
            ledger.spend(step * 100)
        assert ledger.guarantee().upper == whole.upper < 3
    shown = run("ledger", "show", str(path)).stdout
    assert "5 intents, each before its noise was drawn\n" in shown and "failed" not in shown
    assert "100 % of the declared plan is used" in shown
    assert "nothing of the declared plan, which has ended" in shown
    said = run("ledger", "report", str(path)).stdout
    assert said.startswith("All that this ledger counts is (1.08259167")
    assert f"  planned: {step * 500}\n  counted: {step * 500}\n  spent: epsilon = 1.0825916" in said
    body = run("ledger", "report", str(path), "--json").json
    assert dp.from_dict(body["planned"]) == dp.from_dict(body["counted"]) == step * 500
    assert body["spent"]["upper"] == whole.upper


def test_a_run_that_ended_early_says_what_was_planned_and_what_was_spent(tmp_path: Path) -> None:
    step, path = dp.Gaussian(sigma=30), tmp_path / "early"
    with dp.Ledger(path, budget=(3, "1e-5"), plan=step * 50) as ledger:
        ledger.spend(step * 20)
    body = run("ledger", "report", str(path), "--json").json
    assert dp.from_dict(body["planned"]) == step * 50
    assert body["guarantee"]["upper"] >= (step * 50).epsilon("1e-5").lower
    assert body["spent"]["upper"] == (step * 20).epsilon("1e-5", method="exact").upper


def test_a_ledger_is_no_plan_file(path: Path) -> None:
    refused = run("report", str(path), "--delta", "1e-5")
    assert refused.code == 2 and "is a ledger, which dpacct ledger show, check" in refused.stderr


def test_ends_that_were_noted_are_counted(path: Path) -> None:
    with dp.Ledger(path) as ledger, ledger.release(STEP):
        pass
    shown = run("ledger", "show", str(path)).stdout
    assert "4 intents, each before its noise was drawn (1 released, 3 without a noted end)" in shown


def test_a_foreign_file_is_quoted_as_text(tmp_path: Path) -> None:
    path = tmp_path / "keyboard.toml"
    path.write_text("# A keyboard's\n")
    refused = run("ledger", "check", str(path))
    assert refused.code == 9 and 'it begins with "# A keyboard\'s"' in refused.stderr


def test_a_folder_is_answered_with_the_ledger_in_it(tmp_path: Path) -> None:
    empty = run("ledger", "show", str(tmp_path))
    assert empty.code == 2 and empty.stderr.endswith("cannot be opened: a folder.\n")
    small(tmp_path / "ledger.jsonl")
    assert "a folder; try ledger.jsonl in it" in run("ledger", "show", str(tmp_path)).stderr
