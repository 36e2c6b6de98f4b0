"""Smoothing by dense linear algebra, one matrix per kind of end."""

from __future__ import annotations

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth


def _matrix(ends: str, sigma: float, d: int = 5) -> Floats:
    """I + sigma L, entry by entry, for Dirichlet, Neumann or periodic ends."""
    laplacian = np.zeros((d, d))
    for i in range(d):
        for j in (i - 1, i + 1):
            inside = 0 <= j < d
            if inside or ends == "periodic":
                laplacian[i, j % d] -= 1.0
            laplacian[i, i] += 1.0 if inside or ends != "neumann" else 0.0
    return np.asarray(np.eye(d) + sigma * laplacian)


@truth("dp_fed_ls.eq2", draws=200)
def dirichlet(sigma: float, **v: float) -> float:
    """The text's tridiagonal matrix, solved."""
    return float(np.linalg.solve(_matrix("dirichlet", sigma), list(v.values()))[0])


@truth("dp_fed_ls.eq2_corrected", draws=200, within=1e-7)
def periodic(sigma: float, **v: float) -> tuple[float, float]:
    """The cycle's matrix, solved; the first entry may cancel, so it has the error of the vector."""
    found = float(np.linalg.solve(_matrix("periodic", sigma), list(v.values()))[0])
    room = 1e-13 * max(abs(x) for x in v.values())
    return found - room, found + room


def _risk(ends: str, sigma: float, nu: float, v: list[float]) -> float:
    inverse = np.linalg.inv(_matrix(ends, sigma))
    bias = inverse @ v - v
    return float(bias @ bias + nu * nu * np.sum(inverse * inverse))


@truth("dp_fed_ls.proposition1", draws=200, within=1e-6)
def neumann_risk(sigma: float, nu: float, **v: float) -> float:
    """||(A^-1 - I) v||^2 + nu^2 trace(A^-2), dense, for a path."""
    return _risk("neumann", sigma, nu, list(v.values()))


@truth("dp_fed_ls.proposition1_periodic", draws=200, within=1e-6)
def periodic_risk(sigma: float, nu: float, **v: float) -> float:
    """||(A^-1 - I) v||^2 + nu^2 trace(A^-2), dense, for a cycle."""
    return _risk("periodic", sigma, nu, list(v.values()))
