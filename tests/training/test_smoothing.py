"""Smoothing against a dense and a sparse solve; Proposition 1 against matrices and dpacct's registry."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.sparse import linalg

import dpacct as dp
from dpacct_training.algorithms.voting import uninformed
from dpacct_training.models import Module
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
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


# --- What is learned from samples without labels: gradients by other means, and steps that do what they say.

RNG = np.random.default_rng(3)
MODELS = [Linear((1, 2, 3), 5), Module((6,), 4, function="mlp", keywords={"hidden": (8,)})]


def rows(model: Model, clients: int) -> torch.Tensor:
    return torch.from_numpy(RNG.normal(size=(clients, model.dimension)).astype(np.float32))


def samples(model: Model, *count: int) -> torch.Tensor:
    return torch.from_numpy(RNG.normal(size=(*count, *model.inputs)).astype(np.float32))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_loss_of_scores_has_the_gradient_of_automatic_differentiation(model: Model) -> None:
    w, x = rows(model, 3), samples(model, 3, 7)
    seen = model.through(w, x, uninformed)
    for client in range(3):
        weights = w[client].clone().requires_grad_(True)
        (wanted,) = torch.autograd.grad(uninformed(model.scores(weights, x[client])), weights)
        np.testing.assert_allclose(seen[client].numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_information_is_entropy_of_the_mean_less_mean_entropy() -> None:
    """Sure guesses of all classes have log(classes) of it; equal guesses, sure or not, have none."""
    sure = 50.0 * torch.eye(4)
    assert float(uninformed(sure)) == pytest.approx(-np.log(4), abs=1e-6)
    assert float(uninformed(torch.zeros(6, 4))) == pytest.approx(0.0, abs=1e-6)
    assert float(uninformed(sure[:1].expand(6, 4))) == pytest.approx(0.0, abs=1e-6)
    p = torch.softmax(torch.from_numpy(RNG.normal(size=(9, 4))), dim=1)
    mean = p.mean(0)
    wanted = (mean * mean.log()).sum() - (p * p.log()).sum(1).mean()
    assert float(uninformed(p.log())) == pytest.approx(float(wanted), rel=1e-12)
