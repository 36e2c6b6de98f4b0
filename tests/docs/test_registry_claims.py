"""What README and docs say of the registry as a whole is counted in it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

from tests.cli.runner import line
from tests.structure.project import ROOT


@cache
def listed() -> list[dict[str, Any]]:
    """`dpacct theorems list --json`."""
    document: list[dict[str, Any]] = line("theorems list --json").json
    return document


def page(name: str) -> str:
    """Its text on one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_counts_of_the_readme() -> None:
    papers = Counter(entry["paper"] for entry in listed())
    five = sum(count for _, count in papers.most_common(5))
    verdicts = Counter(entry["verdict"] for entry in listed())
    refuted = sum(entry["status"] == "refuted" for entry in listed())
    text = page("README.md")
    assert (
        f"{len(listed())} statements of {len(papers)} papers ({five} of them of five) with verdicts: "
        f"{verdicts['false']} are false as printed and {verdicts['ill-posed']} ill-posed; "
        f"{refuted} have a counter-example"
    ) in text
    assert f"the statements of {len(papers)} papers" in text


def test_every_status_and_verdict_that_is_explained_is_used() -> None:
    text = (ROOT / "docs/registry.md").read_text(encoding="utf-8")
    for heading, key in (("**Verdicts.**", "verdict"), ("**Statuses**", "status")):
        paragraph = text.split(heading, 1)[1].split("\n\n", 1)[0]
        paragraph = paragraph.split(" A `refuted` or", 1)[0]
        explained = set(re.findall(r"`([a-z-]+)`", paragraph))
        assert explained == {entry[key] for entry in listed()}
