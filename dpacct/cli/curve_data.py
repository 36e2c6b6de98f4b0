"""The numbers of a curve, before anyone draws or writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.refusal import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.tree import Node

    Column = NDArray[np.float64]

# The end of a profile when none is asked for: there delta has become negligible.
_NEGLIGIBLE_DELTA = 1e-10


@dataclass(frozen=True)
class Curve:
    """Columns of equal length, the horizontal one first.

    Attributes:
        kind: "profile", "tradeoff" or "rdp".
        columns: name to values; the first column is the horizontal axis.
        estimates: the columns that bound nothing, to be drawn dashed.
        plan: the plan the curve belongs to.
        adjacency: under which it holds.
    """

    kind: str
    columns: Mapping[str, Column]
    estimates: frozenset[str]
    plan: Node
    adjacency: str

    @property
    def horizontal(self) -> str:
        """The name of the first column."""
        return next(iter(self.columns))

    def must_be_finite(self) -> None:
        """Refuse a curve that leaves the range of floats: a gap in it would read as a number.

        Raises:
            Refusal: with the exit code of a value that is withheld.
        """
        for name, column in self.columns.items():
            if not all(math.isfinite(value) for value in column):
                raise Refusal(
                    f"{name} is not finite on all of this axis; narrow it with --from and --to.",
                    "--from",
                    kind="not-certified",
                    status=ExitStatus.WITHHELD,
                )

    def to_csv(self) -> str:
        """A header and one line per point; numbers read back to the same floats."""
        lines = [",".join(self.columns)]
        lines += [
            ",".join(repr(float(value)) for value in row)
            for row in zip(*self.columns.values(), strict=True)
        ]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, without the command's name."""
        return {
            "kind": self.kind,
            "adjacency": self.adjacency,
            "columns": {name: [float(v) for v in column] for name, column in self.columns.items()},
            "estimates": sorted(self.estimates),
            "plan": self.plan.to_dict(),
        }


@dataclass(frozen=True)
class Range:
    """What was asked of the horizontal axis; None leaves an end to the kind of curve."""

    points: int
    start: float | None
    stop: float | None

    def ends(self, start: float, stop: Callable[[], float] | float) -> tuple[float, float]:
        """Both ends; refuses an empty range."""
        first = start if self.start is None else self.start
        if self.stop is not None:
            last = self.stop
        else:
            last = stop() if callable(stop) else stop
        if not first < last:
            raise Refusal(f"--from must be below --to; got {first:g} and {last:g}.", "--from")
        return first, last


def profile(plan: Node, span: Range, methods: tuple[str, ...], adjacency: str) -> Curve:
    """Delta over epsilon, by one or more methods."""
    import numpy as np

    def negligible() -> float:
        return float(plan.epsilon(delta=_NEGLIGIBLE_DELTA))

    first, last = span.ends(0.0, negligible)
    epsilons = np.linspace(first, last, span.points)
    columns: dict[str, Column] = {"epsilon": epsilons}
    estimates = set()
    for method in methods:
        if method == "auto":
            columns["delta"] = np.asarray(plan.profile(epsilons), dtype=float)
            continue
        answers = [plan.delta(epsilon=float(epsilon), method=method) for epsilon in epsilons]
        columns[f"delta_{method}"] = np.array([float(answer) for answer in answers])
        if any(answer.strength == "estimate" for answer in answers):
            estimates.add(f"delta_{method}")
    return Curve("profile", columns, frozenset(estimates), plan, adjacency)


def tradeoff(plan: Node, span: Range, adjacency: str) -> Curve:
    """Least type II error over type I error: a lower bound, so safe to publish."""
    import numpy as np

    first, last = span.ends(0.0, 1.0)
    if first < 0 or last > 1:
        raise Refusal("--from and --to of a trade-off curve must be from 0 to 1.", "--from")
    alphas = np.linspace(first, last, span.points)
    columns = {"alpha": alphas, "beta": np.asarray(plan.tradeoff(alphas), dtype=float)}
    return Curve("tradeoff", columns, frozenset(), plan, adjacency)


def rdp(plan: Node, span: Range, adjacency: str) -> Curve:
    """Renyi DP over its order."""
    import numpy as np

    first, last = span.ends(1.1, 256.0)
    if first <= 1:
        raise Refusal(f"--from of an rdp curve must be an order above 1; got {first:g}.", "--from")
    orders = np.geomspace(first, last, span.points)
    columns = {"order": orders, "epsilon": np.asarray(plan.rdp(orders), dtype=float)}
    return Curve("rdp", columns, frozenset(), plan, adjacency)
