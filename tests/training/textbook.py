"""DP-Fed-LS written as a textbook would: torch.nn, torch.optim, one client after the other.

It shares the order of batches and the samples with the package, and no arithmetic. The noise it is
handed: the package keys it by the very sum that it hides, which the textbook has to fifteen digits.
"""

from typing import Any

import numpy as np
import torch

from dpacct_training.data.dataset import Federation
from dpacct_training.keys import Keys
from dpacct_training.local import Local
from dpacct_training.plan import Plan


def client_update(
    start: torch.Tensor,
    x: Any,
    y: Any,
    batches: list[Any],
    local: Local,
    rate: float,
    clip: float,
) -> torch.Tensor:
    """CLIENTUPDATE of Liang et al. 2020, Algorithm 1 for logistic regression."""
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


def mean(
    federation: Federation, plan: Plan, local: Local, keys: Keys, weights: torch.Tensor, round: int
) -> Any:
    """The sum of the round's updates over tau K, without noise."""
    total = torch.zeros(len(weights), dtype=torch.float64)
    for client in plan.sample(round, keys).tolist():
        held = federation.train.part(federation.clients[client])
        x, y = torch.from_numpy(held.scaled(federation.scaling)), torch.from_numpy(held.y)
        generator = keys.child(round, client).generator("batches")
        orders = [generator.permutation(len(held)) for _ in range(local.epochs)]
        size = local.batch_size
        batches = [order[i : i + size] for order in orders for i in range(0, len(order), size)]
        rate = local.learning_rate * local.decay ** (round - 1)
        clip = plan.noise["update"].clip
        total += client_update(weights, x, y, batches, local, rate, clip).double()
    return total.numpy() / (float(plan.cohort.rate) * plan.cohort.clients)


def smoothed(mean: Any, sigma: float) -> torch.Tensor:
    """A_sigma^{-1} of the mean, by the discrete Fourier transform."""
    size = len(mean)
    matrix = 1 + sigma * (2 - 2 * np.cos(2 * np.pi * np.arange(size) / size))
    return torch.from_numpy(np.fft.ifft(np.fft.fft(mean) / matrix).real)
