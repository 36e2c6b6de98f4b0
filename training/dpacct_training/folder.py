"""A run's folder: its ledger, checkpoint, key, measurements and report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpacct import InvalidArgument
from dpacct_training.durable import keep
from dpacct_training.extras import required
from dpacct_training.keys import Keys
from dpacct_training.state import State

Row = dict[str, Any]


class Folder:
    """Where a run keeps what must survive it; `fingerprint`: of all that decides its bits."""

    def __init__(self, path: Path, fingerprint: str = "") -> None:
        self.path, self.fingerprint = path, fingerprint
        path.mkdir(parents=True, exist_ok=True)
        self.checkpoint = path / "checkpoint.safetensors"
        self.metrics = path / "metrics.jsonl"
        self.key = path / "noise.key"

    @property
    def charged(self) -> bool:
        """Whether anything was counted here."""
        return (self.path / "ledger.jsonl").exists()

    @contextmanager
    def held(self) -> Iterator[None]:
        """While this lasts no other process runs here; a dead one's hold is gone with it."""
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
        same noise; its file is readable by its owner only, and goes when the run is over. Of two
        processes that begin at once the first one's key is both's.
        """
        line = f"{fresh.source.replace(' ', '-')} {fresh.secret.hex()}\n"

        def write(draft: Path) -> None:
            opened = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(opened, "w") as file:
                file.write(line)

        keep(self.key, write, first=True)
        source, secret = self.key.read_text(encoding="ascii").split()
        return Keys(bytes.fromhex(secret), source.replace("-", " "))

    def forget_key(self) -> None:
        """The run is over: nobody needs its noise again."""
        with suppress(FileNotFoundError):
            self.key.unlink()

    # --- the state

    def save(self, state: State) -> None:
        """Whole or not at all; the same state is the same bytes."""
        about = {**state.about(), "fingerprint": self.fingerprint}
        tensors = {name: np.ascontiguousarray(v) for name, v in state.to_tensors().items()}
        metadata = {"about": json.dumps(about, sort_keys=True)}
        data: bytes = required("safetensors.numpy").save(tensors, metadata)
        keep(self.checkpoint, lambda draft: draft.write_bytes(data))

    def load(self) -> State | None:
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
        if "executed" in metadata:
            message = f"the run in {str(self.path)!r} was begun by an earlier version of dpacct"
            raise InvalidArgument(f"{message}: take another folder", argument="out")
        try:
            about = json.loads(metadata["about"])
            state = State.read(about, tensors)
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
        """One more line."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
