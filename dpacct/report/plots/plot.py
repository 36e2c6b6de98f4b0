"""`dpacct.plot`: every kind of picture as a function that returns a matplotlib Figure.

The figures stand alone (no pyplot, no window); `dpacct.plot.save(figure, "file.svg")` writes one, as
SVG, PDF or PNG, the same bytes every time.

>>> import dpacct as dp
>>> picture = dp.plot.profile(dp.Gaussian(sigma=2), epsilons=[0, 1, 2])
>>> dp.plot.to_bytes(picture, ".pdf")[:5]
b'%PDF-'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.report.plots.draw import draw
from dpacct.report.plots.page import figure as figure
from dpacct.report.plots.style import COLUMN as COLUMN
from dpacct.report.plots.style import LOOKS as LOOKS
from dpacct.report.plots.style import PAGE as PAGE
from dpacct.report.plots.style import look_of as look_of
from dpacct.report.plots.style import plot_line as plot_line
from dpacct.report.plots.style import save as save
from dpacct.report.plots.style import style as style
from dpacct.report.plots.style import to_bytes as to_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from dpacct.declare.number import Number
    from dpacct.tree import Node


def profile(
    plan: Node,
    *,
    epsilons: ArrayLike | None = None,
    methods: Sequence[str] = ("auto",),
    delta: Number = "1e-5",
    width: float | None = None,
) -> Figure:
    """Delta over epsilon, by one or more methods.

    Args:
        plan: the plan.
        epsilons: where to ask, each at least 0; default: from 0 to where delta is 1e-10.
        methods: names as for `Node.delta`; "auto" is the exact profile.
        delta: the one the title speaks of, in (0, 1).
        width: of the figure, in inches.

    Raises:
        InvalidArgument: a value outside its range.
        Unsupported: a method that does not apply to the plan.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> picture = dp.plot.profile(run, methods=("auto", "rdp"))
    >>> picture.texts[0].get_text()
    'At delta 1e-5 the exact epsilon is 1.516; RDP asks 13 % more'
    """
    from dpacct.report.plots.profile import profile

    return draw(profile(plan, epsilons=epsilons, methods=methods, delta=delta), width=width)


def tradeoff(
    plan: Node,
    *,
    alphas: ArrayLike | None = None,
    alarm: Number = "0.01",
    width: float | None = None,
) -> Figure:
    """The trade-off curve with the region of attacks; the title is about false positive rate `alarm`.

    >>> import dpacct as dp
    >>> picture = dp.plot.tradeoff(dp.Gaussian(sigma=2))
    >>> picture.texts[1].get_text()
    'of the members, 3.4 times what guessing finds'
    """
    from dpacct.report.plots.tradeoff import tradeoff

    return draw(tradeoff(plan, alphas=alphas, alarm=alarm), width=width)


def rdp(
    plan: Node,
    *,
    orders: ArrayLike | None = None,
    delta: Number = "1e-5",
    width: float | None = None,
) -> Figure:
    """Renyi DP over its order, with the order that is best at `delta` marked.

    >>> import dpacct as dp
    >>> picture = dp.plot.rdp(dp.Gaussian(sigma=2) * 8, delta=1e-6)
    """
    from dpacct.report.plots.rdp import rdp

    return draw(rdp(plan, orders=orders, delta=delta), width=width)


def steps(
    step: Node,
    *,
    counts: Sequence[int] | None = None,
    delta: Number = "1e-5",
    methods: Sequence[str] | None = None,
    width: float | None = None,
) -> Figure:
    """Epsilon at `delta` against how often `step` is repeated, by one or more methods.

    >>> import dpacct as dp
    >>> picture = dp.plot.steps(dp.Gaussian(sigma=20), counts=[1, 10, 100])
    """
    from dpacct.report.plots.steps import steps

    return draw(steps(step, counts=counts, delta=delta, methods=methods), width=width)


def noise(
    plan: Callable[[float | Fraction], Node],
    *,
    epsilons: ArrayLike | None = None,
    delta: Number = "1e-5",
    epsilon: Number = 1,
    methods: Sequence[str] | None = None,
    name: str = "sigma",
    width: float | None = None,
) -> Figure:
    """The least noise over epsilon, by method; `plan` is a function of the noise.

    >>> import dpacct as dp
    >>> picture = dp.plot.noise(lambda s: dp.Gaussian(sigma=s) * 10, epsilons=[0.5, 1, 2])
    """
    from dpacct.report.plots.noise import noise

    chart = noise(plan, epsilons=epsilons, delta=delta, epsilon=epsilon, methods=methods, name=name)
    return draw(chart, width=width)


def gap(
    plan: Node,
    *,
    deltas: ArrayLike | None = None,
    methods: Sequence[str] | None = None,
    width: float | None = None,
) -> Figure:
    """How far each method's epsilon is from the exact one, in per cent, over delta.

    >>> import dpacct as dp
    >>> picture = dp.plot.gap(dp.Gaussian(sigma=20) * 100, deltas=[1e-9, 1e-5])
    """
    from dpacct.report.plots.gap import gap

    return draw(gap(plan, deltas=deltas, methods=methods), width=width)
