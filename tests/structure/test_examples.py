"""Every example in a docstring, the README and docs runs and gives what is printed beside it."""

from __future__ import annotations

import doctest
import importlib
import re
import warnings
from pathlib import Path

import pytest

from tests.structure.project import ROOT, modules, relative

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

WITH_EXAMPLES = [n for n, p in modules() if ">>>" in p.read_text(encoding="utf-8")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert tried, f"{name} has '>>>' in its source and no example that doctest finds"
    assert not failed, capsys.readouterr().out


def python_blocks(page: Path) -> list[str]:
    return PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p)], ids=relative)
def test_pages(page: Path) -> None:
    """The blocks of one page share their names, as a reader typing them along would."""
    text = "\n\n".join(python_blocks(page))
    assert ">>>" in text, "a Python block without a prompt is never run: write it as a session"
    example = doctest.DocTestParser().get_doctest(text, {}, relative(page), str(page), 0)
    report: list[str] = []
    with warnings.catch_warnings():
        if "migrate" in page.parts:  # other people's libraries warn about each other
            warnings.simplefilter("ignore")
        doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert not report, "".join(report)
