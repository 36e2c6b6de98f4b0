"""Where things lie in the checkout, for the tests of its shape."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"dpacct": ROOT / "dpacct", "dpacct_training": ROOT / "training" / "dpacct_training"}
BIN = Path(sys.executable).parent


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources(*folders: str) -> list[Path]:
    """The Python files under these folders of the checkout, sorted."""
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


def modules() -> Iterator[tuple[str, Path]]:
    """(dotted name, file) of every module that ships."""
    for name, top in PACKAGES.items():
        for path in sorted(top.rglob("*.py")):
            parts = (name, *path.relative_to(top).with_suffix("").parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
