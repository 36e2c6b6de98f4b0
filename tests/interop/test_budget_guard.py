"""Loops that halt at the budget: a PyTorch loop, Opacus, Lightning and Transformers, all for real."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import dpacct as dp
from dpacct.interop import opacus
from dpacct.interop.budget_guard import BudgetGuard, lightning_callback, transformers_callback

pytestmark = pytest.mark.filterwarnings("ignore")
STEP = dp.Poisson("1/8")(dp.Gaussian(noise_multiplier=1.1, clip=1))
FIT = 11
DATA = TensorDataset(torch.randn(64, 5), torch.randint(0, 2, (64,)))


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    return dp.Ledger(tmp_path / "run.ledger", budget=(20, 1e-5), plan=STEP * FIT)


@pytest.mark.parametrize("every", [1, 4, 100])
def test_a_plain_loop(ledger: dp.Ledger, every: int) -> None:
    model = nn.Linear(5, 2)
    guard = BudgetGuard(ledger, STEP, every=every)
    optimizer = guard.attach(torch.optim.SGD(model.parameters(), lr=0.1))
    steps = 0
    with pytest.raises(dp.BudgetExceeded):
        while True:
            before = model.weight.detach().clone()
            nn.functional.cross_entropy(model(DATA[:8][0]), DATA[:8][1]).backward()
            optimizer.step()
            steps += 1
    assert steps == guard.taken == FIT and guard.exhausted
    assert ledger.plan == STEP * FIT
    assert torch.equal(model.weight, before)  # the step that was refused changed nothing


def test_opacus_counts_before_it_adds_noise_and_no_virtual_step(ledger: dp.Ledger) -> None:
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    opacus.register()
    model = nn.Linear(5, 2)
    engine = PrivacyEngine(accountant="dpacct")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(DATA, batch_size=8),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
    )
    assert opacus.step_of(optimizer, sample_rate=1 / len(loader)) == STEP
    guard = BudgetGuard(ledger, STEP)
    guard.attach(optimizer)
    passes = 0
    with (
        BatchMemoryManager(
            data_loader=loader, max_physical_batch_size=3, optimizer=optimizer
        ) as parts,
        pytest.raises(dp.BudgetExceeded),
    ):
        while True:
            for x, y in parts:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
                passes += 1
    assert guard.taken == FIT < passes
    # Opacus counts what it released: the same steps, of the same kind
    assert len(engine.accountant) == FIT
    assert ledger.plan.equivalent(opacus.from_opacus(engine))


def made_private(noise: float = 1.1, batch: int = 8, *, poisson: bool = True) -> tuple[Any, Any]:
    """The optimiser and the loader of Opacus for a small model."""
    model = nn.Linear(5, 2)
    _, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(DATA, batch_size=batch),
        noise_multiplier=noise,
        max_grad_norm=1.0,
        poisson_sampling=poisson,
    )
    return optimizer, loader


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": 0.4}, "0.4 was added, 1.1 was accounted"),
        ({"batch": 16}, "0.25 is set, 0.125 was accounted"),
        ({"poisson": False}, "the program samples by shuffle"),
    ],
)
def test_an_optimiser_that_releases_more_than_is_counted_is_refused(
    ledger: dp.Ledger, settings: dict[str, Any], message: str
) -> None:
    optimizer, loader = made_private(**settings)
    with pytest.raises(dp.InvalidArgument, match=f"optimizer must release.*{message}"):
        BudgetGuard(ledger, STEP).attach(optimizer, loader=loader)
    assert ledger.plan is None


@pytest.mark.parametrize("settings", [{}, {"noise": 1.2}, {"batch": 4}])
def test_more_noise_or_a_lower_rate_is_let_through(
    ledger: dp.Ledger, settings: dict[str, Any]
) -> None:
    optimizer, loader = made_private(**settings)
    assert BudgetGuard(ledger, STEP).attach(optimizer, loader=loader) is optimizer


def test_adaptive_clipping_is_said(ledger: dp.Ledger) -> None:
    from opacus.optimizers import AdaClipDPOptimizer

    model = nn.Linear(5, 2)
    optimizer = AdaClipDPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
        expected_batch_size=8,
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2,
        max_clipbound=10.0,
        min_clipbound=0.1,
        unclipped_num_std=1.0,
    )
    with pytest.warns(UserWarning, match="how many gradients it clipped"):
        BudgetGuard(ledger, STEP).attach(optimizer)


def test_epsilon_so_far_is_the_ledgers(ledger: dp.Ledger) -> None:
    guard = BudgetGuard(ledger, STEP)
    assert guard.epsilon == 0.0
    for steps in (1, 2):
        guard.take()
        assert guard.epsilon == (STEP * steps).epsilon(1e-5, method="exact").upper


def test_an_exhausted_budget_starts_nothing(ledger: dp.Ledger) -> None:
    ledger.spend(STEP * FIT)
    guard = BudgetGuard(ledger, STEP)
    assert guard.exhausted and guard.taken == 0
    with pytest.raises(dp.BudgetExceeded):
        guard.take()


@pytest.mark.parametrize("every", [0, 1.5, True])
def test_a_bad_block_is_refused(ledger: dp.Ledger, every: Any) -> None:
    with pytest.raises(dp.InvalidArgument, match="every"):
        BudgetGuard(ledger, STEP, every=every)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_lightning_stops_its_trainer(ledger: dp.Ledger, tmp_path: Path, accumulate: int) -> None:
    import lightning.pytorch as pl

    class Small(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.updates = nn.Linear(5, 2), 0

        def training_step(self, batch: Any) -> Any:
            return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

        def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
            super().optimizer_step(*args, **kwargs)
            self.updates += 1

    guard, model = BudgetGuard(ledger, STEP, every=3), Small()
    trainer = pl.Trainer(
        max_epochs=50,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accumulate_grad_batches=accumulate,
        default_root_dir=tmp_path,
        callbacks=[lightning_callback(guard)],
    )
    trainer.fit(model, DataLoader(DATA, batch_size=8))
    assert model.updates == guard.taken == FIT and ledger.plan == STEP * FIT


def test_transformers_ends_training(ledger: dp.Ledger, tmp_path: Path) -> None:
    import transformers

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(5, 2)

        def forward(self, x: Any, labels: Any) -> Any:
            scores = self.layer(x)
            return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}

    guard = BudgetGuard(ledger, STEP, every=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = transformers.Trainer(
            model=Small(),
            args=transformers.TrainingArguments(
                output_dir=str(tmp_path),
                num_train_epochs=50,
                per_device_train_batch_size=4,
                gradient_accumulation_steps=2,
                report_to=[],
                save_strategy="no",
                disable_tqdm=True,
                use_cpu=True,
                dataloader_pin_memory=False,
            ),
            train_dataset=[{"x": x, "labels": y} for x, y in DATA],
            callbacks=[transformers_callback(guard)],
        )
        trainer.train()
    assert trainer.state.global_step == guard.taken == FIT and ledger.plan == STEP * FIT
