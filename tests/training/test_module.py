"""A torch.nn.Module of one's own: its gradients, clips and refusals, losses and devices."""

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training.models import Module
from dpacct_training.noise import Gaussian
from dpacct_training.run import Session
from tests.training.experiments import experiment, replaced

SIDE, CLASSES = 8, 4


def net(width: int = 6, mixing: bool = False, outputs: int = CLASSES) -> torch.nn.Module:
    nn = torch.nn
    layers: list[nn.Module] = [
        nn.Conv2d(1, width, 3),
        nn.BatchNorm2d(width) if mixing else nn.ReLU(),
    ]
    return nn.Sequential(*layers, nn.Dropout(0.5), nn.Flatten(), nn.Linear(36 * width, outputs))


@pytest.fixture(autouse=True)
def mine(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    module = types.ModuleType("mine")
    vars(module).update(net=net, nothing=lambda: None)
    monkeypatch.setitem(sys.modules, "mine", module)
    yield module


MINE = {"name": "mine:net", "width": 3}
PRIVATE = {"name": "prifedsync", "sigma": 1.0, "steps": 2}
NO_TARGET = {"privacy__epsilon": None, "local__epochs": None}


@pytest.mark.parametrize("algorithm", [{"name": "dp_fedavg"}, PRIVATE])
def test_a_module_of_ones_own_trains_as_planned(algorithm: dict[str, Any]) -> None:
    more = NO_TARGET if algorithm is PRIVATE else {}
    sections = {"model": MINE, "algorithm": algorithm}
    read = experiment(**{k: v for k, v in more.items() if v is not None})
    settings = {**read.sections, **sections}
    if algorithm is PRIVATE:
        settings["privacy"] = {k: v for k, v in settings["privacy"].items() if k != "epsilon"}
        settings["local"] = {k: v for k, v in settings["local"].items() if k != "epochs"}
    from dataclasses import replace

    from dpacct_training.experiment import prepare

    prepared = prepare(replace(read, sections=settings))
    assert prepared.setting.model.dimension == 3 * 9 + 3 + 4 * (36 * 3) + 4
    results = [Session(prepared).finish() for _ in range(2)]
    assert np.array_equal(results[0].weights, results[1].weights)
    assert results[0].planned == results[0].executed and results[0].spent is not None


def test_gradients_of_records_are_torch_s_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of taking them, each row clipped to the same sum."""
    for model in (
        Module((1, SIDE, SIDE), CLASSES, function="mine:net"),
        Module((1, SIDE, SIDE), CLASSES, function="cnn"),
    ):
        generator = torch.Generator().manual_seed(1)
        w = 0.1 * torch.randn(model.dimension, generator=generator)
        x = torch.randn(5, 1, SIDE, SIDE, generator=generator)
        y = torch.randint(0, CLASSES, (5,), generator=generator)
        wanted = []
        for place in range(5):
            leaf = w.clone().requires_grad_(True)
            loss = torch.nn.functional.cross_entropy(
                model.scores(leaf, x[place, None]), y[place, None]
            )
            wanted.append(torch.autograd.grad(loss, leaf)[0].numpy())
        sums = []
        for limit in (0, 10**9):
            monkeypatch.setattr("dpacct_training.models.model._STACKED", limit)
            rows = np.concatenate(list(model.record_gradients(w, x, y)))
            np.testing.assert_allclose(rows, np.array(wanted), atol=1e-5)
            noise = Gaussian(model.dimension, 0.05, 1.0)
            taken = torch.tensor([[1.0, 1, 0, 1, 1]])
            sums.append(model.bounded_sum(w[None], x[None], y[None], taken, [noise])[0].numpy())
        clipped = [row * min(1.0, 0.05 / np.linalg.norm(row)) for row in wanted]
        np.testing.assert_allclose(sums[0], sum(clipped) - clipped[2], atol=1e-5)
        np.testing.assert_allclose(sums[0], sums[1], atol=1e-6)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"name": "mine:net", "mixing": True}, "cannot be clipped per record: 1 is a BatchNorm2d"),
        ({"name": "mine:net", "outputs": 3}, r"must give 4 scores for each sample of \(1, 8, 8\)"),
        ({"name": "mine:nothing"}, "must return a torch.nn.Module, got a NoneType"),
        ({"name": "mine:missing"}, "must name a function, package.module:function"),
        ({"name": "no_such_package:net"}, "must name a function, package.module:function"),
        ({"name": "mine:net", "device": "tpu"}, "device must be one of cpu, cuda, auto"),
        ({"name": "mine:net", "loss": "mse"}, "loss must be one of cross_entropy"),
        ({"name": "linear", "device": "auto"}, "device must be cpu for the model linear"),
        ({"name": "cnn", "channel": [4]}, "takes .* got 'channel'"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(section: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        replaced("model", section)


def test_a_gpu_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(dp.InvalidArgument, match="where PyTorch sees no GPU, got 'cuda'"):
        replaced("model", {"name": "cnn", "device": "cuda"})
    assert replaced("model", {"name": "cnn", "device": "auto"}).setting.model.place.type == "cpu"


@pytest.mark.parametrize("kind", ["cnn", "mine:net"])
def test_all_of_it_runs_on_the_device(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On "meta", which computes shapes only and fails where one tensor is elsewhere."""
    shape: Any = ((1, SIDE, SIDE), CLASSES)
    model = Module(*shape, function=kind)
    vars(model)["place"] = torch.device("meta")
    model.net.to("meta")
    came = []

    def back(self: Any, result: torch.Tensor) -> torch.Tensor:
        came.append(result.device.type)
        return torch.zeros(result.shape)

    monkeypatch.setattr("dpacct_training.models.model.Model.back", back)
    w, x = torch.zeros(2, model.dimension), torch.zeros(2, 3, 1, SIDE, SIDE)
    y = torch.zeros(2, 3, dtype=torch.int64)
    assert model.gradient(w, x, y).shape == w.shape
    noises = [Gaussian(model.dimension, 1.0, 1.0)] * 2
    assert model.bounded_sum(w, x, y, torch.ones(2, 3), noises).shape == w.shape
    assert len(came) == 4 and set(came) == {"meta"}


@pytest.mark.parametrize("loss", ["multi_margin", "nll"])
def test_a_loss_by_its_name(loss: str) -> None:
    prepared = replaced("model", {"name": "mlp", "hidden": [4], "loss": loss})
    model = prepared.setting.model
    w, x, y = torch.zeros(model.dimension), torch.randn(3, 1, 8, 8), torch.tensor([0, 1, 2])
    wanted = {"multi_margin": 0.75, "nll": 0.0}[loss]
    assert float(model.mean_loss(w, x, y)) == pytest.approx(wanted)


def test_a_hugging_face_classifier_trains(mine: types.ModuleType) -> None:
    """By the one line of docs/training.md: a module whose scores are the logits of the classifier."""
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.inner(x).logits
            return logits

    def vit(hidden_size: int) -> torch.nn.Module:
        config = transformers.ViTConfig(
            image_size=8,
            patch_size=4,
            num_channels=1,
            hidden_size=hidden_size,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=8,
            num_labels=CLASSES,
            attn_implementation="eager",
        )
        return Logits(transformers.ViTForImageClassification(config))

    vars(mine)["vit"] = vit
    prepared = replaced(
        "model", {"name": "mine:vit", "hidden_size": 8}, privacy__rounds=2, data__clients=8
    )
    result = Session(prepared).finish()
    assert result.planned == result.executed and np.isfinite(result.weights).all()
    model = prepared.setting.model
    x, y = torch.randn(3, 1, 8, 8), torch.tensor([0, 1, 2])
    w = torch.from_numpy(result.weights.astype(np.float32))
    rows = np.concatenate(list(model.record_gradients(w, x, y)))
    whole = model.gradient(w[None], x[None], y[None])[0].numpy()
    np.testing.assert_allclose(rows.mean(axis=0), whole, atol=1e-5)
