"""Files are as large as their idea, and never above 800 lines (docs/decisions/0021)."""

from __future__ import annotations

import re
import statistics

import pytest

from tests.structure.project import relative, sources

LIMIT = 800


def test_no_file_is_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    length = {p: p.read_text(encoding="utf-8").count("\n") for p in sources("dpacct", "training")}
    with capsys.disabled():
        longest = max(length, key=lambda p: length[p])
        print(
            f"\n{len(length)} modules, median {statistics.median(length.values()):.0f} lines, "
            f"longest {relative(longest)} with {length[longest]}"
        )
    assert not [f"{relative(p)}: {n} lines" for p, n in length.items() if n > LIMIT]


def test_no_file_is_named_after_nothing() -> None:
    """A name such as 'helpers' says that nobody knew where the thing belongs."""
    vague = re.compile(r"^_?(utils?|helpers?|misc|common|stuff|tools?)$")
    assert not [relative(p) for p in sources("dpacct", "training") if vague.match(p.stem)]
