"""What must hold of every system, wherever its clients train."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct_training import algorithms
from dpacct_training.accounts import RUN
from dpacct_training.algorithms.averages import DPFedAvg
from dpacct_training.algorithms.private_clients import UDPFL
from dpacct_training.engines import Pool
from dpacct_training.keys import Keys
from dpacct_training.noise import Meters
from dpacct_training.run import Run, Session
from tests.training import laws
from tests.training.laws import Lossy, Spy, begun, hosts
from tests.training.systems import MEMBERS, SYSTEMS, system

SAMPLED = ["dp_fedavg", "uniform", "prifedsync"]
SUMMED = ["dp_fed_ls", "dp_fedavg", "shares", "dp_fedsam", "scaffold", "adaptive_clip", "blur"]


def bits(run: Run) -> Any:
    memory = {
        (client, name): array.tobytes()
        for client, arrays in run.state.memory.items()
        for name, array in arrays.items()
    }
    return {name: array.tobytes() for name, array in run.state.server.items()}, memory


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_twin_without_noise_promises_nothing(name: str) -> None:
    prepared = system(name, privacy__noise="none")
    result = Session(prepared).finish()
    assert result.spent is None and not prepared.plan.accounts
    assert not any(n for key, n in result.executed.items() if "noise" in key)


def test_every_algorithm_is_tried_here() -> None:
    tried = {system["algorithm"]["name"] for system in SYSTEMS.values()}
    assert tried | {"fedavg", "dp_fed"} == set(algorithms.names())


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_ran_is_what_was_planned(name: str) -> None:
    laws.counting_law(name)


@pytest.mark.parametrize("name", SYSTEMS)
def test_killed_after_a_round_and_resumed_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    prepared = system(name)
    whole, part = tmp_path / "whole", tmp_path / "part"
    Session(prepared, whole).finish()
    session = Session(prepared, part)
    with session.run.accounts, closing(Spy(hosts(prepared))) as engine:
        session.run.finish(engine, until=2)
        session.run.step(engine, 3)  # charged, drawn, and lost
    again = Session(prepared, part, keys=Keys.from_seed(99))  # its own key is on the disk
    assert again.run.state.round == 2
    result = again.finish()
    files = [(path / "checkpoint.safetensors").read_bytes() for path in (whole, part)]
    assert files[0] == files[1]
    assert result.planned == result.executed
    if RUN in prepared.plan.accounts:
        with dp.Ledger(part / "run.ledger", read_only=True) as ledger:
            assert [line["label"] for line in ledger.intents] == [
                f"round {n}" for n in (1, 2, 3, 4)
            ]
    else:
        intents = []
        for folder in (part, whole):
            with dp.Ledger(folder / "run.ledger", read_only=True) as ledger:
                intents.append([(line["label"], line["spend"]) for line in ledger.intents])
        assert intents[0] == intents[1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_any_number_of_hosts_gives_the_same_bits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1, 2 and 7, and replies in another order; in small chunks, so that every host has some."""
    monkeypatch.setattr("dpacct_training.run.CHUNK", 3)
    ended = []
    for count in (1, 2, 7):
        prepared = system(name)
        run, _ = begun(prepared)
        run.finish(Spy(hosts(prepared, count)))
        ended.append(bits(run))
    assert ended[0] == ended[1] == ended[2]


@pytest.mark.parametrize("name", ["dp_fed_ls", "prifedsync"])
def test_a_pool_gives_the_same_bits(name: str) -> None:
    prepared = system(name)
    beside, engine = begun(prepared)
    beside.finish(engine)
    there, _ = begun(prepared)
    with closing(Pool(2, prepared.algorithm, prepared.plan, prepared.setting)) as pool:
        there.finish(pool)
    assert bits(beside) == bits(there)


# --- clients elsewhere


def test_a_host_of_another_plan_is_refused() -> None:
    prepared, other = system("shares"), system("shares", privacy__epsilon=8.0)
    run, _ = begun(prepared)
    engine = Spy(hosts(other))
    replies = list(engine.ask(run.tasks(engine, 1, [0, 1])))
    assert [reply.refused for reply in replies] == ["another plan"]
    run.step(engine, 1)  # nobody's answer was taken: noise alone, and counted
    assert run.state.sizes == (0,) and run.state.meters["update"].vectors == 1


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_secret_is_in_nothing_that_clients_are_sent(name: str) -> None:
    laws.secrecy_law(name)


# --- noise


@pytest.mark.parametrize("name", ["dp_fedavg", "prifedsync"])
def test_the_measured_variance_is_the_accounted_one(name: str) -> None:
    laws.weak_noise_law(name)


@pytest.mark.parametrize("name", SUMMED)
def test_residual_law(name: str) -> None:
    laws.residual_law(name)


def test_noise_is_keyed_fresh_and_double_precision() -> None:
    laws.keyed_noise_law()
    laws.fresh_noise_law()
    laws.precision_law()
    laws.two_sums_law()
    laws.empty_round_law()
    laws.shares_law()


def test_another_sum_has_another_noise() -> None:
    """A round repeated with other replies must not put one noise over two sums."""
    run, _ = begun(system("dp_fedavg", data__side=28))
    noise = run.plan.noise["update"]
    sums = [np.zeros(noise.size), np.full(noise.size, 1e-9)]
    first, again, other = (
        run._hidden("update", noise, total, 1, 5, Meters()) for total in (sums[0], *sums)
    )
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 6 / noise.size**0.5


# --- the bound


@pytest.mark.parametrize("scheme", ["poisson", "uniform"])
def test_a_client_cannot_switch_its_clip_off(scheme: str) -> None:
    laws.clip_law(scheme)


def test_one_record_moves_a_step_by_its_clip() -> None:
    laws.record_clip_law()


def test_the_denominator_is_public() -> None:
    laws.denominator_law()
    for name in ("prifedsync", "udp_fl"):
        laws.record_denominator_law(name)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_moves_its_model(name: str) -> None:
    """Else a law over it looks at nothing."""
    run, engine = begun(system(name))
    start = run.algorithm.judged(run.state.server)
    run.finish(engine)
    assert np.linalg.norm(run.algorithm.judged(run.state.server) - start) > 1e-3


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda rows: rows * np.nan, "nan or infinity from client"),
        (lambda rows: rows[:, :-1], "one row of 260 numbers"),
        (lambda rows: rows.astype(np.int64), "floating-point numbers, got int64 from client"),
        (lambda rows: rows * np.inf, "nan or infinity from client"),
    ],
)
def test_a_wrong_answer_names_its_client(wrong: Any, says: str) -> None:
    class Wrong(DPFedAvg):
        def client(self, sent: Any, site: Any) -> Any:
            return {"update": wrong(self.update(sent, site))}

    run, engine = begun(laws.with_algorithm(system("dp_fedavg"), Wrong))
    with pytest.raises(dp.InvalidArgument, match=says):
        run.step(engine, 1)


# --- coins and accounts


@pytest.mark.parametrize("name", SAMPLED)
def test_coins(name: str) -> None:
    laws.coins_law(name)


def test_a_coin_is_charged_whichever_way_it_fell() -> None:
    laws.coin_charge_law()


def test_budgets_stop_clients() -> None:
    """The last round fits, and one more does not; whoever asks."""
    gaussian = MEMBERS[0]
    members = [gaussian, {**gaussian, "epsilon": 2.5}]
    prepared = system("udp_fl", privacy__rounds=6, clients=members)
    result = Session(prepared).finish()
    allowed = set()
    for client, records in prepared.plan.records.items():
        name, node = f"client {client}", records.node
        assert node is not None and records.epsilon is not None
        times = prepared.plan.accounts[name].times
        allowed.add(times)
        assert result.charged.get(name, 0) == times
        if times:
            assert float((node * times).epsilon(delta=records.delta)) <= records.epsilon
        if times < 6:
            assert float((node * (times + 1)).epsilon(delta=records.delta)) > records.epsilon
    assert len(allowed) > 1


@pytest.mark.parametrize("name", ["adaptive_clip", "scaffold"])
def test_two_sums_cost_what_one_would(name: str) -> None:
    run, _ = begun(system(name))
    cohort = run.plan.cohort
    gaussian = dp.Gaussian(noise_multiplier=cohort.multiplier(), clip=1)
    alone = (dp.Poisson(cohort.rate)(gaussian) * 4).epsilon(delta=cohort.delta)
    account = run.plan.accounts[RUN]
    assert float(account.spent(4)) == pytest.approx(float(alone), rel=1e-6)
    state = {**run.state.server, "clip": np.array([0.017])}
    assert run.plan.step(run.algorithm.mechanisms(run.plan, state)) == account.step


@pytest.mark.parametrize("name", ["dp_fedavg", "shares"])
def test_missing_clients_leave_the_guarantee(name: str) -> None:
    """A missing client is a row of zeros; of missing shares the server draws what is missing."""
    prepared = system(name)
    run, _ = begun(prepared)
    run.finish(Lossy(hosts(prepared)))
    sizes, meter = run.state.sizes, run.state.meters["update"]
    topped = sum(size < run.plan.denominator for size in sizes)
    assert topped == 4
    assert meter.vectors == (4 if name == "dp_fedavg" else sum(sizes) + topped)
    for clients in range(25):
        assert run.plan.part(clients) + run.plan.missing(clients) >= 1


def test_one_point_of_a_connection_is_the_paper_s() -> None:
    """UDP-FL, Theorem 5: 1.1 times the mean less a tenth of the last model."""
    run, engine = begun(system("udp_fl"))
    start = run.state.server["weights"]
    models = run.step(engine, 1)["model"]
    mean = models.mean(axis=0, dtype=np.float64)
    assert isinstance(run.algorithm, UDPFL)
    algorithm = replace(run.algorithm, connect=1)
    state = algorithm.server({"weights": start}, {"model": models, "who": models}, run.setting)
    np.testing.assert_allclose(state["weights"], 1.1 * mean - 0.1 * start, rtol=1e-12)


def test_a_shuffler_changes_no_mean() -> None:
    """Another order each round, the same models but for rounding."""
    ended = []
    for shuffle in (False, True):
        result = Session(system("shuffled", algorithm__shuffle=shuffle)).finish()
        ended.append(result.weights)
        assert ("shuffled" in result.state.server) == shuffle
    np.testing.assert_allclose(ended[1], ended[0], rtol=1e-5, atol=1e-6)
