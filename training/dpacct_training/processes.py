"""Many runs, one after the other or in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Done = TypeVar("Done")


def finished(
    run: Callable[[Job], Done], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Done]]:
    """(place in `jobs`, what it came to), as they end."""
    if processes == 1:
        yield from enumerate(map(run, jobs))
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        places = {pool.submit(run, job): place for place, job in enumerate(jobs)}
        for future in as_completed(places):
            yield places[future], future.result()
