"""Grids over any parameter of any command: files' contents, theorems' arguments, axes that are tied."""

from functools import cache
from pathlib import Path

import pytest

import dpacct as dp
from tests.cli.runner import PLAN, line
from tests.sweep.sweeping import rows, sweep

VOTES = "9,1,0\n2,7,1\n5,5,0\n"
FEDERATED = """
algorithm = "dp-fed"
clients = 9
client_rate = 1
rounds = 2
sigma = 1
delta = 1e-5
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path / "plan.toml"


@cache
def epsilon(repeat: int, b: str) -> float | None:
    """Of the plan with these values in it."""
    steps = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * repeat
    return (steps + dp.Laplace(b=b)).epsilon(delta="1e-5", method="exact").upper


@pytest.mark.parametrize("dotted", [True, False])
def test_values_inside_a_plan_file(plan: Path, dotted: bool) -> None:
    mark = "" if dotted else '"'
    text = f"""
command = "compose"
[fixed]
plan = "{plan}"
[axes]
{mark}plan.step.1.repeat{mark} = {{ from = 30, to = 300, points = 3, scale = "log" }}
{mark}plan.step.2.b{mark} = [10, "20/1"]
"""
    result = rows(sweep(plan.parent, text))
    assert [(r["plan.step.1.repeat"], r["plan.step.2.b"]) for r in result] == [
        (t, b) for t in ("30", "95", "300") for b in ("10", "20/1")
    ]
    for row in result:
        whole = epsilon(int(row["plan.step.1.repeat"]), row["plan.step.2.b"].split("/")[0])
        assert float(row["epsilon"]) == whole
    assert plan.read_text(encoding="utf-8") == PLAN


def test_a_path_that_leads_nowhere_is_a_sentence(plan: Path) -> None:
    text = f'command = "compose"\n[fixed]\nplan = "{plan}"\n[axes]\n"plan.%s" = [1, 2]\n'
    for path, says in (
        ("step.3.b", "plan.toml has no 3 on the way to step.3.b"),
        ("step.1", "step.1 leads to no key"),
        ("step.1.sigmo", "unknown key 'sigmo'; did you mean sigma?"),
        ("delta.b", "leads to no key"),
    ):
        done = sweep(plan.parent, text % path)
        assert (done.code, done.stdout) == (2, "") and says in done.stderr
    done = sweep(plan.parent, (text % "step.1.sigma").replace(str(plan), "-"))
    assert done.code == 2 and "which standard input can't be; name a file" in done.stderr
    done = sweep(plan.parent, text.replace("plan.%s", "plam.step"))
    assert done.code == 2 and "no option 'plam.step'" in done.stderr


def test_a_plan_that_changed_is_another_sweep(plan: Path) -> None:
    text = f'command = "compose"\n[fixed]\nplan = "{plan}"\n[axes]\ndelta = [1e-5, 1e-6]\n'
    out = plan.parent / "out.csv"
    journal = out.with_name("out.csv.journal")
    from dpacct.cli.commands.sweep import files_of, read_sweep
    from dpacct.sweep.run import Journal

    (plan.parent / "s.toml").write_text(text, encoding="utf-8")
    marks = []
    for repeat in ("1000", "1001"):
        plan.write_text(PLAN.replace("1000", repeat), encoding="utf-8")
        grid, _, _ = read_sweep(str(plan.parent / "s.toml"))
        marks.append(grid.fingerprint("1", *files_of(grid)))
    assert marks[0] != marks[1]
    with Journal(journal, marks[0]):
        pass
    refused = sweep(plan.parent, text, "-o", str(out))
    assert refused.code == 2 and "belongs to another sweep" in refused.stderr


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('command = "pate"\n[fixed]\nvotes = "{votes}"\ndelta = 1e-5\n[axes]\nsigma = [4, 9]\n',
         "data_dependent.upper"),
        ('command = "shuffle"\n[fixed]\nclients = 20\ndelta = 1e-6\n[axes]\neps0 = [1, 2]\n',
         "upper"),
        ('command = "federated"\n[fixed]\nplan = "{federated}"\n[axes]\nsigma = [1, 2]\n', "value"),
        ('command = "federated"\n[fixed]\nplan = "{federated}"\n[axes]\nplan.rounds = [2, 3]\n',
         "mu_clt"),
        ('command = "risk"\n[axes]\nsigma = [4, 9]\n', "advantage.upper"),
        ('command = "compare"\n[fixed]\ndelta = 1e-5\n[axes]\nsigma = [4, 9]\n', "answers.0.upper"),
        ('command = "report"\n[fixed]\nplan = "{stated}"\n[axes]\n"plan.step.1.b" = [4, 9]\n',
         "epsilon.upper"),
        ('command = "theorems"\n[fixed]\nwords = ["eval", "dp_fed_ls.lemma2"]\ntau = 0.05\nnu2 = 1\n'
         "[axes]\nalpha = [1.5, 2]\n", "value"),
    ],
    ids=lambda text: text.partition('"')[2].partition('"')[0],
)  # fmt: skip
def test_any_command(tmp_path: Path, text: str, output: str) -> None:
    stated = 'unit = "user"\nadjacency = "add-remove"\ndelta = 0\n[[step]]\nb = 2\n'
    names = {"votes": VOTES, "federated": FEDERATED, "stated": stated}
    for name, outcome in names.items():
        (tmp_path / name).write_text(outcome, encoding="utf-8")
        text = text.replace(f"{{{name}}}", str(tmp_path / name))
    result = rows(sweep(tmp_path, f'outputs = ["{output}"]\n{text}'))
    numbers = [float(row[output]) for row in result]
    assert (
        len(numbers) == 2 and numbers[0] != numbers[1] and {row["exit"] for row in result} == {"0"}
    )
    fixed, _, axes = text.partition("[axes]")
    if "plan." not in axes and "theorems" not in fixed:
        words = [w for w in fixed.replace("[fixed]", "").splitlines()[1:] if w]
        positional = [w.split('"')[1] for w in words if '"' in w]
        options = " ".join(f"--{w.replace(' = ', ' ')}" for w in words if '"' not in w)
        axis = axes.split()[0]
        command = fixed.split('"')[1]
        outcome = line(
            f"{command} {' '.join(positional)} {options} --{axis} {result[0][axis]} --json"
        ).json
        for step in output.split("."):
            outcome = outcome[int(step)] if isinstance(outcome, list) else outcome[step]
        assert numbers[0] == pytest.approx(outcome, rel=1e-9)


TIED = """
command = "eps"
tied = ["sigma", "steps"]
[fixed]
rate = "1/100"
delta = 1e-5
[axes]
sigma = [0.9, 2, 2]
method = ["exact", "rdp"]
steps = [100, 100, 1000]
"""


def test_tied_axes(tmp_path: Path) -> None:
    result = rows(sweep(tmp_path, TIED))
    assert [(r["sigma"], r["steps"], r["method"]) for r in result] == [
        (s, t, m)
        for s, t in (("0.9", "100"), ("2", "100"), ("2", "1000"))
        for m in ("exact", "rdp")
    ]
    for row in result:
        plan = dp.Poisson("1/100")(dp.Gaussian(sigma=row["sigma"])) * int(row["steps"])
        assert float(row["epsilon"]) == float(plan.epsilon(delta="1e-5", method=row["method"]))
    body = sweep(tmp_path, TIED, "--json").json
    assert body["tied"] == [["sigma", "steps"]] and len(body["rows"]) == 6


def test_tied_axes_in_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    assert sweep(tmp_path, TIED, "-o", str(out)).code == 0
    drawn = out.read_text(encoding="utf-8")
    assert "sigma, steps" in drawn and "2, 1000" in drawn


@pytest.mark.parametrize(
    ("tied", "says"),
    [
        ('["sigma", "stepz"]', "tied names no axis 'stepz'; did you mean steps?"),
        ('["sigma"]', "must list two axes or more"),
        ('[["sigma", "steps"], ["steps", "method"]]', "each once, got 'steps'"),
        ('["sigma", "method"]', "sigma and method have 3 and 2"),
        ("1.5", "tied names no axis"),
    ],
)
def test_ties_that_cannot_be(tmp_path: Path, tied: str, says: str) -> None:
    done = sweep(tmp_path, TIED.replace('["sigma", "steps"]', tied))
    assert (done.code, done.stdout) == (2, "") and says in done.stderr
