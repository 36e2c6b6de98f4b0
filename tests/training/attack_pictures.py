"""The picture of docs/attacks.md: `python -m tests.training.attack_pictures` makes it again.

It takes a quarter of a minute, and MNIST (`dpacct-train data fetch mnist`).
"""

from dataclasses import replace

from dpacct_training.attacks import inference
from dpacct_training.attacks.worlds import AttackedUnits
from dpacct_training.experiment import Experiment, prepare
from tests.structure.project import ROOT

FOLDER = ROOT / "docs" / "assets" / "attacks"
EXPERIMENTS = ROOT / "training" / "experiments"


def target(file: str) -> AttackedUnits:
    """Seed 0 of a file's experiment."""
    return AttackedUnits(prepare(Experiment.read(EXPERIMENTS / file).changed({"run.seed": 0})), 0)


def curve() -> str:
    """Hits over false alarms, and what is proved."""
    attacked = target("attack_records_mnist.toml")
    result = inference.membership(attacked, "lira-online", keys=attacked.prepared.keys())
    fact = "MNIST, 1,000 records of one client, logistic regression, 100 noisy steps at rate 0.1"
    chart = replace(result.chart(), facts=(fact, attacked.proven))
    return chart.to_svg()


if __name__ == "__main__":
    (FOLDER / "roc.svg").write_text(curve(), encoding="utf-8")
