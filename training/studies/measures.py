"""Measures that claims compare, taken on the model after a round.

All but the test accuracy is for the one who runs an experiment on public data: it is not private.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from dpacct_training.algorithm import Array
from dpacct_training.engines import InProcess
from dpacct_training.run import Session
from dpacct_training.site import Host, Site

_SAMPLES, _STEPS = 1000, 30


def measured(session: Session, names: set[str]) -> dict[str, float]:
    """The measures of these names, of a session in this process."""
    return {name: round(MEASURES[name](session), 6) for name in sorted(names)}


def _site(session: Session, clients: range) -> list[tuple[Site, dict[str, Array]]]:
    """The clients as they would be asked after the last round."""
    prepared, run = session.prepared, session.run
    host = Host(prepared.algorithm, prepared.plan, prepared.setting)
    tasks = run.tasks(InProcess(host), run.state.round + 1, clients)
    return [(host.site(task), task.sent) for task in tasks]


def accuracy(session: Session) -> float:
    """Return the accuracy on the test data, in percent."""
    setting = session.prepared.setting
    return 100.0 * setting.evaluate(session.weights, setting.federation.test)[1]


def gap(session: Session) -> float:
    """Accuracy on the clients' samples less that on the test data, in points."""
    setting = session.prepared.setting
    trained = setting.evaluate(session.weights, setting.federation.train)[1]
    return 100.0 * trained - accuracy(session)


def _on_own_classes(session: Session, models: Callable[[dict[str, Array], Site], Array]) -> float:
    """Mean over clients of a model of each, tested on the classes that the client has seen.

    As Zheng et al. 2021, Section 4.1, do for the clients' own models.
    """
    setting = session.prepared.setting
    x, y = setting.samples(setting.federation.test)
    right = []
    for site, sent in _site(session, range(session.prepared.cohort.clients)):
        for w, rows in zip(models(sent, site), site.rows, strict=True):
            kept = torch.isin(y, torch.from_numpy(np.unique(site.y[rows].numpy())))
            with torch.no_grad():
                flat = torch.from_numpy(w.astype(np.float32))
                guessed = setting.model.scores(flat, x).argmax(1)
            right.append(float((guessed == y)[kept].float().mean()))
    return 100.0 * float(np.mean(right))


def norm(session: Session) -> float:
    """The median length of the clients' updates before any clip, from the last model on."""
    clients = range(min(100, session.prepared.cohort.clients))
    lengths = []
    for site, sent in _site(session, clients):
        rows = session.prepared.algorithm.client(sent, site)["update"]
        lengths += np.linalg.norm(rows, axis=1).tolist()
    return float(np.median(lengths))


def sharpness(session: Session) -> float:
    """The largest eigenvalue of the loss's Hessian on test samples, by power iteration.

    Shi et al. 2023, Section 6.3 calls a minimum flat where the loss rises slowly around it.
    """
    setting = session.prepared.setting
    x, y = (part[:_SAMPLES] for part in setting.samples(setting.federation.test))
    w = torch.from_numpy(session.weights.astype(np.float32)).requires_grad_(True)
    (gradient,) = torch.autograd.grad(setting.model.mean_loss(w, x, y), w, create_graph=True)
    turned, value = torch.randn(len(w), generator=torch.Generator().manual_seed(0)), torch.zeros(())
    for _ in range(_STEPS):
        direction = turned / turned.norm()
        (turned,) = torch.autograd.grad(gradient @ direction, w, retain_graph=True)
        value = turned @ direction
    return float(value)


def learned(session: Session) -> float:
    """The mean loss on the clients' samples before the first round, less that now."""
    setting = session.run.setting
    before, _ = setting.evaluate(setting.initial(), setting.federation.train)
    return before - setting.evaluate(session.weights, setting.federation.train)[0]


MEASURES: dict[str, Callable[[Session], float]] = {
    "accuracy": accuracy,
    "gap": gap,
    "personal": lambda session: _on_own_classes(session, session.prepared.algorithm.personal),
    "shared": lambda session: _on_own_classes(  # the global model on the same samples
        session, lambda _, site: np.tile(session.weights, (len(site.clients), 1))
    ),
    "norm": norm,
    "sharpness": sharpness,
    "rounds": lambda session: float(session.run.state.round),
    "mu": lambda session: session.prepared.algorithm.paper_mu(  # after these rounds
        session.prepared.plan, session.run.state.round
    ),
    "weights": lambda session: float(session.prepared.setting.model.dimension),
    "learned": learned,
}
