"""Elementary functions that keep their relative accuracy where the textbook form cancels.

One step of a plan run for 10^12 steps has log M(s) near 1e-12; it must still be right to fifteen digits of
itself, so every difference from 1 is formed before rounding can spoil it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .budget import evaluated

Floats = npt.NDArray[np.floating[Any]]
Complexes = npt.NDArray[np.complexfloating[Any, Any]]
Array = npt.NDArray[Any]  # real or complex, and the result is of the same kind
Number = TypeVar("Number", float, Floats)
Terms = Sequence[tuple[float, float, float]]

# Taylor coefficients, highest order first, good inside the radius at which each is used
_EXPONENTIAL_TAIL = [1.0 / math.factorial(n) for n in range(11, 1, -1)]
_ARCTANGENT_TAIL = [2.0 / (2 * k + 3) for k in range(6, -1, -1)]
_SINE_TAIL = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(6, 0, -1)]
_HUGE = 300.0  # the square of e^300 is still a float


def number(value: Any) -> float:
    """An exact number as a float."""
    return float(value)


def exp(value: Array) -> Array:
    """e^value, real or complex."""
    return np.exp(value)


def log(value: Array) -> Array:
    """The natural logarithm, real or complex."""
    return np.log(value)


def quiet() -> np.errstate:
    """No warnings: far from a saddle moments overflow, and what overflows is refused by its error."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")


class TooFine(ArithmeticError):
    """A rule would need more nodes than are worth having."""


def product(a: Array, b: Array) -> Array:
    """a @ b, in blocks for which BLAS starts no threads: at such sizes these cost more than they do."""
    # terms of a product for which BLAS starts no threads
    vector_alone = 1 << 12
    most = (1 << 15) if b.dtype.kind == "c" else (1 << 17)
    if a.size * (b.size // max(b.shape[0], 1)) <= (vector_alone if b.ndim == 1 else most):
        whole: Array = a @ b
        return whole
    if b.ndim == 1:
        rows = max(1, vector_alone // b.size)
        return np.concatenate([a[k : k + rows] @ b for k in range(0, a.shape[0], rows)])
    # of a block: it is thick enough for BLAS, and its sums fit into the processor's cache
    rows = min(a.shape[0], 16)
    columns = max(1, most // (rows * b.shape[1]))
    total: Array = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b))
    for top in range(0, a.shape[0], rows):
        block, sums = a[top : top + rows], total[top : top + rows]
        np.matmul(block[:, :columns], b[:columns], out=sums)
        for k in range(columns, a.shape[1], columns):
            sums += block[:, k : k + columns] @ b[k : k + columns]
    return total


def expm1_linear(u: Array) -> Array:
    """e^u - 1 - u, to full relative accuracy, real or complex."""
    size = np.abs(u.real) + np.abs(u.imag) if u.dtype.kind == "c" else np.abs(u)
    small = size < 0.15
    result: Array = np.exp(u)
    result -= 1.0
    result -= u
    near = u[small]
    if near.size:
        series = np.full_like(near, _EXPONENTIAL_TAIL[0])
        for coefficient in _EXPONENTIAL_TAIL[1:]:
            series *= near
            series += coefficient
        series *= near
        series *= near
        result[small] = series
    return result


def sin_linear(u: Floats, sine: Floats | None = None) -> Floats:
    """sin u - u, to full relative accuracy; `sine`: sin u, where that is at hand."""
    small = np.abs(u) < 0.4
    result: Floats = (np.sin(u) if sine is None else sine) - u
    near = u[small]
    if near.size:
        square = near * near
        series = square * _SINE_TAIL[0]
        for coefficient in _SINE_TAIL[1:]:
            series += coefficient
            series *= square
        series *= near
        result[small] = series
    return result


def log1p(z: Array) -> Array:
    """log(1 + z), real or complex: NumPy's own complex log1p loses a small real part."""
    if z.dtype.kind != "c":
        return np.log1p(z)
    real, imag = z.real, z.imag
    result: Complexes = np.empty(z.shape, complex)
    modulus, square, turned = 1.0 + real, real * (real + 2.0), imag * imag
    np.arctan2(imag, modulus, out=result.imag)
    square += turned
    beyond = real <= -0.25  # what is added to 1 is not little there, and 1 + z may be
    if np.logical_or.reduce(beyond, axis=None):
        modulus *= modulus
        modulus += turned
        np.maximum(modulus, 1e-300, out=modulus)
        np.copyto(square, 0.0, where=beyond)
        np.log1p(square, out=square)
        np.copyto(square, np.log(modulus), where=beyond)
    else:
        np.log1p(square, out=square)
    np.multiply(square, 0.5, out=result.real)
    return result


def log_peak(c: Number) -> Number:
    """log of the largest (1 - e^-y) e^{-cy} over y > 0, for c > 0; a float of a float.

    That is log(c^c / (1+c)^{1+c}), at y = log(1 + 1/c): what Chernoff's bound of a tail is times for delta
    (Canonne, Kamath, Steinke 2020, Proposition 12). As c log(c/(1+c)) - log(1+c) nothing were left of the
    first part in floats from c = 1e15 on.

    >>> round(float(log_peak(1e16)) + math.log(1e16), 12)
    -1.0
    """
    if not isinstance(c, np.ndarray):  # a float, or one of mpmath's numbers
        return -c * math.log1p(1.0 / c) - math.log1p(c)
    value: Number = -c * np.log1p(1.0 / c) - np.log1p(c)
    return value


def mixed_loss(rate: float, loss: Array) -> Array:
    """log(1 - r + r e^loss), real or complex, accurate for tiny rates and for huge losses."""
    if not loss.size or np.maximum.reduce(loss.real, axis=None) < _HUGE:
        mixed: Array = np.expm1(loss)
        mixed *= rate
        mixed = log1p(mixed)
        if (
            rate > 0.5 and loss.size and float(loss.real.min()) < -1.0
        ):  # little of Q is left: in full
            mixed = np.where(loss.real < -0.5, np.log((1.0 - rate) + rate * np.exp(loss)), mixed)
        return mixed
    large = loss.real > _HUGE
    below = log1p(rate * np.expm1(np.where(large, 0.0, loss)))
    level = math.log(rate) + np.where(large, loss, _HUGE)
    # 1 is next to nothing beside e^loss: r e^loss is small, or 1 - r is small beside it
    low = log1p(np.exp(np.where(level.real < 0.0, level, 0.0)) - rate)
    high = level + log1p((1.0 - rate) * np.exp(-np.where(level.real < 0.0, 0.0, level)))
    return np.where(large, np.where(level.real < 0.0, low, high), below)


def unmixed_loss(rate: float, loss: Floats) -> Floats:
    """The inverse, log(1 + (e^loss - 1)/r); -inf at and below log(1 - r)."""
    with quiet():
        inside = np.expm1(np.minimum(loss, _HUGE)) / rate
        value = np.log1p(np.maximum(inside, -1.0))
        if not np.max(loss, initial=0.0) > _HUGE:
            return np.asarray(value)
        # 1 + (e^loss - 1)/r = e^loss/r (1 - (1-r) e^-loss)
        far = loss - math.log(rate) + np.log1p(-(1.0 - rate) * np.exp(-np.maximum(loss, _HUGE)))
        return np.where(loss > _HUGE, far, value)


def blended_loss(terms: Terms, loss: Array) -> Array:
    """log sum_j w_j e^{k_j loss - d_j} over terms (w_j, k_j, d_j); k_j >= 0, sum w_j = 1; real or complex."""
    # functions that a real term of a mixture costs, with its sums
    evaluated(math.ceil(1.5 * len(terms)) * loss.size)
    # an infinite loss is none to a term that it does not shift
    exponents: list[Array] = [
        (multiple * loss if multiple else np.zeros_like(loss)) - drop for _, multiple, drop in terms
    ]
    if loss.size and max(float(exponent.real.max()) for exponent in exponents) >= _HUGE:
        return _blended(terms, exponents)
    parts = [w * np.expm1(y) for (w, _, _), y in zip(terms, exponents, strict=True)]
    change = np.sum(parts, axis=0)
    near = change.real > -0.5
    if near.all():
        return log1p(change)
    # 1 + change would cancel
    return np.where(near, log1p(np.where(near, change, 0.0)), _blended(terms, exponents))


def _blended(terms: Terms, exponents: Sequence[Array]) -> Array:
    """log sum_j w_j e^{y_j}."""
    logs = [y + math.log(w) for (w, _, _), y in zip(terms, exponents, strict=True) if w > 0.0]
    highest = logs[0].real
    for log in logs[1:]:
        highest = np.maximum(highest, log.real)
    finite = np.isfinite(highest)
    top = np.where(finite, highest, 0.0)
    result: Array = top + np.log(np.sum([np.exp(log - top) for log in logs], axis=0))
    return np.where(finite, result, highest)


def unblended_loss(terms: Terms, loss: Floats) -> Floats:
    """The inverse of `blended_loss`; -inf where nothing is as small.

    What grows with the loss before, log sum_{k > 0} w_j e^{k_j l - d_j}, is convex: Newton from above.
    """
    shape, loss = np.shape(loss), np.ravel(loss)
    weights, multiples, drops = np.array([term for term in terms if term[1] > 0.0]).T
    still = sum(w * math.exp(-drop) for w, multiple, drop in terms if multiple == 0.0)
    with quiet():
        below = loss <= (math.log(still) if still > 0.0 else -math.inf)
        small, left = np.minimum(loss, _HUGE), 1.0 - weights.sum()
        wanted = np.log(np.expm1(small) + weights.sum())
        wanted = np.where(loss > _HUGE, loss + np.log1p(-left * np.exp(-small)), wanted)
        levels = np.log(weights) - drops
        before = np.min(np.subtract.outer(wanted, levels) / multiples, axis=-1)
        left_over = np.flatnonzero(np.isfinite(before) & ~below)
        # steps at most, of which six or so are enough
        for _ in range(60):
            # functions that are computed for a term in each
            evaluated(3 * len(terms) * left_over.size)
            at, aim = before[left_over], wanted[left_over]
            logs = np.multiply.outer(at, multiples) + levels
            top = logs.max(axis=-1)
            shares = np.exp(logs - top[..., None])
            total = shares.sum(axis=-1)
            excess = top + np.log(total) - aim
            step = excess * total / (shares @ multiples)
            at -= np.where(np.isfinite(step), step, 0.0)
            before[left_over] = at
            # until a step is nothing, or nothing but the rounding of the logs
            rounding = 4e-16 * (1.0 + np.abs(top) + np.abs(aim))
            moving = (np.abs(step) > 1e-15 * np.abs(at)) & (np.abs(excess) > rounding)
            left_over = left_over[moving]
            if not left_over.size:
                break
        before = np.where(np.isposinf(loss), loss, before)
        return np.where(below | np.isnan(before), -np.inf, before).reshape(shape)
