"""Python and the command line give the same number to the same question, digit by digit."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpacct as dp
from dpacct.answer.answer import safe_number
from dpacct.cli.plan_file import noises
from dpacct.proof import effort
from tests.answer.test_every_command import same
from tests.cli.runner import run

# each mechanism as a constructor, as flags, and as keys of a plan file (None: files only)
KINDS: dict[str, tuple[Callable[[], dp.Node], str | None, str]] = {
    "gaussian": (lambda: dp.Gaussian("1.1"), "--sigma 1.1", "sigma = 1.1"),
    "gaussian-clip": (
        lambda: dp.Gaussian(noise_multiplier="1.3", clip="0.7"),
        "--noise-multiplier 1.3 --clip 0.7",
        "noise_multiplier = 1.3\nclip = 0.7",
    ),
    "laplace": (lambda: dp.Laplace(7), "--mechanism laplace --b 7", "b = 7"),
    "staircase": (lambda: dp.Staircase("0.2"), "--mechanism staircase --eps0 0.2", "eps0 = 0.2"),
    "discrete-laplace": (
        lambda: dp.DiscreteLaplace(9, sensitivity=2),
        "--mechanism discrete-laplace --scale 9 --sensitivity 2",
        "scale = 9\nsensitivity = 2",
    ),
    "discrete-gaussian": (
        lambda: dp.DiscreteGaussian(3),
        "--mechanism discrete-gaussian --scale 3",
        "scale = 3",
    ),
    "randomized-response": (
        lambda: dp.RandomizedResponse("0.3", k=4),
        "--mechanism randomized-response --eps0 0.3 --k 4",
        "eps0 = 0.3\nk = 4",
    ),
    "local-randomizer": (
        lambda: dp.LocalRandomizer("0.3"),
        "--mechanism local-randomizer --eps0 0.3",
        "eps0 = 0.3",
    ),
    "exponential": (
        lambda: dp.ExponentialMechanism("0.1"),
        "--mechanism exponential --eps0 0.1",
        "eps0 = 0.1",
    ),
    "pure-dp": (lambda: dp.PureDP("0.2"), None, "epsilon = 0.2"),
    "approx-dp": (
        lambda: dp.ApproxDP(epsilon="0.2", delta="1e-8"),
        None,
        "epsilon = 0.2\ndelta = 1e-8",
    ),
    "zcdp": (lambda: dp.ZCDP("0.01"), None, "rho = 0.01"),
}
SAMPLINGS: dict[str, tuple[Callable[[dp.Node], dp.Node], str, str]] = {
    "none": (lambda node: node, "", ""),
    "poisson": (dp.Poisson("0.05"), "--rate 0.05", "rate = 0.05"),
    "uniform": (
        dp.WithoutReplacement("0.05"),
        "--sampling uniform --rate 0.05",
        'sampling = "uniform"\nrate = 0.05',
    ),
}
STEPS = 2
PROVED = {
    ("gaussian", "none"),
    ("gaussian", "poisson"),
    ("laplace", "none"),
    ("laplace", "poisson"),
}
"""What is asked with proofs; they would take a minute for all."""


def cases() -> Iterator[Any]:
    for kind in KINDS:
        for sampling in SAMPLINGS:
            if kind == "zcdp" and sampling != "none":
                continue  # refused: zCDP has no dominating pair to amplify
            yield pytest.param(kind, sampling, None, id=f"{kind}-{sampling}")
            if kind == "gaussian-clip" or (sampling, kind) == ("poisson", "laplace"):
                asked = dp.Adjacency.REPLACE_ONE
                yield pytest.param(kind, sampling, asked, id=f"{kind}-{sampling}-{asked}")


def quiet(answer: dp.Answer) -> str:
    """The safe end, as `--quiet` prints it."""
    return f"{safe_number(answer)}\n"


@pytest.mark.parametrize(("kind", "sampling", "adjacency"), [*cases()])
def test_epsilon_and_delta(
    kind: str, sampling: str, adjacency: dp.Adjacency | None, tmp_path: Path
) -> None:
    with effort.allowance(math.inf if (kind, sampling) in PROVED else 0.0):
        epsilon_and_delta(kind, sampling, adjacency, tmp_path)


def epsilon_and_delta(
    kind: str, sampling: str, adjacency: dp.Adjacency | None, tmp_path: Path
) -> None:
    make, flags, keys = KINDS[kind]
    sampler, sampled, sampling_keys = SAMPLINGS[sampling]
    plan = sampler(make()) * STEPS
    words = f"--steps {STEPS} {sampled}".split()
    if adjacency is not None:
        plan = plan.under(adjacency)
    asked = [] if adjacency is None else ["--adjacency", str(adjacency)]
    file = tmp_path / "plan.toml"
    file.write_text(
        f'[[step]]\nmechanism = "{kind.removesuffix("-clip")}"\n{keys}\n{sampling_keys}\nrepeat = {STEPS}\n'
    )
    epsilon, delta = plan.epsilon("1e-6"), plan.delta("0.7")
    same(run("compose", str(file), *asked, "--delta", "1e-6", "--json").json, epsilon)
    if flags is None:
        same(run("compose", str(file), *asked, "--eps", "0.7", "--json").json, delta)
        return
    noise = [*flags.split(), *words, *asked]
    assert run("eps", *noise, "--delta", "1e-6", "--quiet").stdout == quiet(epsilon)
    assert run("delta", *noise, "--eps", "0.7", "--quiet").stdout == quiet(delta)


@pytest.mark.parametrize("kind", [*noises()])
def test_the_noise_of_every_mechanism(kind: str) -> None:
    """Its words on the command line are its parameters in Python, also where its noise is sought."""
    made = noises()[kind]
    output = run("noise", *f"--mechanism {kind} --eps 2 --delta 1e-5 --method exact --json".split())
    calibrated = dp.calibrate(
        lambda size: made(**{made.sought: size}),
        epsilon=2,
        delta=1e-5,
        method="exact",
        bounds=made.between,
        name=made.sought,
    )
    same(output.json, calibrated)
