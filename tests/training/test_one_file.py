"""A new algorithm is one file: settings, refusals, the account, the run and its report follow from it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.experiments import GIVEN_NOISE

ALGORITHM = '''"""Halting: a test's algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpacct_training.accept import real, setting
from dpacct_training.algorithms.averages import DPFedAvg


@dataclass(frozen=True)
class Halting(DPFedAvg):
    """DP-FedAvg whose server takes a part of each step."""

    share: float = setting(1.0, real, 0.0)

    name: ClassVar[str] = "halting"
    source: ClassVar[str] = "Doe 2031, Algorithm 7"

    def server(self, state, released, setting):
        return {"weights": state["weights"] + self.share * released["update"]}
'''
# As if the file lay in the package: its folder is one of the package's before that is imported. Reports are
# without curves and proofs, as those of `bare_reports`.
RUN = """
import importlib.util, contextlib, io, json, sys
from dpacct.proof import effort
from dpacct.report import contents
contents.risks = lambda answer: ()
folder, lines = sys.argv[1], json.loads(sys.argv[2])
if folder:
    spec = importlib.util.find_spec("dpacct_training.algorithms")
    spec.submodule_search_locations.append(folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    setattr(sys.modules["dpacct_training"], "algorithms", module)
from dpacct_training.cli.main import main
ran = []
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), effort.allowance(0.0):
        code = main(line.split())
    ran.append([int(code), out.getvalue(), err.getvalue()])
print(json.dumps(ran))
"""


def ran(folder: str, lines: list[str], path: Path | None = None) -> list[Any]:
    places = [str(path)] if path is not None else []
    places += [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    words = [sys.executable, "-c", RUN, folder, json.dumps(lines)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("brought", ["folder", "package"])
def test_a_training_algorithm(brought: str, tmp_path: Path) -> None:
    """In the package's folder, or in another package that names it as an entry point."""
    (tmp_path / "halting.py").write_text(ALGORITHM, encoding="utf-8")
    experiment = tmp_path / "small.toml"
    experiment.write_text(GIVEN_NOISE.replace("dp_fed_ls", "halting"), encoding="utf-8")
    about = tmp_path / "halting-1.0.dist-info"
    if brought == "package":
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: halting\nVersion: 1.0\n")
        point = "[dpacct_training.algorithms]\nhalting = halting\n"
        (about / "entry_points.txt").write_text(point)
    command = f"run {experiment} --set privacy.rounds=2 --quiet --json"
    lines = [
        f"{command} --out {tmp_path}/whole",
        f"{command} --set algorithm.name=dp_fedavg --out {tmp_path}/usual",
        f"{command} --set algorithm.share=0 --out {tmp_path}/still",
        f"{command} --set algorithm.shar=0 --out {tmp_path}/refused",
        f"{command} --set algorithm.share=-1 --out {tmp_path}/beyond",
    ]
    if brought == "package":
        done = ran("", lines, tmp_path)
    else:
        done = ran(str(tmp_path), lines)
    whole, usual, still = (json.loads(out) for _, out, _ in done[:3])
    assert [code for code, _, _ in done] == [0, 0, 0, 2, 2]
    assert whole["test_loss"] == usual["test_loss"] != still["test_loss"]
    epsilons = {run["epsilon"]["value"] for run in (whole, usual, still)}
    assert len(epsilons) == 1 and whole["algorithm"] == "halting"
    assert "did you mean 'share'" in done[3][1] and "share must be" in done[4][1]
    report = (tmp_path / "whole" / "report.md").read_text(encoding="utf-8")
    assert "Doe 2031, Algorithm 7" in report
