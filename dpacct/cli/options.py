"""The options that several commands share, in the groups their help shows them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpacct.cli.command import option, stack
from dpacct.cli.noise_kind import KINDS
from dpacct.cli.values import (
    COUNT,
    DELTA,
    DIGITS,
    EPSILON,
    POSITIVE,
    RATE,
    SHARE,
    STEPS,
    Choice,
    FilePath,
)
from dpacct.vocabulary import Adjacency, Unit

MECHANISMS = tuple(KINDS)
SAMPLINGS = ("poisson", "uniform", "none")
METHODS: tuple[str, ...] = (
    "auto",
    "certified",
    "exact",
    "rdp",
    "rdp-mironov",
    "clt",
    "balle_wang.theorem8",
    "lattice",
    "lattice@1e-6",
)
METHODS += ("dp_fed_ls.theorem1", "dp_fed_ls.theorem2")

Decorator = Callable[[Any], Any]

_NOISE, _PLAN, _TARGET, _MEANING, _OUTPUT = "Noise", "Plan", "Target", "What is protected", "Output"

_MECHANISM = option(
    "--mechanism",
    section=_NOISE,
    type=Choice(MECHANISMS),
    default="gaussian",
    show_default=True,
    metavar="NAME",
    help=f"The noise that is added: {', '.join(MECHANISMS)}.",
)
_CLIP = option(
    "--clip",
    section=_NOISE,
    type=POSITIVE,
    metavar="C",
    help="Clipping norm. The sensitivity of the clipped sum is C, and 2C under replace-one.",
)
_SHAPE = [
    option(
        "--nu",
        section=_NOISE,
        type=SHARE,
        metavar="V",
        help="Staircase: where the density first falls, 0 to 1; default: least mean noise.",
    ),
    option("--k", section=_NOISE, type=COUNT, metavar="K", help="Answers; default 2."),
    option(
        "--sensitivity",
        section=_NOISE,
        type=COUNT,
        metavar="D",
        help="Discrete noise: sensitivity of the whole number; default 1.",
    ),
]
noise_options = stack(
    [
        _MECHANISM,
        option(
            "--sigma",
            section=_NOISE,
            type=POSITIVE,
            metavar="S",
            help="Gaussian noise: standard deviation / sensitivity.",
        ),
        option(
            "--noise-multiplier",
            section=_NOISE,
            type=POSITIVE,
            metavar="Z",
            help="Gaussian noise, the other way to say it: standard deviation / clip.",
        ),
        _CLIP,
        option(
            "--b", section=_NOISE, type=POSITIVE, metavar="B", help="Laplace: scale / sensitivity."
        ),
        option(
            "--eps0",
            section=_NOISE,
            type=POSITIVE,
            metavar="L",
            help="Staircase, randomized response, exponential mechanism: epsilon of one release.",
        ),
        option(
            "--scale",
            section=_NOISE,
            type=POSITIVE,
            metavar="S",
            help="Discrete noise: its scale, in whole units.",
        ),
        *_SHAPE,
    ]
)
wanted_noise_options = stack([_MECHANISM, _CLIP, *_SHAPE])

sampling_options = stack(
    [
        option(
            "--rate",
            "--sample-rate",
            "rate",
            section=_PLAN,
            type=RATE,
            metavar="Q",
            help="Share of the data that a step samples.",
        ),
        option(
            "--batch-size",
            section=_PLAN,
            type=COUNT,
            metavar="B",
            help="With --dataset-size, the other way to give the rate: B / N.",
        ),
        option(
            "--dataset-size",
            section=_PLAN,
            type=COUNT,
            metavar="N",
            help="Number of records (units).",
        ),
        option(
            "--sampling",
            section=_PLAN,
            type=Choice(SAMPLINGS),
            help="poisson: each record by its own coin (default with a rate); uniform: a fixed"
            " size, without replacement; none.",
        ),
    ]
)
steps_options = stack(
    [
        option(
            "--steps",
            "--rounds",
            "steps",
            section=_PLAN,
            type=STEPS,
            metavar="T",
            help="Number of steps; without sampling the default is 1.",
        ),
        option(
            "--epochs",
            section=_PLAN,
            type=POSITIVE,
            metavar="E",
            help="Passes over the data instead: E / rate steps, rounded up.",
        ),
    ]
)


def epsilon_option(*, required: bool) -> Decorator:
    """--eps, the epsilon of a guarantee."""
    return option(
        "--eps",
        "--epsilon",
        "epsilon",
        section=_TARGET,
        type=EPSILON,
        required=required,
        metavar="E",
        help="Epsilon of the guarantee, at least 0.",
    )


def delta_option(*, required: bool) -> Decorator:
    """--delta, the delta of a guarantee."""
    return option(
        "--delta",
        section=_TARGET,
        type=DELTA,
        required=required,
        metavar="D",
        help="Delta of the guarantee, strictly between 0 and 1.",
    )


meaning_options = stack(
    [
        option(
            "--adjacency",
            section=_MEANING,
            type=Choice([str(word) for word in Adjacency]),
            help="Which data sets are neighbours. Default: replace-one for uniform sampling, else"
            " add-remove.",
        ),
        option(
            "--unit",
            section=_MEANING,
            type=Choice([str(word) for word in Unit]),
            help="Whose data is protected. Default: record. The number does not depend on it.",
        ),
    ]
)
json_option = option("--json", "as_json", section=_OUTPUT, is_flag=True, help="Answer in JSON.")
quiet_option = option(
    "--quiet", "-q", section=_OUTPUT, is_flag=True, help="Print the bare safe number, for scripts."
)
method_option = option(
    "--method",
    section=_OUTPUT,
    type=Choice(METHODS),
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"How to compute it: {', '.join(METHODS)}."
    " auto proves the answer where it can, and else takes the strongest.",
)
proof_options = stack(
    [
        option(
            "--digits",
            section=_OUTPUT,
            type=DIGITS,
            metavar="N",
            help="Certify so many digits; 12 unless said otherwise.",
        ),
        option(
            "--certificate",
            section=_OUTPUT,
            type=FilePath(),
            metavar="FILE",
            help="Certify, and write the proof as JSON; dpacct verify checks it.",
        ),
    ]
)
answer_options = stack([method_option, json_option, quiet_option])
