"""What is shipped: one version, types included, both packages complete, nothing else."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings

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
    # but for Flower's, whose next major version may rename what is public now
    plain = re.compile(r"[A-Za-z0-9-]+>=[0-9.]+|flwr(\[simulation\])?>=1\.41,<2")
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


# --- `import dpacct` is cheap and brings in nothing that it may never need.

MOST = 5
"""Modules on top of those of `import numpy`; each name loads what it needs when it is first used."""
LATE = ("click", "flint", "hypothesis", "matplotlib", "mpmath", "rich", "scipy", "sympy", "torch")
MEASURE = """
import json, sys
import numpy
before = set(sys.modules)
import dpacct
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, cwd=folder
    )
    return list(json.loads(done.stdout))


def test_import_loads_only_what_it_needs(tmp_path: Path) -> None:
    modules = loaded(tmp_path)
    assert "dpacct" in modules
    assert len(modules) <= MOST, modules
    assert not [name for name in LATE if name in modules]


# --- The workflows that the repository's owners can switch on: they are valid, and say what we claim.

PREFIX = "Programming Language :: Python :: 3."


def workflow(name: str = "tests") -> dict[str, Any]:
    text = (ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def commands(name: str) -> str:
    """All that its jobs run."""
    jobs = workflow(name)["jobs"].values()
    return " ".join(step["run"] for job in jobs for step in job["steps"] if "run" in step)


def test_it_tries_each_python_that_the_package_names() -> None:
    matrix = workflow()["jobs"]["wheel"]["strategy"]["matrix"]
    named = [c for c in pyproject()["project"]["classifiers"] if c.startswith(PREFIX)]
    assert [f"{PREFIX}{python.removeprefix('3.')}" for python in matrix["python"]] == named
    assert {system.partition("-")[0] for system in matrix["system"]} == {
        "ubuntu",
        "macos",
        "windows",
    }


def test_it_runs_the_command_of_the_readme() -> None:
    steps = workflow()["jobs"]["whole"]["steps"]
    assert any(step.get("run") == ".ci/run" for step in steps)


def test_the_night_s_search_has_fresh_seeds_and_is_in_contributing() -> None:
    profile = re.search(r"--hypothesis-profile=(\w+)", commands("nightly"))
    assert profile is not None
    assert not settings.get_profile(profile[1]).derandomize
    assert profile[0] in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert commands("nightly").partition(" timeout ")[0] in readme  # installed as there


@pytest.mark.parametrize("name", ["tests", "nightly"])
def test_what_it_names_is_there(name: str) -> None:
    for word in commands(name).split():
        path = word.strip('"').removeprefix("$GITHUB_WORKSPACE/")
        if path.startswith(("docs/", "tests/", ".ci/")):
            assert (ROOT / path).exists(), path


def test_how_to_report_a_number_that_is_too_small() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "upper end is below the true value" in text and "What is not" in text
    assert "SECURITY.md" in (ROOT / "README.md").read_text(encoding="utf-8")
