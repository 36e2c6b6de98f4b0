"""What must hold of every run, as functions: tests call them, and planted bugs must make them fail.

None of them reads what the package says of itself: releases are taken apart by other code.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training.algorithms.averages import DPFedAvg
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys
from dpacct_training.lattice import NoiseLattice
from dpacct_training.noise import Gaussian, Meters, NoiseMeter
from dpacct_training.plan import SERVER
from dpacct_training.run import Run, Session
from dpacct_training.site import Host, Reply, Task
from tests.training.systems import system

FAR = 6.0  # standard errors


@dataclass
class Spy:
    """An engine of several hosts in this process, which keeps all that it carries."""

    hosts: list[Host]
    local: bool = True
    tasks: list[Task] = field(default_factory=list)

    def where(self, client: int) -> int:
        return 0 if self.local else client % len(self.hosts)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        self.tasks += tasks
        replies = [
            self.hosts[(task.clients[0] if not self.local else i) % len(self.hosts)].answer(task)
            for i, task in enumerate(tasks)
        ]
        return reversed(replies)  # in any order

    def close(self) -> None:
        self.hosts.clear()


class Lossy(Spy):
    """Every second client never answers."""

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        for task in tasks:
            odd = tuple(client for client in task.clients if client % 2)
            even = tuple(client for client in task.clients if not client % 2)
            if odd:
                yield from super().ask([replace(task, clients=odd)])
            if even:
                yield Reply(even, {}, refused="no answer")


def hosts(prepared: Prepared, count: int = 1) -> list[Host]:
    parts = (prepared.algorithm, prepared.plan, prepared.setting.for_hosts())
    return [Host(*parts) for _ in range(count)]


def begun(prepared: Prepared, seed: int = 0) -> tuple[Run, Spy]:
    keys = Keys.from_seed(seed)
    run = Run(prepared.algorithm, prepared.plan, prepared.setting, keys)
    return run, Spy(hosts(prepared))


def change_draws(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """What Gaussian noise is drawn, on a lattice or not, becomes `change` of it."""
    unit, drawn = Gaussian.unit, NoiseLattice.drawn

    def steps(self: NoiseLattice, *call: Any) -> Any:
        return np.rint(change(drawn(self, *call).astype(np.float64))).astype(np.int64)

    patch.setattr(Gaussian, "unit", lambda *call: change(unit(*call)))
    patch.setattr(NoiseLattice, "drawn", steps)


def close(value: float, wanted: float, error: float) -> None:
    assert abs(value - wanted) <= FAR * error, f"{value} for {wanted} +- {error}"


# --- the noise of what is released


def residuals(
    name: str, seeds: Sequence[int] = (0, 1, 2), rounds: int = 6, field: str = "update"
) -> Any:
    """(release * tau K less the sum of rows clipped by other code) / the planned std, by round."""
    rows = []
    for seed in seeds:
        prepared = system(name, data__side=28, privacy__rounds=rounds)
        run, engine = begun(prepared, seed)
        quiet = replace(prepared, plan=replace(prepared.plan, by=SERVER))
        if name == "shares":  # what the clients would send without their shares
            assert isinstance(prepared.algorithm, DPFedAvg)
            quiet = replace(quiet, algorithm=replace(prepared.algorithm, by=SERVER))
        (bare,) = hosts(quiet)
        for round in range(1, rounds + 1):
            noise = run.algorithm.mechanisms(run.plan, run.state.server)[field]
            clients = run.plan.sample(round, run.keys).tolist()
            total = np.zeros(noise.size)
            for task in run.tasks(engine, round, clients):
                task = replace(task, mark=bare.plan.mark)
                for row in bare.answer(task).rows[field].astype(np.float64):
                    total += row * min(1.0, noise.clip / max(np.linalg.norm(row), 1e-300))
            released = run.step(engine, round)[field]
            drawn = released * float(run.plan.cohort.rate * run.plan.cohort.clients) - total
            # more shares than were expected are more noise
            more = len(clients) / float(run.plan.denominator) if name == "shares" else 1.0
            # what the accounted node says of a clip of 1, by the node's own public field
            node = noise.node
            assert isinstance(node, dp.Gaussian) and node.noise_multiplier is not None
            planned = float(node.noise_multiplier) * noise.clip * max(1.0, more) ** 0.5
            rows.append(drawn / planned)
    return np.array(rows)


FIELDS = {"adaptive_clip": ("update", "short"), "scaffold": ("update", "control")}
"""What a round of a system releases, where that is not the update alone."""


def residual_law(name: str) -> None:
    """Of every released field: standard normal; other in each round, with each key, in each coordinate."""
    for released in FIELDS.get(name, ("update",)):
        wide = released != "short"  # one number a round: more rounds, and no coordinates
        z = residuals(name, field=released) if wide else residuals(name, (0,), 120, released)
        close((z**2).mean(), 1.0, (2 / z.size) ** 0.5)
        close(z.mean(), 0.0, z.size**-0.5)
        close((z**4).mean(), 3.0, (96 / z.size) ** 0.5)
        if wide:
            for part in np.array_split(z, 4, axis=1):
                close((part**2).mean(), 1.0, (2 / part.size) ** 0.5)
            crossed = np.corrcoef(z)
            np.fill_diagonal(crossed, 0.0)
            assert np.abs(crossed).max() < FAR / z.shape[1] ** 0.5


class Silent(DPFedAvg):
    """All of its clients answer the same row."""

    row = 0.0

    def client(self, sent: Any, site: Any) -> Any:
        size = site.model.dimension
        return {"update": site.hidden("update", np.full((len(site.clients), size), self.row))}


class Loud(Silent):
    row = 1e6


def with_algorithm(prepared: Prepared, kind: type[DPFedAvg]) -> Prepared:
    return replace(prepared, algorithm=kind(prepared.algorithm.local))


def releases(prepared: Prepared, rounds: int = 3, seed: int = 0) -> Any:
    run, engine = begun(prepared, seed)
    return np.array([run.step(engine, r)["update"] for r in range(1, rounds + 1)])


def keyed_noise_law() -> None:
    """Another key is another noise in the same round: nothing of it is predictable."""
    prepared = with_algorithm(system("dp_fedavg"), Silent)
    first, again, other = (releases(prepared, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    crossed = np.corrcoef(np.concatenate([first, other]))[:3, 3:]
    assert np.abs(crossed).max() < FAR / first.shape[1] ** 0.5


def fresh_noise_law() -> None:
    """Rounds whose sums are equal have other noise all the same."""
    z = releases(with_algorithm(system("dp_fedavg"), Silent), 4)
    crossed = np.corrcoef(z) - np.eye(4)
    assert np.abs(crossed).max() < FAR / z.shape[1] ** 0.5


def precision_law() -> None:
    """A release is a multiple of its step and no other."""
    prepared = with_algorithm(system("dp_fedavg"), Silent)
    noise = prepared.plan.noise["update"]
    assert isinstance(noise, NoiseLattice)
    steps = releases(prepared) * float(prepared.plan.denominator) / noise.step
    assert (
        np.abs(steps - np.rint(steps)).max() < 1e-6
        and np.gcd.reduce(np.rint(steps).astype(np.int64).ravel()) == 1
    )
    assert (
        len(np.unique(np.rint(steps))) > 0.3 * steps.size
    )  # no grid coarser than what is accounted


def empty_round_law() -> None:
    """A round in which nobody takes part releases noise like any other."""
    prepared = system("dp_fedavg", privacy__rate=0.001, privacy__noise=0.1)
    run, engine = begun(prepared)
    empty = 0
    for round in range(1, 5):
        released = run.step(engine, round)["update"]
        empty += run.state.sizes[-1] == 0
        assert np.count_nonzero(released) == released.size
    assert empty


def two_sums_law() -> None:
    """Two fields of one round are hidden apart, also where they are equal."""
    run, engine = begun(system("scaffold", data__side=28))
    noises = []
    for round in (1, 2):
        mechanisms = run.plan.noise
        meters = Meters()
        for name in ("update", "control"):
            zero = np.zeros(mechanisms[name].size)
            noises.append(run._hidden(name, mechanisms[name], zero, round, 5, meters))
    crossed = np.corrcoef(np.array(noises)) - np.eye(4)
    assert np.abs(crossed).max() < FAR / noises[0].size ** 0.5
    run.finish(engine)


# --- the bound


def clip_law(scheme: str = "poisson") -> None:
    """A client cannot switch its clip off, and each is clipped by itself, to the l2 norm."""
    prepared = with_algorithm(system("dp_fedavg", privacy__scheme=scheme), Loud)
    run, engine = begun(prepared)
    released = run.step(engine, 1)["update"] * float(run.plan.denominator)
    noise, clients = run.plan.noise["update"], run.state.sizes[0]
    # the clients' rows are equal, so that their sum is as long as all clips together
    direction = np.full(noise.size, noise.size**-0.5)
    close(released @ direction, clients * noise.clip, noise.variance**0.5)


def pull_back_law() -> None:
    """DP-Fed's local model stays in the ball at every step: no update is longer than the clip."""
    prepared = system("dp_fed_ls")
    run, engine = begun(prepared)
    (task,) = run.tasks(engine, 1, [0, 1, 2])
    updates = engine.hosts[0].answer(task).rows["update"]
    assert np.linalg.norm(updates, axis=1).max() <= run.plan.noise["update"].clip * (1 + 1e-5)


def record_clip_law() -> None:
    """One record moves a client's summed gradient by at most its clip, in the noise's own norm."""
    for name in ("prifedsync", "udp_fl"):
        prepared = system(name)
        run, engine = begun(prepared)
        (task,) = run.tasks(engine, 1, [0])
        site = engine.hosts[0].site(task)
        records = [run.plan.records[client] for client in site.clients]
        noises = [r.noise.at(1e-3) for r in records]
        w = torch.zeros(1, site.model.dimension)
        x, y = site.x[site.rows[0]][None], site.y[site.rows[0]][None]
        taken = torch.ones(1, len(site.rows[0]))
        whole = site.model.bounded_sum(w, x, y, taken, noises).numpy().astype(np.float64)
        for place in range(len(site.rows[0])):
            less = taken.clone()
            less[0, place] = 0.0
            without = site.model.bounded_sum(w, x, y, less, noises).numpy().astype(np.float64)
            moved = noises[0].norms(whole - without)[0]
            assert moved <= 1e-3 * (1 + 1e-3), f"{name}: {moved}"


def denominator_law() -> None:
    """tau K, whoever came."""

    class Small(Silent):
        row = 1e-6

    prepared = with_algorithm(system("dp_fedavg", privacy__noise="none"), Small)
    run, engine = begun(prepared)
    for round in (1, 2, 3):
        released = run.step(engine, round)["update"]
        np.testing.assert_allclose(released * 10, run.state.sizes[-1] * 1e-6, rtol=1e-12)
    assert len(set(run.state.sizes)) > 1


def record_denominator_law(name: str) -> None:
    """A noisy step inside a client moves by the bounded sum over the expected batch, whatever batch came.

    The batch that came is a secret. One client, one step, hardly any noise: its step, taken apart.
    """
    seen = set()
    for seed in range(6):
        prepared = system(name, algorithm__steps=1, local__learning_rate=1.0)
        records = {
            client: replace(r, noise=Gaussian(r.noise.size, 1e-3, 0.02), epsilon=None)
            for client, r in prepared.plan.records.items()
        }
        prepared = replace(prepared, plan=replace(prepared.plan, records=records))
        run, engine = begun(prepared, seed)
        (task,) = run.tasks(engine, 1, [0])
        site = engine.hosts[0].site(task)
        start = np.asarray(task.sent["weights"], np.float32)
        taken = records[0].batch(site.samples, site.keys[0].stream("record coins"))
        places = torch.from_numpy(site.rows[0][taken])
        total = np.zeros(len(start))
        for place in places:  # each record by itself, clipped by other code
            w = torch.from_numpy(start).requires_grad_(True)
            loss = site.model.mean_loss(w, site.x[place][None], site.y[place][None])
            (g,) = torch.autograd.grad(loss, w)
            row = g.double().numpy()
            total += row * min(1.0, 1e-3 / np.linalg.norm(row))
        moved = start - engine.hosts[0].answer(task).rows["model"][0].astype(np.float64)
        expected = float(records[0].rate) * site.samples
        seen.add(len(taken))
        if np.linalg.norm(total):
            ratio = (moved @ total) / (total @ total) * expected
            # weight decay of 1e-4 and single precision are what is left
            assert abs(ratio - 1.0) < 0.05, f"{name}: {ratio}, {len(taken)} of {expected}"
    assert records[0].scheme == "uniform" or len(seen) > 1


# --- coins


POWER = 2000
"""Rounds: coins that fall 5 % too often are then 20 standard errors away, and 300 rounds see 3 of them."""


def coins_law(name: str) -> None:
    """Of the accounted kind and rate, other in each round and with each key."""
    plan, keys, other = system(name).plan, Keys.from_seed(0), Keys.from_seed(9)
    samples = [tuple(plan.sample(r, keys).tolist()) for r in range(1, POWER + 1)]
    assert len(set(samples)) > 0.8 * POWER
    assert samples != [tuple(plan.sample(r, other).tolist()) for r in range(1, POWER + 1)]
    cohort, sizes = plan.cohort, np.array([len(sample) for sample in samples])
    expected = float(cohort.rate * cohort.clients)
    if plan.noise:
        kind = {"poisson": "Poisson", "uniform": "WithoutReplacement"}[cohort.scheme]
        step = plan.accounts["run"].step
        assert repr(step).startswith(f"{kind}({float(cohort.rate)})"), step
    if cohort.scheme == "uniform":
        assert set(sizes) == {int(expected)}
    else:
        variance = expected * (1 - float(cohort.rate))
        close(sizes.mean(), expected, (variance / POWER) ** 0.5)
        close(sizes.var() / variance, 1.0, (2 / POWER) ** 0.5)
    counts = np.bincount(np.concatenate([np.array(s, np.int64) for s in samples]), minlength=40)
    rate = float(cohort.rate)
    assert np.abs(counts - POWER * rate).max() < FAR * (POWER * rate * (1 - rate)) ** 0.5


# --- what leaves, and what is counted


def coin_charge_law() -> None:
    """A round costs each client what its coin's node says, whichever way the coin fell."""
    prepared = system("prifedsync")
    run, engine = begun(prepared)
    run.finish(engine)
    assert len(set(run.state.answers.values())) > 1  # the coins fell both ways
    spent, wanted = run.spent(), {}
    for client, records in prepared.plan.records.items():
        assert records.node is not None
        if records not in wanted:
            wanted[records] = float((records.node * 4).epsilon(delta=records.delta))
        assert float(spent[f"client {client}"]) == wanted[records]


def secrecy_law(name: str) -> None:
    """The run's secret is in nothing that clients are sent; keys are of this round and client only."""
    prepared = system(name, privacy__rounds=2)
    run, spy = begun(prepared)
    run.finish(spy)
    assert spy.tasks
    for task in spy.tasks:
        carried = pickle.dumps(task)
        assert run.keys.secret not in carried
        assert run.keys.secret.hex().encode() not in carried
        for purpose in ("sample", "public start", *(f"noise {n}" for n in run.plan.noise)):
            assert run.keys.stream(purpose, round=task.round).key not in carried
        assert set(task.keys) == set(task.clients) and set(task.memory) <= set(task.clients)
        for client in task.clients:
            assert task.keys[client].key == run.keys.child(task.round, client).key
        for host in spy.hosts:
            assert run.keys.secret not in pickle.dumps((host.algorithm, host.plan, host.setting))


def counting_law(name: str) -> None:
    """What was drawn is what was planned, by name, in memory too."""
    result = Session(system(name)).finish()
    assert result.planned == result.executed
    drawn = {n: c for n, c in result.executed.items() if n.endswith("noise vectors")}
    assert all(drawn.values()), drawn


def shares_law() -> None:
    """Each client's share is 1 / (tau K) of the variance, and what is missing the server adds."""
    z = residuals("shares", seeds=(0,), rounds=8)
    close((z**2).mean(), 1.0, (2 / z.size) ** 0.5)


def weak_noise_law(name: str) -> None:
    """Refused where it is drawn; here with the planted one only."""
    run, engine = begun(system(name, data__side=28))
    run.finish(engine)
    meter: NoiseMeter
    for meter in run.state.meters.values():
        assert meter.vectors and abs(meter.ratio - 1) < 8 * (8 / meter.numbers) ** 0.5


REFUSED = (AssertionError, dp.AssumptionViolated)
