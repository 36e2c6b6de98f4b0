"""What is learned from samples without labels: gradients by other means, and steps that do what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpacct_training.algorithms.voting import Student, uninformed, unsteadiness
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.models.networks import MLP

RNG = np.random.default_rng(3)
MODELS = [Linear((1, 2, 3), 5), Linear((6,), 4, layout="class-fastest"), MLP((6,), 4, hidden=(8,))]


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


def test_the_worst_direction_is_a_logistic_regression_s() -> None:
    """For two classes and a linear score the worst move is along the difference of the two rows."""
    model = Linear((6,), 2)
    w, x = rows(model, 1)[0], samples(model, 5)
    seen = unsteadiness(model, w, x, samples(model, 5), 0.3)
    matrix, _ = model.matrix(w)
    along = (matrix[0] - matrix[1]) / (matrix[0] - matrix[1]).norm()
    weights = w.clone().requires_grad_(True)
    before = torch.log_softmax(model.scores(w, x), 1)
    gradients = []
    for sign in (-1.0, 1.0):
        after = torch.log_softmax(model.scores(weights, x + sign * 0.3 * along), 1)
        loss = (before.exp() * (before - after)).sum(1) / len(x)
        gradients.append([torch.autograd.grad(v, weights, retain_graph=True)[0] for v in loss])
    either = torch.stack([torch.stack(g) for g in gradients])  # a start decides which way each goes
    signs = torch.cartesian_prod(*[torch.arange(2)] * len(x))
    sums = torch.stack([either[s, torch.arange(len(x))].sum(0) for s in signs])
    assert float((sums - seen).norm(dim=1).min()) < 1e-3 * float(seen.norm())


@pytest.mark.parametrize("vat", [0.0, 1.0])
def test_a_student_learns_and_stays_steady(vat: float) -> None:
    """Two clouds, six labels; with virtual adversarial training its guesses move less within the radius."""
    truth = torch.arange(200) % 2
    cloud = torch.from_numpy(RNG.normal(size=(200, 6)).astype(np.float32)) * 0.3
    cloud[:, 0] += 2.0 * truth - 1.0
    model = MLP((6,), 2, hidden=(8,))
    start = 0.3 * rows(model, 1)[0]
    student = Student(model, 150, 0.3, vat=vat)
    w = student.taught(start, cloud[:6], truth[:6], cloud[6:], np.random.default_rng(1))
    assert float((model.scores(w, cloud).argmax(1) == truth).float().mean()) > 0.9
    again = student.taught(start, cloud[:6], truth[:6], cloud[6:], np.random.default_rng(1))
    assert torch.equal(w, again)
    nothing = student.taught(start, cloud[:0], truth[:0], cloud, np.random.default_rng(1))
    assert torch.isfinite(nothing).all()
