"""Laplacian smoothing: A_sigma^{-1} v, in two ways that agree (000 Eq. (2))."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import one_of, real
from dpacct_training.extras import required

Vector = NDArray[np.float64]


def eigenvalues(size: int) -> Vector:
    """lambda_k = 2 - 2 cos(2 pi k / d) of the Laplacian of a cycle, k = 0 .. d//2 (as rfft orders).

    This is -fft(d) of 000 Eq. (2), d = [-2, 1, 0, ..., 0, 1]. The matrix written out in Section 4
    (1 + 2 sigma on the whole diagonal, not cyclic) differs from it in the first and last entries.
    """
    return 4.0 * np.sin(np.pi * np.arange(size // 2 + 1) / size) ** 2


def by_fft(values: Vector, sigma: float) -> Vector:
    """000 Eq. (2): ifft(fft(v) / (1 - sigma fft(d))).

    >>> by_fft(np.array([1.0, 0.5, -0.25, 2.0, 0.0]), 1.0).round(8)[0].item()
    0.70454545
    """
    spectrum = np.fft.rfft(values) / (1.0 + sigma * eigenvalues(values.size))
    return np.fft.irfft(spectrum, values.size)


def recursive(values: Vector, sigma: float) -> Vector:
    """The same in O(d): one pass forwards and one backwards.

    A = c (1 - r S)(1 - r S^T) with S the cyclic shift, c (1 + r^2) = 1 + 2 sigma and c r = sigma; each
    pass starts as if the vector had gone round for ever.
    """
    if sigma == 0.0:
        return values.copy()
    lfilter: Callable[..., tuple[Vector, Vector]] = required("scipy.signal").lfilter
    # r = (1 + 2s - sqrt(1 + 4s)) / (2s), without its cancellation for small s
    r = 2.0 * sigma / (1.0 + 2.0 * sigma + math.sqrt(1.0 + 4.0 * sigma))
    c = sigma / r
    size = values.size
    # r^warm < 2^-60: what lies further back cannot be seen in double precision
    warm = min(size, math.ceil(-42.0 / math.log(r))) if r < 1.0 else size

    def one_pass(x: Vector) -> Vector:
        # y_{-1} = sum_k r^k x_{-1-k} / (1 - r^d): the state after going round for ever
        tail = x[size - warm :][::-1]
        before = float(np.dot(r ** np.arange(warm), tail)) / -math.expm1(size * math.log(r))
        found, _ = lfilter([1.0], [1.0, -r], x, zi=np.array([r * before]))
        return found

    forwards = one_pass(values / c)
    found: Vector = one_pass(forwards[::-1])[::-1]
    return found


METHODS: dict[str, Callable[[Vector, float], Vector]] = {"recursive": recursive, "fft": by_fft}


def smooth(values: Vector, sigma: float, method: str = "fft") -> Vector:
    """A_sigma^{-1} v for a smoothing factor sigma >= 0; sigma = 0 is v itself.

    Raises `InvalidArgument`.

    >>> smooth(np.array([1.0, 0.5, -0.25, 2.0, 0.0]), 1.0).round(8)[0].item()
    0.70454545
    """
    factor = real("smoothing", sigma, 0.0, 1e12)
    one_of("smoothing_method", method, METHODS)
    if values.size == 0 or factor == 0.0:
        return values.copy()
    return METHODS[method](values, factor)
