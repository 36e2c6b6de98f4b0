"""Renyi divergences of finite laws, exact to rounding also where they are tiny."""

from __future__ import annotations

import math

import numpy as np

from dpacct.pld.stable import Floats

# above it log sum p^a q^{1-a} is exact enough as it is
_SMALL = 1e-2


def renyi(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """D_a(P || Q) of each pair of rows (pairs x outcomes) at each order: pairs x orders.

    The sum of q (r^a - 1 - a (r - 1)), r = p/q, is the moment less 1 without cancellation; what the
    likeliest outcome has lost is what all others have gained.

    >>> rows = np.log([[0.99, 0.01]]), np.log([[0.01, 0.99]])
    >>> renyi(*rows, np.array([2.0])).round(9).tolist()
    [[4.585070545]]
    """
    lead = np.argmax(log_q, axis=1)[:, None]
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        p, q = np.exp(log_p), np.exp(log_q)
        moved = p - q
        np.put_along_axis(moved, lead, 0.0, axis=1)
        ratio = np.where(log_p == log_q, 0.0, log_p - log_q)
        of_lead = -moved.sum(axis=1, keepdims=True) / np.take_along_axis(q, lead, axis=1)
        known = of_lead > -0.5
        exact = np.where(known, np.log1p(np.maximum(of_lead, -0.5)), 0.0)
        np.put_along_axis(
            ratio, lead, np.where(known, exact, np.take_along_axis(ratio, lead, axis=1)), axis=1
        )
        found = np.empty((log_p.shape[0], orders.size))
        for column, order in enumerate(orders.tolist()):
            # an outcome that P does not have adds nothing to the moment
            heights = np.where(log_p == -math.inf, -math.inf, log_p + (order - 1.0) * ratio)
            far = (order * np.abs(ratio) > 1.0) | (log_p == -math.inf)
            plainly = np.exp(heights) - q - order * (p - q)
            small = np.where(far, plainly, q * _excess(order, ratio)).sum(axis=1)
            most = heights.max(axis=1)
            whole = most + np.log(np.exp(heights - most[:, None]).sum(axis=1))
            found[:, column] = np.where(small < _SMALL, np.log1p(np.maximum(small, 0.0)), whole)
    return np.asarray(np.maximum(found, 0.0) / (orders - 1.0)[None, :])


def _excess(order: float, ratio: Floats) -> Floats:
    """e^{a x} - 1 - a (e^x - 1): the sum over k >= 2 of (a^k - a) x^k / k!."""
    x = ratio
    whole = np.expm1(order * x) - order * np.expm1(x)
    series = np.zeros(x.shape)
    for k in range(8, 1, -1):
        series = (order**k - order) / math.factorial(k) + series * x
    return np.asarray(np.where(np.abs(order * x) < 1e-2, series * x * x, whole))
