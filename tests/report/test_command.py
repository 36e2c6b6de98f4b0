"""`dpacct report`: formats, refusals, evidence from a ledger, and exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.cli.commands.report import SUFFIXES
from tests.cli.runner import run

STEPS = '\n[[step]]\nsigma = 1.1\nrate = "1/100"\n'
HEAD = {"unit": 'unit = "client"', "adjacency": 'adjacency = "add-remove"', "delta": "delta = 1e-5"}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(HEAD.values()) + STEPS, encoding="utf-8")
    return path


def test_every_format_by_name_and_by_suffix(plan: Path) -> None:
    plan.write_text("\n".join(HEAD.values()) + "\n[[step]]\nsigma = 2\n", encoding="utf-8")
    starts = {
        "text": "PRIVACY REPORT",
        "markdown": "# Privacy report",
        "html": "<!DOCTYPE html>",
        "latex": "\\documentclass",
        "json": "{",
        "bibtex": "@",
    }
    assert starts.keys() == set(SUFFIXES.values())
    shown = {}
    for name in SUFFIXES.values():
        done = run("report", str(plan), "--format", name)
        assert done.code == 0 and done.stdout.startswith(starts[name]), done.stderr
        assert done.stdout.endswith("\n") and not done.stdout.endswith("\n\n")
        shown[name] = done.stdout
    for suffix, name in SUFFIXES.items():
        path = plan.with_suffix(suffix)
        done = run("report", str(plan), "-o", str(path))
        assert (done.code, done.stdout) == (0, "")
        assert path.read_text(encoding="utf-8") == shown[name]
    assert run("report", str(plan)).stdout == shown["text"]
    assert run("report", str(plan), "--json").stdout == shown["json"]


def test_json_says_what_the_others_say(plan: Path) -> None:
    body = run("report", str(plan), "--json").json
    node = dp.from_dict(body["plan"])
    assert node.epsilon(delta=body["delta"]).upper == body["epsilon"]["upper"]
    again = dp.Report.of(node, delta=body["delta"], command=body["reproduce"]["command"])
    document = again.to_dict()
    assert json.loads(again.to_json()) == document == body
    assert body["schema"] == 1 and body["guarantee_holds"] and body["unit"] == "client"
    text = run("report", str(plan)).stdout
    flat = " ".join(text.split())
    assert body["statement"] in flat
    for part in (*body["not_covered"], *(row["text"] for row in body["assumptions"])):
        assert part in flat
    for name, version in body["reproduce"]["versions"].items():
        assert f"{name} {version}" in flat
    assert body["reproduce"]["command"] == f"dpacct report {plan}"
    assert re.fullmatch(r"[0-9a-f]{64}", body["reproduce"]["plan_sha256"])


def test_the_command_it_tells_gives_the_same(plan: Path) -> None:
    words = ("--delta", "1/1000000", "--unit", "client", "--method", "rdp")
    first = run("report", str(plan), "--json", *words)
    parts = first.json["reproduce"]["command"].split()
    assert parts[:2] == ["dpacct", "report"]
    assert run(*parts[1:], "--json").stdout == first.stdout


@pytest.mark.parametrize("missing", HEAD)
def test_refuses_without_unit_adjacency_or_delta(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    results = [line for key, line in HEAD.items() if key != missing]
    path.write_text("\n".join(results) + STEPS, encoding="utf-8")
    done = run("report", str(path), "-o", str(tmp_path / "out.html"))
    assert done.code == 2 and done.stdout == "" and not (tmp_path / "out.html").exists()
    assert done.stderr.startswith(f"error: plan.toml has no {missing}, ")
    assert f"add the line `{missing} = " in done.stderr and done.stderr.count("\n") == 1
    error = run("report", str(path), "--json").json["error"]
    assert (error["code"], error["kind"], error["argument"]) == (2, "missing-key", missing)
    value = HEAD[missing].partition(" = ")[2].strip('"')
    assert run("report", str(path), "-q", f"--{missing}", value).code == 0
    # the line that the sentence offers is one that works
    offered = re.search(r"`(.*?)`", done.stderr)
    assert offered is not None
    path.write_text("\n".join([*results, offered.group(1)]) + STEPS, encoding="utf-8")
    assert run("report", str(path), "-q").code == 0


def test_sampling_that_fixes_the_adjacency_still_needs_the_word(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    head = HEAD["unit"] + "\n" + HEAD["delta"]
    path.write_text(head + STEPS + 'sampling = "uniform"\n', encoding="utf-8")
    done = run("report", str(path))
    assert done.code == 2 and "its sampling needs replace-one" in done.stderr


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("-o", "report.doc"), "must end in .txt"),
        (("--format", "pdf"), "must be one of text"),
        (("--json", "--format", "html"), "two formats"),
        (("-o", "no/such/folder/r.html"), "cannot write"),
        (("--ledger", "absent.ledger"), "absent.ledger"),
        (("--unit", "person"), "unit"),
    ],
)
def test_other_refusals(plan: Path, words: tuple[str, ...], wanted: str) -> None:
    done = run("report", str(plan), *words)
    assert done.code == 2 and (done.stderr + done.stdout).count("\n") == 1
    assert wanted in done.stderr + done.stdout


def test_epsilon_in_the_plan_is_no_question_of_a_report(plan: Path) -> None:
    plan.write_text("epsilon = 2\n" + plan.read_text(), encoding="utf-8")
    assert "take `epsilon` out" in run("report", str(plan)).stderr


def test_a_violated_assumption_exits_6(plan: Path) -> None:
    plan.write_text(plan.read_text() + '\n[assumptions]\nsampling = "violated"\n', encoding="utf-8")
    for words in ((), ("-q",), ("--json",)):
        done = run("report", str(plan), *words)
        assert done.code == 6 and "the guarantee does not hold" in done.stderr
        assert "does not hold" in done.stdout
    out = plan.with_name("r.html")
    assert run("report", str(plan), "-o", str(out)).code == 6
    assert 'role="alert"' in out.read_text(encoding="utf-8")


def test_quiet_is_the_sentence(plan: Path) -> None:
    done = run("report", str(plan), "-q")
    assert done.stdout.count("\n") == 1 and done.stdout.startswith("Releasing all outputs")


def test_the_sentence_alone_is_that_of_the_whole(plan: Path) -> None:
    """A violated assumption is told with its numbers, also where only the sentence is asked for."""
    whole = run("report", str(plan), "--json").json
    assert run("report", str(plan), "-q").stdout == whole["statement"] + "\n"
    plan.write_text(plan.read_text() + '\n[assumptions]\nsteps = "violated"\n', encoding="utf-8")
    whole = json.loads(run("report", str(plan), "--json").stdout)
    assert any("twice the plan has epsilon" in warning for warning in whole["warnings"])
    lines = run("report", str(plan), "-q").stdout.splitlines()
    assert lines == [*whole["warnings"], whole["statement"]]


def ledger(path: Path, steps: int, **ran: Any) -> Path:
    step = dp.Poisson("1/100")(dp.Gaussian(sigma="1.1"))
    whole = (step * 1000).under("add-remove", unit="client")
    with dp.Ledger(path, budget=(50, 1e-5), plan=whole) as made:
        with made.release((step * steps).under(unit="client")):
            pass
        made.observe(dp.Execution(**{"steps": steps, **ran}))
    return path


def statuses(plan: Path, path: Path) -> tuple[int, dict[str, str]]:
    done = run("report", str(plan), "--json", "--ledger", str(path))
    return done.code, {row["name"]: row["status"] for row in done.json["assumptions"]}


def test_a_ledger_is_evidence(plan: Path, tmp_path: Path) -> None:
    measured = {"noise_multiplier": 1.1, "noise_draws": 1, "weights": [1.0]}
    code, value = statuses(plan, ledger(tmp_path / "good", 1, **measured))
    assert code == 0
    assert (value["steps"], value["noise"], value["sampling"]) == ("held", "held", "declared")
    code, value = statuses(plan, ledger(tmp_path / "loud", 1, noise_multiplier=0.5, noise_draws=1))
    assert code == 6 and value["noise"] == "violated"
    code, value = statuses(plan, ledger(tmp_path / "long", 2))
    assert code == 6 and value["steps"] == "violated"
    plan.write_text(plan.read_text() + "repeat = 100\n", encoding="utf-8")
    same = {"population": 1000, "batch_sizes": [10] * 100}
    code, value = statuses(plan, ledger(tmp_path / "shuffled", 100, **same))
    assert code == 6 and value["sampling"] == "violated"


def test_a_ledger_of_something_else_is_refused(plan: Path, tmp_path: Path) -> None:
    path = ledger(tmp_path / "run", 1)
    done = run("report", str(plan), "--unit", "client", "--ledger", str(path))
    assert done.code == 0
    other = tmp_path / "other.toml"
    other.write_text(plan.read_text().replace("client", "record"), encoding="utf-8")
    done = run("report", str(other), "--ledger", str(path))
    assert done.code == 2 and "must be of the plan's unit, record" in done.stderr


def test_saved_plans_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(dp.Laplace(b=2).under("add-remove", unit="user").to_json(), encoding="utf-8")
    done = run("report", str(path), "--delta", "1e-6", "--format", "markdown")
    assert done.code == 0 and "user-level under add-remove" in done.stdout
    first = run("report", str(path), "--delta", "1e-6", "--json")
    path.write_text(first.stdout, encoding="utf-8")
    again = run("report", str(path), "--json")  # a report says its own delta
    assert again.code == 0 and again.json["statement"] == first.json["statement"]


KEYS = st.sampled_from(["sampling", "sensitivity", "name", "tuning", "output", "x", "viewer"])
WORDS = st.sampled_from(["held", "violated", "", "2026-13-01", "central", "\x7f", "ε" * 30])
LEAVES = WORDS | st.integers(-3, 3) | st.booleans() | st.just(1.5)
TABLES = st.dictionaries(
    KEYS,
    LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(KEYS, LEAVES, max_size=2),
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(TABLES, TABLES)
def test_nonsense_is_one_sentence(tmp_path: Path, assumed: Any, about: Any) -> None:
    """Whatever stands in the two tables: an answer, or one sentence; never a traceback."""
    lines = [*HEAD.values(), "[[step]]", "sigma = 3", "[assumptions]"]
    lines += [f"{key} = {inline(value)}" for key, value in assumed.items()]
    lines += ["[report]", *(f"{key} = {inline(value)}" for key, value in about.items())]
    path = tmp_path / "nonsense.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    done = run("report", str(path), "-q")
    assert done.code in (0, 2, 6)
    if done.code == 2:
        assert done.stdout == "" and done.stderr.count("\n") == 1
        assert "nonsense.toml" in done.stderr


def inline(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


def test_other_commands_check_the_tables_too(plan: Path) -> None:
    plan.write_text(plan.read_text() + '\n[assumptions]\nsampling = "helt"\n', encoding="utf-8")
    done = run("compose", str(plan))
    assert done.code == 2 and "plan.toml: [assumptions]: sampling must be" in done.stderr


STATED = ("--unit", "user", "--adjacency", "add-remove")


def test_options_and_the_json_of_an_answer_state_a_plan(tmp_path: Path) -> None:
    noise = ("--sigma", "2", "--rate", "1/50", "--steps", "30", "--delta", "1e-6")
    body = run("report", *noise, *STATED, "--json").json
    again = body["reproduce"]["command"].split()
    assert run(*again[1:], "--quiet").stdout == body["statement"] + "\n"
    (tmp_path / "answer.json").write_text(run("eps", *noise, *STATED, "--json").stdout)
    said = run("report", str(tmp_path / "answer.json"), "--json").json
    assert (said["epsilon"], said["delta"]) == (body["epsilon"], "1e-6")
    both = run("report", str(tmp_path / "answer.json"), "--sigma", "2")
    assert both.code == 2 and "are two plans" in both.stderr
    none = run("report", "--unit", "user")
    assert none.code == 2 and "give a plan: PLAN, or its options" in none.stderr
