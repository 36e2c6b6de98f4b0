"""One run of the same training by five programs, in CPU seconds; and virtual clients by the thousand.

    python -m tests.training.benchmark peers      # pfl-research where `pfl` is installed
    python -m tests.training.benchmark clients

MNIST, logistic regression, 30 rounds of 50 of 1,000 clients, five passes in batches of ten; one thread.
What is prepared once (data, plan) is not counted. Sides are run in turn, and the least of each counts.
"""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

with warnings.catch_warnings():  # of Flower's libraries about each other
    warnings.simplefilter("ignore")
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.supercore.task_identity import TaskIdentity

from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.strategy import Private
from dpacct_training.experiment import Experiment, Prepared, prepare
from dpacct_training.keys import Keys
from dpacct_training.run import Run
from tests.structure.project import ROOT
from tests.training import textbook
from tests.training.loopback import Clock, LoopbackGrid, app_of

MNIST = ROOT / "training" / "experiments" / "dp_fed_ls_mnist.toml"
ROUNDS, ASKED, CLIENTS, TIMES = 30, 50, 1000, 3
KEYS = Keys.from_seed(0)


class Grid(LoopbackGrid):
    """Strategies ask it in one call."""

    def send_and_receive(self, messages: Iterable[Message], **_: Any) -> list[Message]:
        return list(self.pull_messages([name for name in self.push_messages(messages) if name]))


def in_process(prepared: Prepared) -> Callable[[], float]:
    """dpacct in this process."""

    def side() -> float:
        run = Run(prepared.algorithm, prepared.plan, prepared.setting, KEYS)
        engine, start = prepared.engine.start(prepared), time.process_time()
        run.finish(engine)
        return time.process_time() - start

    return side


def messages(prepared: Prepared) -> Callable[[], float]:
    """dpacct over Flower's messages to two hosts, without a network."""

    def side() -> float:
        with tempfile.TemporaryDirectory() as folder:
            run = Run(prepared.algorithm, prepared.plan, prepared.setting, KEYS)
            grid = LoopbackGrid(app_of(prepared, Path(folder, str(host))) for host in (0, 1))
            engine, start = Flower(grid, 2, clock=Clock()), time.process_time()
            run.finish(engine)
            return time.process_time() - start

    return side


def loop(prepared: Prepared) -> Callable[[], float]:
    """torch.nn and torch.optim as a textbook writes them, with the clip of each step and no noise."""

    def side() -> float:
        weights, start = torch.zeros(prepared.setting.model.dimension), time.process_time()
        parts = (prepared.setting.federation, prepared.plan, prepared.algorithm.local, KEYS)
        for round in range(1, ROUNDS + 1):
            weights = weights + torch.from_numpy(textbook.mean(*parts, weights, round)).float()
        return time.process_time() - start

    return side


def _app(prepared: Prepared, client: int) -> ClientApp:
    """A client as Flower's tutorials write it."""
    app, federation = ClientApp(), prepared.setting.federation
    rows = federation.clients[client]
    part = federation.train.part(rows)
    x, y = torch.from_numpy(part.scaled(federation.scaling)).flatten(1), torch.from_numpy(part.y)
    local = prepared.algorithm.local

    @app.train()
    def train(message: Message, context: Context) -> Message:
        net = torch.nn.Linear(x.shape[1], 10)
        net.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(
            net.parameters(), lr=local.learning_rate, weight_decay=local.weight_decay
        )
        for _ in range(local.epochs):
            for batch in torch.randperm(len(y)).split(local.batch_size):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
                optimiser.step()
        answer = {
            "arrays": ArrayRecord(net.state_dict()),
            "metrics": MetricRecord({"num-examples": len(y)}),
        }
        return Message(RecordDict(answer), reply_to=message)

    return app


def flwr(prepared: Prepared, private: bool) -> Callable[[], float]:
    """A textbook's ClientApp under Flower's FedAvg, or under our Strategy; without a network."""

    def side() -> float:
        start_at = ArrayRecord(torch.nn.Linear(784, 10).state_dict())
        with tempfile.TemporaryDirectory() as folder:
            grid = Grid(_app(prepared, client) for client in range(CLIENTS))
            strategy: Any = FedAvg(fraction_train=ASKED / CLIENTS, fraction_evaluate=0.0)
            if private:
                cohort = prepared.cohort
                assert cohort.clip and cohort.epsilon and cohort.delta
                wanted = {
                    "epsilon": cohort.epsilon,
                    "delta": str(cohort.delta),
                    "clip": cohort.clip,
                }
                strategy = Private(
                    folder, clients=CLIENTS, rate="0.05", rounds=ROUNDS, clock=Clock(), **wanted
                )
            start = time.process_time()
            strategy.start(grid, start_at, num_rounds=ROUNDS)
            return time.process_time() - start

    return side


def pfl(prepared: Prepared) -> Callable[[], float]:
    """pfl-research's FederatedAveraging with its Gaussian mechanism, in one process."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam.base import NNTrainHyperParams
    from pfl.internal.ops import pytorch_ops
    from pfl.internal.ops.selector import set_framework_module
    from pfl.model.pytorch import PyTorchModel
    from pfl.privacy.gaussian_mechanism import GaussianMechanism
    from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism

    class Net(torch.nn.Linear):
        def loss(self, x: Any, y: Any, eval: bool = False) -> Any:
            return torch.nn.functional.cross_entropy(self(x), y)

        def metrics(self, x: Any, y: Any, eval: bool = False) -> Any:
            return {}

    set_framework_module(pytorch_ops)
    federation, local = prepared.setting.federation, prepared.algorithm.local
    x = torch.from_numpy(federation.train.scaled(federation.scaling)).flatten(1)
    y = torch.from_numpy(federation.train.y)
    users = {
        c: Dataset((x[torch.from_numpy(rows)], y[torch.from_numpy(rows)]), user_id=str(c))
        for c, rows in enumerate(federation.clients)
    }

    def side() -> float:
        net = Net(784, 10)
        data = FederatedDataset(users.__getitem__, get_user_sampler("random", list(users)))
        clip, multiplier = prepared.cohort.clip, prepared.cohort.multiplier()
        assert clip is not None
        noise = CentrallyAppliedPrivacyMechanism(GaussianMechanism(clip, multiplier))
        backend = SimulatedBackend(data, data, postprocessors=[noise])
        model = PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), 1.0))
        start = time.process_time()
        FederatedAveraging().run(
            NNAlgorithmParams(ROUNDS, 10**6, ASKED, None),
            backend,
            model,
            NNTrainHyperParams(
                local_num_epochs=local.epochs,
                local_learning_rate=local.learning_rate,
                local_batch_size=local.batch_size,
            ),
            send_metrics_to_platform=False,
        )
        return time.process_time() - start

    return side


def peers() -> None:
    """A table row a program."""
    for name in ("run_id", "node_id", "task_id"):
        setattr(TaskIdentity, name, 1)
    prepared = prepare(Experiment.read(MNIST).changed({"run.evaluate_every": 10**6}))
    sides = {
        "dpacct in process": in_process(prepared),
        "dpacct over Flower's messages, two hosts": messages(prepared),
        "a textbook loop of torch.nn and torch.optim, no noise": loop(prepared),
        "Flower's FedAvg, no privacy": flwr(prepared, False),
        "Private over the same ClientApp": flwr(prepared, True),
    }
    if find_spec("pfl") is not None:
        sides["pfl-research, Gaussian mechanism"] = pfl(prepared)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(TIMES):
        for name, side in sides.items():
            seconds[name].append(side())
    for name, taken in seconds.items():
        print(f"| {name} | {min(taken):.2f} | {', '.join(f'{s:.2f}' for s in taken)} |")


def virtual(count: int) -> None:
    """One row of the table of virtual clients: over messages to four hosts, three rounds."""
    for name in ("run_id", "node_id", "task_id"):
        setattr(TaskIdentity, name, 1)
    asked = min(1000, count // 2)
    text = f"""
    [data]
    name = "synth"
    side = 28
    classes = 10
    samples = {2 * count}
    clients = {count}
    [model]
    name = "linear"
    [algorithm]
    name = "dp_fedavg_clients"
    [privacy]
    rate = {asked / count}
    rounds = 3
    clip = 0.3
    noise = 1.0
    delta = 1e-6
    [run]
    seed = 0
    """
    prepared = prepare(Experiment.from_text(text, "virtual"))
    start = time.process_time()
    run = Run(prepared.algorithm, prepared.plan, prepared.setting, KEYS)
    run.finish(prepared.engine.start(prepared))
    alone = (time.process_time() - start) / 3
    with tempfile.TemporaryDirectory() as folder:
        run = Run(prepared.algorithm, prepared.plan, prepared.setting, KEYS)
        grid = LoopbackGrid(app_of(prepared, Path(folder, str(host))) for host in range(4))
        engine, start = Flower(grid, 4, clock=Clock()), time.process_time()
        run.finish(engine)
        there = (time.process_time() - start) / 3
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = np.mean(run.state.sizes)
    received = sizes * prepared.setting.model.dimension * 8 / 1e6
    print(
        f"| {count:,} | {sizes:,.0f} | {there:.2f} ({alone:.2f}) | {megabytes:,.0f} | {received:.1f} |"
    )


def main(words: list[str]) -> None:
    if words == ["peers"]:
        peers()
    elif words == ["clients"]:  # each in a process of its own, whose peak memory is its own
        for count in (100, 1000, 10_000, 100_000):
            subprocess.run(
                [sys.executable, "-m", "tests.training.benchmark", str(count)], check=True
            )
    else:
        virtual(int(words[0]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1:])
