"""Made-up data in folders: all of them in one, and each host's clients in one of its own."""

from pathlib import Path

import numpy as np

from dpacct_training.data.dataset import synth

EACH = 10


def own_experiment(folder: Path, clients: int = 8, hosts: int = 2, algorithm: str = "") -> str:
    """The text of an experiment on the folder "all"; host h has "host-h"."""
    made = synth(samples=clients * EACH, side=4)
    (folder / "all").mkdir()
    np.savez(folder / "all" / "test.npz", x=made.test.x, y=made.test.y)
    for client in range(clients):
        rows = slice(client * EACH, (client + 1) * EACH)
        for place in ("all", f"host-{client % hosts}"):
            (folder / place).mkdir(exist_ok=True)
            path = folder / place / f"client-{client}.npz"
            np.savez(path, x=made.train.x[rows], y=made.train.y[rows])
    chosen = algorithm or 'name = "dp_fedavg_clients"'
    return f"""
[data]
name = "own"
path = "{folder / "all"}"
clients = {clients}
each = {EACH}
classes = 4
[model]
name = "linear"
[algorithm]
{chosen}
[local]
batch_size = 5
learning_rate = 0.1
[privacy]
rate = 0.5
rounds = 2
clip = 0.3
epsilon = 8
delta = 1e-2
[run]
seed = 1
"""
