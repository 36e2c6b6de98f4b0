"""From the options of a command line to the mechanism tree they describe."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

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
    def noise_parameter(self) -> str:
        """The name of the mechanism's noise parameter: "sigma" or "b"."""
        return "b" if self.mechanism == "laplace" else "sigma"

    @property
    def has_noise(self) -> bool:
        """Whether any noise option was given."""
        return any(value is not None for value in (self.sigma, self.noise_multiplier, self.b))


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
    if options.mechanism == "laplace":
        if options.b is None:
            raise Refusal("give the Laplace noise with --b (scale / sensitivity).", "--b")
        return dp.Laplace(b=options.b)
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
    """Refuse noise options that belong to another mechanism, and mechanisms still to come."""
    if options.mechanism == "staircase":
        raise Refusal(
            "--mechanism staircase is not offered yet; use gaussian or laplace.",
            "--mechanism",
            kind="unsupported",
        )
    if options.mechanism == "laplace":
        for name, value in (
            ("--sigma", options.sigma),
            ("--noise-multiplier", options.noise_multiplier),
            ("--clip", options.clip if options.has_noise else None),
        ):
            if value is not None:
                raise Refusal(
                    f"{name} belongs to Gaussian noise; Laplace noise is given by --b.",
                    name,
                    kind="exclusive-options",
                )
    elif options.b is not None:
        raise Refusal(
            "--b belongs to --mechanism laplace; Gaussian noise is given by --sigma.",
            "--b",
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
            f"--epochs must come to at most 1e15 steps; got {float(exact):.4g}.",
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
