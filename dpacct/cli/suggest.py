"""Did you mean ...?"""

from collections.abc import Iterable

from dpacct.declare import domain

# What people type who come from other tools, and what it is called here.
SYNONYMS = {
    "--target-epsilon": "--eps",
    "--target-delta": "--delta",
    "--q": "--rate",
    "--p": "--rate",
    "--sampling-rate": "--rate",
    "--sampling-probability": "--rate",
    "--subsampling-rate": "--rate",
    "--t": "--steps",
    "--iterations": "--steps",
    "--compositions": "--steps",
    "--num-steps": "--steps",
    "--num-rounds": "--rounds",
    "--n": "--dataset-size",
    "--records": "--dataset-size",
    "--std": "--sigma",
    "--noise": "--noise-multiplier",
    "--z": "--noise-multiplier",
    "--max-grad-norm": "--clip",
    "--clipping": "--clip",
    "--sensitivity": "--clip",
    "--scale": "--b",
    "-b": "--b",
    "--relation": "--adjacency",
    "--neighbouring": "--adjacency",
    "--neighboring": "--adjacency",
    "epsilon": "eps",
    "sigma": "noise",
    "calibrate": "noise",
    "rounds": "steps",
    "plot": "curve",
    "remove": "add-remove",
    "add": "add-remove",
    "substitute": "replace-one",
    "swap": "replace-one",
    "replace": "replace-one",
    "fixed": "uniform",
    "without-replacement": "uniform",
    "bernoulli": "poisson",
    "normal": "gaussian",
    "prv": "exact",
    "pld": "exact",
    "moments": "rdp",
    "gdp": "clt",
}


def closest(word: str, known: Iterable[str]) -> str | None:
    """The member of `known` that `word` most likely stands for, or None.

    >>> closest("--q", ["--rate", "--steps"])
    '--rate'
    """
    return domain.closest(word, known, SYNONYMS)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A clause for the end of a sentence: "; did you mean --delta?" or a full stop."""
    return domain.did_you_mean(word, known, SYNONYMS) or "."
