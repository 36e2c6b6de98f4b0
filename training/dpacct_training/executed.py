"""Executed: what a run really did, counted where it was done, and compared with the plan."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import dpacct as dp
from dpacct_training.aggregate import Release
from dpacct_training.plan import Plan
from dpacct_training.sampling import Sample


@dataclass
class Executed:
    """Coins tossed, clients sampled, updates clipped, noise drawn."""

    rounds: int = 0
    coins: int = 0
    clips: int = 0
    noise_vectors: int = 0
    noise_numbers: int = 0
    least_noise_std: float | None = None
    sizes: list[int] = field(default_factory=list)

    def add(self, sample: Sample, release: Release) -> None:
        """Count one more round."""
        self.rounds += 1
        self.coins += sample.coins
        self.sizes.append(sample.size)
        self.clips += release.clips
        self.noise_vectors += release.noise_vectors
        self.noise_numbers += release.noise_vectors * release.value.size
        least = self.least_noise_std
        self.least_noise_std = release.noise_std if least is None else min(least, release.noise_std)

    def check(self, plan: Plan, dimension: int) -> None:
        """Raise `AssumptionViolated` where a complete run's counts are not the plan's."""
        for name, wanted in plan.counts(self.sizes, dimension).items():
            if getattr(self, name) != wanted:
                told = f"{name} executed must be the plan's {wanted}, got {getattr(self, name)}"
                raise dp.AssumptionViolated(told, argument=name)

    def execution(self, plan: Plan) -> dp.Execution:
        """For `Ledger.observe`."""
        assert plan.clip is not None and self.least_noise_std is not None
        return dp.Execution(
            steps=self.rounds,
            population=plan.clients,
            batch_sizes=self.sizes,
            noise_multiplier=self.least_noise_std / plan.clip,
            weights=[1.0],
            noise_draws=self.rounds if self.noise_vectors >= self.rounds else self.noise_vectors,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, for a checkpoint."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> Executed:
        """What `to_dict` gave."""
        return cls(**held)
