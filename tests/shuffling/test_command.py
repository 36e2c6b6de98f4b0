"""`dpacct shuffle`: answers, JSON, and nonsense."""

from __future__ import annotations

import json

import pytest

from tests.cli.runner import line, run

BASE = ["shuffle", "--eps0", "4", "--clients", "100000"]


def test_json_is_an_answer_with_all_bounds() -> None:
    document = run(*BASE, "--delta", "1e-6", "--json").json
    assert document["command"] == "shuffle" and document["quantity"] == "epsilon"
    assert document["lower"] <= document["value"] == document["upper"] < 0.1182
    assert (document["side"], document["strength"]) == ("two-sided", "bound")
    assert (document["adjacency"], document["unit"]) == ("replace-one", "client")
    assert "Feldman, McMillan, Talwar 2022" in document["basis"][0]
    methods = {other["method"]: other["value"] for other in document["alternatives"]}
    assert {"feldman2020.clones", "feldman2022.closed", "feldman2020.theorem3_1", "rdp"} <= set(
        methods
    )
    assert min(methods.values()) >= document["value"]


def test_delta_at_an_epsilon() -> None:
    document = run(*BASE, "--eps", "0.2", "--json").json
    assert document["quantity"] == "delta" and 0 < document["lower"] <= document["value"] < 1e-6


def test_rounds_name_what_they_were_compared_with() -> None:
    document = run(*BASE, "--delta", "1e-6", "--rounds", "5", "--json").json
    assert document["method"] == "exact" and 0.118 < document["lower"] < document["upper"] < 1
    assert {"rdp", "local"} <= {other["method"] for other in document["alternatives"]}


def test_words() -> None:
    out = run(*BASE, "--delta", "1e-6", "--details").stdout
    assert out.startswith("epsilon 0.1182    at delta 1e-6\n") and "\n  other bounds " in out
    assert "\nepsilon <= 0.118153165" in out and "at least 0.117\n" in out
    first = run(*BASE, "--delta", "1e-6").stdout
    assert out.startswith(first) and "the shuffler drops who sent what" in first
    sought = run("shuffle", "--clients", "10000", "--eps", "1", "--delta", "1e-6").stdout
    assert sought.startswith("eps0 5.47    for epsilon 1 at delta 1e-6\n")


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (["--clients", "10", "--eps0", "1"], 2, "--delta"),
        (["--clients", "10", "--delta", "1e-6"], 2, "--eps0"),
        (["--clients", "10", "--eps0", "1", "--eps", "1", "--delta", "1e-6"], 2, "--eps"),
        (["--clients", "10", "--eps0", "1", "--delta", "1e-6", "--k", "3"], 2, "--k"),
        (["--clients", "10", "--gamma", "1", "--delta", "1e-6"], 3, "purely eps0-DP"),
        (["--eps0", "1", "--delta", "1e-6"], 2, "--clients"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_nonsense(args: list[str], code: int, word: str, as_json: bool) -> None:
    ended = run("shuffle", *args, *(["--json"] if as_json else []))
    assert ended.code == code
    entry = json.loads(ended.stdout)["error"]["message"] if as_json else ended.stderr
    assert word in entry and "Traceback" not in entry


def test_what_no_lattice_spans_falls_back_to_the_messages_alone() -> None:
    document = line(
        "shuffle --eps0 500 --mechanism rr --clients 2 --delta 1e-14 --rounds 10 --json"
    ).json
    assert document["method"] == "local" and document["side"] in ("upper", "two-sided")
    assert 4999 < document["value"] < 5001
