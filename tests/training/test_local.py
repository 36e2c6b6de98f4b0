"""Closed forms, loops and textbook give the same updates; each model learns; starts are keyed."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training import models
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys
from dpacct_training.local import SAM, Local, Optimiser, fit, noisy_fit
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.noise import Gaussian, Laplace, Staircase
from dpacct_training.plan import Records
from dpacct_training.site import Host, Site, Task
from tests.training import textbook
from tests.training.experiments import replaced, small

KEYS = Keys.from_seed(2)
LOCAL = Local(epochs=2, batch_size=4, learning_rate=0.1, weight_decay=1e-2)
MODELS: list[dict[str, Any]] = [
    {"name": "linear"},
    {"name": "linear", "start": "zeros"},
    {"name": "mlp", "hidden": [7]},
    {"name": "cnn", "channels": [2, 3], "hidden": [5]},
    {"name": "resnet", "width": 2, "blocks": [1, 1], "groups": 1},
]


def site(prepared: Prepared, clients: list[int], round: int = 3) -> Site:
    keys = {client: KEYS.child(round, client) for client in clients}
    task = Task(prepared.plan.mark, round, tuple(clients), {}, keys)
    return Host(prepared.algorithm, prepared.plan, prepared.setting).site(task)


def made(name: str, inputs: tuple[int, ...], classes: int, **settings: Any) -> Model:
    kind, fields = models.settings_of(name, settings)
    return kind(inputs, classes, **fields)


def begun(prepared: Prepared) -> Any:
    return prepared.setting.model.initial(KEYS.generator("start"))


def by_autograd(self: Model, w: Any, x: Any, y: Any) -> Any:
    """One client after the other, by automatic differentiation."""
    rows = []
    for flat, a, b in zip(w, x, y, strict=True):
        weights = flat.detach().requires_grad_(True)
        rows.append(torch.autograd.grad(self.mean_loss(weights, a, b), weights)[0])
    return torch.stack(rows)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("within", [0.05, None])
def test_every_form_is_the_loop(
    model: dict[str, Any], within: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = replaced("model", model)
    place = site(prepared, [0, 3, 5, 8, 13, 21, 34])
    start = begun(prepared) + 0.01
    kind = type(prepared.setting.model)
    ours = [fit(place, start, LOCAL, within=within)]
    monkeypatch.setattr(kind, "fit_in_span", lambda *_: None)
    ours.append(fit(place, start, LOCAL, within=within))
    monkeypatch.setattr(kind, "gradient", by_autograd)
    loop = fit(place, start, LOCAL, within=within)
    assert np.abs(loop).max() > 1e-3
    for updates in ours:
        np.testing.assert_allclose(updates, loop, atol=2e-6)
        assert within is None or np.linalg.norm(updates, axis=1).max() <= within * (1 + 1e-5)


def test_the_loop_is_the_textbook(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = small()
    federation, start = prepared.setting.federation, begun(prepared)
    place = site(prepared, [1, 7])
    orders = place.passes(LOCAL)
    x = torch.from_numpy(federation.train.scaled(federation.scaling))
    ours = fit(place, start, LOCAL, within=0.05)
    for i, client in enumerate([1, 7]):
        rows = torch.from_numpy(federation.clients[client])
        batches = [order[i, j : j + 4] for order in orders for j in range(0, len(rows), 4)]
        wanted = textbook.client_update(
            torch.from_numpy(start.astype(np.float32)),
            x[rows],
            torch.from_numpy(federation.train.y)[rows],
            batches,
            LOCAL,
            LOCAL.rate(3),
            0.05,
        )
        np.testing.assert_allclose(ours[i], wanted.numpy(), atol=1e-6)


def test_each_visits_its_own_samples_once_an_epoch() -> None:
    orders = site(small(), [2, 5]).passes(LOCAL)
    assert orders.shape == (2, 2, 10)
    assert (np.sort(orders, axis=2) == np.arange(10)).all()
    assert not np.array_equal(orders[0, 0], orders[0, 1])


@pytest.mark.parametrize(
    ("model", "samples", "batch", "classes", "side"),
    [
        (MODELS[0], 10, 5, 4, 8),
        (MODELS[0], 7, 3, 3, 9),
        (MODELS[0], 9, 4, 5, 9),
        ({"name": "mlp", "hidden": [8]}, 10, 4, 4, 8),
        (MODELS[3], 7, 3, 3, 9),
    ],
    ids=str,
)
def test_a_client_s_update_does_not_depend_on_who_else_is_there(
    model: dict[str, Any], samples: int, batch: int, classes: int, side: int
) -> None:
    """To the last bit, alone, in pairs and in crowds, at odd sizes too: any host may have anyone."""
    data = {"data__samples": 40 * samples, "data__classes": classes, "data__side": side}
    prepared = replaced("model", model, **data)
    start, local = begun(prepared), replace(LOCAL, batch_size=batch)
    records = Records(noise=Gaussian(len(start), 1.0, 1.0), steps=2, rate=Fraction(batch, samples))

    def trained(clients: list[int]) -> list[Any]:
        place = site(prepared, clients)
        return [
            fit(place, start, local, within=0.05),
            fit(place, start, local, gradient=SAM(0.1)),
            noisy_fit(place, start, local, [records] * len(clients)),
        ]

    crowd = trained(list(range(40)))
    for clients in ([5], [7, 31], [2, 5, 9], list(range(1, 40, 3))):
        for all_rows, rows in zip(crowd, trained(clients), strict=True):
            assert all_rows[clients].tobytes() == rows.tobytes()


def test_grams_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = small()
    place, start = site(prepared, [2, 5, 9]), begun(prepared)
    first = fit(place, start, LOCAL)
    assert set(place.grams) == {2, 5, 9}
    assert fit(place, start, LOCAL).tobytes() == first.tobytes()
    monkeypatch.setattr("dpacct_training.models.linear._KEPT", 300)  # three clients of ten samples
    other = replace(site(prepared, [9, 11]), grams=place.grams)
    fit(other, start, LOCAL)
    assert set(place.grams) == {9, 11}


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e3])
def test_closed_form_of_bounded_records(kind: Any, clip: float) -> None:
    """Norms as products of norms, against per-record gradients bounded one by one."""
    model = Linear((1, 8, 8), 4)
    size = model.dimension
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(*shape, generator=generator) for shape in ((3, 7, 1, 8, 8), (3, size)))
    y = torch.randint(0, 4, (3, 7), generator=generator)
    taken = torch.ones(3, 7)
    taken[1, 5:], taken[2] = 0, 0
    noises = [kind(size, clip, 1.0)] * 3
    closed = model.bounded_sum(w, x, y, taken, noises)
    by_record = Model.bounded_sum(model, w, x, y, taken, noises)
    assert (closed - by_record).abs().max() < 1e-4 * max(1e-3, float(by_record.abs().max()))
    assert not closed[2].any()
    lengths = noises[0].norms(closed.numpy().astype(np.float64))
    assert (lengths <= clip * np.array([7, 5, 0])).all()


def test_numbers_bounded_by_themselves_have_no_closed_form() -> None:
    for model in (Linear((1, 4, 4), 2), made("mlp", (1, 4, 4), 2, hidden=(3,))):
        x, y, w = (
            torch.randn(1, 3, 1, 4, 4),
            torch.tensor([[0, 1, 1]]),
            torch.zeros(1, model.dimension),
        )
        noise = Staircase(model.dimension, 1e-2, 1.0)
        sums = model.bounded_sum(w, x, y, torch.ones(1, 3), [noise])
        assert sums.abs().max() <= 0.03 * (1 + 1e-6)


def test_adam_and_momentum_are_torch_s() -> None:
    pairs = [
        (Local(optimiser="adam"), lambda p: torch.optim.Adam(p, 0.1)),
        (Local(momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    ]
    for local, make in pairs:
        w = torch.randn(2, 5)
        parameter = torch.nn.Parameter(w.clone())
        theirs, ours = make([parameter]), Optimiser(local, w)
        for _ in range(7):
            g = torch.randn(2, 5)
            parameter.grad = g.clone()
            theirs.step()
            w = ours.step(w, g.clone(), 0.1)
        assert (w - parameter).abs().max() < 1e-5


def test_sam_takes_the_gradient_at_the_worst_point() -> None:
    """On a quadratic (the loss of one sample far from its class is nearly one): by hand."""
    model = Linear((1, 2, 2), 2)
    x, y, w = torch.randn(1, 3, 1, 2, 2), torch.tensor([[0, 1, 0]]), torch.randn(1, 10)
    g = by_autograd(model, w, x, y)
    worst = w + 0.5 * g / g.norm()
    np.testing.assert_allclose(SAM(0.5)(model, w, x, y), by_autograd(model, worst, x, y), atol=1e-6)
    np.testing.assert_allclose(SAM(0.0)(model, w, x, y), g, atol=1e-6)


@pytest.mark.parametrize("name", models.names())
def test_the_start_is_keyed(name: str) -> None:
    inputs, classes = (1, 8, 8), 5
    model = made(name, inputs, classes)
    state = torch.random.get_rng_state()
    first, again = (model.initial(KEYS.generator("start")) for _ in range(2))
    other = model.initial(Keys.from_seed(3).generator("start"))
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert len(first) == model.dimension
    zeros = made(name, inputs, classes, start="zeros").initial(KEYS.generator("start"))
    assert len(zeros) == model.dimension and not zeros.any()


def test_sets_of_one_name_and_size_are_told_apart() -> None:
    """Validation and test set of MNIST are both 'mnist', and both 10,000 samples."""
    setting = small(data__train=320, data__validation=80, data__samples=400).setting
    federation = setting.federation
    assert len(federation.validation) == len(federation.test) == 80
    weights = setting.model.initial(KEYS.generator("start"))
    both = [setting.evaluate(weights, d) for d in (federation.validation, federation.test)]
    alone = setting.for_hosts().evaluate(weights, federation.test)
    assert both[1] == alone != both[0]


CIFAR, MNIST = (3, 32, 32), (1, 28, 28)


@pytest.mark.parametrize(
    ("name", "inputs", "classes", "widths", "weights"),
    [
        # Liang et al. 2020 print "about 3.4M"; the others are those of the networks that they cite
        ("cnn", CIFAR, 10, {"channels": (64, 128), "hidden": (384, 192)}, 3_431_754),
        (
            "cnn",
            MNIST,
            10,
            {
                "channels": (32, 64),
                "hidden": (128,),
                "kernel": 3,
                "padding": "valid",
                "pool": (1, 2),
            },
            1_199_882,
        ),
        (
            "cnn",
            CIFAR,
            10,
            {
                "channels": (32, 64, 64),
                "hidden": (64,),
                "kernel": 3,
                "padding": "valid",
                "pool": (2, 2, 1),
            },
            122_570,
        ),
        ("cnn", MNIST, 62, {"channels": (32, 64), "hidden": (512,)}, 1_690_046),
        (
            "resnet",
            CIFAR,
            10,
            {"width": 64},
            11_173_962,
        ),  # Shi et al. 2023, Section 6.1, UDP-FL, Section 5.1
    ],
)
def test_the_papers_own_networks(
    name: str, inputs: tuple[int, ...], classes: int, widths: dict[str, Any], weights: int
) -> None:
    model = made(name, inputs, classes, **widths)
    assert model.dimension == weights


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"engine__name": "gpu"}, "engine must be one of in_process, pool.*got 'gpu'"),
        ({"engine__hosts": 0}, "hosts must be a whole number from 1"),
        ({"local__batch_size": 0}, "batch_size must be"),
        ({"local__learning_rate": float("nan")}, "learning_rate must be a finite"),
        ({"local__optimiser": "adamw"}, r"optimiser must be one of sgd, adam.*did you mean 'adam'"),
        ({"model": {"name": "cnn", "padding": "diagonal"}}, "padding must be one of"),
        ({"model": {"name": "cnn", "pool": [1]}}, "pool must be a list of 2 whole numbers"),
        ({"model": {"name": "cnn", "kernel": 9, "padding": "valid"}}, "cnn must take samples"),
        ({"model": {"name": "resnet", "groups": 3}}, "resnet must take samples .*divisible"),
        (
            {"model__name": "vgg"},
            "model must be one of cnn, linear, mlp, resnet, got 'vgg'",
        ),
        ({"model__hiden": 3}, r"\[model\] takes .*got 'hiden'"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        _ = replaced("model", changes["model"]) if "model" in changes else small(**changes)
