"""The process that one accountant runs in: ``python -m bench.worker NAME`` reads questions from
stdin, a JSON per line.

Anything the accountant prints goes to stderr. The address space is capped, so that a peer that
asks for hundreds of gigabytes gets a MemoryError instead of taking the machine down.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from bench.cases import cases
from bench.peers import Answerer, answerer
from bench.questions import NotOffered, Question

ADDRESS_SPACE = 8 << 30
POLL = 0.5  # seconds between looks at the CPU time used


class OutOfTime(BaseException):
    """The CPU seconds of one answer are used up; no peer's ``except Exception`` may swallow it."""


def alarm(until: float) -> Callable[[int, object], None]:
    """A handler that looks at the CPU seconds used so far, and ends the answer beyond `until`."""

    def look(signum: int, frame: object) -> None:
        if time.process_time() > until:
            raise OutOfTime

    return look


def measure(ask: Answerer, request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request: the same question ``repeats`` times, each nudged, with CPU and wall
    seconds of each.
    """
    question = Question.from_json(request["question"])
    cpu: list[float] = []
    wall: list[float] = []
    values: list[float] = []
    limit: float = request["limit"]
    signal.signal(signal.SIGALRM, alarm(time.process_time() + limit))
    # A timer of wall time: once one of CPU time was armed, Linux counts CPU time in clock ticks.
    signal.setitimer(signal.ITIMER_REAL, POLL, POLL)
    try:
        for k in range(request["repeats"]):
            asked = question.nudged(request["first"] + k)
            start_cpu, start_wall = time.process_time(), time.perf_counter()
            values = ask(asked)
            cpu.append(time.process_time() - start_cpu)
            wall.append(time.perf_counter() - start_wall)
    except OutOfTime:
        return {"status": "timeout", "reason": f"over {limit:g} s"}
    except NotOffered as reason:
        return {"status": "not offered", "reason": str(reason)}
    except Exception as reason:  # whatever a peer raises is a result of the benchmark
        text = " ".join(str(reason).split())[:160]
        return {"status": "error", "reason": f"{type(reason).__name__}: {text}".rstrip(": ")}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    exact = [float(value) for value in values]
    return {"status": "ok", "values": exact, "cpu": cpu, "wall": wall, "peak_mb": round(peak)}


def main() -> None:
    """Serve questions until stdin closes; with ``--once ID``, answer one case and leave (used for
    cold starts).
    """
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    if "--once" in sys.argv:
        wanted = sys.argv[sys.argv.index("--once") + 1]
        question = next(case.question for case in cases() if case.id == wanted)
        print(answerer(sys.argv[1])(question))
        return
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ask = answerer(sys.argv[1])
    print(json.dumps({"status": "ready"}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(ask, json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
