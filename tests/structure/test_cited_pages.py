"""What answers, messages and helps send a reader to can be opened, from a wheel too."""

from __future__ import annotations

import ast
import fnmatch
import functools
import re

import pytest

from tests.structure.project import ROOT, pyproject, relative, sources

PAGE = re.compile(r"docs/[\w/.-]+\.md")


def texts(tree: ast.AST) -> list[str]:
    """Every text in a module that may be printed: docstrings only of what a command's help shows."""
    helps = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and not (isinstance(node, ast.FunctionDef) and node.name == "command")
    }
    results = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in helps]
    return [node.value for node in results if isinstance(node.value, str)]


@functools.cache
def cited() -> dict[str, str]:
    """Each page that is named in a text, and where."""
    pages = {}
    for path in sources("dpacct", "training"):
        source = path.read_text(encoding="utf-8")
        for text in texts(ast.parse(source)) if PAGE.search(source) else ():
            pages.update(dict.fromkeys(PAGE.findall(text), relative(path)))
    return pages


def test_answers_cite_pages() -> None:
    assert "docs/theory/certificate.md" in cited()


@pytest.mark.parametrize("page", sorted(cited()))
def test_a_cited_page_is_there_and_shipped(page: str) -> None:
    """It comes with a wheel as share/doc/dpacct/docs/..."""
    assert (ROOT / page).is_file(), f"{cited()[page]} names {page}"
    shipped = pyproject()["tool"]["setuptools"]["data-files"]
    folder = "share/doc/dpacct/" + page.rpartition("/")[0]
    assert any(fnmatch.fnmatch(page, pattern) for pattern in shipped.get(folder, ())), page


def test_lines_that_install_work_from_a_checkout() -> None:
    """No index has a package of this name: what is printed installs the folder, with extras it has."""
    extras = set(pyproject()["project"]["optional-dependencies"])
    pages = [ROOT / "README.md", ROOT / "training/README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [
        (relative(path), line)
        for path in [*pages, *sources("dpacct", "training")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if "pip install" in line
    ]
    assert len(lines) > 8
    for where, line in lines:
        assert not re.search(r"pip install ['\"]?dpacct", line), f"{where}: {line}"
        for extra in re.findall(r"'\.\[([a-z-]+)\]'", line):
            assert extra in extras, f"{where}: there is no extra {extra}"
