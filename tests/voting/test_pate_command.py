"""`dpacct pate`: the keys of its JSON, what is private, files and options that make no sense."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from tests.cli.runner import Run, run

VOTES = "60,5,5\n30,20,20\n10,55,5\n66,2,2\n"
GIVEN = ("--sigma", "20", "--delta", "1e-5")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES, encoding="utf-8")
    return str(path)


def failed(done: Run) -> str:
    """One sentence on stderr, exit code 2."""
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert done.stderr.rstrip()[-1] in ".?" and "Traceback" not in done.stderr
    return done.stderr


def test_json_is_the_contracts(file: str) -> None:
    document = run("pate", file, *GIVEN, "--json").json
    assert (document["schema"], document["command"], document["queries"], document["classes"]) == (
        1,
        "pate",
        4,
        3,
    )
    assert document["private"] is True and any("private" in note for note in document["notes"])
    for name in ("data_independent", "data_dependent", "exact"):
        answer = document[name]
        assert {"value", "lower", "upper", "side", "strength", "method", "basis"} <= set(answer)
        assert answer["quantity"] == "epsilon" and answer["adjacency"] == "replace-one"
    uppers = [document[n]["upper"] for n in ("exact", "data_dependent", "data_independent")]
    assert uppers == sorted(uppers) and document["exact"]["lower"] > 0
    assert document["answered"] == 4 and len(document["costliest"]) == 4
    votes = dp.Votes.read(file)
    same = dp.GNMax(sigma=20).cost(votes, 1e-5)
    assert document["data_dependent"]["upper"] == same.data_dependent.upper
    keys = [(row["cost"], row["exact"]) for row in document["costliest"]]
    assert keys == sorted(keys, reverse=True) and document["costliest"][-1]["query"] == 4
    assert run("pate", file, *GIVEN, "--no-exact", "--json").json["exact"] is None


def test_text_says_that_it_is_private(file: str) -> None:
    done = run("pate", file, *GIVEN)
    assert (
        done.code == 0
        and "PRIVATE" in done.stdout
        and "publish the data-independent one" in done.stdout
    )


def test_quiet_prints_what_may_be_published(file: str) -> None:
    plain = float(run("pate", file, *GIVEN, "--quiet").stdout)
    assert plain == pytest.approx(float(dp.GNMax(sigma=20).plan(4).epsilon(delta=1e-5)), rel=1e-11)


def test_numpy_files_and_headings(tmp_path: Path, file: str) -> None:
    counts = np.loadtxt(file, delimiter=",")
    for name, array in (("a.npy", counts), ("b.npy", counts.astype(np.uint8))):
        np.save(tmp_path / name, array)
        assert dp.Votes.read(tmp_path / name) == dp.Votes.read(file)
    worded = tmp_path / "worded.csv"
    worded.write_text(
        "# made by hand\ncat, dog, bird\n\n" + VOTES.replace(",", ", "), encoding="utf-8"
    )
    assert dp.Votes.read(worded) == dp.Votes.read(file)
    assert run("pate", str(worded), *GIVEN, "--json").json["queries"] == 4


BAD = {
    "1,2\n3\n": "line 2 has 1",
    "1,2,3\n4,5,6\n7,8\n": "line 3 has 2",
    "1,2\n3,-1\n": "got -1 in line 2, column 2",
    "1,2\n\n3,1.5\n": "got 1.5 in line 3, column 2",
    "1,nan\n": "got nan in line 1, column 2",
    "1,2\ninf,2\n": "got inf in line 2, column 1",
    "1\n2\n": "at least two classes (columns), got 1",
    "": "has none",
    "a,b\n": "has none",
    "cat,dog\n3,x\n": "got 'x' in line 2",
    "1;2\n3;4\n": "got '1;2' in line 1",
    "1 2\n": "got '1 2' in line 1",
    "1,2,\n": "got '' in line 1",
    "4,0\n0,0\n": "got none in line 2",
    "1,1e40\n": "line 1, column 2",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_no_votes(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert BAD[text] in failed(run("pate", str(path), *GIVEN))
    output = run("pate", str(path), *GIVEN, "--json")
    assert output.code == 2 and BAD[text] in json.loads(output.stdout)["error"]["message"]


ARRAYS: dict[str, Any] = {
    "three dimensions": (np.zeros((2, 2, 2)), "two dimensions"),
    "one dimension": (np.arange(3), "two dimensions"),
    "text": (np.array([["a", "b"]]), "must be numbers"),
    "half a vote": (np.array([[1.0, 2.0], [3.0, 4.5]]), "got 4.5 in row 2, column 2"),
    "nothing": (np.zeros((0, 3)), "at least one row"),
    "objects": (np.array([[1, None]], dtype=object), "array of numbers"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_no_votes(name: str, tmp_path: Path) -> None:
    array, value = ARRAYS[name]
    np.save(tmp_path / "bad.npy", array, allow_pickle=True)
    assert value in failed(run("pate", str(tmp_path / "bad.npy"), *GIVEN))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "no such file" in failed(run("pate", str(tmp_path / "none.csv"), *GIVEN))
    assert "cannot be read" in failed(run("pate", str(tmp_path), *GIVEN))
    (tmp_path / "bin.csv").write_bytes(b"\x00\xff\xfe")
    assert "neither" in failed(run("pate", str(tmp_path / "bin.csv"), *GIVEN))
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr'")
    assert "array of numbers" in failed(run("pate", str(tmp_path / "cut.npy"), *GIVEN))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--delta 1e-5", "--sigma must be given: gaussian noise"),
        ("--sigma 3", "--delta must be given"),
        ("--sgma 3 --delta 1e-5", "did you mean --sigma?"),
        ("--b 3 --delta 1e-5", "takes --sigma, not --b"),
        ("--sigma 3 --delta 1e-5 --mechanism laplace", "takes --b, not --sigma"),
        ("--sigma 3 --b 2 --delta 1e-5 --mechanism laplace", "takes --b, not --sigma"),
        ("--sigma 3 --b 2 --delta 1e-5", "takes --sigma, not --b"),
        ("--sigma 3 --delta 1e-5 --threshold 5", "--threshold needs --threshold-sigma (standard"),
        (
            "--sigma 3 --delta 1e-5 --threshold-sigma 5",
            "--threshold-sigma needs --threshold (confident",
        ),
        (
            "--mechanism laplace --b 3 --delta 1e-5 --threshold 1 --threshold-sigma 1",
            "takes --b, not --threshold",
        ),
        ("--sigma 3 --delta 1e-5 --neighbours 4", "a multiple of that a row; got 70 in row 1"),
    ],
)
def test_options_that_make_no_sense(words: str, message: str, file: str) -> None:
    assert message in failed(run("pate", file, *words.split()))


def test_votes_of_labels() -> None:
    assert dp.Votes.of_labels([[0, 1, 1]], 3).counts.tolist() == [[1, 2, 0]]
    with pytest.raises(dp.InvalidArgument, match="labels must be from 0 to 1, got 2 in row 2"):
        dp.Votes.of_labels([[0, 1], [2, 1]], 2)
    with pytest.raises(dp.InvalidArgument, match="row 1 has 2, row 2 has 1"):
        dp.Votes([[1, 2], [3]])  # type: ignore[list-item]
    with pytest.raises(dp.InvalidArgument, match="rows of numbers"):
        dp.Votes([1, 2])
    votes = dp.Votes([[1, 2]])
    assert votes == dp.Votes(np.array([[1, 2]])) and hash(votes) == hash(dp.Votes([[1, 2]]))
    with pytest.raises(ValueError, match="read-only"):
        votes.counts[0, 0] = 5
