"""Opacus: an accountant under the name "dpacct", and exact answers for finished runs.

After `dpacct.interop.opacus.register()`, `PrivacyEngine(accountant="dpacct")` and all that Opacus
builds on an accountant's name use the exact engine: docs/migrate/opacus.md.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from copy import deepcopy
from typing import Any

from dpacct import (
    Answer,
    Execution,
    Gaussian,
    InvalidArgument,
    Node,
    Poisson,
    RecordsPerUser,
    Unsupported,
)
from dpacct.interop import history as records
from dpacct.interop.extras import required

NAME = "dpacct"


class Accountant:
    """Opacus' accountant interface, answered by the exact engine; needs no Opacus itself.

    `history` is a list of (noise multiplier, sampling rate, steps) and may be assigned; epsilon
    depends on nothing else. Adjacency: add/remove, on which Opacus' own accountants rest too.

    >>> accountant = Accountant()
    >>> for _ in range(3):
    ...     accountant.step(noise_multiplier=1.1, sample_rate=0.01)
    >>> len(accountant), accountant.history
    (3, [(1.1, 0.01, 3)])
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def __repr__(self) -> str:
        return f"<dpacct's accountant for Opacus: {len(self)} steps>"

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one optimiser step."""
        records.merged([(noise_multiplier, sample_rate, 1)])  # refuse it now, not when asked
        if self.history:
            noise, rate, steps = self.history[-1]
            if (noise, rate) == (noise_multiplier, sample_rate):
                self.history[-1] = (noise, rate, steps + 1)
                return
        self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, *_: object, **__: object) -> float:
        """The safe end of epsilon at `delta`; options of other accountants are without meaning."""
        return records.epsilon(self.history, delta)

    def __len__(self) -> int:
        """Optimiser steps taken."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return NAME

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """A hook for a DPOptimizer, called once for each step that adds noise.

        It raises `Unsupported` under gradient accumulation, where a record may be in several of the samples
        that one step joins: no sampling rate of a single sample says what that costs.
        """

        def hook(optimizer: Any) -> None:
            joined = optimizer.accumulated_iterations
            if joined > 1:
                message = f"a step that joins {joined} samples is none of this accountant's: count"
                message += (
                    " dpacct.interop.opacus.step_of(optimizer, sample_rate=..., accumulated=...)"
                )
                raise Unsupported(
                    f"{message} in a dpacct.Ledger", argument="accumulated_iterations"
                )
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

        return hook

    def state_dict(self, destination: Any = None) -> Any:
        """The history and the name, in `destination` if one is given."""
        state: MutableMapping[str, Any] = OrderedDict() if destination is None else destination
        state["history"] = deepcopy(self.history)
        state["mechanism"] = self.mechanism()
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over a state; raises `InvalidArgument` (a ValueError) if it is not one of ours."""
        for key in ("history", "mechanism"):
            if not state_dict or key not in state_dict:
                message = f"state_dict must have the keys 'history' and 'mechanism', got {state_dict!r:.60}"
                raise InvalidArgument(message, argument="state_dict")
        if state_dict["mechanism"] != self.mechanism():
            message = (
                f"mechanism of state_dict must be {NAME!r}, got {state_dict['mechanism']!r:.60}"
            )
            raise InvalidArgument(message, argument="state_dict")
        kept = [(noise, rate, int(steps)) for noise, rate, steps in state_dict["history"]]
        records.merged(kept)
        self.history = kept


def register(*, force: bool = True) -> type[Accountant]:
    """Make "dpacct" an accountant of Opacus; raises `MissingExtra`, or ValueError unless `force`."""
    opacus = required("opacus.accountants", "opacus")
    registry = required("opacus.accountants.registry", "opacus")
    opacus.IAccountant.register(Accountant)  # isinstance(accountant, IAccountant) holds
    registry.register_accountant(NAME, Accountant, force=force)
    return Accountant


def from_opacus(source: Any) -> Node:
    """The plan of a finished run: of an accountant, an engine, a loaded checkpoint, a state or a history.

    Ask it for epsilon, delta or the trade-off curve. Raises `InvalidArgument` for an empty history,
    `Unsupported` for a step without noise.

    >>> run = from_opacus({"history": [(1.1, 0.01, 1000)], "mechanism": "rdp"})
    >>> answer = run.epsilon(delta=1e-5, method="exact")
    >>> print(answer.strength, f"{answer.lower:.10f} {answer.upper:.10f}")
    converged 1.5153619167 1.5153619167
    """
    source = getattr(source, "accountant", source)
    entries = getattr(source, "history", source)
    if isinstance(
        source, dict
    ):  # `PrivacyEngine.save_checkpoint` stores the state beside the model's
        entries = source.get("privacy_accountant_state_dict", source).get("history")
    if not isinstance(entries, list | tuple):
        message = (
            "source must be an accountant, an engine, a loaded checkpoint, a state or a history, "
            f"got {source!r:.60}"
        )
        raise InvalidArgument(message, argument="source")
    node = records.plan(entries)
    if node is None:
        raise InvalidArgument("history must have at least one step, got none", argument="source")
    return node


def answer_again(source: Any, *, delta: float, method: str = "certified") -> Answer:
    """Epsilon of a finished run between two ends; by default both are proved.

    >>> answer = answer_again([(1.1, 0.01, 1000)], delta=1e-5)
    >>> print(answer.strength, f"{answer.lower:.8f} {answer.upper:.8f}")
    proved 1.51536192 1.51536192
    """
    return from_opacus(source).epsilon(delta=delta, method=method)


def step_of(optimizer: Any, *, sample_rate: float, accumulated: int = 1) -> Node:
    """One step of a DPOptimizer as a plan, for a `Ledger` or a `BudgetGuard`.

    `sample_rate` is 1 / len(loader); `accumulated` is how many of its samples one step joins, which
    is 1 unless gradients are accumulated over several. A record may then be in several of them, by as
    many coins, and moves the sum by one clip in each: exactly the step of a user with `accumulated`
    records (`RecordsPerUser`). Opacus counts one step at `accumulated` times the rate, which is too little.
    """
    noise = Gaussian(
        noise_multiplier=float(optimizer.noise_multiplier), clip=_norm(optimizer.max_grad_norm)
    )
    if accumulated == 1:
        return Poisson(sample_rate)(noise)
    return RecordsPerUser(accumulated, sample_rate)(noise)


def _norm(clip: Any) -> float:
    """The norm of all layers' clips together, where each layer has its own."""
    return math.hypot(*clip) if isinstance(clip, list | tuple) else float(clip)


def observed(
    optimizer: Any,
    loader: Any,
    *,
    steps: int,
    batch_sizes: list[int] | None = None,
    weights: list[float] | None = None,
    noise_draws: int | None = None,
) -> Execution:
    """An `Execution` of what an Opacus optimiser and data loader did, for `Ledger.observe`.

    `batch_sizes` are the sizes that were seen; a loader that is not one of Opacus' Poisson loaders is
    told by its kind. `noise_draws` counts how often noise was added, where it was counted.
    """
    return Execution(
        steps=steps,
        population=len(loader.dataset),
        batch_sizes=batch_sizes,
        noise_multiplier=float(optimizer.noise_multiplier),
        weights=weights,
        noise_draws=noise_draws,
        sampling="poisson" if is_poisson(loader) else "shuffle",
    )


def settings(optimizer: Any, loader: Any = None) -> Execution:
    """An `Execution` of no step, with what an optimiser and its data loader are set to."""
    population = None if loader is None else len(loader.dataset)
    size = optimizer.expected_batch_size
    return Execution(
        steps=0,
        population=population,
        rate=None if population is None or size is None else size / population,
        noise_multiplier=float(optimizer.noise_multiplier),
        sampling=None if loader is None else "poisson" if is_poisson(loader) else "shuffle",
    )


def clips_adaptively(optimizer: Any) -> bool:
    """Return whether an optimiser releases a count of clipped gradients beside their sum."""
    return hasattr(optimizer, "unclipped_num_std")


def is_poisson(loader: Any) -> bool:
    """Return whether a data loader draws each record by its own coin, as Opacus' Poisson samplers do."""
    samplers = required("opacus.utils.uniform_sampler", "opacus")
    kinds = (
        samplers.UniformWithReplacementSampler,
        samplers.DistributedUniformWithReplacementSampler,
    )
    return isinstance(getattr(loader, "batch_sampler", None), kinds)
