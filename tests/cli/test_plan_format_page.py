"""The plans shown in docs/plan-format.md are plans."""

import re
from pathlib import Path

import pytest

from tests.cli.runner import run

PAGE = Path(__file__).parents[2] / "docs" / "plan-format.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_page_shows_plans(block: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(block, encoding="utf-8")
    done = run("compose", str(path), "--json")
    assert done.code == 0, done.stderr
    assert 0 < done.json["upper"] < 50


def test_the_page_lists_every_key() -> None:
    from dpacct.cli.words import KEYS, kinds, uses
    from dpacct.declare.words import Steps

    assert len(BLOCKS) == 2
    page = PAGE.read_text(encoding="utf-8")
    assert not [
        key
        for key in (*KEYS, *kinds(), *uses(kinds().values()), *Steps.parameters, "repeat", "inner")
        if f"`{key}`" not in page
    ]
