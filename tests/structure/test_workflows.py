"""The workflow that the repository's owners can switch on: it is valid, and says what we claim."""

from __future__ import annotations

from typing import Any

import yaml

from tests.structure.project import ROOT, pyproject

PREFIX = "Programming Language :: Python :: 3."


def workflow() -> dict[str, Any]:
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


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


def test_what_it_names_is_there() -> None:
    runs = [
        step["run"] for job in workflow()["jobs"].values() for step in job["steps"] if "run" in step
    ]
    for word in " ".join(runs).split():
        path = word.strip('"').removeprefix("$GITHUB_WORKSPACE/")
        if path.startswith(("docs/", "tests/", ".ci/")):
            assert (ROOT / path).exists(), path


def test_how_to_report_a_number_that_is_too_small() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "upper end is below the true value" in text and "What is not" in text
    assert "SECURITY.md" in (ROOT / "README.md").read_text(encoding="utf-8")
