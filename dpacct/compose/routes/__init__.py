"""Ways to an answer, by name: one file per family. Each applies or refuses; none reinterprets."""

from __future__ import annotations

import difflib

from dpacct.declare.domain import Real
from dpacct.errors import InvalidArgument

from .certified import Certified
from .closed_form import BalleWang
from .closed_guarantee import PUBLISHED
from .exact import Exact
from .lattice import Lattice
from .limit import CentralLimit
from .renyi import CANONNE, MIRONOV
from .route import Route

ROUTES: dict[str, Route] = {
    route.name: route
    for route in (Exact(), Lattice(), BalleWang(), CANONNE, MIRONOV, CentralLimit())
}
"""Every method that is compared, the strongest first."""
OFFERED: dict[str, Route] = {**ROUTES, Certified.name: Certified(), **PUBLISHED}
"""Every method by name: proofs and the papers' theorems are asked for, and not compared."""
WIDTH = Real("1e-9", "0.1", "both")
"""Relative widths of the lattice's bracket that may be asked for, as in method="lattice@1e-6"."""


def named(method: str) -> Route:
    """The route of that name; raises `InvalidArgument` with the choices.

    "lattice@1e-6" is the lattice with brackets of that relative width.
    """
    if isinstance(method, str) and method in OFFERED:
        return OFFERED[method]
    if isinstance(method, str) and method.startswith("lattice@"):
        return Lattice(width=float(WIDTH.check("method", method.removeprefix("lattice@"))))
    choices = ["auto", *OFFERED]
    close = difflib.get_close_matches(str(method), choices, n=1, cutoff=0.5)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listed = ", ".join(choices[:-1]) + " or " + choices[-1]
    raise InvalidArgument(f"method must be {listed}, got {method!r:.60}{hint}", argument="method")
