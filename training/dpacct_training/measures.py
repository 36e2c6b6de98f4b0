"""What claims are about beyond the test accuracy: measured once, on the model that a run ends with.

All but the test accuracy is for the one who runs an experiment on public data: it is not private.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from dpacct_training.algorithm import Array
from dpacct_training.claims import MEASURES
from dpacct_training.engine import InProcess
from dpacct_training.session import Result, Session
from dpacct_training.site import JUDGE, TRAIN, Host, Site

_SAMPLES = 1000
_STEPS = 30
_DISTANCES = tuple(k / 5 for k in range(-10, 11))


def measured(session: Session, result: Result, names: set[str]) -> dict[str, float]:
    """The measures of these names (`MEASURES`), of a session that is over and in this process."""
    return {name: round(_MEASURED[name](session, result), 6) for name in sorted(names)}


def _site(session: Session, kind: str, clients: range) -> list[tuple[Site, dict[str, Array]]]:
    """The clients as they would be asked after the last round."""
    prepared, run = session.prepared, session.run
    host = Host(prepared.algorithm, prepared.plan, prepared.setting)
    tasks = run.tasks(InProcess(host), kind, run.state.round + 1, clients)
    return [(host.site(task), task.sent) for task in tasks]


def accuracy(session: Session, result: Result) -> float:
    """On the test data, in percent."""
    return 100.0 * result.test_accuracy


def gap(session: Session, result: Result) -> float:
    """Accuracy on the clients' samples less that on the test data, in points."""
    setting = session.prepared.setting
    trained = setting.evaluate(result.weights, setting.federation.train)[1]
    return 100.0 * (trained - result.test_accuracy)


def personal(session: Session, result: Result) -> float:
    """Mean over clients of their own models, on the test samples of the classes that each has seen."""
    algorithm = session.prepared.algorithm
    return _on_own_classes(session, lambda sent, site: algorithm.personal(sent, site))


def shared(session: Session, result: Result) -> float:
    """The same of the global model: what each client would have without one of its own."""
    return _on_own_classes(
        session, lambda sent, site: np.tile(result.weights, (len(site.clients), 1))
    )


def _on_own_classes(session: Session, models: Callable[[dict[str, Array], Site], Array]) -> float:
    """As Zheng et al. 2021, Section 4.1 tests: "examples with the same label she/he has seen in training"."""
    setting = session.prepared.setting
    x, y = setting.samples(setting.federation.test)
    right = []
    for site, sent in _site(session, JUDGE, range(session.prepared.cohort.clients)):
        for w, rows in zip(models(sent, site), site.rows, strict=True):
            kept = torch.isin(y, torch.from_numpy(np.unique(site.y[rows].numpy())))
            with torch.no_grad():
                flat = torch.from_numpy(w.astype(np.float32))
                guessed = setting.model.scores(flat, x[kept]).argmax(1)
            right.append(float((guessed == y[kept]).float().mean()))
    return 100.0 * float(np.mean(right))


def norm(session: Session, result: Result) -> float:
    """The median length of the clients' updates before any clip, from the last model on."""
    clients = range(min(100, session.prepared.cohort.clients))
    lengths = []
    for site, sent in _site(session, TRAIN, clients):
        rows = session.prepared.algorithm.client(sent, site)["update"]
        lengths += np.linalg.norm(rows, axis=1).tolist()
    return float(np.median(lengths))


def _sharpest(session: Session, result: Result) -> tuple[float, torch.Tensor]:
    """The largest eigenvalue of the loss's Hessian on test samples, and its direction, by power iteration."""
    setting = session.prepared.setting
    x, y = (part[:_SAMPLES] for part in setting.samples(setting.federation.test))
    w = torch.from_numpy(result.weights.astype(np.float32)).requires_grad_(True)
    (gradient,) = torch.autograd.grad(setting.model.loss(w, x, y), w, create_graph=True)
    generator = torch.Generator().manual_seed(0)
    turned = torch.randn(len(w), generator=generator)
    direction, value = turned, torch.zeros(())
    for _ in range(_STEPS):
        direction = turned / turned.norm()
        (turned,) = torch.autograd.grad(gradient @ direction, w, retain_graph=True)
        value = turned @ direction
    return float(value), direction


def sharpness(session: Session, result: Result) -> float:
    """Shi et al. 2023, Section 6.3 calls a minimum flat where the loss rises slowly around it."""
    return _sharpest(session, result)[0]


def landscape(session: Session, result: Result) -> tuple[tuple[float, float], ...]:
    """(distance, loss on the same test samples) from the last model on, along the sharpest direction."""
    setting = session.prepared.setting
    x, y = (part[:_SAMPLES] for part in setting.samples(setting.federation.test))
    w, direction = (
        torch.from_numpy(result.weights.astype(np.float32)),
        _sharpest(session, result)[1],
    )
    with torch.no_grad():
        losses = [float(setting.model.loss(w + t * direction, x, y)) for t in _DISTANCES]
    return tuple((t, round(loss, 6)) for t, loss in zip(_DISTANCES, losses, strict=True))


_MEASURED: dict[str, Callable[[Session, Result], float]] = {
    "accuracy": accuracy,
    "gap": gap,
    "personal": personal,
    "shared": shared,
    "norm": norm,
    "sharpness": sharpness,
}
assert set(_MEASURED) == set(MEASURES)
