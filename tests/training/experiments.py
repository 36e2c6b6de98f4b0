"""Small experiments on made-up data, for tests."""

from dataclasses import replace
from typing import Any

from dpacct_training.experiment import Experiment, Prepared, prepare

TEXT = """
name = "small"
[data]
name = "synth"
samples = 400
clients = 40
scaling = "symmetric"
[model]
name = "linear"
[algorithm]
name = "dp_fed_ls"
[local]
epochs = 2
batch_size = 4
learning_rate = 0.05
weight_decay = 1e-3
decay = 0.9
[privacy]
scheme = "poisson"
rate = 0.25
rounds = 6
clip = 0.3
epsilon = 8
delta = 1e-3
[run]
seed = 1
"""

GIVEN_NOISE = TEXT.replace("epsilon = 8", "epsilon = 8\nnoise = 0.25")
"""The same with a noise that need not be found, which takes longer than the run: its epsilon is 6.6."""


def experiment(**changes: Any) -> Experiment:
    """`section__key=value` changes one setting; a section given None is left out."""
    read = Experiment.from_text(TEXT, "small")
    return read.changed({name.replace("__", "."): value for name, value in changes.items()})


def small(**changes: Any) -> Prepared:
    return prepare(experiment(**changes))


def replaced(section: str, values: dict[str, Any], **changes: Any) -> Prepared:
    """With one section as a whole replaced."""
    read = experiment(**changes)
    sections = {**read.sections, section: values}
    return prepare(replace(read, sections=sections))
