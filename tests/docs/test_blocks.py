"""Every code block of the README and the docs is run, or read by what it is written for.

Sessions are run by tests/structure (test_examples.py, and test_readme.py for the command line). This
asks that no other kind of block hides among them.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.structure import console
from tests.structure.project import ROOT, relative

FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<kind>[^\n]*)\n(?P<text>.*?)^(?P=mark)$", re.M | re.S)
RUN = {"python", "pycon", "console"}
READ = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}
PAGES = [*console.pages(), ROOT / "CONTRIBUTING.md"]
BLOCKS = [
    pytest.param(page, block, id=f"{relative(page)}:{block['kind']}{i}")
    for page in PAGES
    for i, block in enumerate(FENCE.finditer(page.read_text(encoding="utf-8")))
]
# Text that is printed by a longer program may stand under a comment that names the test of it.
TRIED_BY = re.compile(r"<!-- (tests/\S+\.py) [^>]*-->\s*$")


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_a_block_is_of_a_kind_that_is_tried(page: Path, block: re.Match[str]) -> None:
    kind, text = block["kind"], block["text"]
    if kind == "text":
        named = TRIED_BY.search(block.string[: block.start()])
        assert named, f"{relative(page)}: nothing tries this text"
        assert page.name in (ROOT / named[1]).read_text(encoding="utf-8")
    elif kind in READ:
        READ[kind](text)
    elif kind in ("sh", "bash"):
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            named = [w for w in words if w.endswith(".py") and "/" in w]
            assert not [w for w in named if not (ROOT / w).is_file()]
    else:
        assert kind in RUN, f"{relative(page)}: nothing runs a block of kind {kind!r}"


def test_only_readme_installs() -> None:
    """A shell block is only looked at, so it may stand where CI runs it, or where a run takes hours."""
    shell = {relative(p.values[0]) for p in BLOCKS if p.values[1]["kind"] in ("sh", "bash")}
    assert shell <= {"README.md", "docs/benchmarks.md"}
