"""The parent's side of the workers: start, ask with a deadline, and start again when one had to
be stopped.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from bench.questions import Question

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]

#: One thread each, and no hash seed lottery between runs.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
}


def environment() -> dict[str, str]:
    """The environment of every measured process: this one's, on one thread.

    The benchmark is importable in it, and so is dpacct from the checkout that the benchmark is
    part of.
    """
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(HERE), str(ROOT)))}


class Worker:
    """One accountant in one process, which is replaced when it hangs or dies."""

    def __init__(self, name: str, python: str = sys.executable) -> None:
        self.name, self.python = name, python
        self.unusable: str | None = None
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def _start(self) -> None:
        """Start the process and wait until its accountant is imported."""
        self._lines = queue.Queue()
        process = subprocess.Popen(
            [self.python, "-m", "bench.worker", self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._process = process
        complaints: list[str] = []
        lines = self._lines

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        def drain() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                complaints[:] = [*complaints[-20:], line.strip()]

        for target in (read, drain):
            threading.Thread(target=target, daemon=True).start()
        try:
            first = lines.get(timeout=120)
        except queue.Empty:
            first = ""
        if not first:
            self.stop()
            self.unusable = (complaints or ["the worker did not start"])[-1]

    def ask(self, question: Question, first: int, repeats: int, limit: float) -> dict[str, Any]:
        """Put one question ``repeats`` times, nudged from ``first`` on.

        The worker stops itself after ``limit`` CPU seconds, so that a busy machine costs a peer
        nothing; one that does not even do that is ended after twenty times as long.
        """
        if self._process is None and self.unusable is None:
            self._start()
        if self.unusable is not None or self._process is None:
            return {"status": "missing", "reason": self.unusable or ""}
        request = {
            "question": question.to_json(),
            "first": first,
            "repeats": repeats,
            "limit": limit,
        }
        try:
            assert self._process.stdin is not None
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._lines.get(timeout=20 * limit)
        except queue.Empty:
            self.stop()
            return {"status": "timeout", "reason": f"over {limit:g} s"}
        except BrokenPipeError:
            line = ""
        if not line:
            self.stop()
            return {"status": "error", "reason": "the process died"}
        reply: dict[str, Any] = json.loads(line)
        return reply

    def stop(self) -> None:
        """End this worker's own process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
