"""--json: the keys of docs/json.md, valid JSON, the same exit code for errors."""

from typing import Any

import pytest

from dpacct import from_dict
from dpacct.vocabulary import Adjacency, Side, Strength, Unit
from tests.cli.runner import line, run

Number = (int, float)
ANSWER: dict[str, Any] = {
    "schema": 1,
    "command": str,
    "quantity": {"epsilon", "delta", "sigma", "b", "steps"},
    "value": Number,
    "lower": (*Number, type(None)),
    "upper": (*Number, type(None)),
    "side": {str(word) for word in Side},
    "strength": {str(word) for word in Strength} - {"refuted"},
    "method": str,
    "adjacency": {str(word) for word in Adjacency},
    "unit": {str(word) for word in Unit},
    "basis": list,
    "assumptions": list,
    "plan": dict,
    "seconds": Number,
    "alternatives": list,
}
PLAIN = {"value", "side", "strength", "method"}
COMMANDS = [
    "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
    "eps --mechanism laplace --b 10 --steps 5 --delta 1e-5 --unit client",
    "eps --sigma 2 --sampling uniform --rate 0.05 --steps 200 --delta 1e-6",
    "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --method rdp",
    "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --method clt",
    "delta --sigma 1.1 --rate 0.01 --steps 1000 --eps 1.5",
    "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000",
    "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000 --clip 0.5",
    "steps --sigma 1.1 --rate 0.01 --eps 2 --delta 1e-5",
]


def conforms(body: dict[str, Any], schema: dict[str, Any]) -> None:
    """A small schema: a type, a set of allowed values, or one value."""
    for key, kind in schema.items():
        assert key in body, f"{key} is missing"
        value = body[key]
        if isinstance(kind, set):
            assert value in kind, (key, value)
        elif isinstance(kind, type | tuple):
            assert isinstance(value, kind) and not isinstance(value, bool), (key, value)
        else:
            assert value == kind, (key, value)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer(command: str) -> None:
    done = line(command + " --json")
    assert done.code == 0 and done.stderr == ""
    body = done.json
    conforms(body, ANSWER)
    assert body["command"] == command.split()[0]
    assert list(body)[:3] == ["schema", "command", "quantity"]
    lower, upper = body["lower"], body["upper"]
    assert (lower is None or lower <= body["value"]) and (upper is None or body["value"] <= upper)
    for other in body["alternatives"]:
        assert other.keys() >= PLAIN
    methods = [body["method"], *(other["method"] for other in body["alternatives"])]
    assert len(set(methods)) == len(methods) and {"exact", "rdp", "clt"} <= set(methods)
    assert from_dict(body["plan"]).to_dict() == body["plan"]
    assert all(isinstance(text, str) for text in body["basis"] + body["assumptions"])


def test_noise_says_it_in_three_ways() -> None:
    body = line(COMMANDS[-2] + " --json").json
    assert body["quantity"] == "sigma"
    assert body["noise_multiplier"] == body["upper"]
    assert body["noise_std"] == pytest.approx(0.5 * body["noise_multiplier"], rel=1e-15)
    assert {other["method"] for other in body["alternatives"]} >= {"rdp", "rdp-mironov", "clt"}
    swapped = "noise --eps 4 --delta 1e-5 --sampling uniform --rate .05 --steps 20 --clip 3 --json"
    body = line(swapped).json
    assert body["adjacency"] == "replace-one"
    assert body["noise_multiplier"] == pytest.approx(2 * body["upper"], rel=1e-15)
    assert body["noise_std"] == pytest.approx(3 * body["noise_multiplier"], rel=1e-15)


def test_errors_are_json_wherever_the_flag_stands() -> None:
    for words in (
        ["eps", "--json", "--nope"],
        ["eps", "--nope", "--json"],
        ["eps", "--json"],
        ["eps", "--json", "--sigma", "nan", "--delta", "1e-5"],
        ["nope", "--json"],
        ["--json"],
        ["compose", "missing.toml", "--json"],
    ):
        failed = run(*words)
        assert failed.code == 2 and failed.stderr == ""
        assert list(failed.json) == ["schema", "error"]
        assert list(failed.json["error"]) == ["code", "kind", "message", "argument"]


def test_an_internal_error_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpacct.cli.command import CommandLine

    def fail(*_: object) -> None:
        raise ZeroDivisionError("float division\nby zero")

    monkeypatch.setattr(CommandLine, "stated", fail)
    failed = line("eps --sigma 1 --delta 1e-5")
    assert failed.code == 1 and failed.stdout == ""
    assert "ZeroDivisionError: float division by zero" in failed.stderr
    assert "report" in failed.stderr and "DPACCT_DEBUG=1" in failed.stderr
    assert failed.stderr.count("\n") == 1
    entry = line("eps --sigma 1 --delta 1e-5 --json").json["error"]
    assert (entry["code"], entry["kind"], entry["argument"]) == (1, "internal", None)
    monkeypatch.setenv("DPACCT_DEBUG", "1")
    assert "Traceback" in line("eps --sigma 1 --delta 1e-5").stderr
