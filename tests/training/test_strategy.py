"""The Strategy for apps of one's own: what it asks, hides, releases and charges."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

import dpacct as dp
from dpacct_training.engines.flower.strategy import Private
from dpacct_training.plan import Cohort
from tests.training.loopback import Clock, LoopbackGrid

pytestmark = pytest.mark.usefixtures("flower_identity")

SIZE = 3000
NODES = 40
CLIP = 0.5


class Grid(LoopbackGrid):
    def send_and_receive(self, messages: Iterable[Message], *, timeout: float) -> list[Message]:
        return list(self.pull_messages([name for name in self.push_messages(messages) if name]))


def moving(by: Callable[[int], Any]) -> Grid:
    """Each node adds a vector to what it was sent."""

    def app(host: int) -> ClientApp:
        def train(message: Message, context: Context) -> Message:
            sent = message.content["arrays"]
            moved = {
                name: Array((array.numpy() + by(host)).astype(array.numpy().dtype))
                for name, array in sent.items()
            }
            return Message(RecordDict({"arrays": ArrayRecord(moved)}), reply_to=message)

        made = ClientApp()
        made.train()(train)
        return made

    return Grid(app(host) for host in range(NODES))


def strategy(folder: Path, **changes: Any) -> Private:
    values: dict[str, Any] = {
        "clients": NODES,
        "rate": "0.25",
        "rounds": 4,
        "clip": CLIP,
        "epsilon": 4,
        "delta": "1e-3",
        "seed": 3,
        "clock": Clock(),
    }
    return Private(folder, **{**values, **changes})


START = ArrayRecord({"a": Array(np.zeros((SIZE // 2, 2))), "b": Array(np.zeros(0, np.float32))})


def values(record: ArrayRecord) -> Any:
    return record["a"].numpy().ravel()


def started(private: Private, grid: Grid, rounds: int = 4) -> Any:
    return private.start(grid, START, num_rounds=rounds)


def test_the_noise_is_the_plans_and_each_round_has_its_own(tmp_path: Path) -> None:
    """Nodes that do not move: what is released is noise of the accounted variance."""
    grid, private, sent = moving(lambda host: 0.0), strategy(tmp_path), []
    private.start(grid, START, num_rounds=4, evaluate_fn=lambda r, a: sent.append(values(a)))
    assert private._run is not None
    noise = private._run.plan.noise["update"]
    z = np.diff(np.array(sent), axis=0) * float(private.cohort.denominator) / noise.variance**0.5
    assert z.shape == (4, SIZE)
    assert abs((z**2).mean() - 1) < 6 * (2 / z.size) ** 0.5
    assert np.abs(np.corrcoef(z) - np.eye(4)).max() < 6 / SIZE**0.5


def test_a_node_moves_the_sum_by_its_clip_at_most(tmp_path: Path) -> None:
    grid, private = moving(lambda host: 1e6), strategy(tmp_path)
    result = started(private, grid, 1)
    run = private._run
    assert run is not None
    direction = np.full(SIZE, SIZE**-0.5)
    along = values(result.arrays) @ direction * float(private.cohort.denominator)
    noise = run.plan.noise["update"].variance ** 0.5
    assert abs(along - run.state.sizes[0] * CLIP) < 6 * noise


def test_the_coins_are_the_accounted_ones(tmp_path: Path) -> None:
    grid, private = moving(lambda host: 0.0), strategy(tmp_path)
    started(private, grid)
    run = private._run
    assert run is not None
    asked = [m.metadata.dst_node_id - 100 for m in grid.sent]
    tossed = [c for r in range(1, 5) for c in run.plan.sample(r, run.keys).tolist()]
    assert asked == tossed and len(set(run.state.sizes)) > 1
    with dp.Ledger(tmp_path / "run.ledger", read_only=True) as ledger:
        assert len(ledger.intents) == 4 and float(ledger.spent()) <= 4
    plan = dp.Poisson("0.25")(dp.Gaussian(noise_multiplier=private.cohort.multiplier(), clip=1)) * 4
    assert float(plan.epsilon(delta="1e-3")) == pytest.approx(4, rel=1e-5)


def test_an_empty_round_releases_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cohort, "multiplier", lambda cohort, by="server": 2.0)  # more than enough
    grid, private = moving(lambda host: 0.0), strategy(tmp_path, rate="0.01")
    result = started(private, grid)
    assert private._run is not None and 0 in private._run.state.sizes
    metrics = result.train_metrics_clientapp
    assert sorted(metrics) == [1, 2, 3, 4]
    assert np.count_nonzero(values(result.arrays)) == SIZE


def test_epsilon_is_told_in_each_round_and_the_budget_ends_it(tmp_path: Path) -> None:
    grid, private = moving(lambda host: 0.0), strategy(tmp_path)
    result = started(private, grid, rounds=7)
    epsilons = [record["epsilon"] for record in result.train_metrics_clientapp.values()]
    assert epsilons == sorted(epsilons) and len(epsilons) == 4 and epsilons[-1] <= 4
    asked = len(grid.sent)
    assert list(private.configure_train(8, START, {}, grid)) == [] and len(grid.sent) == asked
    assert not (tmp_path / "noise.key").exists()


def test_begun_anew_in_its_folder_a_run_goes_on_to_the_same_arrays(tmp_path: Path) -> None:
    whole = started(strategy(tmp_path / "a"), moving(float))
    started(strategy(tmp_path / "b"), moving(float), 2)
    again = started(strategy(tmp_path / "b", seed=99), moving(float), 2)
    assert np.array_equal(values(whole.arrays), values(again.arrays))


def test_a_round_that_nobody_answers_ends_the_run(tmp_path: Path) -> None:
    """Pure noise is not released in silence, and nothing is charged that was not released."""
    grid, private = moving(lambda host: 0.0), strategy(tmp_path, rate=1)
    grid.faults = dict.fromkeys(range(100, 100 + NODES), lambda m, h: [])
    with pytest.raises(ConnectionError, match=r"none of the 40 nodes of round 1 .* was charged"):
        started(private, grid, 1)
    assert private._run is not None and private._run.accounts.charged("run") == 0
    whole = moving(lambda host: 0.0)  # the same folder goes on
    result = started(strategy(tmp_path, rate=1), whole, 4)
    assert [record["missing"] for record in result.train_metrics_clientapp.values()] == [0] * 4


def test_wrong_answers_are_missing(tmp_path: Path) -> None:
    """nan, another shape, an error, twice, from a node that was not asked: the rest goes on."""
    grid, private = moving(lambda host: 0.0), strategy(tmp_path, rate=1)

    def nan(message: Message, honest: Any) -> Iterable[Message]:
        arrays = {
            n: Array(a.numpy() * np.nan) for n, a in honest(message).content["arrays"].items()
        }
        return [Message(RecordDict({"arrays": ArrayRecord(arrays)}), reply_to=message)]

    def short(message: Message, honest: Any) -> Iterable[Message]:
        arrays = ArrayRecord({"a": Array(np.zeros(3)), "b": Array(np.zeros(0, np.float32))})
        return [Message(RecordDict({"arrays": arrays}), reply_to=message)]

    def twice(message: Message, honest: Any) -> Iterable[Message]:
        return [honest(message), honest(message)]

    grid.faults = {100: nan, 101: short, 102: lambda m, h: [], 103: twice}
    started(private, grid, 1)
    assert private._run is not None and private._run.state.sizes == (NODES - 3,)


def test_the_clip_follows_the_norms_and_is_paid_for(tmp_path: Path) -> None:
    grid = moving(lambda host: 2.0 * SIZE**-0.5)  # all of norm 2, above the clip
    private = strategy(tmp_path, quantile=0.5, rate=1, rounds=8, epsilon=20)
    result = started(private, grid, 8)
    clips = [record["clip"] for record in result.train_metrics_clientapp.values()]
    assert clips == sorted(clips) and clips[-1] > 1.5 * clips[0]
    assert private._run is not None
    account = private._run.plan.accounts["run"]
    alone = dp.Gaussian(noise_multiplier=private.cohort.multiplier(), clip=1)
    together = float((dp.Poisson(1)(alone) * 8).epsilon(delta="1e-3"))
    assert float(account.spent(8)) == pytest.approx(together, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"clients": 41}, ConnectionError, "41 nodes were awaited"),
        ({"clients": 39}, dp.InvalidArgument, "clients must be the number of nodes, 40, got 39"),
    ],
)
def test_the_population_is_the_one_that_is_accounted(
    change: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        started(strategy(tmp_path, rate=1, **change), moving(lambda host: 0.0))


def test_arrays_of_whole_numbers_are_refused(tmp_path: Path) -> None:
    arrays = ArrayRecord({"a": Array(np.zeros(3, np.int64))})
    with pytest.raises(dp.InvalidArgument, match="got others in 'a'"):
        strategy(tmp_path).start(moving(float), arrays, num_rounds=1)
