"""Elementary functions that keep their relative accuracy where the textbook form cancels.

One step of a plan run for 10^12 steps has log M(s) near 1e-12; it must still be right to fifteen
digits of itself, so every difference from 1 is formed before rounding can spoil it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Complexes = npt.NDArray[np.complexfloating[Any, Any]]

# Taylor coefficients, highest order first, for Horner evaluation inside the radius given below.
_EXPONENTIAL_TAIL = [1.0 / np.prod(np.arange(1.0, n + 1)) for n in range(14, 1, -1)]
_SINE_TAIL = [(-1.0) ** k / np.prod(np.arange(1.0, 2 * k + 2)) for k in range(8, 0, -1)]


def _horner(coefficients: list[Any], x: Floats) -> Floats:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


def exp_minus_linear(y: Floats) -> Floats:
    """e^y - 1 - y, to full relative accuracy for every y that does not overflow."""
    result: Floats = np.asarray(np.expm1(y) - y)
    small = np.abs(y) < 0.5
    near = np.asarray(y)[small]
    result[small] = near * near * _horner(_EXPONENTIAL_TAIL, near)
    return result


def sine_minus_identity(u: Floats) -> Floats:
    """sin(u) - u, to full relative accuracy."""
    result: Floats = np.asarray(np.sin(u) - u)
    small = np.abs(u) < 0.75
    near = np.asarray(u)[small]
    square = near * near
    result[small] = near * square * _horner(_SINE_TAIL, square)
    return result


def exp_minus_linear_complex(u: Complexes) -> Complexes:
    """e^u - 1 - u for complex u with bounded real part, to full relative accuracy near 0."""
    result = np.exp(u)
    result -= 1.0
    result -= u
    small = np.abs(u.real) + np.abs(u.imag) < 0.5
    near = u[small]
    series = np.full_like(near, _EXPONENTIAL_TAIL[0])
    for coefficient in _EXPONENTIAL_TAIL[1:]:
        series *= near
        series += coefficient
    result[small] = near * near * series
    return result


def log1p_complex(real: Floats, imaginary: Floats) -> Complexes:
    """log(1 + z): NumPy's own complex log1p loses a small real part. The modulus is floored at 1e-150."""
    near = real > -0.25
    small = np.where(near, real, 0.0)
    square = (1.0 + real) ** 2 + imaginary * imaginary
    result = np.empty(np.shape(real), dtype=np.complex128)
    result.real = 0.5 * np.where(
        near,
        np.log1p(2.0 * small + small * small + imaginary * imaginary),
        np.log(np.maximum(square, 1e-300)),
    )
    result.imag = np.arctan2(imaginary, 1.0 + real)
    return result


def log_sum_exp(values: Floats) -> float:
    """log(sum(exp(values))) without overflow."""
    peak = float(values.max())
    return peak + float(np.log(np.exp(values - peak).sum()))


# far from a saddle moments overflow, and what overflows is refused by its error, not by a warning
quiet = np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
