"""Write tests/dear.txt from the processor time of each test: python -m pytest --whole -p tests.structure.dear

In one process, on a quiet machine: own and children's time, by test function.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

DEAR = Path(__file__).parents[1] / "dear.txt"
LEAST = 0.8
"""Seconds of all cases from which a function is left out of the inner loop."""
MOST = 2.0
"""Seconds of a function in the ordinary run, which has as many cases as fit; one at least."""
_seconds: dict[str, list[float]] = defaultdict(list)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = sum(os.times()[:4])
    result = yield
    _seconds[item.nodeid.partition("[")[0]].append(sum(os.times()[:4]) - before)
    return result


def pytest_sessionfinish() -> None:
    lines = []
    for function, times in sorted(_seconds.items()):
        total, cases = sum(times), len(times)
        kept = cases if total <= MOST else max(1, int(cases * MOST / total))
        if total >= LEAST:
            lines.append(f"{function} {kept}" if kept < cases else function)
    DEAR.write_text("\n".join([*lines, ""]), encoding="utf-8")
