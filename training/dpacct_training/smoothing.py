"""Laplacian smoothing: A_sigma^{-1} v (Liang et al. 2020, Eq. (2)).

By their Proposition 1 it costs bias and saves variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import real

Vector = NDArray[np.float64]


def eigenvalues(size: int) -> Vector:
    """lambda_k = 2 - 2 cos(2 pi k / d) of the Laplacian of a cycle, k = 0 .. d//2 (as rfft orders).

    This is -fft(d) of Liang et al. 2020, Eq. (2), d = [-2, 1, 0, ..., 0, 1]. The matrix written out in
    Section 4 (1 + 2 sigma on the whole diagonal, not cyclic) differs from it in the first and last entries.
    """
    return 4.0 * np.sin(np.pi * np.arange(size // 2 + 1) / size) ** 2


def smooth(values: Vector, sigma: float) -> Vector:
    """ifft(fft(v) / (1 - sigma fft(d))) for a smoothing factor sigma >= 0; sigma = 0 is v itself.

    Raises `InvalidArgument`.
    """
    factor = real("smoothing", sigma, 0.0, 1e12)
    if values.size == 0 or factor == 0.0:
        return values.copy()
    spectrum = np.fft.rfft(values) / (1.0 + factor * eigenvalues(values.size))
    return np.fft.irfft(spectrum, values.size)
