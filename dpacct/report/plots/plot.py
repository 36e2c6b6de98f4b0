"""`dpacct.plots`: every kind of picture as a function that returns a matplotlib Figure.

`dpacct.plot(plan)` is the privacy profile, `dpacct.plot(plan, kind="tradeoff")` another kind.
The figures stand alone (no pyplot, no window); `dpacct.plots.save(figure, "file.svg")` writes one, as
SVG, PDF or PNG, the same bytes every time.

>>> import dpacct as dp
>>> picture = dp.plots.profile(dp.Gaussian(sigma=2), epsilons=[0, 1, 2])
>>> dp.plots.to_bytes(picture, ".pdf")[:5]
b'%PDF-'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from dpacct.declare.domain import Word
from dpacct.report.plots import kinds
from dpacct.report.plots.chart import Axis as Axis
from dpacct.report.plots.chart import Band as Band
from dpacct.report.plots.chart import Chart as Chart
from dpacct.report.plots.chart import Line as Line
from dpacct.report.plots.draw import draw as draw
from dpacct.report.plots.draw import figure as figure
from dpacct.report.plots.style import LOOKS as LOOKS
from dpacct.report.plots.style import PAGE as PAGE
from dpacct.report.plots.style import STYLE as STYLE
from dpacct.report.plots.style import look_of as look_of
from dpacct.report.plots.style import plot_line as plot_line
from dpacct.report.plots.style import save as save
from dpacct.report.plots.style import style as style
from dpacct.report.plots.style import to_bytes as to_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpacct.plan.node import Node

P = ParamSpec("P")


def _drawn(chart: Callable[P, Chart]) -> Callable[P, Figure]:
    @wraps(chart)
    def picture(*args: P.args, **words: P.kwargs) -> Figure:
        return draw(chart(*args, **words))

    return picture


profile = _drawn(kinds.profile)
tradeoff = _drawn(kinds.tradeoff)
rdp = _drawn(kinds.rdp)

KINDS: dict[str, Callable[..., Figure]] = {"profile": profile, "tradeoff": tradeoff, "rdp": rdp}
"""The kinds that a plan alone determines."""


def plot(plan: Node, *, kind: str = "profile", **words: Any) -> Figure:
    """The picture of this kind, a key of `KINDS`; `words` are those of its function.

    Raises `InvalidArgument` for another kind.

    >>> import dpacct as dp
    >>> picture = dp.plot(dp.Gaussian(sigma=2), kind="tradeoff")
    """
    return KINDS[Word(*KINDS).check("kind", kind)](plan, **words)
