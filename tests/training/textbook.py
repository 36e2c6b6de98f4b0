"""DP-Fed-LS written as a textbook would: torch.nn, torch.optim, one client after the other.

It shares the order of batches, the samples and the noise with the package, and no arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dpacct_training.aggregate import Turn, noise
from dpacct_training.data.dataset import Federation
from dpacct_training.keys import Keys
from dpacct_training.local_sgd import LocalSGD
from dpacct_training.plan import Plan


def client_update(
    start: torch.Tensor,
    x: Any,
    y: Any,
    batches: list[Any],
    local: LocalSGD,
    rate: float,
    clip: float,
) -> torch.Tensor:
    """CLIENTUPDATE of 000 Algorithm 1 for logistic regression."""
    features, classes = x[0].numel(), (len(start)) // (x[0].numel() + 1)
    net = torch.nn.Linear(features, classes)
    torch.nn.utils.vector_to_parameters(start.clone(), net.parameters())
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, weight_decay=local.weight_decay)
    lossf = torch.nn.CrossEntropyLoss()
    for batch in batches:
        optimiser.zero_grad()
        lossf(net(x[batch].flatten(1)), y[batch]).backward()
        optimiser.step()
        with torch.no_grad():
            moved = torch.nn.utils.parameters_to_vector(net.parameters()) - start
            moved = moved / max(1.0, float(moved.norm()) / clip)
            torch.nn.utils.vector_to_parameters(start + moved, net.parameters())
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach() - start


def run(
    federation: Federation, plan: Plan, local: LocalSGD, keys: Keys, sigma: float, rounds: int
) -> torch.Tensor:
    """The weights after some rounds from zero."""
    assert plan.clip is not None
    x = torch.from_numpy(federation.train.scaled(federation.scaling))
    y = torch.from_numpy(federation.train.y)
    size = federation.train.classes * (x[0].numel() + 1)
    weights = torch.zeros(size)
    matrix = 1 + sigma * (2 - 2 * np.cos(2 * np.pi * np.arange(size) / size))
    for number in range(1, rounds + 1):
        turn = Turn(number, plan.sample(number, keys), keys)
        total = torch.zeros(size, dtype=torch.float64)
        for client in turn.sample.clients.tolist():
            rows = torch.from_numpy(federation.clients[client])
            batches = local.batches(len(rows), client, number, keys)
            rate = local.learning_rate * local.decay ** (number - 1)
            total += client_update(
                weights, x[rows], y[rows], batches, local, rate, plan.clip
            ).double()
        noisy = total.numpy() + noise(plan, turn, size)
        mean = noisy / (float(plan.rate) * plan.clients)
        step = np.fft.ifft(np.fft.fft(mean) / matrix).real
        weights = weights + torch.from_numpy(step).float()
    return weights
