"""A run's folder: its settings, ledger, checkpoint, key, measurements and report."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpacct import InvalidArgument
from dpacct_training.aggregate import Vector
from dpacct_training.durable import keep
from dpacct_training.executed import Executed
from dpacct_training.extras import required
from dpacct_training.keys import Keys

Row = dict[str, Any]


@dataclass(frozen=True)
class State:
    """A run after some rounds."""

    round: int
    weights: Vector
    executed: Executed


class Folder:
    """Where a run keeps what must survive it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.ledger = path / "ledger.jsonl"
        self.checkpoint = path / "checkpoint.safetensors"
        self.metrics = path / "metrics.jsonl"
        self.key = path / "noise.key"

    @contextmanager
    def held(self) -> Iterator[None]:
        """While this lasts no other process runs here; a dead one's hold is gone with it."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                told = f"another process runs in {str(self.path)!r}: let it end, or take another"
                raise InvalidArgument(f"{told} folder", argument="out") from None
            yield
        finally:
            os.close(handle)

    # --- the key

    def keys(self, fresh: Keys) -> Keys:
        """The run's key: the one it was begun with, else `fresh`, which is then kept.

        A secret key must outlive a crash, for the interrupted round has to be repeated with the very
        same noise; its file is readable by its owner only, and goes when the run is over. Of two
        processes that begin at once the first one's key is both's.
        """
        line = f"{fresh.source.replace(' ', '-')} {fresh.secret.hex()}\n"

        def write(draft: Path) -> None:
            with os.fdopen(
                os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w"
            ) as file:
                file.write(line)

        keep(self.key, write, first=True)
        source, secret = self.key.read_text(encoding="ascii").split()
        return Keys(bytes.fromhex(secret), source.replace("-", " "))

    def forget_key(self) -> None:
        """The run is over: nobody needs its noise again."""
        with suppress(FileNotFoundError):
            self.key.unlink()

    # --- the state

    def save(self, state: State, fingerprint: str) -> None:
        """Whole or not at all."""
        about = {
            "round": str(state.round),
            "executed": json.dumps(state.executed.to_dict()),
            "fingerprint": fingerprint,
        }
        data: bytes = required("safetensors.numpy").save({"weights": state.weights}, about)
        keep(self.checkpoint, lambda path: path.write_bytes(data))

    def load(self, fingerprint: str) -> State | None:
        """The last state, or None. Raises `InvalidArgument` if it is another run's."""
        if not self.checkpoint.exists():
            return None
        library = required("safetensors")
        try:
            with library.safe_open(self.checkpoint, framework="numpy") as held:
                about = held.metadata() or {}
                weights = np.array(held.get_tensor("weights"), np.float64)
            executed = Executed.from_dict(json.loads(about["executed"]))
            state = State(int(about["round"]), weights, executed)
        except (library.SafetensorError, KeyError, TypeError, ValueError):
            told = f"the checkpoint {str(self.checkpoint)!r} is damaged, or of another program"
            raise InvalidArgument(told, argument="out") from None
        if about.get("fingerprint") != fingerprint:
            told = (
                f"the run in {str(self.path)!r} was begun with other settings, data or libraries: "
                "the same noise over other sums would reveal their difference; take another folder"
            )
            raise InvalidArgument(told, argument="out")
        return state

    # --- measurements

    def rows(self) -> list[Row]:
        """All measurements; a line that a crash cut short is left out."""
        found: list[Row] = []
        with suppress(FileNotFoundError):
            for line in self.metrics.read_text(encoding="utf-8").splitlines():
                with suppress(json.JSONDecodeError):
                    found.append(json.loads(line))
        return found

    def rewind(self, round: int) -> None:
        """Forget measurements of rounds that will be repeated."""
        kept = [json.dumps(row) + "\n" for row in self.rows() if row["round"] <= round]
        keep(self.metrics, lambda path: path.write_text("".join(kept)))

    def measured(self, row: Row) -> None:
        """One more line."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
