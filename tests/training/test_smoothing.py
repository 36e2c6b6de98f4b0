"""Smoothing against a dense and a sparse solve; Proposition 1 against matrices and dpacct's registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.sparse import linalg

import dpacct as dp
from dpacct_training.smoothing import best_factor, estimated_risk, risk, smooth

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


@given(VECTORS, st.floats(0.0, 1e3), st.floats(0.0, 10.0), st.sampled_from(["periodic", "neumann"]))
def test_proposition_1_by_matrices(values: Any, sigma: float, nu: float, boundary: str) -> None:
    """E ||A^{-1}(v + n) - v||^2 = ||(I - A^{-1})v||^2 + nu^2 ||A^{-1}||_F^2, without its spectrum."""
    laplacian = cycle(len(values)) if boundary == "periodic" else path(len(values))
    inverse = np.linalg.inv(np.eye(len(values)) + sigma * laplacian)
    got = risk(values, nu, sigma, boundary)
    bias = float(np.sum((values - inverse @ values) ** 2))
    assert got.bias == pytest.approx(bias, rel=1e-6, abs=1e-9 * (1 + np.sum(values**2)))
    assert got.variance == pytest.approx(nu**2 * np.sum(inverse**2), rel=1e-9, abs=1e-30)


def test_proposition_1_is_the_registry_s() -> None:
    from dpacct.papers.formulas.dp_fed_ls import proposition1, proposition1_periodic

    v = (1.0, 0.5, -0.25, 2.0, 0.0)
    for mine, theirs in (("periodic", proposition1_periodic), ("neumann", proposition1)):
        wanted = float(theirs(v, 1.0, 0.3))
        assert risk(np.array(v), 0.3, 1.0, mine).total == pytest.approx(wanted, rel=1e-12)


def test_the_estimate_from_a_release_is_unbiased() -> None:
    rng = np.random.default_rng(1)
    v, nu, sigma = np.sin(np.arange(60) / 5), 0.4, 2.0
    result = [estimated_risk(v + nu * rng.normal(size=60), nu, sigma) for _ in range(4000)]
    error = np.std(result) / np.sqrt(len(result))
    assert np.mean(result) == pytest.approx(risk(v, nu, sigma).total, abs=4 * error)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 1.0])
def test_the_chooser_finds_the_least_risk(nu: float) -> None:
    v = np.sin(np.arange(300) / 20) + 0.05 * np.cos(np.arange(300))
    best = best_factor(v, nu)
    least = min(risk(v, nu, s).total for s in np.concatenate([[0], np.geomspace(1e-5, 100, 4000)]))
    assert risk(v, nu, best).total <= least * (1 + 1e-6)


def test_the_chooser_from_a_release_is_near() -> None:
    v, nu = np.sin(np.arange(2000) / 20), 1.0
    noisy = v + nu * np.random.default_rng(2).normal(size=2000)
    chosen = best_factor(noisy, nu, released=True)
    assert risk(v, nu, chosen).total <= 1.2 * risk(v, nu, best_factor(v, nu)).total


@pytest.mark.parametrize("sigma", [-1.0, float("nan"), float("inf"), "1", True])
def test_a_wrong_factor_is_refused(sigma: Any) -> None:
    with pytest.raises(dp.InvalidArgument, match="smoothing must be"):
        smooth(np.ones(4), sigma)
