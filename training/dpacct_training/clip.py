"""Clipping: the bound on what one client can change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument

_INWARD = 1.0 - 2.0**-50  # so that rounding leaves the norm at most the clip


def checked(updates: NDArray[Any], clients: NDArray[np.int64]) -> NDArray[np.float64]:
    """The updates, one row for each client, in double precision.

    Fails closed: integers (noise on them would be rounded away), nan and infinity (which pass through
    a clip) raise `InvalidArgument` that names the client.
    """
    if not np.issubdtype(updates.dtype, np.floating):
        told = f"updates must be floating-point numbers, got {updates.dtype}"
        raise InvalidArgument(told, argument="updates")
    if updates.ndim != 2 or len(updates) != len(clients):
        told = f"updates must have one row for each of the {len(clients)} clients of the round"
        raise InvalidArgument(f"{told}, got the shape {updates.shape}", argument="updates")
    found = updates.astype(np.float64)
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        told = "updates must be finite"
        raise InvalidArgument(
            f"{told}, got nan or infinity from client {int(clients[bad.argmax()])}",
            argument="updates",
        )
    return found


def clipped(updates: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """v / max(1, ||v|| / clip) for each row (CLIP of 000 Algorithm 1; line 7 of 003 Algorithm 3).

    >>> clipped(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), 1.0).round(12).tolist()
    [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]
    """
    scale = np.abs(updates).max(axis=1, initial=0.0)
    safe = np.where(scale > 0.0, scale, 1.0)[:, None]
    norms = scale * np.linalg.norm(updates / safe, axis=1)  # squares of large numbers overflow
    over = norms > clip * _INWARD
    factor = np.ones(len(updates))
    factor[over] = clip * _INWARD / norms[over]
    found: NDArray[np.float64] = updates * factor[:, None]
    return found
