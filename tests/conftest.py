"""What every test shares: Hypothesis profiles, a picture-less matplotlib, a memory limit."""

import gc
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

os.environ.setdefault("MPLBACKEND", "Agg")
# Each worker has a core: threads of linear algebra would only wait for each other.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Time limits are pytest-timeout's: Hypothesis' own would turn a busy machine into a failure.
settings.register_profile("dev", max_examples=50, deadline=None)
# CI draws the same examples each time, so a red run is about the change and not about luck.
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, database=None)
# Fresh seeds each time: nightly.yml, and by hand. What breaks a law is stored (tests/laws/kept.py).
for name, examples in (("night", 1_000), ("search", 20_000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=False,  # which is Hypothesis' own choice where it sees CI
        suppress_health_check=[HealthCheck.too_slow],
    )
# Hypothesis also draws constants of whatever local modules are loaded, which differs from worker to worker.
providers.HypothesisProvider._local_constants = providers.GLOBAL_CONSTANTS
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Giving arrays of megabytes back to the system each time takes a tenth of a run. The C library reads this as
# a process starts: the workers of `-n`, and the processes of tests.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))

# A flush takes milliseconds, and what it is for, a power cut, no test can see: tests/ledger/test_durability
# counts the calls. In the processes that tests start and kill it is real.
os.fsync = lambda handle: None

INNER = 2
"""Cases of each test function in the inner loop."""
DEAR = Path(__file__).with_name("dear.txt")
"""Test functions of .8 s of CPU or more, with how many cases fit into 2 s (tests/structure/dear.py)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    about = f"the inner loop: {INNER} cases of each test, without those of tests/dear.txt"
    parser.addoption("--inner", action="store_true", help=about)
    about = "every case of every test: each night, and before a release"
    parser.addoption("--whole", action="store_true", help=about)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """13,000 tests are 700,000 objects that all stay: walking them for garbage takes a third of the time."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def dear() -> dict[str, int]:
    """The functions of tests/dear.txt, with the cases that the ordinary run has of each; 0 is all of them."""
    lines = (line.split() for line in DEAR.read_text(encoding="utf-8").splitlines())
    return {name: int(kept[0]) if kept else 0 for name, *kept in lines}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The ordinary run has up to two seconds of each test, spread over its cases; `--inner` has less.

    All of them is `-n 2 --whole`, searches are `-m search`. What is asked for by its case is run.
    """
    if config.getoption("--whole") or any("[" in word for word in config.args):
        return
    named, inner, cases = dear(), config.getoption("--inner"), defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for function, every in cases.items():
        most = (
            (0 if function in named else INNER) if inner else named.get(function, 0) or len(every)
        )
        stride = max(1, -(-len(every) // most)) if most else len(every) + 1
        chosen.update(every[:most] if inner else every[::stride])
    left_out = [item for item in items if item not in chosen]
    items[:] = [item for item in items if item in chosen]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`: neighbours stay in one worker, which makes what a file shares once.

    The default deals tests out in turn, and every worker builds the site, the wheel and the trained models.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_runtest_setup() -> None:
    """Each test begins at 50 digits: mpmath's precision is one for the whole process."""
    if "mpmath" in sys.modules:
        sys.modules["mpmath"].mp.dps = 50


# An array that grows without bound fails its own test, and does not take the machine down with it.
if sys.platform == "linux":
    import resource

    MEMORY = 8 * 2**30  # bytes of address space, here and in each process that a test starts
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
