"""One small chart of each kind, made once; and what no picture may do."""

from functools import cache
from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import dpacct as dp
from dpacct.report.plots.chart import Chart
from dpacct.report.plots.kinds import profile, rdp, tradeoff
from dpacct.report.plots.style import style

STEP = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
RUN = STEP * 1000
KINDS = ("profile", "tradeoff", "rdp")


@cache
def chart(kind: str) -> Chart:
    if kind == "profile":
        return profile(RUN, epsilons=np.linspace(0, 2.5, 11), methods=("auto", "rdp", "clt"))
    if kind == "tradeoff":
        return tradeoff(RUN, alphas=np.linspace(0, 1, 11))
    return rdp(RUN, orders=np.geomspace(1.5, 32, 12))


def no_text_on_another(drawn: Figure) -> None:
    """Nor outside of the picture."""
    with style():
        FigureCanvasAgg(drawn).draw()
        texts = [*drawn.texts]
        for axes in drawn.axes:
            texts += [axes.xaxis.label, axes.yaxis.label, *axes.texts]
            texts += [axes._left_title] if axes.get_title(loc="left") else []
            for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
                for tick in axis.get_major_ticks():
                    if min(ends) <= tick.get_loc() <= max(ends):
                        texts += [tick.label1 if tick.label1.get_visible() else tick.label2]
            legend = axes.get_legend()
            texts += legend.get_texts() if legend else []
        texts += [text for legend in drawn.legends for text in legend.get_texts()]
        boxes = [
            (t.get_text(), t.get_window_extent()) for t in texts if t.get_text() and t.get_visible()
        ]
    for text, box in boxes:
        inside = box.x0 >= -1 and box.x1 <= drawn.bbox.x1 + 1
        assert inside and box.y0 >= -1 and box.y1 <= drawn.bbox.y1 + 1, text
    for (first, a), (second, b) in combinations(boxes, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart, (first, second)


def contrast(first: str, second: str) -> float:
    """The ratio of two colours' luminances (WCAG 2)."""

    def luminance(colour: str) -> float:
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted(map(luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)
