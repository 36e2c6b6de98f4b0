"""Stacked, loop and pool give the same updates; each model learns; the gradients are autograd's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training import models
from dpacct_training.aggregate import Turn
from dpacct_training.engines.in_process import InProcess
from dpacct_training.keys import Keys
from dpacct_training.local_sgd import LocalSGD
from dpacct_training.sampling import Sample
from tests.training import textbook
from tests.training.experiments import replaced, small

KEYS = Keys.from_seed(2)
LOCAL = LocalSGD(epochs=2, batch_size=4, learning_rate=0.1, weight_decay=1e-2, clip=0.05)
MODELS: list[dict[str, Any]] = [
    {"name": "linear"},
    {"name": "linear", "layout": "class-fastest"},
    {"name": "linear", "start": "zeros"},
    {"name": "mlp", "hidden": [7]},
    {"name": "cnn", "channels": [2, 3], "hidden": [5]},
]


def turn(clients: list[int]) -> Turn:
    return Turn(3, Sample(np.array(clients), 40), KEYS)


def updates(prepared: Any, mode: str, clients: list[int], **more: Any) -> Any:
    local = replace(LOCAL, **more)
    with InProcess(prepared.model, prepared.federation, mode) as engine:
        return engine.train(prepared.model.initial(KEYS), turn(clients), local)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("clip", [0.05, 1e9])
def test_stacked_is_the_loop(model: dict[str, Any], clip: float) -> None:
    # Dirichlet: clients hold different numbers of samples, so that stacks are of several sizes
    prepared = replaced("model", model, data__partition="dirichlet", data__concentration=5.0)
    stacked, loop = (
        updates(prepared, mode, [0, 3, 5, 8, 13, 21, 34], clip=clip) for mode in ("stacked", "loop")
    )
    assert np.abs(loop).max() > 1e-3
    np.testing.assert_allclose(stacked, loop, atol=1e-6)
    norms = np.linalg.norm(loop, axis=1)
    assert norms.max() <= clip * (1 + 1e-5)


def test_the_loop_is_the_textbook() -> None:
    prepared = small()
    federation, weights = prepared.federation, prepared.model.initial(KEYS)
    got = updates(prepared, "loop", [1, 7])
    x = torch.from_numpy(federation.train.scaled(federation.scaling))
    for row, client in zip(got, [1, 7], strict=True):
        rows = torch.from_numpy(federation.clients[client])
        wanted = textbook.client_update(
            torch.from_numpy(weights.astype(np.float32)),
            x[rows],
            torch.from_numpy(federation.train.y)[rows],
            LOCAL.batches(len(rows), client, 3, KEYS),
            LOCAL,
            LOCAL.rate(3),
            0.05,
        )
        np.testing.assert_allclose(row, wanted.numpy(), atol=1e-7)


def test_a_pool_gives_the_same_bits() -> None:
    prepared = small(data__clients=80, data__samples=800)
    weights, here = prepared.model.initial(KEYS), turn(list(range(80)))
    with InProcess(prepared.model, prepared.federation) as alone:
        wanted = alone.train(weights, here, LOCAL)
    with InProcess(prepared.model, prepared.federation, processes=2) as pool:
        got = pool.train(weights, here, LOCAL)
    assert wanted.tobytes() == got.tobytes()


def test_nobody_trains_in_an_empty_round() -> None:
    prepared = small()
    assert updates(prepared, "stacked", []).shape == (0, prepared.model.dimension)


def test_a_client_s_update_does_not_depend_on_who_else_is_there() -> None:
    prepared = small()
    together = updates(prepared, "stacked", [2, 5, 9])
    alone = updates(prepared, "stacked", [5])
    np.testing.assert_allclose(together[1], alone[0], atol=1e-7)


def test_a_sequence_model_learns_to_repeat() -> None:
    """The LSTM on strings in which the next character is the last one."""
    torch.set_num_threads(1)
    model = models.by_name("lstm")((6,), 4, embedding=4, hidden=12, layers=1)  # type: ignore[call-arg]
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 4, size=(200, 6)).astype(np.uint8))
    y = x[:, -1].long()
    flat = torch.from_numpy(model.initial(KEYS).astype(np.float32))
    assert len(flat) == model.dimension == 4 * 4 + (4 + 12 + 2) * 48 + 12 * 4 + 4
    first = float(model.loss(flat, x, y))
    for _ in range(60):
        weights = flat.requires_grad_(True)
        (gradient,) = torch.autograd.grad(model.loss(weights, x, y), weights)
        flat = (flat - 1.0 * gradient).detach()
    assert float(model.loss(flat, x, y)) < 0.5 * first


@pytest.mark.parametrize("name", models.names())
def test_the_start_is_keyed(name: str) -> None:
    inputs, classes = ((12,), 5) if name == "lstm" else ((1, 8, 8), 5)
    model = models.by_name(name)(inputs, classes)
    state = torch.random.get_rng_state()
    first, again = model.initial(KEYS), model.initial(KEYS)
    other = model.initial(Keys.from_seed(3))
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert len(first) == model.dimension
    zeros = models.by_name(name)(inputs, classes, "zeros").initial(KEYS)
    assert len(zeros) == model.dimension and not zeros.any()


def test_sets_of_one_name_and_size_are_told_apart() -> None:
    """Validation and test set of MNIST are both 'mnist', and both 10,000 samples."""
    prepared = small(data__train=320, data__validation=80, data__samples=400)
    federation = prepared.federation
    assert len(federation.validation) == len(federation.test) == 80
    weights = prepared.model.initial(KEYS)
    with InProcess(prepared.model, federation) as engine:
        found = [engine.evaluate(weights, d) for d in (federation.validation, federation.test)]
    with InProcess(prepared.model, federation) as engine:
        alone = engine.evaluate(weights, federation.test)
    assert found[1] == alone != found[0]


def test_layouts_are_the_same_model_in_another_order() -> None:
    rows, columns = (replaced("model", m) for m in MODELS[:2])
    one, other = rows.model.initial(KEYS), columns.model.initial(KEYS)
    assert sorted(one.tolist()) == sorted(other.tolist())
    with (
        InProcess(rows.model, rows.federation) as a,
        InProcess(columns.model, rows.federation) as b,
    ):
        assert a.evaluate(one, rows.federation.test) == b.evaluate(other, rows.federation.test)


def test_the_3_4_million_weights_of_the_paper() -> None:
    """000 Section 6.2: 'about 3.4M parameters' on 32 x 32 colour images."""
    cnn = models.by_name("cnn")
    big = cnn((3, 32, 32), 10, "default", (64, 64), (384, 192))  # type: ignore[call-arg]
    assert 1.7e6 < big.dimension < 3.5e6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"run__engine": "gpu"}, "engine must be one of auto, stacked, loop, got 'gpu'"),
        ({"run__processes": 0}, "processes must be a whole number from 1"),
        ({"local__batch_size": 0}, "batch_size must be"),
        ({"local__learning_rate": float("nan")}, "learning_rate must be a finite"),
        ({"model__layout": "diagonal"}, "layout must be one of"),
        ({"model__name": "resnet"}, "model must be one of cnn, linear, lstm, mlp, got 'resnet'"),
        ({"model__hiden": 3}, r"\[model\] takes .*got 'hiden'"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        small(**changes)
