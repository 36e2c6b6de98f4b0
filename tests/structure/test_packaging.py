"""What is shipped: one version, types included, both packages complete, nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import dpacct
from tests.structure.project import PACKAGES, ROOT, modules, pyproject

VERSION = dpacct.__version__


def test_the_version_is_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)
    cited = re.search(r"^version: (\S+)", citation, flags=re.MULTILINE)
    assert newest and newest.group(1) == VERSION
    assert cited and cited.group(1) == VERSION
    assert pyproject()["project"]["dynamic"] == ["version"]  # setuptools reads it off the package
    assert metadata.version("dpacct") == VERSION, (
        "an old installation: run 'pip install -e .' again"
    )


def test_dependencies_have_lower_bounds_only() -> None:
    project = pyproject()["project"]
    extras = [d for group in project["optional-dependencies"].values() for d in group]
    plain = re.compile(r"[A-Za-z0-9-]+>=[0-9.]+")
    assert not [d for d in project["dependencies"] + extras if not plain.fullmatch(d)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel built from a copy, so that the checkout stays clean."""
    copy = tmp_path_factory.mktemp("build") / "source"
    copy.mkdir()
    clutter = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("dpacct", "training", "tests", "figures", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=clutter)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            "out",
            ".",
        ],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = Path(copy / "out").glob("*.whl")
    with zipfile.ZipFile(built) as opened:
        return opened.namelist()


def test_the_wheel_has_every_module(wheel: list[str]) -> None:
    expected = {
        f"{package}/{path.relative_to(PACKAGES[package]).as_posix()}"
        for name, path in modules()
        for package in [name.partition(".")[0]]
    }
    assert expected == {n for n in wheel if n.endswith(".py")}


def test_the_wheel_is_typed_licensed_and_nothing_else(wheel: list[str]) -> None:
    assert {"dpacct/py.typed", "dpacct_training/py.typed"} <= set(wheel)
    assert any(n.endswith("/licenses/LICENSE") for n in wheel)
    tops = {n.partition("/")[0] for n in wheel}
    about = {f"dpacct-{VERSION}.dist-info", f"dpacct-{VERSION}.data"}
    assert tops == {"dpacct", "dpacct_training"} | about


def test_the_wheel_has_the_pages_that_answers_cite(wheel: list[str]) -> None:
    shared = f"dpacct-{VERSION}.data/data/share/doc/dpacct/"
    pages = {n.removeprefix(shared) for n in wheel if n.startswith(shared)}
    assert {"docs/theory/certificate.md", "docs/mechanisms.md", "docs/report.md"} <= pages
    assert all(name.endswith(".md") for name in pages)
