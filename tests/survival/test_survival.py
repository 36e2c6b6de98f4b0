"""What people have written down still works: names, options, plans, ledgers, certificates, lines.

The stored state is that of commit 2a5d979 (dump.py). Names, keys and exit codes must still be
there; an interval must overlap the old one and lie within it, up to rounding or the grid's spacing.
What differs on purpose is listed in differences.py. Lines that take long: `pytest -m search`.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

import dpacct as dp
from tests.survival import dump
from tests.survival.differences import DELIBERATE

WITHIN = 1e-9
"""How far outside the stored interval an end may lie, relatively: both are rounded."""
ON_A_GRID = 5e-4
"""How far an upper end may lie above the stored one, relatively: brackets are 2e-5 wide, or more."""
LONG = 0.2
"""Lines for which the stored dpacct took more processor seconds are in the long run only."""


def stored(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((dump.HERE / name).read_text(encoding="utf-8"))
    return data


LINES, SHAPES = stored("lines.json"), stored("shapes.json")
NAMES, OPTIONS, PLANS = stored("names.json"), stored("options.json"), stored("plans.json")


def agree(kind: str, where: str, new: Any, old: Any) -> None:
    """`new` is `old`, or what differences.py says."""
    listed = DELIBERATE.get((kind, where))
    if listed is None:
        assert new == old, f"{kind} of {where}: it was {old!r}"
    else:
        assert new == listed[0] != old, f"{kind} of {where}: {listed}"


def within(new: list[Any], old: list[Any], where: str) -> None:
    """Lower end, value, upper end: the interval meets the old one, and its upper end is near that one's."""
    lower, value, upper = (-math.inf if old[0] is None else old[0]), old[1], old[2]
    size = max(abs(x) for x in old[:3] if x is not None and math.isfinite(x))
    slack = WITHIN * size
    assert (new[1] is None) == (value is None), (where, new, old)
    # both hold the same number
    assert new[2] is None or new[2] >= lower - slack, (where, new, old)
    assert upper is None or new[0] is None or new[0] <= upper + slack, (where, new, old)
    assert upper is None or new[2] <= upper + ON_A_GRID * size, (where, new, old)
    if upper is None and old[0] is None and value is not None:  # an estimate
        assert new[1] == pytest.approx(value, rel=1e-6), (where, new, old)


@pytest.fixture(scope="module")
def files() -> Iterator[None]:
    with dump.folder_of_files():
        yield


# --- names


def test_every_name_is_there() -> None:
    today = dump.names()
    for name, old in NAMES.items():
        agree("name", name, name in today, True)
        if ("name", name) in DELIBERATE:
            continue
        gone = {member for member in old.get("members", ()) if member not in dir(reached(name))}
        agree("name", f"{name} members", sorted(gone), [])
        gone = set(old.get("parameters", ())) - set(today[name].get("parameters", ()))
        agree("name", f"{name} parameters", sorted(gone), [])


def reached(name: str) -> Any:
    """What a dotted name under dpacct stands for."""
    thing: Any = dp
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_is_there(command: str) -> None:
    gone = set(OPTIONS[command]) - set(dump.options(command))
    agree("option", command, sorted(gone), [])


# --- plans


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_and_its_json(name: str) -> None:
    """The text still makes it, the JSON is still its JSON, and its epsilon is the same."""
    old = PLANS[name]
    new = dump.plan_row(old["python"])
    agree("plan", f"{name} refused", new.get("refused"), old.get("refused"))
    if "json" in old:
        agree("plan", f"{name} json", new["json"], old["json"])
        read = dp.from_json(json.dumps(old["json"]))
        assert json.loads(read.to_json()) == new["json"]
    if isinstance(old.get("epsilon"), list) and ("plan", f"{name} epsilon") not in DELIBERATE:
        within(new["epsilon"], old["epsilon"], name)


# --- command lines

QUICK = [line for line, row in LINES.items() if row["cpu"] <= LONG]
SLOW = [line for line, row in LINES.items() if row["cpu"] > LONG]


def check_line(line: str) -> None:
    old, new = LINES[line], dump.observed(line)
    agree("code", line, new["code"], old["code"])
    if ("code", line) in DELIBERATE:
        return
    agree("error", line, new.get("error"), old.get("error"))
    if "shape" in old:
        same_keys(new["shape"], SHAPES[str(old["shape"])])
        for where, interval in old["numbers"].items():
            if ("number", line) not in DELIBERATE:
                assert where in new["numbers"], f"{line}: no answer at {where}"
                within(new["numbers"][where], interval, f"{line} at {where}")
    if "number" in old:
        if ("number", line) in DELIBERATE:
            agree("number", line, new["number"], old["number"])
        else:
            assert new["number"] == pytest.approx(old["number"], rel=1e-9), line


def same_keys(new: list[str], old: list[str]) -> None:
    """Each key that was there is there, and holds what it held (or nothing)."""
    today: dict[str, set[str]] = {}
    for entry in new:
        path, _, kind = entry.rpartition(": ")
        today.setdefault(path, set()).add(kind)
    for entry in old:
        path, _, kind = entry.rpartition(": ")
        if ("key", path) in DELIBERATE:
            continue
        assert path in today, f"the key {path} is gone"
        assert kind == "null" or today[path] <= {kind, "null"} or kind in today[path], (
            f"{path} holds {today[path]}, and held {kind}"
        )


@pytest.mark.parametrize("line", QUICK)
@pytest.mark.usefixtures("files")
def test_a_command_line(line: str) -> None:
    check_line(line)


@pytest.mark.search
@pytest.mark.parametrize("line", SLOW)
@pytest.mark.usefixtures("files")
def test_a_command_line_that_takes_long(line: str) -> None:
    check_line(line)


def test_the_lines_are_those_of_the_list() -> None:
    """One row for each, and enough of them."""
    assert list(LINES) == dump.command_lines() and len(LINES) >= 300
    assert {line.split()[0] for line in LINES} >= set(dump.COMMANDS)


def test_the_differences_are_of_something() -> None:
    """No entry for a line, a command or a name that is not there."""
    for kind, where in DELIBERATE:
        if kind in ("code", "error", "number"):
            assert where in LINES
        elif kind == "option":
            assert where in OPTIONS
        elif kind == "name":
            assert where.split()[0] in NAMES
        elif kind == "plan":
            assert where.split()[0] in PLANS
        else:
            assert any(entry.startswith(f"{where}: ") for each in SHAPES.values() for entry in each)
