"""Attribute inference: one attribute of a person, guessed from the others, the label and the model.

Most of what such attacks reach they reach without the model: so the same guess without it stands beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import one_of, whole
from dpacct_training.attacks.worlds import Target, Watch
from dpacct_training.data import sources
from dpacct_training.keys import Keys

Table = NDArray[np.float64]
Seen = tuple[tuple[Table, Table], NDArray[np.int64]]
"""((other inputs and label, the same with what the model says), the attribute) of some people."""


@dataclass(frozen=True)
class Attribute:
    """Shares of right guesses, for people in the training data and for others.

    Of the `majority`'s value; from the other inputs (`imputed`); from these and the `model`; and the
    last for people whom the model has not seen (`strangers`). `spread`: standard error of a share. What
    the attack adds is model less imputed, and what training adds to that is model less strangers.
    """

    name: str
    people: int
    majority: float
    imputed: float
    model: float
    strangers: float
    spread: float


def attribute(
    target: Target, name: str, *, people: int = 2000, keys: Keys, watch: Watch | None = None
) -> Attribute:
    """Guess the attribute from the last model of a run; the attacker learns from half of the test set.

    Raises `InvalidArgument` where the data have no such attribute.
    """
    setting = target.prepared.setting
    train, test = setting.federation.train, setting.federation.test
    catalogue = sources.by_name()
    places = catalogue[train.name].attributes if train.name in catalogue else {}
    if not places:
        message = f"data must be one with attributes (adult) for kind attribute, got {train.name}"
        raise dp.InvalidArgument(message, argument="kind")
    where = slice(*places[one_of("attribute", name, sorted(places))])
    half = whole("people", people, 10, len(test) // 2)
    everyone = np.ones((1, len(target.rows)), bool)
    flat = torch.from_numpy(target.worlds(everyone, keys, watch)[0].astype(np.float32))
    members = np.concatenate(target.rows)[:half]

    def seen(samples: Any, rows: NDArray[np.int64]) -> Seen:
        """The inputs without the attribute, with the model's output for each of its values."""
        x, y = samples[0][rows], samples[1][rows]
        truth = x[:, where].argmax(1).numpy()
        others = x.clone()
        others[:, where] = x.min()
        results = []
        for value in range(where.stop - where.start):
            guess = others.clone()
            guess[:, where.start + value] = x.max()
            with torch.no_grad():
                loss = torch.nn.functional.cross_entropy(
                    setting.model.scores(flat, guess), y, reduction="none"
                )
            results.append(loss.numpy())
        features = np.hstack([others.numpy(), np.eye(train.classes)[y.numpy()]])
        return (features, np.hstack([features, np.stack(results, axis=1)])), truth

    teach = seen(setting.samples(test), np.arange(half, 2 * half))
    inside = seen(setting.samples(train), members)
    outside = seen(setting.samples(test), np.arange(half))

    def right(column: int, asked: Seen) -> float:
        guesses = _guess(teach[0][column], teach[1], asked[0][column])
        return float((guesses == asked[1]).mean())

    model = right(1, inside)
    return Attribute(
        name=name,
        people=len(members),
        majority=float((inside[1] == np.bincount(teach[1]).argmax()).mean()),
        imputed=right(0, inside),
        model=model,
        strangers=right(1, outside),
        spread=(model * (1.0 - model) / len(members)) ** 0.5,
    )


def _guess(x: Table, truth: NDArray[np.int64], asked: Table) -> NDArray[np.int64]:
    """Ridge regression on each value, in closed form."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    a, b = (np.hstack([(v - mean) / scale, np.ones((len(v), 1))]) for v in (x, asked))
    weights = np.linalg.solve(a.T @ a + np.eye(a.shape[1]), a.T @ np.eye(truth.max() + 1)[truth])
    guesses: NDArray[np.int64] = (b @ weights).argmax(axis=1)
    return guesses
