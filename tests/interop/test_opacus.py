"""Opacus, for real: training, calibration, checkpoints, and its own accountant tests."""

import copy
import io
import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus import PrivacyEngine
from opacus.accountants import IAccountant, RDPAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier
from scipy.stats import binom, norm
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import dpacct as dp
from dpacct.interop import history, opacus
from tests.work import calls

pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:FutureWarning")
DELTA = 1e-5


@pytest.fixture(autouse=True)
def _registered() -> None:
    opacus.register()


def parts(records: int = 64, batch: int = 8) -> tuple[nn.Module, torch.optim.Optimizer, DataLoader]:
    """A small model, its optimiser, and a loader that is not private yet."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(records, 5), torch.randint(0, 2, (records,)))
    model = nn.Linear(5, 2)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), DataLoader(data, batch_size=batch)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> list[int]:
    """One epoch; the sizes of its batches."""
    sizes = []
    for x, y in loader:
        sizes.append(len(x))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return sizes


def private(
    **options: object,
) -> tuple[PrivacyEngine, nn.Module, torch.optim.Optimizer, DataLoader]:
    model, optimizer, loader = parts()
    engine = PrivacyEngine(accountant="dpacct")
    made = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        **{"noise_multiplier": 1.1, "max_grad_norm": 0.5, **options},
    )
    return engine, *made


def test_training_is_accounted_step_by_step() -> None:
    engine, *made = private()
    for epoch in range(1, 3):
        train(*made)
        run = dp.Poisson("1/8")(dp.Gaussian(sigma=1.1)) * (8 * epoch)
        assert len(engine.accountant) == 8 * epoch
        assert engine.get_epsilon(DELTA) == run.epsilon(delta=DELTA, method="exact").upper


def test_make_private_with_epsilon_meets_its_target() -> None:
    model, optimizer, loader = parts()
    engine = PrivacyEngine(accountant="dpacct")
    made = engine.make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        target_epsilon=4,
        target_delta=DELTA,
        epochs=3,
        max_grad_norm=1.0,
    )
    for _ in range(3):
        train(*made)
    assert 3.98 < engine.get_epsilon(DELTA) <= 4  # Opacus' tolerance is 0.01


@pytest.mark.parametrize(
    ("epsilon", "rate", "steps"), [(8, 0.04, 2000), (7, 0.01, 1000), (0.1, 1e-3, 1000), (50, 1, 20)]
)
def test_get_noise_multiplier(epsilon: float, rate: float, steps: int) -> None:
    """Opacus' bisection on our epsilon ends at our own calibration, from above."""
    close = 2e-4 if rate * steps <= 1 else 1e-5  # the lattice, where a record is hardly sampled
    ours = dp.noise_multiplier(
        epsilon=epsilon, delta=DELTA, sample_rate=rate, steps=steps, method="exact"
    )
    theirs = get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=DELTA,
        sample_rate=rate,
        steps=steps,
        accountant="dpacct",
        epsilon_tolerance=1e-6,
    )
    assert ours * (1 - 1e-12) <= theirs <= ours * (1 + close)


def test_a_checkpoint_goes_on_where_it_stopped() -> None:
    engine, *made = private()
    train(*made)
    file = io.BytesIO()
    engine.save_checkpoint(path=file, module=made[0], optimizer=made[1])
    file.seek(0)
    again, *fresh = private()
    again.load_checkpoint(path=file, module=fresh[0], optimizer=fresh[1])
    assert again.accountant.history == engine.accountant.history
    file.seek(0)
    stored = torch.load(file, weights_only=False)
    assert opacus.from_opacus(stored) == opacus.from_opacus(engine)
    train(*fresh)
    assert len(again.accountant) == 16


def test_it_is_an_accountant_of_opacus() -> None:
    accountant = create_accountant("dpacct")
    assert isinstance(accountant, IAccountant) and accountant.mechanism() == "dpacct"
    with pytest.raises(ValueError, match="already registered"):
        opacus.register(force=False)
    copy.deepcopy(accountant)


def test_a_finished_run_is_answered_again_between_proven_ends() -> None:
    finished = RDPAccountant()
    for noise, steps in ((1.1, 300), (0.9, 200)):
        finished.history.append((noise, 0.02, steps))
    answer = opacus.answer_again(finished, delta=DELTA)
    assert str(answer.strength) == "proved" and answer.upper - answer.lower < 1e-6
    assert answer.upper < finished.get_epsilon(DELTA)
    assert opacus.from_opacus(finished.state_dict()) == opacus.from_opacus(finished.history)


@pytest.mark.parametrize("source", [[], None, 5, {"mechanism": "rdp"}, "history"])
def test_what_is_no_run_is_refused(source: object) -> None:
    with pytest.raises(dp.InvalidArgument):
        opacus.from_opacus(source)


def test_a_step_without_noise_is_infinite_and_no_plan() -> None:
    accountant = opacus.Accountant()
    accountant.step(noise_multiplier=0.0, sample_rate=0.1)
    assert accountant.get_epsilon(DELTA) == math.inf
    with pytest.raises(dp.Unsupported, match="without noise"):
        opacus.from_opacus(accountant)


@pytest.mark.parametrize(
    "entry",
    [
        (math.nan, 0.1, 1),
        (-1, 0.1, 1),
        (1, math.nan, 1),
        (1, 1.5, 1),
        (1, 0.1, 0.5),
        (1, 0.1, math.nan),
        (1, 0.1, 10**19),
    ],
)
def test_a_bad_history_is_refused(entry: tuple[float, float, int]) -> None:
    """Opacus' own accountant hangs on the first of these for ever."""
    accountant = opacus.Accountant()
    accountant.history = [entry]
    with pytest.raises(dp.InvalidArgument):
        accountant.get_epsilon(DELTA)


LATTICE = 1e-3
"""Relative width of what answers while a record has hardly been sampled."""


@settings(max_examples=6)
@given(noise=st.floats(0.05, 1e6), rate=st.floats(1e-5, 1), passes=st.floats(1e-3, 1000))
def test_epsilon_is_total_and_falls_with_noise(noise: float, rate: float, passes: float) -> None:
    steps = math.ceil(passes / rate)
    epsilon = history.epsilon([(noise, rate, steps)], DELTA)
    assert 0 <= epsilon < math.inf
    assert history.epsilon([(2 * noise, rate, steps)], DELTA) <= epsilon * (1 + LATTICE)
    assert history.epsilon([(noise, rate, steps)] * 2, DELTA) >= epsilon * (1 - LATTICE)


@pytest.mark.parametrize("noise", [1e-300, 1e-19, 1e-3, 0.011, 20.0, 1e6, 1e300, math.inf])
@pytest.mark.parametrize("rate", [0.0, 1e-300, 1e-9, 0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-300, DELTA, 1 - 1e-9])
def test_epsilon_is_total_at_the_edges(noise: float, rate: float, delta: float) -> None:
    results = [history.epsilon([(noise, rate, steps)], delta) for steps in (0, 1, 1000, 10**18)]
    assert results[0] == 0 and results == sorted(results)


@pytest.mark.parametrize(
    "entries",
    [
        [(0.09, 0.01, 300)],  # little noise: the bound that knows the samples
        [(0.05, 1.0, 3)],
        [(1.1, 0.02, 500), (0.09, 0.001, 5)],
        [(1.1, 0.02, 500), (0.9, 1e-30, 10**12)],  # samples that hold nobody
        [(1.1, 1e-3, 300)],  # the first steps: the lattice
        [(0.8, 1e-4, 20_000)],
    ],
)
@pytest.mark.filterwarnings("error")
def test_quick_bounds_are_never_below_the_truth(entries: list[history.Entry]) -> None:
    run = history.plan(entry for entry in entries if entry[1] > 1e-20)
    assert run is not None
    answer, truth = history.epsilon(entries, DELTA), run.epsilon(delta=DELTA, method="exact")
    assert truth.lower <= answer < 4 * truth.upper
    if min(noise for noise, _, _ in entries) >= 0.1:
        assert answer <= truth.upper * (1 + LATTICE)


@pytest.mark.parametrize(("rate", "steps"), [(0.01, 7), (0.5, 3), (1e-9, 10**12), (1 - 1e-12, 50)])
def test_how_often_a_record_is_in_a_sample(rate: float, steps: int) -> None:
    """The binomial tail itself, by SciPy."""
    for nats in (0.7, 12.0, 300.0):
        most = history._most(rate, steps, nats)
        assert binom.sf(most, steps, rate) <= math.exp(-nats)
        assert most <= steps


def test_the_order_of_a_history_does_not_matter() -> None:
    first, second = (1.1, 0.01, 100), (0.9, 0.02, 50)
    assert history.epsilon([first, second], DELTA) == history.epsilon([second, first], DELTA)
    assert history.epsilon([first, second, first], DELTA) == history.epsilon(
        [(1.1, 0.01, 200), second], DELTA
    )


def test_it_is_little_work() -> None:
    """A fresh question of one setting is some 2,600 calls, and asked again a handful."""
    history.epsilon([(1.0, 0.5, 7)], DELTA)  # whatever loads on first use
    fresh = [calls(lambda n=n: history.epsilon([(1.1, 0.01, n)], DELTA)) for n in range(1000, 1010)]
    assert sorted(fresh)[5] < 10_000
    assert calls(lambda: history.epsilon([(1.1, 0.01, 1000)], DELTA)) < 50


def test_accumulated_samples_count_for_what_they_are() -> None:
    """Two samples of rate q share one noise: a record's gradient is in the sum 0, 1 or 2 times."""
    _, _, optimizer, _ = private(noise_multiplier=1.1, max_grad_norm=1.0)
    rate = 0.05
    epsilon = 2.0
    chances = [(1 - rate) ** 2, 2 * rate * (1 - rate), rate**2]
    x = np.linspace(-40, 60, 400_001)
    p = sum(chance * norm.pdf(x, i, 1.1) for i, chance in enumerate(chances))
    q = norm.pdf(x, 0, 1.1)
    truth = max(
        np.trapezoid(np.maximum(above - math.exp(epsilon) * below, 0), x)
        for above, below in ((p, q), (q, p))
    )
    step = opacus.step_of(optimizer, sample_rate=rate, accumulated=2)
    assert step == dp.RecordsPerUser(2, rate)(dp.Gaussian(noise_multiplier=1.1, clip=1.0))
    assert step.delta(epsilon=epsilon).value == pytest.approx(truth, rel=1e-6)
    as_opacus = dp.Poisson(2 * rate)(dp.Gaussian(sigma=1.1))
    assert as_opacus.delta(epsilon=epsilon).upper < truth


def test_accumulated_samples_are_refused_by_the_hook() -> None:
    """Counted as one sample of twice the rate they would cost less than they do."""
    engine, model, optimizer, _ = private(noise_multiplier=1.1, max_grad_norm=1.0)
    model.allow_grad_accumulation()
    for joined in (1, 2):
        for _ in range(joined):
            nn.functional.cross_entropy(model(torch.randn(8, 5)), torch.zeros(8).long()).backward()
        if joined == 1:
            optimizer.step()
            optimizer.zero_grad()
        else:
            with pytest.raises(dp.Unsupported, match="joins 2 samples"):
                optimizer.step()
    assert len(engine.accountant) == 1


@pytest.mark.parametrize("mechanism", ["rdp", "prv", "gdp", 5])
def test_the_state_of_another_accountant_is_refused(mechanism: Any) -> None:
    accountant = opacus.Accountant()
    with pytest.raises(dp.InvalidArgument, match="mechanism of state_dict must be 'dpacct'"):
        accountant.load_state_dict({"history": [(1.1, 0.01, 5)], "mechanism": mechanism})
    assert len(accountant) == 0


@pytest.mark.parametrize("entry", [(1.1, 0.01), 5, ("a", 0.1, 3), (1.1, 0.01, 2, 3)])
def test_an_entry_that_is_no_triple_is_refused(entry: Any) -> None:
    with pytest.raises(dp.InvalidArgument, match="history must be a list of"):
        opacus.from_opacus([entry])


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.09])
def test_little_noise_spends_no_more_than_delta(noise: float) -> None:
    """The quick bound of tiny noise: both of its parts together stay within delta, by binomial tails."""
    rate, steps, delta = 0.01, 300, 1e-5
    epsilon = history.epsilon([(noise, rate, steps)], delta)
    drawn = np.arange(steps + 1)
    mu = np.sqrt(drawn) / noise
    with np.errstate(divide="ignore", invalid="ignore"):
        known = norm.sf(epsilon / mu - mu / 2) - np.exp(
            epsilon + norm.logcdf(-epsilon / mu - mu / 2)
        )
    known[0] = 0.0
    # as if it were known how often a record is drawn: at least the true delta, at most the stated one
    assert float(np.sum(binom.pmf(drawn, steps, rate) * known)) <= delta
    tight = max(k for k in drawn if binom.sf(k - 1, steps, rate) > delta / 2)
    assert epsilon >= dp.Gaussian(sigma=noise / math.sqrt(tight)).epsilon(delta / 2).lower


@lru_cache
def real_loop(*, poisson: bool = True, noise: float = 1.1, micro: int = 1) -> dp.Execution:
    """48 batches of PyTorch and Opacus as they are, each in `micro` optimiser steps."""
    _, model, optimizer, loader = private(noise_multiplier=noise, poisson_sampling=poisson)
    draws, sizes = [], []
    add_noise = optimizer.add_noise
    optimizer.add_noise = lambda: draws.append(add_noise())
    for x, y in (batch for _ in range(6) for batch in loader):
        sizes.append(len(x))
        for some, labels in zip(x.chunk(micro), y.chunk(micro), strict=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(some), labels).backward()
            optimizer.step()
    assert opacus.is_poisson(loader) == poisson
    return opacus.observed(
        optimizer, loader, steps=48, batch_sizes=sizes, weights=[1.0], noise_draws=len(draws)
    )


STEPS, COINS, RATE, NOISE, DRAWS, WEIGHTS = range(6)


@pytest.mark.parametrize(
    ("run", "plan", "measured", "check"),
    [
        ({}, {}, {}, None),
        ({"poisson": False}, {}, {}, COINS),
        ({}, {"rate": "1/16"}, {}, RATE),
        ({}, {"steps": 47}, {}, STEPS),
        ({"noise": 1.0}, {}, {}, NOISE),
        ({"micro": 2}, {}, {}, DRAWS),
        ({}, {}, {"weights": [1.0, 2.5]}, WEIGHTS),
    ],
)
def test_a_real_loop_with_one_mistake(
    run: dict[str, Any], plan: dict[str, Any], measured: dict[str, Any], check: int | None
) -> None:
    """Each breaks one assumption, and is found by that check and no other."""
    step = dp.Poisson(plan.get("rate", "1/8"))(dp.Gaussian(noise_multiplier=1.1, clip=0.5))
    ran = replace(real_loop(**run), **measured)
    results = [str(each.status) for each in ran.compare(step * plan.get("steps", 48))]
    assert results == ["violated" if i == check else "held" for i in range(6)]
