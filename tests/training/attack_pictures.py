"""The pictures of docs/attacks.md: `python -m tests.training.attack_pictures` makes them again.

It takes a quarter of a minute, and MNIST (`dpacct-train data fetch mnist`).
"""

from dataclasses import replace

from dpacct.report.plots import style
from dpacct_training.attacks import inference, inversion, sections
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
    chart = replace(sections.curve(result), facts=(fact, sections.proven(attacked)))
    return chart.to_svg()


def images() -> str:
    """Originals and what was drawn again, as a file of its own: with ground and ink for light and dark."""
    attacked = target("dp_fed_ls_mnist.toml")
    result = inversion.inversion(attacked, 8, keys=attacked.prepared.keys())
    picture = sections.images(result)
    head, rest = picture.split("\n", 1)
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    head = head.replace("inherit", style.FONTS).replace("currentColor", style.INK)
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return style.dark("\n".join([head, ground, rest])) + "\n"


if __name__ == "__main__":
    for name, picture in (("roc", curve()), ("images", images())):
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
