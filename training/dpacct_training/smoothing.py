"""Laplacian smoothing: A_sigma^{-1} v (Liang et al. 2020, Eq. (2)), and a chooser of its factor.

By Proposition 1 smoothing costs bias and saves variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import one_of, real
from dpacct_training.extras import required

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

    >>> smooth(np.array([1.0, 0.5, -0.25, 2.0, 0.0]), 1.0).round(8)[0].item()
    0.70454545
    """
    factor = real("smoothing", sigma, 0.0, 1e12)
    if values.size == 0 or factor == 0.0:
        return values.copy()
    spectrum = np.fft.rfft(values) / (1.0 + factor * eigenvalues(values.size))
    return np.fft.irfft(spectrum, values.size)


BOUNDARIES = ("periodic", "neumann")


@dataclass(frozen=True)
class SmoothingError:
    """E ||A^{-1}(v + n) - v||^2, n ~ N(0, nu^2 I), in its two parts."""

    bias: float
    variance: float

    @property
    def total(self) -> float:
        """Bias and variance."""
        return self.bias + self.variance


def _spectrum(v: Vector, boundary: str) -> tuple[Vector, Vector]:
    """(eigenvalues of the Laplacian, squared coefficients of v in its orthonormal eigenvectors).

    Both boundaries have the eigenvector 1/sqrt(d) at eigenvalue 0 that Proposition 1 asks for;
    "periodic" is what the FFT of Eq. (2) computes.
    """
    one_of("boundary", boundary, BOUNDARIES)
    d = v.size
    if boundary == "periodic":
        values = 4.0 * np.sin(np.pi * np.arange(d) / d) ** 2
        return values, np.abs(np.fft.fft(v)) ** 2 / d
    values = 4.0 * np.sin(np.pi * np.arange(d) / (2 * d)) ** 2
    return values, required("scipy.fft").dct(v, norm="ortho") ** 2


def risk(v: Vector, nu: float, sigma: float, boundary: str = "periodic") -> SmoothingError:
    """Liang et al. 2020, Proposition 1 for a known signal v: it must be public, or the answer is not.

    >>> v = np.array([1.0, 0.5, -0.25, 2.0, 0.0])
    >>> round(risk(v, 0.3, 1.0).total, 10), round(risk(v, 0.3, 1.0, "neumann").total, 10)
    (2.007231405, 1.9717272727)
    """
    real("nu", nu, 0.0)
    real("sigma", sigma, 0.0)
    values, energy = _spectrum(v, boundary)
    keep = 1.0 / (1.0 + sigma * values)
    return SmoothingError(float(((1.0 - keep) ** 2 * energy).sum()), float(nu**2 * (keep**2).sum()))


def estimated_risk(noisy: Vector, nu: float, sigma: float) -> float:
    """An unbiased estimate of the total from a noisy release alone (Stein 1981), periodic boundary.

    It reads nothing but what was released, so it costs no privacy: ||A^{-1}y - y||^2 - d nu^2
    + 2 nu^2 trace(A^{-1}).
    """
    values, energy = _spectrum(noisy, "periodic")
    keep = 1.0 / (1.0 + sigma * values)
    misfit = float(((1.0 - keep) ** 2 * energy).sum())
    return misfit + nu**2 * float((2.0 * keep - 1.0).sum())


def best_factor(v: Vector, nu: float, most: float = 100.0, *, released: bool = False) -> float:
    """The smoothing factor in [0, most] of least risk.

    `v` is the public signal, or, with `released`, a noisy release whose noise has the standard
    deviation nu: then the estimated risk is minimised. Least risk of one release is not best for a
    run of many: the bias of each adds up, while noise averages out (docs/smoothing.md has numbers).

    >>> smooth_signal = np.sin(np.arange(200) / 30.0)
    >>> best_factor(smooth_signal, 0.5) > 10 > best_factor(smooth_signal, 1e-6)
    True
    """
    real("most", most, 0.0)

    def cost(sigma: float) -> float:
        return estimated_risk(v, nu, sigma) if released else risk(v, nu, sigma).total

    from scipy.optimize import minimize_scalar  # late: most runs smooth by a given factor

    # The risk need not be convex in sigma: a grid finds the valley, Brent's method its bottom.
    grid = np.concatenate([[0.0], np.geomspace(1e-4, max(most, 1e-4), 60)])
    grid = grid[grid <= most]
    at = int(np.argmin([cost(s) for s in grid]))
    low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)])
    options = {"xatol": 1e-12 * max(high, 1.0)}
    middle = float(minimize_scalar(cost, bounds=(low, high), method="bounded", options=options).x)
    return min((middle, float(grid[at])), key=cost)
