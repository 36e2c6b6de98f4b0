"""Create the virtual environment that the peer benchmark runs in: ``python
tests/benchmarks/make_environment.py``.

The peers live apart from the project's own environment, because they are heavy (opacus brings
torch) and because nothing in dpacct may come to depend on them. Each is installed by itself under
one constraints file, and one that cannot be installed is recorded with its reason in
``peers.json`` instead of failing the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONSTRAINTS = HERE / "peers.txt"
DEFAULT_TARGET = ROOT / ".venv-peers"

#: What pip is asked for, and the module that must then import. riskcal needs nothing but dp-
#: accounting for accounting.
PEERS = {
    "dp-accounting": "dp_accounting",
    "prv-accountant": "prv_accountant",
    "autodp": "autodp.rdp_bank",
    "riskcal": "riskcal.accountants",
    "opacus": "opacus.accountants",
}


def interpreter(target: Path) -> Path:
    """The Python of the virtual environment at ``target``."""
    return target / "bin" / "python"


def attempt(command: list[str], timeout: float) -> str | None:
    """Run one command; None when it worked, else its last line of complaint."""
    print("+", " ".join(command), flush=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {timeout:g} s"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    complaints = [line for line in lines if "error" in line.lower()]
    return (complaints or lines or [f"exit code {done.returncode}"])[-1]


def install(target: Path, timeout: float) -> dict[str, str]:
    """Install dpacct and every peer; return the peers that are missing, each with the reason."""
    python = str(interpreter(target))
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS)]
    reason = attempt([*pip, "--editable", str(ROOT)], timeout)
    if reason is not None:
        raise SystemExit(f"dpacct itself could not be installed from {ROOT}: {reason}")
    missing: dict[str, str] = {}
    for name, module in PEERS.items():
        reason = attempt([*pip, name], timeout) or attempt([python, "-c", f"import {module}"], 300)
        if reason is not None:
            missing[name] = reason
            print(f"  missing: {name}: {reason}", flush=True)
    return missing


def main() -> None:
    """Create the environment and record what it lacks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--target", type=Path, default=DEFAULT_TARGET, help="where the environment goes"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, help="seconds allowed for one package"
    )
    options = parser.parse_args()
    os.nice(10)
    if not interpreter(options.target).exists():
        venv.create(options.target, with_pip=True)
    # Wherever it lies, git is not to see it.
    (options.target / ".gitignore").write_text("*\n")
    missing = install(options.target, options.timeout)
    (options.target / "peers.json").write_text(json.dumps({"missing": missing}, indent=1) + "\n")
    installed = len(PEERS) - len(missing)
    print(f"{interpreter(options.target)}: {installed} of {len(PEERS)} peers installed")


if __name__ == "__main__":
    main()
