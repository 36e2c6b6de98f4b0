"""`dpacct audit`: the same as in Python, a picture, and one sentence for what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpacct as dp
from tests.cli.runner import Run, run
from tests.structure.project import ROOT

SCORES = str(ROOT / "docs" / "examples" / "scores.csv")
TABLE = np.loadtxt(SCORES, delimiter=",", skiprows=1)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text("delta = 1e-6\n[[step]]\nsigma = 50\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
def test_python_and_the_command_line_agree(design: str, plan: str) -> None:
    output = run("audit", SCORES, "--against", plan, "--design", design, "--json")
    result = dp.audit(
        TABLE[:, 0],
        included=TABLE[:, 1],
        delta="1e-6",
        design=design,
        against=dp.Gaussian(sigma=50),
    )
    body = output.json
    assert output.code == 5 and result.alarm and body["alarm"] and body["command"] == "audit"
    assert [each["epsilon"] for each in body["bounds"]] == [b.epsilon for b in result.bounds]
    assert body["epsilon"] == result.epsilon and body["findings"] == [*result.findings]
    assert body["proven"]["upper"] == result.proven.upper if result.proven else False
    assert body["plan"] == dp.Gaussian(sigma=50).to_dict()


def test_words_state_confidence_assumptions_and_the_alarm(plan: str) -> None:
    output = run("audit", SCORES, "--against", plan)
    assert output.code == 5
    assert output.stdout.startswith("epsilon is at least 0.")
    for words in ("with 95 % confidence", "one-run", "an estimate", "fair coin", "ALARM", "proved"):
        assert words in output.stdout
    quiet = run("audit", SCORES, "--delta", "1e-5")
    assert quiet.code == 0 and "ALARM" not in quiet.stdout and "proved" not in quiet.stdout
    assert "no contradiction" not in quiet.stdout


def test_what_is_not_contradicted_is_not_proven(tmp_path: Path) -> None:
    path = tmp_path / "weak.toml"
    path.write_text("[[step]]\nsigma = 0.5\n", encoding="utf-8")
    output = run("audit", SCORES, "--against", str(path))
    assert output.code == 0 and "no contradiction was found; that proves nothing" in output.stdout


@pytest.mark.parametrize(
    ("suffix", "design"),
    [(".png", "one-run"), (".csv", "one-run"), (".csv", "two-worlds"), (".json", "two-worlds")],
)
def test_a_picture(suffix: str, design: str, plan: str, tmp_path: Path) -> None:
    path = tmp_path / f"audit{suffix}"
    output = run("audit", SCORES, "--against", plan, "--design", design, "--save", str(path))
    assert output.code == 5 and path.stat().st_size > 1000
    if suffix == ".csv":
        table = np.genfromtxt(path, delimiter=",", names=True)
        assert table.dtype.names == ("alpha", "reached", "shown", "proven")
        assert (table["shown"] >= 0).all() and (np.diff(table["proven"]) <= 0).all()


def test_guesses_and_columns_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "guesses.csv"
    guesses = np.where(TABLE[:, 0] > 0.75, 1, -1)
    rows = "".join(f"{g:g},{i:g},x\n" for g, i in zip(guesses, TABLE[:, 1], strict=True))
    path.write_text("guess, member,name\n" + rows, encoding="utf-8")
    output = run("audit", str(path), "--included", "member", "--json")
    same = run("audit", SCORES, "--thresholds", "0.75", "--json")
    assert output.json["epsilon"] == same.json["epsilon"] > 0


def refusal(done: Run) -> str:
    assert done.code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("score,included\n", "scores must have one row or more, got none"),
        ("", "scores must have the columns score and included, got ''"),
        ("scores,included\n1,1\n", "got 'scores,included'; did you mean scores?"),
        ("score,member\n1,1\n", "scores must have the columns score and included"),
        ("score,included\n1,1\nnan,0\n", "score must be numbers, got nan in row 2"),
        ("score,included\n1,1\n2,1\n", "none was left out"),
        ("score,included\n1,1\n2,0.5\n", "included must be 0 or 1, got 0.5 in row 2"),
        (
            "score,included\n1,1\ntwo,0\n",
            "scores must be numbers with commas between them, got 'two' in line 3",
        ),
        ("score,included\n1,1\n2\n", "got '' in line 3"),
        ("guess,included\n1,1\n3,0\n", "guesses must be 1 (in), -1 (out) or 0 (no guess), got 3"),
    ],
)
def test_a_bad_file(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(content, encoding="utf-8")
    assert message in refusal(run("audit", str(path)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "scores cannot be read from 'nowhere.csv': no such file or directory"),
        ([], "SCORES must be given: scores"),
        ([SCORES, "--against", "nowhere.toml"], "nowhere.toml"),
        ([SCORES, "--thresholds", "held-ot"], "thresholds must be one of"),
        ([SCORES, "--thresholds", "1,x"], "--thresholds must be numbers, or a word, got '1,x'"),
        ([SCORES, "--thresholds", "0.5", "--share", "0.5"], "shares are for thresholds = ranks"),
        ([SCORES, "--score", "scor"], "did you mean score?"),
        ([SCORES, "--save", "a.gif"], "must end in"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_bad_words(words: list[str], message: str) -> None:
    assert message in refusal(run("audit", *words))


def test_unfair_coins_exit_with_6(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score,included\n" + "1,1\n" * 300 + "0,0\n" * 3, encoding="utf-8")
    output = run("audit", str(path))
    assert output.code == 6 and "300 of 303 canaries were included" in output.stderr
