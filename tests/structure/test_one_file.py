"""A new mechanism or sampler is one file, a command one file and a line in the table."""

import json
import subprocess
import sys
from typing import Any

import pytest

MECHANISM = '''
"""Loud noise: a test's mechanism."""

from fractions import Fraction

from dpacct.declare.domain import POSITIVE
from dpacct.declare.record import Parameter
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.mechanism import Mechanism


class Loud(Mechanism, kind="loud"):
    """Laplace noise under another name."""

    label = "loud noise"
    sought = "loudness"
    trust = "each {unit} is heard once"
    loudness: Parameter[Fraction] = Parameter(
        POSITIVE, "scale / sensitivity", "L"
    )

    def pair(self, adjacency):
        return Laplace(b=self.loudness).pair(adjacency)
'''
SAMPLER = '''
"""Two coins: a test's sampler."""

from fractions import Fraction

from dpacct.declare.domain import RATE
from dpacct.declare.record import Parameter
from dpacct.plan.samplers.sampled import Sampler


class TwoCoins(Sampler, kind="two-coins"):
    """In the sample where both coins fall so."""

    drawn = "each {unit} in a step where two coins of {rate} fall so"
    trust = "two coins are tossed for each {unit}"
    drawing = "each unit tosses two coins"
    rate: Parameter[Fraction] = Parameter(RATE, "of each coin", "Q", kw_only=False)

    def pairs(self, base, adjacency):
        return base.poisson(float(self.rate) ** 2, adjacency)
'''
COMMAND = '''
"""Epsilon, said twice."""

from dpacct.cli.command import TARGET, command, group, option, plan
from dpacct.cli.output import Result
from dpacct.declare.domain import Integer


@command(
    "twice",
    plan(),
    TARGET,
    group("Saying", option("--times N", "how often", default="2")),
    examples=("twice --sigma 2 --delta 1e-5",),
)
def main(line):
    """Say the epsilon of a plan as often as you like."""
    times = line.read("times", Integer(1, 9))
    answer = line.stated().plan().epsilon(line.get("delta"), method="exact")
    return Result(lambda: {"said": [answer.value] * times}, lambda: [str(answer)])
'''
ALGORITHM = '''
"""Twin federated learning: two noisy sums in each round."""

from __future__ import annotations

from typing import ClassVar

from dpacct.declare.domain import Integer
from dpacct.declare.record import Parameter
from dpacct.federated.client_level import ClientLevel


class Twin(ClientLevel):
    """So many noisy sums in each round."""

    sums: Parameter[int] = Parameter(
        Integer(1, 9), "twin: noisy sums in each round", "J", default=2
    )

    algorithm: ClassVar[str] = "twin"
    paper: ClassVar[str] = "nobody"

    def tree(self):
        return super().tree() * self.sums

    def paper_rows(self, *, delta):
        return iter(())
'''
RUN = """
import contextlib, importlib, importlib.util, io, json, sys
folder, lines = sys.argv[1], json.loads(sys.argv[2])
for name in ("mechanisms", "plan.samplers", "federated"):  # as if the file lay in the package
    spec = importlib.util.find_spec("dpacct." + name)
    spec.submodule_search_locations.append(folder + "/" + name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    package, _, last = ("dpacct." + name).rpartition(".")
    setattr(importlib.import_module(package), last, module)
from dpacct.cli import commands
from dpacct.cli.main import main
from dpacct.cli.main import COMMANDS
commands.__path__.append(folder + "/commands")
COMMANDS["twice"] = "Epsilon, said twice."
outputs = {}
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    outputs[line] = [int(code), out.getvalue(), err.getvalue()]
print(json.dumps(outputs))
"""
PLAN = (
    '[[step]]\nmechanism = "loud"\nloudness = 7\nrate = 0.1\nsampling = "two-coins"\nrepeat = 3\n'
)
FEDERATED = "federated --clients 20 --client-rate 0.5 --noise-multiplier 4 --delta 1e-5"
TWIN = """
algorithm = "twin"
clients = 20
client_rate = 0.5
noise_multiplier = 4
rounds = 2
sums = 3
delta = 1e-5
"""
LINES = {
    "flags": "eps --loudness 7 --delta 1e-5 --method exact --json",
    "like": "eps --b 7 --delta 1e-5 --method exact --json",
    "screen": "eps --loudness 7 --delta 1e-5 --method exact --unit client",
    "noise": "noise --mechanism loud --eps 1 --delta 1e-5 --method exact --json",
    "refused": "eps --loudness -7 --delta 1e-5",
    "meant": "eps --loudnes 7 --delta 1e-5",
    "help": "eps --help",
    "coins": "eps --loudness 7 --rate 0.1 --sampling two-coins --steps 3 --delta 1e-5 --method exact --json",
    "one coin": "eps --b 7 --rate 0.01 --steps 3 --delta 1e-5 --method exact --json",
    "file": "compose {}/plan.toml --delta 1e-5 --method exact --json",
    "twin": f"{FEDERATED} --algorithm twin --sums 3 --rounds 2 --json",
    "same": f"{FEDERATED} --algorithm dp-fed --rounds 6 --json",
    "twin file": "federated {}/twin.toml --json",
    "twin refused": f"{FEDERATED} --algorithm dp-fed --sums 3 --rounds 2",
    "twin help": "federated --help",
    "twin report": "report {}/twin.toml --quiet",
    "all": "--help",
    "twice": "twice --loudness 7 --delta 1e-5 --times 3 --json",
    "twice help": "twice --help",
    "twice refused": "twice --loudness 7 --delta 1e-5 --times 10",
    "twice meant": "twice --tims 2",
    "misspelt": "twce --sigma 1",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("brought")
    files = {"mechanisms/loud.py": MECHANISM, "plan.samplers/coins.py": SAMPLER}
    files |= {"commands/twice.py": COMMAND, "plan.toml": PLAN}
    files |= {"federated/twin.py": ALGORITHM, "twin.toml": TWIN}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
    lines = {name: line.format(folder) for name, line in LINES.items()}
    words = [sys.executable, "-c", RUN, str(folder), json.dumps([*lines.values()])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    return {name: document[line] for name, line in lines.items()}


def value(ran: dict[str, Any], name: str) -> float:
    code, out, err = ran[name]
    assert code == 0, err
    return float(json.loads(out)["value"])


def test_a_mechanism(ran: dict[str, Any]) -> None:
    """Flags, the first screen, help, did you mean, refusals, calibration and plan files."""
    assert value(ran, "flags") == value(ran, "like")
    assert "1 step of loud noise (loudness 7)" in ran["screen"][1]
    assert "true only if    each client is heard once" in ran["screen"][1]
    assert json.loads(ran["noise"][1])["quantity"] == "loudness" and value(ran, "noise") > 0.9
    assert ran["refused"][0] == 2
    assert "--loudness must be a number above 0, got -7" in ran["refused"][2]
    assert "did you mean --loudness?" in ran["meant"][2]
    assert "--loudness L" in ran["help"][1] and "loud" in ran["help"][1]


def test_a_sampler(ran: dict[str, Any]) -> None:
    assert value(ran, "coins") == pytest.approx(value(ran, "one coin"), rel=1e-9)
    assert value(ran, "coins") == value(ran, "file")
    assert "two-coins" in ran["help"][1]


def test_a_command(ran: dict[str, Any]) -> None:
    assert "twice" in ran["all"][1] and "Epsilon, said twice." in ran["all"][1]
    assert json.loads(ran["twice"][1])["said"] == [value(ran, "flags")] * 3
    assert "--times N" in ran["twice help"][1] and "dpacct twice --sigma 2" in ran["twice help"][1]
    assert "--times must be a whole number from 1 to 9, got 10" in ran["twice refused"][2]
    assert "did you mean --times?" in ran["twice meant"][2]
    assert "did you mean twice?" in ran["misspelt"][2]


def test_a_federated_algorithm(ran: dict[str, Any]) -> None:
    """Its own setting as a flag and in a file, the usual ones, the report, and a refusal elsewhere."""
    assert value(ran, "twin") == value(ran, "twin file") == value(ran, "same")
    assert "--sums J" in ran["twin help"][1] and "twin" in ran["twin help"][1]
    assert ran["twin refused"][0] == 2
    assert "--sums is not a setting of dp-fed" in ran["twin refused"][2]
    assert ran["twin report"][0] == 0 and "client-level" in ran["twin report"][1]
