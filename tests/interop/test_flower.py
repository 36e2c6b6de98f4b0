"""Flower, for real: its strategies with our accountant, and the mod on messages of its own."""

import inspect
import json
import math
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp import (
    GaussianPrivacyEvent,
    NeighboringRelation,
    PrivacyAccountant,
    PrivacyConfig,
    RdpAccountant,
    SamplingMethod,
)
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.supercore.task_identity import TaskIdentity

import dpacct as dp
from dpacct.interop.flower import Accountant
from dpacct.interop.flower_mod import LocalNoise

DELTA = 1e-5
EVENT = GaussianPrivacyEvent(noise_multiplier=1.2, sample_size=20, population_size=400)
MODELS = [
    (SamplingMethod.POISSON, NeighboringRelation.ADD_OR_REMOVE_ONE, None),
    (SamplingMethod.WITHOUT_REPLACEMENT, NeighboringRelation.REPLACE_ONE, "clip"),
    (SamplingMethod.WITHOUT_REPLACEMENT, NeighboringRelation.REPLACE_ONE, "sensitivity"),
    (SamplingMethod.NO_AMPLIFICATION, NeighboringRelation.ADD_OR_REMOVE_ONE, None),
]


def config(
    sampling: SamplingMethod = SamplingMethod.NO_AMPLIFICATION,
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    **more: Any,
) -> PrivacyConfig:
    return PrivacyConfig(
        target_delta=DELTA,
        population_size=400,
        neighboring_relation=relation,
        sampling_method=sampling,
        **more,
    )


def accountant(model: tuple[Any, Any, Any] = MODELS[3], **more: Any) -> Accountant:
    sampling, relation, of = model
    return Accountant(config(sampling, relation, **more), noise_multiplier_of=of)


def test_every_member_of_the_protocol_is_there_with_its_arguments() -> None:
    for name, member in vars(PrivacyAccountant).items():
        if name.startswith("_"):
            continue
        ours = inspect.getattr_static(Accountant, name)
        assert type(ours) is type(member), name
        if callable(member):
            wanted = inspect.signature(member).parameters
            assert list(inspect.signature(ours).parameters) == list(wanted), name


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_plan_is_what_the_event_says(model: tuple[Any, Any, Any]) -> None:
    result = accountant(model)
    result.compose(EVENT, 30)
    sampling, _, of = model
    noise = (
        dp.Gaussian(sigma=1.2) if of == "sensitivity" else dp.Gaussian(noise_multiplier=1.2, clip=1)
    )
    step = {
        SamplingMethod.POISSON: lambda: dp.Poisson("0.05")(noise),
        SamplingMethod.WITHOUT_REPLACEMENT: lambda: dp.WithoutReplacement("0.05")(noise),
        SamplingMethod.NO_AMPLIFICATION: lambda: noise,
    }[sampling]()
    assert result.plan == step * 30
    spent = result.get_privacy_spent()
    assert spent.epsilon == (step * 30).epsilon(delta=DELTA, method="exact").upper
    assert (spent.delta, spent.num_releases, spent.optimal_order) == (DELTA, 30, None)
    assert result.get_delta(spent.epsilon) == pytest.approx(DELTA, rel=1e-3)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[3]], ids=str)
def test_it_is_never_above_flowers_own(model: tuple[Any, Any, Any]) -> None:
    """Theirs is a Renyi bound (under replace-one per sensitivity): above the exact number."""
    ours, theirs = accountant(model), RdpAccountant(config(*model[:2]))
    for counter in (ours, theirs):
        counter.compose(EVENT, 10)
    assert ours.get_epsilon(DELTA) <= theirs.get_epsilon(DELTA)


def test_replace_one_must_say_what_noise_is_divided_by() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        Accountant(config(*MODELS[1][:2]))


def test_would_exceed_is_the_next_epsilon_and_changes_nothing() -> None:
    result = accountant(max_epsilon=12.0)
    result.compose(EVENT, 2)
    before = result.state_dict()
    assert not result.would_exceed(EVENT) and result.would_exceed(EVENT, count=30)
    assert result.would_exceed(EVENT, max_epsilon=1.0)
    assert result.state_dict() == before
    with pytest.raises(ValueError, match="max_epsilon"):
        accountant().would_exceed(EVENT)


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_bad_count_is_refused(count: Any) -> None:
    with pytest.raises(ValueError, match="count"):
        accountant().compose(EVENT, count)


def test_another_population_is_refused() -> None:
    with pytest.raises(ValueError, match="population_size"):
        accountant().compose(GaussianPrivacyEvent(1.2, 20, 401))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_state_survives_json(model: tuple[Any, Any, Any]) -> None:
    result = accountant(model)
    result.compose(EVENT, 3)
    result.compose(GaussianPrivacyEvent(2.0, 40, 400))
    state = json.loads(json.dumps(result.state_dict(), allow_nan=False))
    again = accountant(model)
    again.load_state_dict(state)
    assert again.state_dict() == state and again.get_epsilon(DELTA) == result.get_epsilon(DELTA)


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2},
        {"backend": "rdp"},
        {"config": {}},
        {"noise_multiplier_of": "clip"},
        {"compositions": None},
        {"compositions": [{}]},
        {"compositions": [{"event": {"noise_multiplier": 1.0}, "count": 1}]},
        {"compositions": [{"event": EVENT.__dict__ | {"noise_multiplier": -1}, "count": 1}]},
        {"compositions": [{"event": EVENT.__dict__, "count": -1}]},
    ],
    ids=str,
)
def test_another_state_is_refused_and_nothing_is_taken_over(change: dict[str, Any]) -> None:
    result = accountant()
    result.compose(EVENT)
    before = result.state_dict()
    with pytest.raises(ValueError):
        result.load_state_dict(before | change)
    assert result.state_dict() == before


class Clients:
    """A grid without network: every message is answered at once."""

    def __init__(self, count: int) -> None:
        self.count = count

    def get_node_ids(self) -> list[int]:
        return list(range(1, self.count + 1))

    def send_and_receive(self, messages: Any, **_: Any) -> list[Message]:
        replies = []
        for message in messages:
            arrays = next(iter(message.content.array_records.values()))
            new = ArrayRecord({k: Array(a.numpy() + 1.0) for k, a in arrays.items()})
            metrics = MetricRecord({"num-examples": 5})
            content = RecordDict({"arrays": new, "metrics": metrics})
            replies.append(Message(content, reply_to=message))
        return replies


def test_a_strategy_of_flower_stops_at_the_budget() -> None:
    from flwr.serverapp.exception import PrivacyBudgetExhausted

    result = accountant(max_epsilon=9.0)
    strategy = DifferentialPrivacyServerSideFixedClipping(
        FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=4),
        1.2,
        1.0,
        4,
        accountant=result,
    )
    arrays = ArrayRecord({"w": Array(np.zeros(3))})
    grid: Any = Clients(4)
    rounds = 0
    with pytest.raises(PrivacyBudgetExhausted):
        while rounds < 50:
            messages = strategy.configure_train(rounds + 1, arrays, ConfigRecord(), grid)
            replies = grid.send_and_receive(list(messages))
            strategy.aggregate_train(rounds + 1, replies)
            rounds += 1
    assert result.num_releases == rounds >= 2
    assert (
        result.get_epsilon(DELTA)
        <= 9
        < (result.plan + dp.Gaussian(sigma=1.2)).epsilon(delta=DELTA, method="exact").upper
    )


# --- the client side


@pytest.fixture(autouse=True)
def _in_a_run() -> None:
    """Messages carry the identity of the task that makes them."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 2, 3


def sent(values: np.ndarray) -> Message:
    content = RecordDict({"arrays": ArrayRecord({"w": Array(values)})})
    return Message(content, dst_node_id=1, message_type="train")


def context() -> Context:
    return Context(run_id=1, node_id=2, node_config={}, state=RecordDict(), run_config={})


def answered(
    mod: LocalNoise,
    before: np.ndarray,
    after: np.ndarray,
    key: str = "w",
    ctxt: Context | None = None,
) -> Message:
    def app(message: Message, _: Any) -> Message:
        content = RecordDict({"arrays": ArrayRecord({key: Array(after)})})
        return Message(content, reply_to=message)

    message = sent(before)
    return mod(message, context() if ctxt is None else ctxt, app)


def released(reply: Message) -> np.ndarray:
    return next(iter(reply.content.array_records.values()))["w"].numpy()


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "staircase"])
def test_what_leaves_is_clipped_and_noisy(noise: str) -> None:
    before = np.linspace(-1, 1, 4).astype(np.float32)
    update = np.array([30.0, -40.0, 0.0, 0.0], dtype=np.float32)
    mod = LocalNoise(2.0, 3.0, DELTA, noise=noise, rng=1)
    reply = answered(mod, before, before + update)
    assert released(reply).dtype == np.float32 and released(reply).shape == (4,)
    draws = np.array([mod.noisy(update.astype(float)) for _ in range(4000)])
    clipped = {
        "gaussian": [1.2, -1.6, 0, 0],
        "laplace": [6 / 7, -8 / 7, 0, 0],
        "staircase": [2.0, -2.0, 0, 0],
    }[noise]
    assert mod.clipped(update.astype(float)) == pytest.approx(clipped)
    spread = draws.std(axis=0)
    assert np.abs(draws.mean(axis=0) - clipped).max() < 6 * spread.max() / 4000**0.5
    if noise == "gaussian":
        assert spread == pytest.approx([mod.scale(4)] * 4, rel=0.06)
    else:
        size = np.abs(draws - clipped).mean(axis=0)
        assert size == pytest.approx([mod.scale(4)] * 4, rel=0.08)


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "staircase"])
@pytest.mark.parametrize(("epsilon", "rounds"), [(0.5, 1), (9.0, 1), (8.0, 10)])
def test_the_noise_meets_its_target_and_no_more(noise: str, epsilon: float, rounds: int) -> None:
    mod = LocalNoise(1.0, epsilon, DELTA, noise=noise, rounds=rounds)
    answer = mod.plan(3).epsilon(delta=DELTA, method="exact")
    assert 0.999 * epsilon < answer.upper <= epsilon * (1 + 1e-9)
    assert str(answer.adjacency) == "replace-one" and str(answer.unit) == "client"


def test_the_classical_formula_is_wrong_where_ours_is_not() -> None:
    """D11: beyond epsilon 8.42 at delta 1e-5 it adds too little noise, below too much."""
    for epsilon, enough in ((1.0, True), (9.0, False)):
        classical = math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon
        ours = LocalNoise(1.0, epsilon, DELTA, adjacency="zero-out").scale()
        assert (classical > ours) is enough
        held = dp.Gaussian(sigma=classical).epsilon(delta=DELTA, method="exact").upper <= epsilon
        assert held is enough


@pytest.mark.parametrize("noise", ["laplace", "staircase"])
def test_pure_noise_needs_no_delta(noise: str) -> None:
    mod = LocalNoise(1.0, 2.0, noise=noise, rounds=4)
    each = 2.0 / 4 / (5 if noise == "staircase" else 1)
    unit = mod.unit(5)
    assert (unit if noise == "staircase" else 1 / unit) == pytest.approx(each, rel=1e-12)


def test_a_client_releases_in_so_many_rounds_and_no_more() -> None:
    """The count is in its own context, which Flower keeps from round to round."""
    mod, ctxt, zeros = LocalNoise(1.0, 2.0, DELTA, rounds=2), context(), np.zeros(3)
    broken = answered(mod, zeros, np.array([np.nan, 0, 0]), ctxt=ctxt)
    assert broken.has_error()  # nothing left the device, nothing is counted
    replies = [answered(mod, zeros, zeros, ctxt=ctxt) for _ in range(3)]
    assert [reply.has_error() for reply in replies] == [False, False, True]
    assert "2 rounds" in replies[2].error.reason
    assert not answered(mod, zeros, zeros).has_error()  # another client


def test_nothing_but_the_update_leaves_unless_it_is_allowed_by_name() -> None:
    """A loss or a count beside a private update is read by the server as it is."""
    zeros = np.zeros(3)
    sending = {"arrays": ArrayRecord({"w": Array(zeros)})}
    for kind in ("train", "evaluate"):
        message = Message(RecordDict(sending), dst_node_id=1, message_type=kind)
        beside = {"metrics": MetricRecord({"loss": 1.0, "num-examples": 7})}
        content = RecordDict(sending | beside if kind == "train" else beside)

        def app(m: Message, _: Any, content: RecordDict = content) -> Message:
            return Message(content, reply_to=m)

        for allow, named in (((), "'loss'"), (["loss"], "'num-examples'")):
            reply = LocalNoise(1.0, 2.0, DELTA, allow=allow)(message, context(), app)
            assert reply.has_error() and f"{named} of the record 'metrics'" in reply.error.reason
        reply = LocalNoise(1.0, 2.0, DELTA, allow=["loss", "num-examples"])(message, context(), app)
        assert not reply.has_error() and reply.content.metric_records["metrics"]["loss"] == 1.0
    leaking = RecordDict({"a": ArrayRecord({"v": Array(np.ones(3))})})
    mod = LocalNoise(1.0, 2.0, DELTA)
    assert mod(message, context(), lambda m, _: Message(leaking, reply_to=m)).has_error()
    with pytest.raises(dp.InvalidArgument, match="allow must be a list of names"):
        LocalNoise(1.0, 2.0, DELTA, allow="loss")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_does_not_leave(bad: float) -> None:
    reply = answered(LocalNoise(1.0, 2.0, DELTA), np.zeros(3), np.array([0, bad, 0]))
    assert reply.has_error() and "finite" in reply.error.reason


def test_what_is_not_an_update_does_not_leave() -> None:
    mod = LocalNoise(1.0, 2.0, DELTA)
    for before, after, key in (
        (np.zeros(3), np.zeros(4), "w"),
        (np.zeros(3), np.zeros(3, dtype=int), "w"),
        (np.zeros(3), np.zeros(3), "v"),
    ):
        reply = answered(mod, before, after, key)
        assert reply.has_error() and "LocalNoise" in reply.error.reason


@pytest.mark.parametrize(
    "bad",
    [
        {"clip": 0.0},
        {"clip": math.nan},
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"delta": 0.0},
        {"delta": 1.0},
        {"noise": "cauchy"},
        {"rounds": 0},
    ],
    ids=str,
)
def test_a_bad_argument_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(dp.InvalidArgument):
        LocalNoise(**{"clip": 1.0, "epsilon": 1.0, "delta": DELTA, **bad})
