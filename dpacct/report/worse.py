"""The same plan with one assumption false, as a plan of its own: what it would cost then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import exact, text
from dpacct.errors import DpacctError

if TYPE_CHECKING:
    from dpacct.tree import Node

Saved = dict[str, Any]
Change = Callable[[Saved], Saved]
_SAMPLERS = ("poisson", "without-replacement")
# What the noise is divided by when a unit weighs twice as much.
_SCALES = {"gaussian": ("sigma", "noise_multiplier"), "laplace": ("b", "noise_multiplier")}


def unsampled(plan: Node) -> Node | None:
    """The plan without its sampling; None where it samples nothing, or has no such form.

    >>> import dpacct as dp
    >>> unsampled(dp.Poisson("0.1")(dp.Laplace(b=3)) * 5)
    Laplace(b=3) * 5
    """
    return _changed(plan, lambda saved: saved["of"] if saved["node"] in _SAMPLERS else saved)


def weighted(plan: Node, factor: int = 2) -> Node | None:
    """The plan for units that weigh `factor` times the sensitivity; None where that has no form.

    >>> import dpacct as dp
    >>> weighted(dp.Gaussian(sigma=3) * 5)
    Gaussian(sigma=1.5) * 5
    """

    def heavier(saved: Saved) -> Saved:
        if "of" in saved or "parts" in saved:
            return saved
        names = [name for name in _SCALES.get(saved["node"], ()) if name in saved]
        if not names:
            raise _NoForm
        return saved | {name: _divided(saved[name], factor) for name in names}

    return _changed(plan, heavier)


class _NoForm(Exception):
    """The plan has a part that cannot be changed so."""


def _divided(number: str, factor: int) -> str:
    value = exact(number)
    if value is None:
        raise _NoForm
    return text(value / factor)


def _changed(plan: Node, change: Change) -> Node | None:
    from dpacct.tree import from_dict

    try:
        before = plan.to_dict()
        after = _walk(before, change)
        changed = from_dict({"schema": before["schema"], **after})
    except (_NoForm, DpacctError):
        return None
    return None if changed == plan else changed


def _walk(saved: Mapping[str, Any], change: Change) -> Saved:
    """Every node changed, the innermost first."""
    node = dict(saved)
    if isinstance(node.get("of"), Mapping):
        node["of"] = _walk(node["of"], change)
    if isinstance(node.get("parts"), list):
        node["parts"] = [_walk(part, change) for part in node["parts"]]
    return change(node)
