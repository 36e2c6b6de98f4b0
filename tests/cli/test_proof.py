"""--method certified, --certificate and verify."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import line

ASK = "--sigma 1.1 --rate 0.01"


@pytest.mark.parametrize(
    "words",
    [
        f"eps {ASK} --steps 1000 --delta 1e-5",
        f"delta {ASK} --steps 1000 --eps 1.5",
        "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000",
        f"steps {ASK} --eps 2 --delta 1e-5",
    ],
)
def test_a_certificate_is_written_and_verified(words: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    done = line(f"{words} --json --certificate {path}")
    assert done.code == 0, done.stderr
    assert done.json["strength"] == "proved"
    assert done.json["method"] == "certified"
    assert done.json["lower"] <= done.json["value"] <= done.json["upper"]
    checked = line(f"verify --json --certificate {path}")
    assert checked.code == 0
    assert checked.json["holds"] is True
    about = line(f"verify --certificate {path}").stdout
    assert about.splitlines()[0].endswith(": proven")
    assert "adjacency: add-remove" in about
    assert '"rate": "0.01"' in about

    document = json.loads(path.read_text(encoding="utf-8"))
    document["claims"][0]["evidence"]["bits"] = 8
    document["claims"][0]["bound"] = (
        "1e-9" if document["claims"][0]["relation"] == "at most" else "0.9"
    )
    path.write_text(json.dumps(document), encoding="utf-8")
    broken = line(f"verify --certificate {path}")
    assert broken.code == 8
    assert "FAILS" in broken.stdout


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", '"' + "a" * 20_000_001 + '"', "{"])
def test_what_is_no_certificate_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(text, encoding="utf-8")
    done = line(f"verify --certificate {path}")
    assert done.code == 2
    assert done.stderr.count("\n") <= 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("eps --sigma 1 --delta 1e-5 --certificate x --method rdp", 2, "--certificate needs"),
        ("eps --sigma 1 --delta 1e-5 --certificate /no/such/place", 2, "cannot write"),
        ("verify --certificate /no/such/file", 2, "No such file"),
        ("verify dp_fed_ls.eq15 --certificate out.json", 2, "--certificate"),
        ("delta --sigma 0.2 --rate 0.01 --steps 50 --eps 3 --method certified", 8, "withheld"),
    ],
)
def test_refusals(words: str, code: int, says: str) -> None:
    done = line(words)
    assert done.code == code
    assert says in done.stderr
    assert not done.stdout
