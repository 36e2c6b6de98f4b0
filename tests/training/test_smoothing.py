"""Smoothing against a dense and a sparse solve."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.sparse import linalg

import dpacct as dp
from dpacct_training.smoothing import smooth

VECTORS = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e3, 1e3, width=32))
FACTORS = st.one_of(st.just(0.0), st.floats(1e-9, 1e6))


def cycle(size: int) -> Any:
    """The Laplacian of a cycle, written out."""
    result = np.zeros((size, size))
    for i in range(size):
        result[i, i] += 2
        result[i, (i + 1) % size] -= 1
        result[i, (i - 1) % size] -= 1
    return result


def path(size: int) -> Any:
    """The Laplacian of a path with free ends (Neumann)."""
    result = np.zeros((size, size))
    for i in range(size - 1):
        result[i : i + 2, i : i + 2] += [[1, -1], [-1, 1]]
    return result


@given(VECTORS, FACTORS)
def test_it_is_the_dense_solve(values: Any, sigma: float) -> None:
    wanted = np.linalg.solve(np.eye(len(values)) + sigma * cycle(len(values)), values)
    scale = np.abs(values).max() + 1e-300
    # a solve of this matrix loses about log10(1 + 4 sigma) digits
    assert np.abs(smooth(values, sigma) - wanted).max() <= 1e-13 * (1 + sigma) * scale


@pytest.mark.parametrize("size", [5, 997, 7850, 65_537])
@pytest.mark.parametrize("sigma", [0.5, 3.0, 1e4])
def test_it_is_the_sparse_solve_at_full_size(size: int, sigma: float) -> None:
    values = np.random.default_rng(size).normal(size=size)
    ring = sparse.diags_array(
        [1 + 2 * sigma, -sigma, -sigma, -sigma, -sigma],
        offsets=[0, 1, -1, size - 1, 1 - size],
        shape=(size, size),
    )
    wanted = linalg.spsolve(ring.tocsc(), values)
    assert np.abs(smooth(values, sigma) - wanted).max() < 1e-11


@given(VECTORS, FACTORS)
def test_smoothing_keeps_the_mean_and_shortens(values: Any, sigma: float) -> None:
    """A_sigma^{-1} has eigenvalues in (0, 1], and 1 for the constant vector."""
    got = smooth(values, sigma)
    size = np.abs(values).max() + 1e-300
    assert abs(got.mean() - values.mean()) <= 1e-9 * size * (1 + sigma) ** 0.5
    assert np.linalg.norm(got) <= np.linalg.norm(values) * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [-1.0, float("nan"), float("inf"), "1", True])
def test_a_wrong_factor_is_refused(sigma: Any) -> None:
    with pytest.raises(dp.InvalidArgument, match="smoothing must be"):
        smooth(np.ones(4), sigma)
