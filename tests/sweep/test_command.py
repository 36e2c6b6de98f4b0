"""`dpacct sweep`: every row is what the command says, and a row's failure is the row's alone."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from tests.cli.runner import line, run
from tests.sweep.sweeping import rows, sweep

EPS = """
command = "eps"
[fixed]
rate = "1/100"
delta = 1e-5
[axes]
sigma = [0.9, "11/10", 2]
steps = { from = 10, to = 1000, points = 3, scale = "log" }
"""


def test_epsilons_are_those_of_the_accountant(tmp_path: Path) -> None:
    result = rows(sweep(tmp_path, EPS))
    assert [(r["sigma"], r["steps"]) for r in result] == [
        (s, t) for s in ("0.9", "11/10", "2") for t in ("10", "100", "1000")
    ]
    for row in result:
        plan = dp.Poisson("1/100")(dp.Gaussian(sigma=row["sigma"])) * int(row["steps"])
        answer = plan.epsilon(delta="1e-5", method="exact")
        assert float(row["epsilon"]) == float(answer)
        assert (float(row["lower"]), float(row["upper"])) == (answer.lower, answer.upper)
        assert (row["side"], row["strength"]) == (answer.side, answer.strength)
        assert (row["method"], row["exit"], row["error"]) == ("exact", "0", "")


def test_the_method_nobody_chose_is_said(tmp_path: Path) -> None:
    done = sweep(tmp_path, EPS)
    assert "method exact, which is converged and not proven" in done.stderr
    assert sweep(tmp_path, EPS, "--json").json["default_method"] == "exact"
    chosen = sweep(tmp_path, EPS.replace("delta =", 'method = "rdp"\ndelta ='), "--json")
    assert chosen.json["default_method"] is None and "not proven" not in chosen.stderr
    assert {row[-3] for row in chosen.json["rows"]} == {"rdp"}


def test_proofs_where_they_are_asked_for(tmp_path: Path) -> None:
    text = 'command = "eps"\n[fixed]\nmethod = "certified"\ndelta = 1e-5\n[axes]\nsigma = [2, 4]\n'
    assert {row["strength"] for row in rows(sweep(tmp_path, text))} == {"proved"}


@pytest.mark.parametrize(
    ("command", "fixed", "axis", "values", "quantity"),
    [
        ("delta", "sigma = 2", "eps", "[0.5, 1]", "delta"),
        ("noise", "delta = 1e-5\nrate = 0.01\nsteps = 1000", "eps", "[1, 2]", "sigma"),
        ("steps", "sigma = 20\ndelta = 1e-5", "eps", "[1, 2]", "steps"),
        ("eps", "sigma = 2\ndelta = 1e-5", "method", '["exact", "rdp", "clt"]', "epsilon"),
        ("eps", "delta = 1e-5\nb = 10", "mechanism", '["laplace"]', "epsilon"),
    ],
)
def test_any_command_that_answers(
    tmp_path: Path, command: str, fixed: str, axis: str, values: str, quantity: str
) -> None:
    text = f'command = "{command}"\n[fixed]\n{fixed}\n[axes]\n{axis} = {values}\n'
    for row in rows(sweep(tmp_path, text)):
        options = " ".join(f"--{o.replace(' = ', ' ')}" for o in fixed.splitlines())
        method = "" if axis == "method" else "--method exact"
        said = line(f"{command} {options} --{axis} {row[axis]} {method} --json").json
        safe = said["upper"] if command != "steps" else said["lower"]
        assert float(row[quantity]) == (said["value"] if safe is None else safe)


def test_outputs_by_their_path(tmp_path: Path) -> None:
    text = 'command = "risk"\noutputs = ["advantage.value", "rates.0.true_positive_rate.upper"]\n'
    text += "[fixed]\nfpr = [0.01]\n[axes]\nsigma = [2, 4]\n"
    for row in rows(sweep(tmp_path, text)):
        plan = dp.Gaussian(sigma=row["sigma"])
        assert float(row["advantage.value"]) == pytest.approx(
            float(plan.delta(epsilon=0)), rel=1e-9
        )
        caught = float(row["rates.0.true_positive_rate.upper"])
        assert caught == pytest.approx(1 - plan.tradeoff(0.01), rel=1e-6)


def test_a_command_whose_quiet_form_is_no_answer(tmp_path: Path) -> None:
    """`federated` prints bare numbers when it is quiet; then --json is asked, and nothing leaks."""
    plan = "clients 100,client-rate 1,batch-size 10,records 600,local-steps 1,rounds 2,delta 1e-5"
    text = 'command = "federated"\noutputs = ["mu_clt"]\n[fixed]\n'
    text += plan.replace(" ", " = ").replace(",", "\n") + "\n[axes]\nsigma = [4]\n"
    (row,) = rows(sweep(tmp_path, text))
    options = plan.replace(",", " --")
    assert float(row["mu_clt"]) == line(f"federated --{options} --sigma 4 --json").json["mu_clt"]


def test_what_an_answer_has_beside_its_number(tmp_path: Path) -> None:
    text = 'command = "noise"\noutputs = ["sigma", "noise_std", "noise_multiplier"]\n'
    text += "[fixed]\ndelta = 1e-5\nclip = 0.5\n[axes]\neps = [1, 2]\n"
    for row in rows(sweep(tmp_path, text)):
        assert float(row["noise_std"]) == pytest.approx(0.5 * float(row["sigma"]), rel=1e-12)


def test_a_failing_row_carries_its_sentence_and_code(tmp_path: Path) -> None:
    text = (
        'command = "noise"\n[fixed]\ndelta = 1e-5\nsampling = "uniform"\nrate = 0.05\nsteps = 30\n'
    )
    text += 'method = "dp_fed_ls.theorem1"\nclip = 1\n[axes]\neps = [0.001, 9, -1, "x"]\n'
    done = sweep(tmp_path, text)
    result = rows(done)
    for row in result:
        alone = run(
            *[
                "noise",
                "--delta",
                "1e-5",
                "--sampling",
                "uniform",
                "--rate",
                "0.05",
                "--steps",
                "30",
            ],
            *["--method", "dp_fed_ls.theorem1", "--clip", "1", "--quiet", f"--eps={row['eps']}"],
        )
        assert int(row["exit"]) == alone.code
        if alone.code:
            assert alone.stderr == f"error: {row['error']}\n" and row["sigma"] == ""
        else:
            twice = 2 * float(row["sigma"])  # sigma is per sensitivity; --quiet is per clip
            assert twice == pytest.approx(float(alone.stdout), rel=1e-11)
    assert [row["exit"] for row in result] == ["4", "0", "2", "2"]
    assert "3 of 4 rows have no answer" in done.stderr


def test_one_answer_among_many_failures(tmp_path: Path) -> None:
    text = 'command = "eps"\n[fixed]\ndelta = 1e-5\n[axes]\nsigma = {from = -99, to = 1, points = 101}\n'
    result = rows(sweep(tmp_path, text))
    assert [row["sigma"] for row in result if row["exit"] == "0"] == ["1"] and len(result) == 101


def test_no_answer_at_all_is_the_command_s_own_sentence(tmp_path: Path) -> None:
    text = (
        'command = "noise"\n[fixed]\ndelta = 1e-5\nsampling = "uniform"\nrate = 0.05\nsteps = 30\n'
    )
    failed = sweep(tmp_path, text + 'method = "dp_fed_ls.theorem1"\n[axes]\neps = [0.001, 1]\n')
    assert failed.code == 4 and "the smallest feasible epsilon is 8.2" in failed.stderr


def test_files(tmp_path: Path) -> None:
    names = ("a.csv", "a.json", "a.svg", "a.pdf", "a.png")
    outputs = [word for name in names for word in ("-o", str(tmp_path / name))]
    done = sweep(tmp_path, EPS, *outputs)
    assert done.code == 0 and done.stdout == ""
    assert (tmp_path / "a.csv").read_text() == sweep(tmp_path, EPS).stdout
    body = json.loads((tmp_path / "a.json").read_text())
    assert body["schema"] == 1 and body["failed"] == 0 and len(body["rows"]) == 9
    assert body == sweep(tmp_path, EPS, "--json").json
    first = {name: (tmp_path / name).read_bytes() for name in names}
    sweep(tmp_path, EPS, *outputs)
    assert first == {name: (tmp_path / name).read_bytes() for name in names}
    assert not list(tmp_path.glob("*.journal"))


GOOD = 'command = "eps"\n[fixed]\ndelta = 1e-5\nsigma = 1\n[axes]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("command = ", "is not TOML"),
        ("", "does not say which command"),
        ('command = "epz"', "has no command"),
        ('command = "sweep"', "cannot be swept"),
        ('command = "eps"\nfoo = 1', "unknown key 'foo'"),
        ('command = "eps"', "has no axes"),
        ('command = "eps"\naxes = 3', "must be a table"),
        (GOOD + "sigma = [1]", "are one option"),
        (GOOD + "sigmo = [1]", "has no option 'sigmo'; did you mean sigma?"),
        (GOOD + "steps = []", "must have a value"),
        (GOOD + "steps = [1, 1]", "each value once"),
        (GOOD + "steps = 5", "must be a list of values, or a table"),
        (GOOD + "steps = {from = 1}", "to must be given"),
        (GOOD + "steps = {from = 1, to = 5, points = 1}", "points must be a whole number"),
        (
            GOOD + "steps = {from = 1, to = 5, points = 3, scale = 'x'}",
            "scale must be one of linear or log",
        ),
        (GOOD + "steps = {from = 0, to = 5, points = 3, scale = 'log'}", "must be above 0"),
        (GOOD + "steps = {from = nan, to = 5, points = 3}", "from must be a number"),
        (GOOD + "steps = {from = 1, to = 5, points = 3, step = 1}", "unknown key 'step'"),
        (GOOD + "steps = [0, -1]", "--steps must be a whole number"),
        (GOOD + "steps = [true]", "must be a number or a text"),
        (GOOD + "steps = [1]\nrounds = [2]", "are one option"),
        (GOOD + "json = [1]", "has no option 'json'"),
        (GOOD.replace("1e-5", "7") + "steps = [1]", "--delta must be"),
        (GOOD.replace("sigma = 1", "sigma = [1, 2]") + "steps = [1]", "a list of values belongs"),
        (
            'outputs = ["epsilonn"]\n' + GOOD + "steps = [1]",
            "has no output 'epsilonn'; did you mean",
        ),
        ('outputs = ["lower", "lower"]\n' + GOOD + "steps = [1]", "one value twice"),
        (
            'command = "compare"\n[fixed]\ndelta = 1e-5\n[axes]\nsigma = [1]',
            "say which to keep, such as",
        ),
        ('command = "eps"\n[axes]\nsigma = [1]', "--delta must be given"),
    ],
)
def test_nonsense_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    failed = sweep(tmp_path, text)
    assert failed.code == 2 and failed.stdout == ""
    assert says in failed.stderr and failed.stderr.count("\n") == 1, failed.stderr
    assert failed.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-o", "x.txt"), "--output must end in"),
        (("-o", "no/folder/x.csv"), "no folder"),
        (("--jobs", "0"), "--jobs must be"),
        (("--show", "nothing", "-o", "x.svg"), "--show must name an output"),
        (("--picture", "pie"), "--picture must be one of"),
    ],
)
def test_refused_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = sweep(tmp_path, EPS, *words)
    assert failed.code == 2 and says in failed.stderr and failed.stderr.count("\n") == 1


def test_a_picture_has_three_axes_at_most(tmp_path: Path) -> None:
    text = 'command = "eps"\n[axes]\n'
    text += "".join(f"{name} = [0.1, 0.2]\n" for name in ("sigma", "delta", "rate"))
    failed = sweep(tmp_path, text + "steps = [1, 2]", "-o", str(tmp_path / "x.svg"))
    assert failed.code == 2 and "a picture shows two axes" in failed.stderr


def test_curves_are_as_many_as_can_be_told_apart(tmp_path: Path) -> None:
    text = 'command = "eps"\n[fixed]\ndelta = 1e-5\n[axes]\nsigma = [1, 2, 3, 4, 5, 6, 7, 8]\n'
    text += "steps = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
    failed = sweep(tmp_path, text, "-o", str(tmp_path / "x.svg"), "--picture", "curves")
    assert failed.code == 2 and "at most 7 lines; this sweep has 8" in failed.stderr


values = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=6),
    st.lists(st.one_of(st.integers(), st.floats(), st.text(max_size=4)), max_size=4),
    st.fixed_dictionaries(
        {},
        optional={
            "from": st.one_of(st.floats(), st.integers()),
            "to": st.one_of(st.floats(), st.integers()),
            "points": st.one_of(st.integers(-2, 6), st.text(max_size=3)),
            "scale": st.sampled_from(["log", "linear", "lag"]),
        },
    ),
)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return repr(value)


@given(
    st.dictionaries(st.sampled_from(["sigma", "steps", "delta", "rate", "b"]), values, max_size=3)
)
def test_any_axes(tmp_path_factory: pytest.TempPathFactory, axes: dict[str, object]) -> None:
    """A table, or a sentence; never a traceback, and never a number for nonsense."""
    text = 'command = "eps"\n[fixed]\nunit = "client"\n[axes]\n'
    text += "".join(f"{name} = {toml(value)}\n" for name, value in axes.items())
    done = sweep(tmp_path_factory.mktemp("s"), text)
    if done.code:
        assert done.code in (2, 3, 4, 8) and done.stdout == ""
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        return
    for row in csv.DictReader(io.StringIO(done.stdout)):
        assert bool(row["epsilon"]) == (row["exit"] == "0") == (not row["error"])
        if row["epsilon"]:
            assert 0 <= float(row["epsilon"]) < float("inf")
