"""State: all of a run that must survive it, and the folder that keeps it: ledger, checkpoint, key, report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpacct import InvalidArgument
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.durable import keep, secret
from dpacct_training.extras import required
from dpacct_training.keys import Keys
from dpacct_training.noise import Meters
from dpacct_training.plan import Plan, counted


@dataclass(frozen=True)
class RunState:
    """A run after some rounds.

    `server`: what the server knows. `memory`: what clients on this machine keep. `meters`, `sizes`: what
    was measured and counted. `answers`: in how many rounds each client that takes noisy steps inside has
    answered. `missing`: how many answers of clients elsewhere did not come or were not taken, by the reason.
    """

    round: int
    server: Arrays
    memory: dict[int, Arrays] = field(default_factory=dict)
    meters: Meters = field(default_factory=Meters)
    sizes: tuple[int, ...] = ()
    answers: dict[int, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)

    def counts(self, plan: Plan) -> dict[str, int]:
        """The counts measured by the hosts, named as in `Plan.counts`."""
        counts = {"rounds": len(self.sizes)}
        names = [*plan.noise, *(["records"] if plan.records else [])]
        for name in sorted({*names, *self.meters}, key=lambda n: (n not in names, n)):
            meter = self.meters[name] if name in self.meters else Meters()[name]
            counts |= counted(name, meter.bounded, meter.vectors, meter.numbers)
        return counts

    def about(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "round": self.round,
            "meters": self.meters.to_dict(),
            "sizes": list(self.sizes),
            "answers": {str(client): self.answers[client] for client in sorted(self.answers)},
            "missing": dict(sorted(self.missing.items())),
        }

    def to_tensors(self) -> dict[str, Array]:
        """The arrays, by names that sort them."""
        tensors = {f"server/{name}": array for name, array in self.server.items()}
        for client, arrays in self.memory.items():
            tensors |= {f"memory/{client}/{name}": array for name, array in arrays.items()}
        return {name: tensors[name] for name in sorted(tensors)}

    @classmethod
    def read(cls, about: dict[str, Any], tensors: dict[str, Array]) -> RunState:
        """The state from `about` and `to_tensors`. Raises `KeyError`, `TypeError`, `ValueError`."""
        server: Arrays = {}
        memory: dict[int, Arrays] = {}
        for path in sorted(tensors):
            kind, name, *rest = path.split("/")
            if kind == "server":
                server[name] = tensors[path]
            else:
                memory.setdefault(int(name), {})[rest[0]] = tensors[path]
        return cls(
            round=int(about["round"]),
            server=server,
            memory=memory,
            meters=Meters.from_dict(about["meters"]),
            sizes=tuple(about["sizes"]),
            answers={int(client): int(n) for client, n in about["answers"].items()},
            missing=dict(about["missing"]),
        )


Row = dict[str, Any]


class Folder:
    """The folder of a run; `fingerprint` is a checksum of everything that decides its bits."""

    def __init__(self, path: Path, fingerprint: str = "") -> None:
        self.path, self.fingerprint = path, fingerprint
        path.mkdir(parents=True, exist_ok=True)
        self.checkpoint = path / "checkpoint.safetensors"
        self.metrics = path / "metrics.jsonl"
        self.key = path / "noise.key"

    @property
    def charged(self) -> bool:
        """Return whether anything was charged in this folder."""
        return (self.path / "run.ledger").exists()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder for this process; the lock dies with the process."""
        library = required("filelock")
        lock = library.FileLock(self.path / ".lock")
        try:
            lock.acquire(blocking=False)
        except library.Timeout:
            message = f"another process runs in {str(self.path)!r}: let it end, or take another"
            raise InvalidArgument(f"{message} folder", argument="out") from None
        try:
            yield
        finally:
            lock.release()

    # --- the key

    def keys(self, fresh: Keys) -> Keys:
        """The run's key: the one it was begun with, else `fresh`, which is then kept.

        A secret key must outlive a crash, for the interrupted round has to be repeated with the very
        same noise; its file is readable by its owner only, and goes when the run is over.
        """
        line = f"{fresh.source.replace(' ', '-')} {fresh.secret.hex()}\n"
        source, key = secret(self.key, line.encode()).decode().split()
        return Keys(bytes.fromhex(key), source.replace("-", " "))

    def forget_key(self) -> None:
        """Erase the key of a finished run."""
        with suppress(FileNotFoundError):
            self.key.unlink()

    # --- the state

    def save(self, state: RunState) -> None:
        """Save the state atomically; equal states give equal bytes."""
        about = {**state.about(), "fingerprint": self.fingerprint}
        tensors = {name: np.ascontiguousarray(v) for name, v in state.to_tensors().items()}
        metadata = {"about": json.dumps(about, sort_keys=True)}
        content: bytes = required("safetensors.numpy").save(tensors, metadata)
        keep(self.checkpoint, lambda draft: draft.write_bytes(content))

    def load(self) -> RunState | None:
        """The last state, or None. Raises `InvalidArgument` if it is another run's."""
        if not self.checkpoint.exists():
            return None
        library = required("safetensors")
        damaged = f"the checkpoint {str(self.checkpoint)!r} is damaged, or of another program"
        try:
            with library.safe_open(self.checkpoint, framework="numpy") as file:
                metadata = dict(file.metadata() or {})
                names = list(file.keys())
                tensors = {name: np.array(file.get_tensor(name)) for name in names}
        except (library.SafetensorError, OSError) as error:
            raise InvalidArgument(damaged, argument="out") from error
        try:
            about = json.loads(metadata["about"])
            state = RunState.read(about, tensors)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(damaged, argument="out") from error
        if about.get("fingerprint") != self.fingerprint:
            message = (
                f"the run in {str(self.path)!r} was begun with other settings, data or libraries: "
                "the same noise over other sums would reveal their difference; take another folder"
            )
            raise InvalidArgument(message, argument="out")
        return state

    # --- measurements

    def rows(self) -> list[Row]:
        """All measurements; a line that a crash cut short is left out."""
        rows: list[Row] = []
        with suppress(FileNotFoundError):
            for line in self.metrics.read_text(encoding="utf-8").splitlines():
                with suppress(json.JSONDecodeError):
                    rows.append(json.loads(line))
        return rows

    def rewind(self, round: int) -> None:
        """Forget measurements of rounds that will be repeated."""
        kept = [json.dumps(row) + "\n" for row in self.rows() if row["round"] <= round]
        keep(self.metrics, lambda path: path.write_text("".join(kept), encoding="utf-8"))

    def measured(self, row: Row) -> None:
        """Append one measurement."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
