"""Bugs planted one at a time, each caught by the law that means to catch it."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training.algorithms.averages import DPFed, FedAvg
from dpacct_training.keys import Child, Keys
from dpacct_training.models.linear import Linear
from dpacct_training.noise import Gaussian, Noise
from dpacct_training.plan import Clients, Plan, poisson
from dpacct_training.run import Run
from dpacct_training.site import Host, Site
from tests.training import laws

Patch = pytest.MonkeyPatch
total_add, bound, sample = Noise.add, Noise.bound, Plan.sample
stream, tasks = Keys.stream, Run.tasks


def scaled(factor: float) -> Callable[[Patch], None]:
    return lambda patch: laws.change_draws(patch, lambda drawn: drawn * factor)


def half_of_the_coordinates(patch: Patch) -> None:
    laws.change_draws(patch, lambda drawn: drawn * (np.arange(drawn.size) >= drawn.size // 2))


def single_precision(patch: Patch) -> None:
    """Also a lattice that is 64 times as coarse as the accounted one."""
    laws.change_draws(
        patch, lambda d: 64.0 * np.rint(d / 64.0) if abs(d).max() > 64 else np.float32(d)
    )


def measured_but_not_added(patch: Patch) -> None:
    """The draw is measured and thrown away."""

    def dropped(self: Noise, total: Any, *rest: Any) -> Any:
        total_add(self, total, *rest)
        return total

    patch.setattr(Noise, "add", dropped)


def forgotten(patch: Patch) -> None:
    patch.setattr(Noise, "add", lambda self, total, *rest: total)


def empty_round_silent(patch: Patch) -> None:
    patch.setattr(
        Noise,
        "add",
        lambda self, total, *rest: total_add(self, total, *rest) if total.any() else total,
    )


def same_noise_every_round(patch: Patch) -> None:
    def stuck(self: Keys, purpose: str, *, round: int = 0, client: int = -1) -> Any:
        hides = purpose.startswith("noise")
        return stream(self, purpose, round=0 if hides else round, client=client)

    patch.setattr(Keys, "stream", stuck)


def noise_of_the_round_number(patch: Patch) -> None:
    """Numpy seeded with the round, the key unused: predictable by anyone."""

    def seeded(self: Run, name: str, noise: Any, total: Any, round: int, *rest: Any) -> Any:
        drawn = np.random.default_rng(round).normal(size=total.size)
        noisy = total + drawn * noise.variance**0.5
        rest[-1][name].measure(noisy - total, noise.variance, noise.kurtosis)
        return noise.publish(noisy, float(self.plan.denominator))

    patch.setattr(Run, "_hidden", seeded)


def noise_of_a_public_key(patch: Patch) -> None:
    def public(self: Keys, purpose: str, *, round: int = 0, client: int = -1) -> Any:
        keys = Keys.from_seed(77) if purpose.startswith("noise") else self
        return stream(keys, purpose, round=round, client=client)

    patch.setattr(Keys, "stream", public)


def one_noise_for_two_sums(patch: Patch) -> None:
    def shared(self: Keys, purpose: str, *, round: int = 0, client: int = -1) -> Any:
        short = "noise" if purpose.startswith("noise") else purpose
        return stream(self, short, round=round, client=client)

    patch.setattr(Keys, "stream", shared)


def denominator_of_who_came(patch: Patch) -> None:
    step = Run.step

    def realised(self: Run, engine: Any, round: int) -> Any:
        released = step(self, engine, round)
        expected = float(self.plan.denominator)
        came = max(1, self.state.sizes[-1])
        return {name: value * expected / came for name, value in released.items()}

    patch.setattr(Run, "step", realised)


def denominator_off_by_two_percent(patch: Patch) -> None:
    patch.setattr(Noise, "publish", lambda self, noisy, of: noisy / (of * 1.02))


def no_clip(patch: Patch) -> None:
    patch.setattr(Noise, "bound", lambda self, rows: rows)


def clip_of_the_sum(patch: Patch) -> None:
    """Each row is let through; only the sum is bounded."""

    def summed(self: Noise, rows: Any) -> Any:
        if not len(rows):
            return rows
        whole = bound(self, rows.sum(axis=0, keepdims=True))
        return np.concatenate([whole, np.zeros((len(rows) - 1, rows.shape[1]))])

    patch.setattr(Noise, "bound", summed)


def clip_after_the_noise(patch: Patch) -> None:
    """Rows are let through; what is bounded is the noisy sum."""
    no_clip(patch)

    def late(self: Noise, total: Any, *rest: Any) -> Any:
        return bound(self, total_add(self, total, *rest)[None])[0]

    patch.setattr(Noise, "add", late)


def clients_do_not_clip(patch: Patch) -> None:
    """They add their share to a row that they only say was clipped."""
    hidden = Site.hidden

    def unclipped(self: Site, field: str, rows: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Noise, "bound", lambda self, rows: rows)
            return hidden(self, field, rows)

    patch.setattr(Site, "hidden", unclipped)


def weights_by_samples(patch: Patch) -> None:
    """A client counts as often as it says that it has samples."""

    def weighted(self: Noise, rows: Any) -> Any:
        return bound(self, rows) * (1 + np.arange(len(rows))[:, None] % 3)

    patch.setattr(Noise, "bound", weighted)


def no_pull_back(patch: Patch) -> None:
    """Local steps run free; only the server clips."""
    patch.setattr(DPFed, "how", FedAvg.how)


def largest_norm(patch: Patch) -> None:
    patch.setattr(Gaussian, "norms", lambda self, rows: np.abs(rows).max(axis=1))


def clients_are_believed(patch: Patch) -> None:
    """The server takes rows as they come, whoever draws the noise."""
    whole = Run._total

    def believing(self: Run, name: str, noise: Any, replies: Any, meters: Any) -> Any:
        loose = replace(noise, clip=1e30)
        return whole(self, name, loose, replies, meters)

    patch.setattr(Run, "_total", believing)


def loose_sum(self: Linear, w: Any, x: Any, y: Any, taken: Any, noises: Any) -> Any:
    error = self._error(w, x.flatten(2), y) * taken[:, :, None]
    return self.row(torch.bmm(error.transpose(1, 2), x.flatten(2)), error.sum(1))


def records_not_bounded(patch: Patch) -> None:
    patch.setattr(Linear, "bounded_sum", loose_sum)


def records_clipped_as_a_batch(patch: Patch) -> None:
    def batched(self: Linear, w: Any, x: Any, y: Any, taken: Any, noises: Any) -> Any:
        sums = loose_sum(self, w, x, y, taken, noises).double().numpy()
        rows = [n.bound(row[None])[0] for n, row in zip(noises, sums, strict=True)]
        return torch.from_numpy(np.stack(rows).astype(np.float32)) * taken.sum(1, keepdim=True)

    patch.setattr(Linear, "bounded_sum", batched)


def same_coins_every_round(patch: Patch) -> None:
    patch.setattr(Plan, "sample", lambda self, round, keys: sample(self, 1, keys))


def coins_at_twice_the_rate(patch: Patch) -> None:
    def doubled(self: Plan, round: int, keys: Keys) -> Clients:
        rate = self.cohort.rate * 2
        return poisson(self.cohort.clients, rate, keys.stream("sample", round=round))

    patch.setattr(Plan, "sample", doubled)


def uniform_accounted_as_poisson(patch: Patch) -> None:
    def step(self: Plan, noise: Any) -> Any:
        joint = reduce(add, (mechanism.node for mechanism in noise.values()))
        return dp.Poisson(self.cohort.rate)(joint).under(unit="client")

    patch.setattr(Plan, "step", step)


def secret_in_the_task(patch: Patch) -> None:
    def leaking(self: Run, *call: Any) -> Any:
        result = tasks(self, *call)
        for task in result:
            task.sent["debug"] = np.frombuffer(self.keys.secret, np.uint8)
        return result

    patch.setattr(Run, "tasks", leaking)


def children_are_the_key(patch: Patch) -> None:
    patch.setattr(Keys, "child", lambda self, round, client: Child(self.secret))


def shares_are_too_small(patch: Patch) -> None:
    """1 / (tau K)^2 instead of 1 / (tau K), and the server adds nothing."""
    patch.setattr(Plan, "part", lambda self, clients=1: Fraction(clients) / self.denominator**2)
    patch.setattr(Plan, "missing", lambda self, clients: Fraction(0))


def shares_are_not_drawn(patch: Patch) -> None:
    patch.setattr(
        Site,
        "hidden",
        lambda self, name, rows: self.plan.noise[name].bound(np.asarray(rows, np.float64)),
    )


def shares_of_one_stream(patch: Patch) -> None:
    """Every client draws the same share: their sum has m times its variance, and one knows all."""

    def site(self: Host, task: Any) -> Any:
        first = task.keys[task.clients[0]]
        return whole(self, replace(task, keys=dict.fromkeys(task.clients, first)))

    whole = Host.site
    patch.setattr(Host, "site", site)


def records_over_the_batch_that_came(patch: Patch) -> None:
    """The realised batch, a secret, in place of the expected one."""
    batches = Site.record_batches

    def rescaled(self: Site, records: Any, steps: int) -> Any:
        for x, y, taken in batches(self, records, steps):
            expected = torch.tensor([float(r.rate * self.samples) for r in records])
            yield x, y, taken * (expected / taken.sum(1).clamp(min=1.0))[:, None]

    patch.setattr(Site, "record_batches", rescaled)


def coins_five_percent_too_often(patch: Patch) -> None:
    def often(self: Plan, round: int, keys: Keys) -> Clients:
        rate = self.cohort.rate * Fraction(21, 20)
        return poisson(self.cohort.clients, rate, keys.stream("sample", round=round))

    patch.setattr(Plan, "sample", often)


def a_count_with_a_tenth_of_its_noise(patch: Patch) -> None:
    """All of the noise is drawn and measured, and a tenth of it released."""
    hidden = Run._hidden

    def quieter(self: Run, name: str, noise: Any, total: Any, *rest: Any) -> Any:
        released = hidden(self, name, noise, total, *rest)
        bare = noise.publish(total, float(self.plan.denominator))
        return bare + 0.1 * (released - bare) if name == "short" else released

    patch.setattr(Run, "_hidden", quieter)


def only_who_came_is_charged(patch: Patch) -> None:
    """The coin is taken into account twice: by its node, and by who it chose."""
    charges = Run.charges

    def fewer(self: Run, mechanisms: Any, round: int) -> Any:
        came = {f"client {c}" for c in self.plan.sample(round, self.keys)}
        whole = charges(self, mechanisms, round)
        return {name: step for name, step in whole.items() if name in came or name == "run"}

    patch.setattr(Run, "charges", fewer)


PLANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (scaled(0.1), lambda: laws.weak_noise_law("dp_fedavg")),
    (scaled(0.1), lambda: laws.weak_noise_law("prifedsync")),
    (scaled(0.97), lambda: laws.residual_law("dp_fedavg")),
    (half_of_the_coordinates, lambda: laws.residual_law("dp_fedavg")),
    (single_precision, laws.precision_law),
    (measured_but_not_added, lambda: laws.residual_law("dp_fedavg")),
    (forgotten, lambda: laws.counting_law("dp_fedavg")),
    (forgotten, lambda: laws.counting_law("prifedsync")),
    (empty_round_silent, laws.empty_round_law),
    (same_noise_every_round, laws.fresh_noise_law),
    (noise_of_the_round_number, laws.keyed_noise_law),
    (noise_of_a_public_key, laws.keyed_noise_law),
    (one_noise_for_two_sums, laws.two_sums_law),
    (denominator_of_who_came, laws.denominator_law),
    (denominator_off_by_two_percent, laws.denominator_law),
    (no_clip, laws.clip_law),
    (clip_of_the_sum, laws.clip_law),
    (clip_after_the_noise, laws.clip_law),
    (clients_do_not_clip, lambda: laws.residual_law("shares")),
    (weights_by_samples, laws.clip_law),
    (no_pull_back, laws.pull_back_law),
    (largest_norm, laws.clip_law),
    (clients_are_believed, laws.clip_law),
    (records_not_bounded, laws.record_clip_law),
    (records_clipped_as_a_batch, laws.record_clip_law),
    (same_coins_every_round, lambda: laws.coins_law("dp_fedavg")),
    (coins_at_twice_the_rate, lambda: laws.coins_law("dp_fedavg")),
    (coins_five_percent_too_often, lambda: laws.coins_law("dp_fedavg")),
    (a_count_with_a_tenth_of_its_noise, lambda: laws.residual_law("adaptive_clip")),
    (records_over_the_batch_that_came, lambda: laws.record_denominator_law("udp_fl")),
    (uniform_accounted_as_poisson, lambda: laws.coins_law("uniform")),
    (only_who_came_is_charged, laws.coin_charge_law),
    (secret_in_the_task, lambda: laws.secrecy_law("dp_fedavg")),
    (children_are_the_key, lambda: laws.secrecy_law("dp_fedavg")),
    (shares_are_too_small, laws.shares_law),
    (shares_are_not_drawn, lambda: laws.counting_law("shares")),
    (shares_of_one_stream, laws.shares_law),
]


def name(plant: tuple[Callable[[Patch], None], Callable[[], None]]) -> str:
    return plant[0].__name__.replace("_", " ")


def test_without_a_bug_the_ball_holds() -> None:
    laws.pull_back_law()


@pytest.mark.parametrize("plant", PLANTS, ids=name)
def test_a_planted_bug_is_caught(plant: Any, monkeypatch: Patch) -> None:
    """The same law holds without the bug (`test_systems.py`)."""
    bug, law = plant
    bug(monkeypatch)
    with pytest.raises(laws.REFUSED):
        law()
