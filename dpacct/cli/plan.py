"""From the options of a command line to the mechanism tree they describe."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from dpacct.cli.noise_kind import EXTRA, KINDS, NoiseKind
from dpacct.cli.refusal import Refusal

if TYPE_CHECKING:
    from dpacct.tree import Node

_INVALID = "invalid-argument"


@dataclass(frozen=True)
class PlanOptions:
    """What the user said about the plan, every number exact; None where nothing was said."""

    mechanism: str = "gaussian"
    sigma: Fraction | None = None
    noise_multiplier: Fraction | None = None
    clip: Fraction | None = None
    b: Fraction | None = None
    eps0: Fraction | None = None
    nu: Fraction | None = None
    k: Fraction | None = None
    scale: Fraction | None = None
    sensitivity: Fraction | None = None
    rate: Fraction | None = None
    batch_size: Fraction | None = None
    dataset_size: Fraction | None = None
    sampling: str | None = None
    steps: Fraction | None = None
    epochs: Fraction | None = None
    adjacency: str | None = None
    unit: str | None = None

    @classmethod
    def take(cls, values: dict[str, Any]) -> PlanOptions:
        """Move the plan's own options out of a command's keyword arguments."""
        names = [field.name for field in fields(cls) if field.name in values]
        return cls(**{name: values.pop(name) for name in names})

    @property
    def kind(self) -> NoiseKind:
        """The mechanism."""
        return KINDS[self.mechanism]

    @property
    def noise_parameter(self) -> str:
        """The name of the mechanism's noise parameter: "sigma", "b", "eps0" or "scale"."""
        return self.kind.needs[0]

    @property
    def noise_extras(self) -> dict[str, Fraction | int]:
        """What else was said about the noise: nu, k or the sensitivity."""
        given = {name: getattr(self, name) for name in self.kind.may}
        return {
            name: int(value) if name in ("k", "sensitivity") else value
            for name, value in given.items()
            if value is not None
        }

    @property
    def has_noise(self) -> bool:
        """Whether any noise option was given."""
        sizes = (self.sigma, self.noise_multiplier, self.b, self.eps0, self.scale)
        return any(value is not None for value in sizes)


def _both(first: str, second: str, why: str) -> Refusal:
    return Refusal(
        f"give {first} or {second}, not both: {why}.", first.split()[0], kind="exclusive-options"
    )


def mechanism(options: PlanOptions) -> Node:
    """The noise that the options name.

    Raises:
        Refusal: none, two, or the wrong kind of the noise options was given.
    """
    import dpacct as dp

    check_mechanism(options)
    if options.mechanism != "gaussian":
        name = options.noise_parameter
        size = getattr(options, name)
        if size is None:
            told = f"give the noise of --mechanism {options.mechanism} with --{name}"
            raise Refusal(f"{told} ({options.kind.meaning}).", f"--{name}")
        return options.kind.make(**{name: size}, **options.noise_extras)
    if options.sigma is not None and options.noise_multiplier is not None:
        raise _both("--sigma", "--noise-multiplier", "they are two names of one noise")
    if options.noise_multiplier is not None:
        # Only the ratio counts for privacy, so a clipping norm that was not given may be 1.
        clip = Fraction(1) if options.clip is None else options.clip
        return dp.Gaussian(noise_multiplier=options.noise_multiplier, clip=clip)
    if options.sigma is None:
        raise Refusal(
            "give the noise with --sigma (standard deviation / sensitivity)"
            " or --noise-multiplier (standard deviation / clip).",
            "--sigma",
        )
    if options.clip is not None:
        raise Refusal(
            "--clip goes with --noise-multiplier; --sigma is already divided by the sensitivity.",
            "--clip",
            kind="exclusive-options",
        )
    return dp.Gaussian(sigma=options.sigma)


def check_mechanism(options: PlanOptions) -> None:
    """Refuse noise options that belong to another mechanism."""
    kind = options.kind
    mine = {*kind.needs, *kind.may}
    if options.mechanism == "gaussian":
        mine |= {"noise_multiplier", "clip"}
    elif not options.has_noise:
        mine |= {"clip"}  # to say a noise that is looked for in the data's own units
    for name in ("sigma", "noise_multiplier", "clip", "b", *EXTRA):
        if getattr(options, name) is not None and name not in mine:
            option = "--" + name.replace("_", "-")
            raise Refusal(
                f"{option} is not an option of --mechanism {options.mechanism}, whose noise is"
                f" given by --{kind.needs[0]}.",
                option,
                kind="exclusive-options",
            )


def sampling_rate(options: PlanOptions) -> Fraction | None:
    """The rate, however it was given; None for a plan without sampling."""
    sizes = (options.batch_size, options.dataset_size)
    if options.rate is not None:
        if sizes != (None, None):
            raise _both("--rate", "--batch-size and --dataset-size", "they say the same thing")
        rate: Fraction | None = options.rate
    elif options.batch_size is not None and options.dataset_size is not None:
        if options.batch_size > options.dataset_size:
            raise Refusal(
                f"--batch-size must be at most --dataset-size ({options.dataset_size});"
                f" got {options.batch_size}.",
                "--batch-size",
                kind=_INVALID,
            )
        rate = options.batch_size / options.dataset_size
    elif sizes != (None, None):
        missing = "--batch-size" if options.batch_size is None else "--dataset-size"
        raise Refusal(
            f"--batch-size and --dataset-size go together; {missing} is missing.", missing
        )
    else:
        rate = None
    if options.sampling == "none" and rate is not None:
        raise Refusal(
            "--sampling none contradicts a sampling rate; leave one of them out.",
            "--sampling",
            kind="exclusive-options",
        )
    if options.sampling in ("poisson", "uniform") and rate is None:
        raise Refusal(
            f"--sampling {options.sampling} needs --rate, or --batch-size and --dataset-size.",
            "--rate",
        )
    return rate


def step_count(options: PlanOptions) -> tuple[int, str | None]:
    """The number of steps, and a note when it had to be rounded from epochs.

    An epoch is 1 / rate steps, so E epochs are E / rate steps; a fraction of a step is still a step
    that is taken, so the count is rounded up.
    """
    rate = sampling_rate(options)
    if options.steps is not None:
        if options.epochs is not None:
            raise _both("--steps", "--epochs", "they say the same thing")
        return int(options.steps), None
    if options.epochs is None:
        if rate is None:
            return 1, None
        raise Refusal("give the number of steps with --steps, or with --epochs.", "--steps")
    if rate is None:
        raise Refusal(
            "--epochs needs a sampling rate to become steps: --rate, or --batch-size and"
            " --dataset-size.",
            "--epochs",
        )
    exact = options.epochs / rate
    steps = ceil(exact)
    if steps > 10**15:
        raise Refusal(
            f"--epochs must come to at most 1e15 steps, got {float(exact):.4g}.",
            "--epochs",
            kind=_INVALID,
        )
    if exact == steps:
        return steps, f"{plain(options.epochs)} epochs are {steps} steps"
    return steps, (
        f"{plain(options.epochs)} epochs are {float(exact):.6f} steps, rounded up to {steps}"
    )


def sampled(options: PlanOptions, node: Node) -> Node:
    """The node under the sampling that the options name."""
    import dpacct as dp

    rate = sampling_rate(options)
    if rate is None:
        return node
    if options.sampling == "uniform":
        return dp.WithoutReplacement(rate)(node)
    return dp.Poisson(rate)(node)


def repeated(options: PlanOptions, mechanism_node: Node, count: int) -> Node:
    """So many steps of a mechanism, sampled and protected as the options say."""
    node = sampled(options, mechanism_node) * count
    if options.adjacency is None and options.unit is None:
        return node
    return node.under(options.adjacency, unit=options.unit or "")


def whole(options: PlanOptions) -> tuple[Node, list[str]]:
    """The plan with all its steps, and notes on what was rounded."""
    node = mechanism(options)
    count, note = step_count(options)
    return repeated(options, node, count), [note] if note else []


def plain(value: Fraction) -> str:
    """A number as a person would write it.

    >>> plain(Fraction(3)), plain(Fraction(5, 2))
    ('3', '2.5')
    """
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"
