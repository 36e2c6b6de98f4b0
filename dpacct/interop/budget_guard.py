"""Training loops that halt at the budget: any PyTorch loop, Lightning, Transformers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dpacct import BudgetExceeded, InvalidArgument, Ledger, Node
from dpacct.interop import opacus
from dpacct.interop.extras import count, required


class BudgetGuard:
    """Counts each step in a ledger before its noise is drawn, `every` steps with one write.

    A write that is on the disk before the step costs some milliseconds: `every` steps are counted
    ahead at a time, so a crash loses at most the rest of a block, which stays spent. At the end
    blocks shrink to what still fits. Raises `InvalidArgument`.

    >>> import tempfile, dpacct as dp
    >>> step = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with dp.Ledger(folder + "/run", budget=(1, 1e-5), plan=step * 10) as ledger:
    ...         guard = BudgetGuard(ledger, step, every=4)
    ...         while not guard.exhausted:
    ...             guard.take()
    ...         guard.taken, ledger.plan
    (10, Poisson(0.01)(Gaussian(sigma=1.1)) * 10)
    """

    def __init__(self, ledger: Ledger, step: Node, *, every: int = 1, label: str = "") -> None:
        self.every = count("every", every)
        self.ledger, self.step, self.label = ledger, step, label
        self.taken = 0
        """Steps taken so far, in this run."""
        self._ahead = 0

    def __repr__(self) -> str:
        return f"<BudgetGuard: {self.taken} steps taken, of {self.step!r}, in {str(self.ledger.path)!r}>"

    @property
    def exhausted(self) -> bool:
        """Return whether the next `take` would raise; it may have to count a block to know."""
        if not self._ahead:
            try:
                self._reserve()
            except BudgetExceeded:
                return True
        return False

    @property
    def epsilon(self) -> float:
        """The safe end of epsilon so far, of all that the ledger counts, for a progress bar or a log."""
        return float(self.ledger.spent())

    def _reserve(self) -> None:
        block = self.every
        while True:
            try:
                self.ledger.spend(self.step * block, label=self.label)
            except BudgetExceeded:
                if block == 1:
                    raise
                # Another process may spend between these two lines: hence the loop.
                block = max(1, min(block - 1, self.ledger.remaining.steps(self.step)))
            else:
                self._ahead = block
                return

    def take(self) -> None:
        """Count one step; draw its noise only after this returned. Raises `BudgetExceeded`."""
        if not self._ahead:
            self._reserve()
        self._ahead -= 1
        self.taken += 1

    def attach(self, optimizer: Any, *, loader: Any = None) -> Any:
        """Make an optimiser count each of its steps before noise is added; returns it.

        Of an Opacus `DPOptimizer` those that add noise are counted, so the virtual steps of large
        batches are not, and the optimiser and its `loader` are compared with the step that is counted:
        less noise, a higher rate or samples that are not Poisson raise `InvalidArgument`. Of another
        PyTorch optimiser all steps are counted, and the noise is yours. Past the budget the step raises
        `BudgetExceeded`, and no noise was drawn.
        """
        if hasattr(optimizer, "add_noise"):
            self._compare(optimizer, loader)
            optimizer.add_noise = self._before(optimizer.add_noise)
        else:
            optimizer.register_step_pre_hook(lambda *_: self.take())
        return optimizer

    def _compare(self, optimizer: Any, loader: Any) -> None:
        """Refuse an optimiser that releases more than the step says."""
        checks = opacus.settings(optimizer, loader).compare(self.step, self.ledger.budget.adjacency)
        for check in checks:
            if str(check.status) == "violated":
                detail = check.source.removeprefix("checked: ")
                message = f"optimizer must release what is counted, {self.step}: {detail}"
                raise InvalidArgument(message, argument="optimizer")
        if opacus.clips_adaptively(optimizer):
            message = "this optimizer also releases how many gradients it clipped, for its adaptive"
            message += " clip: the ledger counts the gradients only"
            warnings.warn(message, stacklevel=3)

    def _before(self, add_noise: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.take()
            return add_noise(*args, **kwargs)

        return counted


def lightning_callback(guard: BudgetGuard) -> Any:
    """A Lightning callback that counts optimiser steps and stops the trainer before one too many.

    Where it may not stop (an exhausted budget at the start, `min_steps`) the step raises
    `BudgetExceeded`.
    """
    pytorch = required("lightning.pytorch", "lightning")

    class BudgetCallback(pytorch.Callback):  # type: ignore[misc,name-defined]
        """Stops at the budget."""

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            """Stop where the next step could not be counted."""
            trainer.should_stop |= guard.exhausted

        def on_before_optimizer_step(self, *_: Any) -> None:
            """Count the step that is about to be made."""
            guard.take()

    return BudgetCallback()


def transformers_callback(guard: BudgetGuard) -> Any:
    """A Transformers callback that counts optimiser steps and ends training before one too many.

    Started with an exhausted budget, training raises `BudgetExceeded` at its first step.
    """
    transformers = required("transformers", "transformers")

    class BudgetCallback(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        """Stops at the budget."""

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            """Count the step that the coming batches make."""
            guard.take()

        def on_step_end(self, args: Any, state: Any, control: Any, **__: Any) -> Any:
            """Stop where the next one could not be counted."""
            control.should_training_stop |= guard.exhausted
            return control

    return BudgetCallback()
