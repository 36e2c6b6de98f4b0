"""The workflows that the repository's owners can switch on: they are valid, and say what we claim."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import settings

from tests.structure.project import ROOT, pyproject

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
