"""compose: plans from files."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import dpacct as dp
from tests.cli.runner import PLAN, Run, run

NESTED = """
delta = "1000^-1.1"
adjacency = "add-remove"
unit = "client"

[[step]]          # a client coin per round, 50 local steps under each
rate = 0.1
repeat = 20
[[step.inner]]
noise_multiplier = 8
clip = 0.5
repeat = 50

[[step]]
mechanism = "approx-dp"
epsilon = 0.1
delta = 1e-7
"""

Ask = Callable[..., Run]


@pytest.fixture
def compose(tmp_path: Path) -> Ask:
    def ask(text: str | bytes, *words: str, name: str = "plan.toml") -> Run:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return run("compose", str(path), *words)

    return ask


def test_the_same_as_in_python(compose: Ask) -> None:
    node = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000 + dp.Laplace(b=20)
    body = compose(PLAN, "--json").json
    assert body["command"] == "compose" and body["quantity"] == "epsilon"
    assert body["upper"] == float(node.epsilon(delta=1e-5))
    assert dp.from_dict(body["plan"]) == node
    assert compose(PLAN, "--eps", "2", "--json").json["upper"] == float(node.delta(epsilon=2))
    assert (
        compose(node.to_json(), "--delta", "1e-5", "--json", name="p.json").json["upper"]
        == (body["upper"])
    )


def test_nested_steps(compose: Ask) -> None:
    local = dp.Gaussian(noise_multiplier=8, clip=0.5) * 50
    node = dp.Poisson(0.1)(local) * 20 + dp.ApproxDP(epsilon=0.1, delta=1e-7)
    body = compose(NESTED, "--json").json
    assert body["upper"] == float(node.epsilon(delta=1000**-1.1)) or body["upper"] == pytest.approx(
        float(node.epsilon(delta=1000**-1.1)), rel=1e-12
    )
    assert (body["unit"], body["adjacency"]) == ("client", "add-remove")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[[step]]\nsigma = 1\nsampling = 'poisson'",
            "sampling poisson needs rate, or",
        ),
        ("[[step]]\nsigmaa = 1", "step 1: unknown key 'sigmaa'; did you mean sigma?"),
        ("detla = 0.1\n[[step]]\nsigma = 1", "unknown key 'detla'; did you mean delta?"),
        (
            "[[step]]\nsigma = 1\n[[step]]\nsigma = -1",
            "step 2: sigma must be a number above 0, got",
        ),
        ("[[step]]\nsigma = true", "step 1: sigma must be a number or a text, got true"),
        ("[[step]]\nsigma = [1]", "step 1: sigma must be a number or a text"),
        ("[[step]]\nsigma = 1\nrepeat = 0", "step 1: repeat must be a whole number"),
        ("[[step]]\nsigma = 1\nbatch_size = 2", "step 1: batch_size needs dataset_size"),
        ("[[step]]\nsigma = 1\nrate = 1\nrepeat = 2\nepochs = 3", "repeat and epochs do not go"),
        (
            "[[step]]\nsigma = 1\nrate = 1\nsampling = 'none'",
            "sampling none contradicts a",
        ),
        ("[[step]]\nsigma = 1\nb = 1", "step 1: b is not a parameter of gaussian"),
        ("[[step]]\nmechanism = 'gaussian'\nb = 1", "whose noise is given by sigma or noise"),
        ("[[step]]\nsigma = 1\nsteps = 2\nrepeat = 3", "steps and repeat are one setting"),
        ("[[step]]\neps0 = 1", "step 1: eps0 needs mechanism, for it is a parameter of"),
        ("[[step]]\nmechanism = 'gauss'", "did you mean gaussian?"),
        (
            "[[step]]\nmechanism = 'laplace'",
            "give the Laplace noise by b (scale / sensitivity) or noise_multiplier (scale / clip)",
        ),
        ("[[step]]\nrate = 0.5", "step 1: give the Gaussian noise by sigma"),
        (
            "[[step]]\nsigma = 1\n[[step.inner]]\nsigma = 1",
            "step 1: sigma belongs in one of the inner steps",
        ),
        ("[[step]]\n[[step.inner]]\nsigma = 0", "step 1, inner 1: sigma must be"),
        ("[[step]]\ninner = 3", "inner must be one or more [[inner]] tables"),
        ("step = []", "step must be one or more"),
        ("step = 3", "step must be one or more"),
        ("step = [3]", "step 1 must be a table"),
        ("", "has no [[step]]"),
        ("delta = 1e-5", "has no [[step]]"),
        ("[[step]\nsigma = 1", "is not TOML"),
        ("[[step]]\nsigma = 1\nsigma = 2", "is not TOML"),
        ("delta = 1\n[[step]]\nsigma = 1", "delta must be"),
        ("delta = 0.1\nepsilon = 1\n[[step]]\nsigma = 1", "epsilon or delta, not both"),
        ("[[step]]\nsigma = 1", "give --delta or --eps"),
        ("adjacency = 'swap'\n[[step]]\nsigma = 1", "did you mean replace-one?"),
        ("[[step]]\nsigma = 9" + "9" * 5000, "a number is too long"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        ("{", "plan"),
        ('{"schema": 1}', "plan"),
        ('{"schema": 99, "node": "gaussian", "sigma": "1"}', "schema"),
        ("[[step]]" + "\n[[step.inner]]" * 3, "inner 1: give the Gaussian noise by"),
        ("a=" + "[" * 5000, "is not TOML"),
    ],
)
def test_a_bad_file(compose: Ask, text: str | bytes, says: str) -> None:
    failed = compose(text)
    assert failed.code == 2 and failed.stdout == ""
    assert failed.stderr.count("\n") == 1 and len(failed.stderr) < 400
    assert says in failed.stderr
    assert "Traceback" not in failed.stderr
    assert compose(text, "--json").json["error"]["code"] == 2


@pytest.mark.parametrize(
    ("keys", "node"),
    [
        (
            "mechanism = 'laplace'\nnoise_multiplier = 2\nclip = 1",
            dp.Laplace(noise_multiplier=2, clip=1),
        ),
        ("mechanism = 'staircase'\neps0 = 1\nclip = 3", dp.Staircase(1, clip=3)),
        ("noise_multiplier = 2\nclip = 3", dp.Gaussian(noise_multiplier=2, clip=3)),
        ("b = '1e3^0.5'", dp.Laplace("1000^0.5")),
        (
            "sigma = 3\nbatch_size = 30\ndataset_size = 100\nepochs = 2\nsampling = 'uniform'",
            dp.WithoutReplacement("0.3")(dp.Gaussian(3)) * 8,
        ),
    ],
)
def test_a_step_takes_what_its_mechanism_declares(compose: Ask, keys: str, node: dp.Node) -> None:
    twice = "" if "epochs" in keys else "repeat = 2"
    result = compose(
        f"adjacency = 'replace-one'\ndelta = 1e-5\n[[step]]\n{keys}\n{twice}", "--json"
    )
    plan = (node * 2 if twice else node).under("replace-one")
    assert dp.from_dict(result.json["plan"]) == plan
    assert result.json["value"] == plan.epsilon(1e-5).value


# --- The plans shown in docs/plan-format.md are plans.


PAGE = Path(__file__).parents[2] / "docs" / "plan-format.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_page_shows_plans(block: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(block, encoding="utf-8")
    done = run("compose", str(path), "--json")
    assert done.code == 0, done.stderr
    assert 0 < done.json["upper"] < 50


def test_the_page_lists_every_key() -> None:
    from dpacct.cli.plan_file import KEYS, kinds, uses
    from dpacct.plan.samplers.steps import Steps

    assert len(BLOCKS) == 2
    page = PAGE.read_text(encoding="utf-8")
    assert not [
        key
        for key in (*KEYS, *kinds(), *uses(kinds().values()), *Steps.parameters, "repeat", "inner")
        if f"`{key}`" not in page
    ]
