"""The results of attacks as sections of a report: tables, curves and images."""

from __future__ import annotations

import base64
import io
from dataclasses import asdict
from typing import Any

import numpy as np

import dpacct as dp
from dpacct_training.attacks.inference import Attribute, Membership
from dpacct_training.attacks.inversion import Inversion
from dpacct_training.attacks.worlds import AttackedUnits
from dpacct_training.extras import required

Result = Membership | Inversion | Attribute
_POINTS, _FLOOR = 40, 1e-4  # of a curve
_SHOWN = 8  # images
_PIXELS = 40  # height and width of an image on the paper


def percent(share: float) -> str:
    """Format a share as "12.3 %"; a hundred-thousandth at the least."""
    return f"{round(100 * share, 3):.4g} %"


def rows(result: Result) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of a result: (head, rows)."""
    head: tuple[str, ...]
    shares: tuple[float, ...]
    match result:
        case Membership():
            head = ("false alarms", "hits", "at least", "proven at most", "guessing", "AUC")
            return head, [
                (
                    f"{percent(r.false_alarms)} (< {percent(r.most)})",
                    percent(r.hits),
                    percent(r.least),
                    percent(r.bound),
                    percent(r.most),
                    f"{result.auc:.3f}",
                )
                for r in result.rates
            ]
        case Inversion():
            head = ("seen", "error", "dB", "mean image", "picked", "at least")
            return (*head, "proven at most", "guessing"), [
                (
                    each.seen,
                    f"{each.error:.4f}",
                    f"{each.decibels:.1f}",
                    f"{result.mean_error:.4f}",
                    percent(each.picked),
                    percent(each.least),
                    percent(each.bound),
                    percent(1.0 / len(result.originals)),
                )
                for each in result.seen
            ]
        case Attribute():
            head = ("attribute", "majority", "imputed", "with the model", "of strangers", "±")
            shares = (result.majority, result.imputed, result.model, result.strangers)
            spread = percent(result.spread)
            return head, [(result.name, *(percent(share) for share in shares), spread)]


def proven(target: AttackedUnits) -> str:
    """The proven bound for the attacked units."""
    account = target.account
    if account is None:
        return f"{target.unit}: nothing"
    spent = account.spent(account.times)
    return f"{target.unit}: epsilon {float(spent):.4g} at {float(account.delta):.2g}"


def alarm(result: Result) -> bool:
    """Return whether the attack exceeded a proven bound."""
    return isinstance(result, Membership | Inversion) and result.alarm


def pictures(result: Result) -> tuple[tuple[str, str], ...]:
    """The (picture, caption) pairs of a result."""
    match result:
        case Membership():
            caption = "Members found by others taken for members; above the shaded edge is proved impossible."
            return ((curve(result).to_svg(), caption),)
        case Inversion() if result.originals.ndim == 4:
            return ((images(result), "Originals, what was drawn again, and the mean image."),)
        case _:
            return ()


def values(result: Result) -> dict[str, Any]:
    """Return JSON values."""
    if isinstance(result, Membership):
        plain = {**vars(result), "rates": [asdict(rate) for rate in result.rates]}
        curve_x, curve_y = (np.interp(_grid(), result.roc[0], axis) for axis in result.roc)
        plain |= {"roc": [curve_x.tolist(), curve_y.tolist()], "alarm": result.alarm}
        plain["proven"] = None if result.proven is None else result.proven.to_dict()
        return {name: value for name, value in plain.items() if name != "curve"}
    if isinstance(result, Inversion):
        seen = [{k: v for k, v in vars(s).items() if k != "images"} for s in result.seen]
        return {"seen": seen, "mean_error": result.mean_error, "alarm": result.alarm}
    return asdict(result)


def _grid() -> Any:
    return np.geomspace(_FLOOR, 1.0, _POINTS)


def curve(result: Membership) -> dp.plots.Chart:
    """The attack's curve, with what the plan forbids shaded."""
    alphas, plot = _grid(), dp.plots
    reached = np.interp(alphas, *result.roc).clip(_FLOOR)
    lines = [
        plot.Line("attack", f"attack {result.kind}", reached),
        plot.Line("guessing", "guessing", alphas),
    ]
    bands: tuple[plot.Band, ...] = ()
    title = f"The attack's area under the curve is {result.auc:.3f}; guessing has 0.500"
    if result.curve is not None:
        bound = np.array([1.0 - result.curve.at(1.0 - alpha) for alpha in alphas]).clip(_FLOOR, 1.0)
        lines.append(plot.Line("bound", "proved to be at most", bound, dp.Strength.BOUND))
        bands = (plot.Band(bound, np.ones(len(bound)), "proved impossible", "#D55E00"),)
    x = plot.Axis("false_positive_rate", "false positive rate", log=True)
    y = plot.Axis("true_positive_rate", "true positive rate", log=True)
    return plot.Chart("", x, y, alphas, tuple(lines), title, bands=bands)


def images(result: Inversion) -> str:
    """Columns of images with their names above, drawn with the page's own ink."""
    columns = [("original", result.originals), *((s.seen, s.images) for s in result.seen)]
    columns.append(("mean image", result.mean))
    wide, count = 2 * _PIXELS + 20, min(_SHOWN, len(result.originals))
    parts = [
        f'<svg viewBox="-8 0 {wide * len(columns) + 8} {24 + count * (_PIXELS + 4)}" role="img" '
        'aria-label="Originals and reconstructions" font-family="inherit" font-size="11" '
        'fill="currentColor">'
    ]
    for i, (name, held) in enumerate(columns):
        x = i * wide
        parts.append(f'<text x="{x}" y="14">{name}</text>')
        for j in range(count):
            href = base64.b64encode(_png(held[j])).decode()
            parts.append(
                f'<image x="{x}" y="{24 + j * (_PIXELS + 4)}" width="{_PIXELS}" height="{_PIXELS}" '
                f'style="image-rendering: pixelated" href="data:image/png;base64,{href}"/>'
            )
    return "\n".join([*parts, "</svg>"])


def _png(image: Any) -> bytes:
    """(channels, height, width) in [0, 1]."""
    written, shown = io.BytesIO(), np.moveaxis(np.clip(image, 0.0, 1.0), 0, -1)
    flat = shown[..., 0] if shown.shape[-1] == 1 else shown
    required("matplotlib.image").imsave(written, flat, cmap="gray", vmin=0, vmax=1, format="png")
    return written.getvalue()
